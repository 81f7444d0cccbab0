"""The messages of the kubelet's device plugin API, v1beta1, as bytes.

Field numbers as in kubelet/pkg/apis/deviceplugin/v1beta1/api.proto (1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from deviceplugins.plugin import Device, Grant, Plugin
from podrail_io import wire

VERSION: Final = "v1beta1"
HEALTHY: Final = "Healthy"
UNHEALTHY: Final = "Unhealthy"
EMPTY: Final = b""


class Wanted(NamedTuple):
    """What one container's PreferredAllocationRequest asks."""

    available: tuple[str, ...]
    required: tuple[str, ...]
    size: int


def register(endpoint: str, plugin: Plugin) -> bytes:
    """A RegisterRequest."""
    named = _part(1, VERSION) + _part(2, endpoint) + _part(3, plugin.resource)
    return named + _part(4, options(plugin))


def options(plugin: Plugin) -> bytes:
    """DevicePluginOptions: whether there is a GetPreferredAllocation."""
    return _whole(2, int(plugin.prefer is not None))


def listed(devices: Iterable[Device]) -> bytes:
    """A ListAndWatchResponse."""
    return b"".join(_part(1, _device(one)) for one in devices)


def wanted(request: bytes) -> list[Wanted]:
    """A PreferredAllocationRequest's containers."""
    return [
        Wanted(wire.texts(one, 1), wire.texts(one, 2), wire.number(one, 3))
        for one in wire.parts(request, 1)
    ]


def preferred(containers: Iterable[Sequence[str]]) -> bytes:
    """A PreferredAllocationResponse."""
    return b"".join(_part(1, _texts(1, ids)) for ids in containers)


def allocated(request: bytes) -> list[tuple[str, ...]]:
    """The devices of an AllocateRequest's containers."""
    return [wire.texts(one, 1) for one in wire.parts(request, 1)]


def granted(containers: Iterable[Grant]) -> bytes:
    """An AllocateResponse."""
    return b"".join(_part(1, _grant(one)) for one in containers)


def _device(device: Device) -> bytes:
    told = _part(1, device.id) + _part(2, HEALTHY if device.healthy else UNHEALTHY)
    if device.numa is None:
        return told
    return told + _part(3, _part(1, _whole(1, device.numa)))


def _grant(grant: Grant) -> bytes:
    env = (_part(1, _part(1, name) + _part(2, value)) for name, value in grant.env.items())
    mounts = (
        _part(2, _part(1, one.container) + _part(2, one.host) + _whole(3, int(one.read_only)))
        for one in grant.mounts
    )
    nodes = (
        _part(3, _part(1, one.container) + _part(2, one.host) + _part(3, one.permissions))
        for one in grant.nodes
    )
    return b"".join((*env, *mounts, *nodes))


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_part(number, one) for one in values)


def _part(number: int, content: bytes | str) -> bytes:
    value = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _whole(number: int, value: int) -> bytes:
    """A whole number; proto3 leaves zero out."""
    return _varint(number << 3) + _varint(value) if value else b""


def _varint(value: int) -> bytes:
    low, more = value & 127, value >> 7
    return bytes((low | 128,)) + _varint(more) if more else bytes((low,))
