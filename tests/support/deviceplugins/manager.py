"""A kubelet's device manager as plugins see it, for tests without a kubelet."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc  # type: ignore[import-untyped]  # grpcio has no types

from podrail_io import wire

_SECONDS: Final = 5.0
Listed = dict[str, tuple[int | None, bool]]
"""The NUMA node of each device, and whether it is healthy."""


@dataclass(slots=True)
class Registered:
    """A plugin that has registered: whether it prefers, and the lists that it has sent."""

    channel: Any
    prefers: bool
    lists: list[Listed] = field(default_factory=list)

    def call(self, method: str, request: bytes) -> bytes:
        """A method's answer."""
        answer: bytes = self.channel.unary_unary(f"/v1beta1.DevicePlugin/{method}")(
            request, timeout=_SECONDS
        )
        return answer

    def preferred(
        self, available: Sequence[str], size: int, required: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """GetPreferredAllocation for one container."""
        named = [_part(1, one.encode()) for one in available]
        named += [_part(2, one.encode()) for one in required]
        asked = _part(1, b"".join(named) + bytes((3 << 3, size)))
        (container,) = wire.parts(self.call("GetPreferredAllocation", asked), 1)
        return wire.texts(container, 1)

    def allocated(self, *ids: str) -> bytes:
        """Allocate for one container: its ContainerAllocateResponse."""
        asked = _part(1, b"".join(_part(1, one.encode()) for one in ids))
        (container,) = wire.parts(self.call("Allocate", asked), 1)
        return container

    def listen(self) -> None:
        """Take the plugin's lists until it goes."""
        with contextlib.suppress(grpc.RpcError):
            for answer in self.channel.unary_stream("/v1beta1.DevicePlugin/ListAndWatch")(b""):
                self.lists.append(dict(map(_device, wire.parts(answer, 1))))


class Manager:
    """The registration socket of a folder; plugins by resource."""

    def __init__(self, folder: Path) -> None:
        self.plugins: dict[str, Registered] = {}
        self._folder = folder
        handler = grpc.unary_unary_rpc_method_handler(self._register)
        generic = grpc.method_handlers_generic_handler(
            "v1beta1.Registration", {"Register": handler}
        )
        self._server = grpc.server(ThreadPoolExecutor(2), [generic])
        self._server.add_insecure_port(f"unix://{folder / 'kubelet.sock'}")
        self._server.start()

    def stop(self) -> None:
        """End as a kubelet does."""
        for one in self.plugins.values():
            one.channel.close()
        self._server.stop(None).wait()

    def _register(self, request: bytes, _context: grpc.ServicerContext) -> bytes:
        assert "v1beta1" == wire.text(request, 1)
        options = [("grpc.default_authority", "localhost")]
        endpoint = self._folder / wire.text(request, 2)
        channel = grpc.insecure_channel(f"unix://{endpoint}", options=options)
        found = Registered(channel, bool(wire.number(wire.parts(request, 4)[0], 2)))
        self.plugins[wire.text(request, 3)] = found
        threading.Thread(target=found.listen, daemon=True).start()
        return b""


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Manager]:
    """A manager for the length of a block."""
    manager = Manager(folder)
    try:
        yield manager
    finally:
        manager.stop()


def _device(message: bytes) -> tuple[str, tuple[int | None, bool]]:
    topology = wire.parts(message, 3)
    numa = wire.number(wire.parts(topology[0], 1)[0], 1) if topology else None
    return wire.text(message, 1), (numa, wire.text(message, 2) == "Healthy")


def _part(number: int, content: bytes) -> bytes:
    assert len(content) < 128, "one byte of length is enough for these"
    return bytes((number << 3 | 2, len(content))) + content
