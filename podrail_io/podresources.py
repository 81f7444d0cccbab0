"""The kubelet's PodResources API, v1: which container holds which device, and which there are.

Field numbers as in kubelet/pkg/apis/podresources/v1/api.proto (1.36). NUMA node 0 is a message
without a field; no topology at all means that the plugin does not say. The answers give no UIDs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from podrail_io import unary, wire
from podrail_io.unary import CallError, RefusedError
from podrail_io.wire import WireError

SOCKET: Final = Path("/var/lib/kubelet/pod-resources/kubelet.sock")
SECONDS: Final = 5.0
_SERVICE: Final = "/v1.PodResourcesLister/"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Devices:
    """Devices of a resource, and the NUMA nodes that the kubelet was told; None: not told."""

    resource: str
    ids: tuple[str, ...]
    numas: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    """A container and the devices that it holds.

    For those of DRA claims the resource is the driver's name, an identifier is pool/device.
    """

    namespace: str
    pod: str
    container: str
    devices: tuple[Devices, ...]


class PodResources:
    """The API on a kubelet's socket."""

    def __init__(self, socket: Path, clock: Callable[[], float], seconds: float = SECONDS) -> None:
        self._socket = socket
        self._clock = clock
        self._seconds = seconds

    def listed(self) -> tuple[Holder, ...]:
        """Every container that the kubelet has resources for, terminated ones until it forgets.

        Raises:
            CallError: there was no usable answer.
        """
        return _checked(lambda: _holders(wire.parts(self._call("List"), 1)))

    def pod(self, namespace: str, name: str) -> tuple[Holder, ...] | None:
        """The containers of one pod; None if this kubelet does not serve Get.

        Raises:
            CallError: there was no usable answer, or the kubelet has no such pod.
        """
        request = wire.encoded(1, name) + wire.encoded(2, namespace)
        body = self._served("Get", request)
        return None if body is None else _checked(lambda: _holders(wire.parts(body, 1)))

    def allocatable(self) -> tuple[Devices, ...] | None:
        """The healthy devices of every plugin; None if this kubelet does not serve that.

        Raises:
            CallError: there was no usable answer.
        """
        body = self._served("GetAllocatableResources")
        return None if body is None else _checked(lambda: _merged(wire.parts(body, 1)))

    def _served(self, method: str, request: bytes = b"") -> bytes | None:
        """The answer; None from a kubelet that does not know the method, or has it turned off."""
        try:
            return self._call(method, request)
        except RefusedError as error:
            if error.status != unary.UNIMPLEMENTED and "disabled" not in str(error):
                raise
            return None

    def _call(self, method: str, request: bytes = b"") -> bytes:
        return unary.call(self._socket, _SERVICE + method, request, self._seconds, self._clock)


def _checked(read: Callable[[], T]) -> T:
    try:
        return read()
    except WireError as error:
        raise CallError(f"not what a kubelet says: {error}") from error


def _holders(pods: Sequence[bytes]) -> tuple[Holder, ...]:
    return tuple(
        Holder(wire.text(pod, 2), wire.text(pod, 1), wire.text(container, 1), _held(container))
        for pod in pods
        for container in wire.parts(pod, 3)
    )


def _held(container: bytes) -> tuple[Devices, ...]:
    return (*_merged(wire.parts(container, 2)), *_claimed(container))


def _claimed(container: bytes) -> Iterator[Devices]:
    """The devices of DRA claims: driver, pool and device."""
    for claim in wire.parts(container, 5):
        for one in wire.parts(claim, 4):
            yield Devices(wire.text(one, 2), (f"{wire.text(one, 3)}/{wire.text(one, 4)}",))


def _merged(messages: Sequence[bytes]) -> tuple[Devices, ...]:
    """One entry for each resource: the kubelet sends one for each set of NUMA nodes."""
    ids: dict[str, list[str]] = {}
    numas: dict[str, set[int] | None] = {}
    for one in messages:
        resource = wire.text(one, 1)
        ids.setdefault(resource, []).extend(wire.texts(one, 2))
        known, told = numas.setdefault(resource, set()), _numas(one)
        numas[resource] = None if known is None or told is None else known | told
    return tuple(Devices(name, tuple(ids[name]), _ordered(numas[name])) for name in ids)


def _ordered(found: set[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(sorted(found))


def _numas(devices: bytes) -> set[int] | None:
    topology = wire.parts(devices, 3)
    if not topology:
        return None
    return {wire.number(node, 1) for node in wire.parts(topology[-1], 1)}
