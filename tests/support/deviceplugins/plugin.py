"""What a device plugin has and does, as values: devices, a preference, what comes with devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Prefer = Callable[[Sequence[str], Sequence[str], int], Sequence[str]]
"""GetPreferredAllocation: available, required among them, how many in all; empty: no preference."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a plugin's list; numa None: no topology is told."""

    id: str
    numa: int | None = None
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the host, in the container."""

    host: str
    container: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """A device node of the host, in the container."""

    host: str
    container: str
    permissions: str = "rw"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a container gets with its devices."""

    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    nodes: tuple[Node, ...] = ()


def nothing(_ids: Sequence[str]) -> Grant:
    """Devices that come with nothing."""
    return Grant()


@dataclass(frozen=True, slots=True)
class Plugin:
    """A device plugin; prefer None: it has no GetPreferredAllocation."""

    resource: str
    devices: tuple[Device, ...]
    prefer: Prefer | None = None
    grant: Callable[[Sequence[str]], Grant] = nothing
