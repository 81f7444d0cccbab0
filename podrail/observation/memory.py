"""The devices of this boot: what was there once is kept in its place when it is gone.

Without that a lost NIC would renumber the rails of all that come after it. Names of an earlier boot
are worth nothing, so nothing is remembered across one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from podrail.evidence import rails
from podrail.evidence.noderails import Host, Port
from podrail.topology import Evidence, Gpu, Nic, Role, Tier, Topology

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen:
    """A topology of all devices of this boot, rails numbered, and the addresses not there now."""

    topology: Topology
    host: Host
    gone: frozenset[str] = frozenset()
    """The PCI addresses of GPUs, and the names of NICs, that are not in class/infiniband."""


def recall(before: Seen | None, now: Topology, host: Host, leaves: Mapping[str, str]) -> Seen:
    """What is there now, with what was there before in its place; all rails numbered anew."""
    whole, gone = now, frozenset[str]()
    if before is not None:
        whole, gone = _joined(before.topology, now)
    bare = replace(whole, nics=tuple(_unnumbered(nic) for nic in whole.nics))
    known = host if before is None else _ports(before.host, host, whole)
    return Seen(rails.numbered(bare, leaves), known, gone)


def _joined(before: Topology, now: Topology) -> tuple[Topology, frozenset[str]]:
    """Both topologies as one; where now has devices of its own, what is gone is forgotten."""
    gpus = _places([_card_key(one) for one in before.cards], [_card_key(one) for one in now.cards])
    nics = _places([_nic_key(one) for one in before.nics], [_nic_key(one) for one in now.nics])
    if gpus is None or nics is None:
        return now, frozenset()
    gone = {card.pci for card, at in zip(before.cards, gpus, strict=True) if at is None}
    gone |= {nic.name for nic, at in zip(before.nics, nics, strict=True) if at is None}
    if not gone:
        return now, frozenset()
    return (
        replace(
            now,
            evidence=Evidence.SYSFS,
            gpus=_picked(before.gpus, now.gpus, gpus),
            cards=_picked(before.cards, now.cards, gpus),
            nics=_picked(before.nics, now.nics, nics),
            tiers=_tiers(before, now, gpus, nics),
        ),
        frozenset(gone),
    )


def _card_key(card: Gpu) -> str:
    return card.pci


def _nic_key(nic: Nic) -> tuple[str, str]:
    """Two ports of a card may share an address and differ in name."""
    return nic.pci, nic.name


def _places(before: list[T], now: list[T]) -> list[int | None] | None:
    """Where each device is now; None if there is one that was not there before."""
    if not set(now) <= set(before):
        return None
    return [now.index(one) if one in now else None for one in before]


def _picked(before: tuple[T, ...], now: tuple[T, ...], places: list[int | None]) -> tuple[T, ...]:
    return tuple(old if at is None else now[at] for old, at in zip(before, places, strict=True))


def _tiers(
    before: Topology, now: Topology, gpus: list[int | None], nics: list[int | None]
) -> tuple[tuple[Tier | None, ...], ...]:
    return tuple(
        tuple(
            before.tiers[gpu][nic] if row is None or at is None else now.tiers[row][at]
            for nic, at in enumerate(nics)
        )
        for gpu, row in enumerate(gpus)
    )


def _unnumbered(nic: Nic) -> Nic:
    role = None if nic.role is Role.RAIL else nic.role
    return replace(nic, rail=None, rail_source=None, role=role)


def _ports(before: Host, now: Host, whole: Topology) -> Host:
    """The host of now, with the ports of NICs that are gone as they were."""
    old = {one.hca: one for one in before.ports}
    new = {one.hca: one for one in now.ports}
    ports = (new.get(nic.device) or old.get(nic.device) or Port(nic.device) for nic in whole.nics)
    return replace(now, ports=tuple(ports))
