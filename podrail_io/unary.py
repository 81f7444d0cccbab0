"""One unary gRPC call over a unix socket, as the kubelet serves its own node's agents.

HTTP/2 is h2's; grpcio alone takes 28 MiB, which is a whole node agent's budget (decision 0003).
Frames of gRPC as in its PROTOCOL-HTTP2 document.
"""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import ProtocolError

MOST_BYTES: Final = 16 * 1024 * 1024
"""The longest answer; kubelets limit theirs to the same (podresources client, 1.36)."""
UNIMPLEMENTED: Final = 12
_READ: Final = 65536
_PREFIX: Final = 5
_LEAST_SECONDS: Final = 0.001


class CallError(Exception):
    """There was no answer: no socket, cut off, too late, or not what a gRPC server says."""


class RefusedError(CallError):
    """The server answered with a gRPC status other than OK."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(f"gRPC status {status}: {message}")


class _Answer:
    """What has arrived of one."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.headers: dict[bytes, bytes] = {}
        self.ended = False


def call(
    path: Path, method: str, request: bytes, seconds: float, clock: Callable[[], float]
) -> bytes:
    """The message that a method such as /v1.PodResourcesLister/List answers with.

    Raises:
        RefusedError: the server said no; status 12 means that it does not know the method.
        CallError: there was no usable answer within so many seconds.
    """
    end = clock() + seconds
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(seconds)
            sock.connect(str(path))
            answer = _exchanged(sock, _request(method, request), lambda: end - clock())
    except (OSError, ProtocolError, ValueError) as error:
        raise CallError(f"{path}: {method}: {type(error).__name__}: {error}") from error
    return _message(answer, method)


def _request(method: str, request: bytes) -> H2Connection:
    """A connection with the whole request in it, ready to be sent."""
    connection = H2Connection(H2Configuration(client_side=True, header_encoding=None))
    connection.initiate_connection()
    connection.increment_flow_control_window(MOST_BYTES)
    stream = connection.get_next_available_stream_id()
    headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", method),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "podrail"),
    ]
    connection.send_headers(stream, headers)
    frame = b"\0" + len(request).to_bytes(4, "big") + request
    connection.send_data(stream, frame, end_stream=True)
    return connection


def _exchanged(sock: socket.socket, connection: H2Connection, left: Callable[[], float]) -> _Answer:
    answer = _Answer()
    sock.sendall(connection.data_to_send())
    while not answer.ended:
        sock.settimeout(max(left(), _LEAST_SECONDS))
        data = sock.recv(_READ)
        if not data:
            raise ConnectionError("the connection ended before the answer did")
        for event in connection.receive_data(data):
            _take(event, answer, connection)
        sock.sendall(connection.data_to_send())
        if left() <= 0:
            raise TimeoutError("no whole answer in time")
    return answer


def _take(event: Event, answer: _Answer, connection: H2Connection) -> None:
    if isinstance(event, ResponseReceived | TrailersReceived):
        answer.headers.update(dict(event.headers or ()))
    elif isinstance(event, DataReceived):
        answer.body += event.data
        if len(answer.body) > MOST_BYTES + _PREFIX:
            raise ValueError(f"the answer is longer than {MOST_BYTES} bytes")
        connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
    elif isinstance(event, StreamEnded):
        answer.ended = True
    elif isinstance(event, StreamReset | ConnectionTerminated) and not answer.ended:
        raise ConnectionError(f"the server broke off: {event!r}")


def _message(answer: _Answer, method: str) -> bytes:
    status = answer.headers.get(b"grpc-status", b"").decode(errors="replace")
    if not status.isdecimal():
        http = answer.headers.get(b":status", b"").decode(errors="replace")
        raise CallError(f"{method}: expected a gRPC status, got HTTP status {http}")
    if int(status):
        text = answer.headers.get(b"grpc-message", b"").decode(errors="replace")
        raise RefusedError(int(status), text)
    body = bytes(answer.body)
    # One message, not compressed: no encoding was offered.
    if len(body) < _PREFIX or body[0] or int.from_bytes(body[1:5], "big") != len(body) - _PREFIX:
        raise CallError(f"{method}: expected one plain message, got {len(body)} bytes")
    return body[_PREFIX:]
