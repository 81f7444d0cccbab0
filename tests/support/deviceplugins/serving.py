"""Plugins at a kubelet's door: registered whenever its socket is made anew, changed while they run.

A kubelet that starts removes every socket of the folder, so that each registration brings a new
server on a new socket, as real plugins do.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import grpc  # type: ignore[import-untyped]  # grpcio has no types

from deviceplugins import messages
from deviceplugins.plugin import Device, Plugin

KUBELET: Final = "kubelet.sock"
_POLL_SECONDS: Final = 0.1
_CALL_SECONDS: Final = 5.0
_THREADS: Final = 4
Unary = Callable[[bytes, grpc.ServicerContext], bytes]


@dataclass(frozen=True, slots=True)
class Call:
    """A container's devices, as the kubelet asked for them."""

    method: str
    resource: str
    ids: tuple[str, ...]


class Served:
    """Plugins that are being served, and what has been asked of them."""

    def __init__(self, folder: Path, plugins: Iterable[Plugin]) -> None:
        self.calls: list[Call] = []
        self._folder = folder
        self._offers = {one.resource: _Offer(one, self.calls) for one in plugins}
        self.registrations = 0
        self._taken = threading.Condition()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="device plugins", daemon=True)
        self._watcher.start()

    def wait_registered(self, times: int = 1, seconds: float = 30) -> None:
        """Until kubelets have taken all plugins so many times: each start of one is a time."""
        with self._taken:
            if not self._taken.wait_for(lambda: self.registrations >= times, seconds):
                raise TimeoutError(f"{self._folder / KUBELET}: no registration in {seconds} s")

    def health(self, resource: str, device: str, *, healthy: bool) -> None:
        """Have a device fall ill or recover."""
        offer = self._offers[resource]
        offer.show(
            replace(one, healthy=healthy) if one.id == device else one for one in offer.devices
        )

    def show(self, resource: str, devices: Iterable[Device]) -> None:
        """Have a plugin list other devices from now on."""
        self._offers[resource].show(devices)

    def stop(self) -> None:
        """End all servers; the kubelet sees its plugins go."""
        self._ended.set()
        self._watcher.join()
        for offer in self._offers.values():
            offer.stop()

    def _watch(self) -> None:
        known: tuple[int, int] | None = None
        generation = 0
        while not self._ended.wait(_POLL_SECONDS):
            found = _identity(self._folder / KUBELET)
            if found is None or found == known:
                continue
            generation += 1
            if self._register(generation):
                known = found
                with self._taken:
                    self.registrations += 1
                    self._taken.notify_all()

    def _register(self, generation: int) -> bool:
        """True if the kubelet has taken all plugins; its socket is there before its server."""
        for at, offer in enumerate(self._offers.values()):
            endpoint = f"p{at}-{generation}.sock"
            offer.start(self._folder / endpoint)
            try:
                _call(self._folder / KUBELET, messages.register(endpoint, offer.plugin))
            except grpc.RpcError:
                return False
        return True


class _Offer:
    """One plugin: its server, and the devices that it shows now."""

    def __init__(self, plugin: Plugin, calls: list[Call]) -> None:
        self.plugin = plugin
        self.devices = plugin.devices
        self._calls = calls
        self._changed = threading.Condition()
        self._server: grpc.Server | None = None

    def show(self, devices: Iterable[Device]) -> None:
        with self._changed:
            self.devices = tuple(devices)
            self._changed.notify_all()

    def start(self, socket: Path) -> None:
        self.stop()
        generic = grpc.method_handlers_generic_handler(
            "v1beta1.DevicePlugin",
            {
                "ListAndWatch": grpc.unary_stream_rpc_method_handler(self._listed),
                **{name: grpc.unary_unary_rpc_method_handler(one) for name, one in self._methods()},
            },
        )
        self._server = grpc.server(ThreadPoolExecutor(_THREADS), [generic])
        self._server.add_insecure_port(f"unix://{socket}")
        self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def _methods(self) -> Iterator[tuple[str, Unary]]:
        yield "GetDevicePluginOptions", lambda _request, _context: messages.options(self.plugin)
        yield "Allocate", self._allocate
        if self.plugin.prefer is not None:
            yield "GetPreferredAllocation", self._prefer

    def _listed(self, _request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        context.add_callback(self._wake)
        sent: tuple[Device, ...] | None = None
        while (devices := self._news(sent, context)) is not None:
            yield messages.listed(devices)
            sent = devices

    def _news(
        self, sent: tuple[Device, ...] | None, context: grpc.ServicerContext
    ) -> tuple[Device, ...] | None:
        """The devices once they are others than those sent; None when nobody listens any more."""
        with self._changed:
            self._changed.wait_for(lambda: self.devices != sent or not context.is_active())
            return self.devices if context.is_active() else None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _prefer(self, request: bytes, _context: grpc.ServicerContext) -> bytes:
        assert self.plugin.prefer is not None
        found = [self.plugin.prefer(*one) for one in messages.wanted(request)]
        self._note("GetPreferredAllocation", found)
        return messages.preferred(found)

    def _allocate(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        asked = messages.allocated(request)
        known = {one.id for one in self.devices}
        if unknown := {one for ids in asked for one in ids} - known:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"unknown devices {sorted(unknown)}")
        self._note("Allocate", asked)
        return messages.granted(map(self.plugin.grant, asked))

    def _note(self, method: str, containers: Iterable[Iterable[str]]) -> None:
        resource = self.plugin.resource
        self._calls.extend(Call(method, resource, tuple(ids)) for ids in containers)


@contextlib.contextmanager
def serve(folder: Path, plugins: Iterable[Plugin]) -> Iterator[Served]:
    """Plugins for the kubelet whose device plugin folder this is, for the length of a block."""
    served = Served(folder, plugins)
    try:
        yield served
    finally:
        served.stop()


def _identity(socket: Path) -> tuple[int, int] | None:
    """What tells a socket from one that took its place."""
    try:
        found = socket.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_ctime_ns


def _call(socket: Path, request: bytes) -> None:
    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel(f"unix://{socket}", options=options) as channel:
        channel.unary_unary("/v1beta1.Registration/Register")(request, timeout=_CALL_SECONDS)
