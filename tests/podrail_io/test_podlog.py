"""What a container has written, through the API server."""

from __future__ import annotations

import socket
import threading

import measuring_api
import pytest

from podrail_io import podlog
from podrail_io.kube import Api, StatusError, UnreachableError


def test_a_log_is_text_and_not_json() -> None:
    """As it was written."""
    with measuring_api.serving(lambda _: "") as server:
        server.created.append({"kind": "MPIJob", "metadata": {"name": "a"}})
        server.mpi = "line 1\nä \x00"
        assert "line 1\nä \x00" == podlog.read(Api.connect(server=server.url), "team", "a-x1")
        server.logless = True
        with pytest.raises(StatusError):
            podlog.read(Api.connect(server=server.url), "team", "a-x1")


def test_a_log_that_is_cut_off_is_no_answer() -> None:
    """The header promised more."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = listening.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    api = Api.connect(server=f"http://127.0.0.1:{listening.getsockname()[1]}")
    with pytest.raises(UnreachableError, match="GET /api/v1/namespaces/n/pods/p/log"):
        podlog.read(api, "n", "p")
    thread.join()
    listening.close()
