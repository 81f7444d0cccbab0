"""A kubelet's PodResources API as real gRPC on a unix socket, with whatever devices a test says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc  # type: ignore[import-untyped]  # grpcio has no types


@dataclass(frozen=True, slots=True)
class Given:
    """Devices of a resource for a container; numas None: no topology."""

    resource: str
    ids: tuple[str, ...]
    numas: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod with one container."""

    name: str
    devices: tuple[Given, ...] = ()
    namespace: str = "team"
    claims: tuple[tuple[str, str, str], ...] = ()
    """Driver, pool, device."""


@dataclass(slots=True)
class State:
    """What the socket answers; offered None: GetAllocatableResources is not known."""

    pods: list[Pod] = field(default_factory=list)
    offered: list[Given] | None = field(default_factory=list)
    knows_get: bool = True
    padding: int = 0
    """Bytes of a field that nobody knows, in each answer."""


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes((*found, value))


def _part(number: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _devices(given: Given) -> bytes:
    body = _part(1, given.resource) + b"".join(_part(2, one) for one in given.ids)
    if given.numas is None:
        return body
    # proto3 leaves zero out.
    nodes = (_varint(1 << 3) + _varint(one) if one else b"" for one in given.numas)
    return body + _part(3, b"".join(_part(1, one) for one in nodes))


def _container(pod: Pod) -> bytes:
    body = _part(1, "train") + b"".join(_part(2, _devices(one)) for one in pod.devices)
    for driver, pool, device in pod.claims:
        claimed = _part(1, _part(1, "cdi")) + _part(2, driver) + _part(3, pool) + _part(4, device)
        body += _part(5, _part(1, "claim") + _part(2, pod.namespace) + _part(4, claimed))
    # CPU numbers are packed, as the kubelet sends them.
    return body + _part(3, b"\x00\x01\x02")


def _pod(pod: Pod) -> bytes:
    return _part(1, pod.name) + _part(2, pod.namespace) + _part(3, _container(pod))


def _list(state: State, _request: bytes, _context: grpc.ServicerContext) -> bytes:
    pods = b"".join(_part(1, _pod(one)) for one in state.pods)
    return pods + (_part(99, bytes(state.padding)) if state.padding else b"")


def _get(state: State, request: bytes, context: grpc.ServicerContext) -> bytes:
    for pod in state.pods:
        if request == _part(1, pod.name) + _part(2, pod.namespace):
            return _part(1, _pod(pod))
    context.abort(grpc.StatusCode.NOT_FOUND, "pod not found")
    raise AssertionError


def _allocatable(state: State, _request: bytes, _context: grpc.ServicerContext) -> bytes:
    return b"".join(_part(1, _devices(one)) for one in state.offered or ())


Method = Callable[[State, bytes, grpc.ServicerContext], bytes]
METHODS: Final[dict[str, Method]] = {
    "List": _list,
    "Get": _get,
    "GetAllocatableResources": _allocatable,
}


def _handler(state: State, name: str, answer: Method) -> grpc.RpcMethodHandler:
    def call(request: bytes, context: grpc.ServicerContext) -> bytes:
        known = {"Get": state.knows_get, "GetAllocatableResources": state.offered is not None}
        if not known.get(name, True):
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method")
        return answer(state, request, context)

    return grpc.unary_unary_rpc_method_handler(call)


@contextlib.contextmanager
def serving(path: Path, pods: Sequence[Pod] = ()) -> Iterator[State]:
    """A socket for the length of a block, and what it will answer."""
    state = State(list(pods))
    handlers = {name: _handler(state, name, answer) for name, answer in METHODS.items()}
    generic = grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers)
    server = grpc.server(ThreadPoolExecutor(2), [generic])
    server.add_insecure_port(f"unix://{path}")
    server.start()
    try:
        yield state
    finally:
        server.stop(None).wait()
        path.unlink(missing_ok=True)
