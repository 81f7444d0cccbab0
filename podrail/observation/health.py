"""What is wrong with a node's GPUs and NICs, and what state each is in because of it.

Every finding has a code; the worst finding of a NIC decides: down before suspect before up.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from podrail.evidence import pci
from podrail.evidence.noderails import MOST_TROUBLES, Trouble
from podrail.observation import counters
from podrail.observation.host import Trees
from podrail.observation.marks import Mark
from podrail.observation.memory import Seen
from podrail.observation.usage import Usage
from podrail.topology import Nic, State, Topology

_ALIKE: Final = 3
"""So many NICs of a kind must be up before the most common rate is what the kind should have."""
_RANK: Final = (State.DOWN, State.SUSPECT)


@dataclass(frozen=True, slots=True)
class Signs:
    """What there is to judge by, beside the devices themselves."""

    trees: Trees = field(default_factory=Trees)
    usage: Usage = field(default_factory=Usage)
    dead: frozenset[str] = frozenset()
    """The addresses of devices whose configuration reads as all ones."""
    driven: frozenset[str] = frozenset()
    """The addresses of the GPUs that their driver has; empty if it does not tell."""
    suspected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By HCA the groups of counters that grow too fast."""
    marks: Sequence[Mark] = ()
    """Those that hold now."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A trouble with a NIC, and the state that it puts the NIC in; None: it cannot be told."""

    trouble: Trouble
    state: State | None


def judge(seen: Seen, signs: Signs) -> tuple[Topology, tuple[Trouble, ...]]:
    """The topology with the state of each device, and the troubles in the order of devices."""
    cards, troubles = [], []
    for at, card in enumerate(seen.topology.cards):
        wrong = next(_gpu(seen, at, signs), None)
        cards.append(replace(card, healthy=wrong is None))
        troubles += [] if wrong is None else [wrong]
    nics = []
    for nic in seen.topology.nics:
        findings = list(_nic(seen, nic, signs))
        nics.append(replace(nic, state=_state(nic, findings)))
        troubles += [one.trouble for one in findings]
    topology = replace(seen.topology, cards=tuple(cards), nics=tuple(nics))
    return topology, tuple(troubles[:MOST_TROUBLES])


def _gpu(seen: Seen, at: int, signs: Signs) -> Iterator[Trouble]:
    card = seen.topology.cards[at]
    if card.pci in seen.gone:
        yield Trouble("GpuLost", card.pci, f"GPU {at} was there earlier in this boot")
    if card.pci in signs.dead:
        yield Trouble("GpuLost", card.pci, f"GPU {at} no longer answers on the bus")
    if signs.driven and card.pci not in signs.driven:
        yield Trouble("GpuUndriven", card.pci, f"GPU {at} is not among those of its driver")
    offered = signs.usage.offered or {}
    listed = {one.partition("::")[0] for devices in offered.values() for one in devices}
    ids = {one.id for one in seen.topology.cards if one.id}
    # Only where the plugin names GPUs by these identifiers does one that is missing say anything.
    if card.id and ids & listed and card.id not in listed:
        yield Trouble("GpuNotOffered", card.pci, f"the device plugin does not offer GPU {at}")


def _nic(seen: Seen, nic: Nic, signs: Signs) -> Iterator[Finding]:
    yield from _presence(seen, nic, signs)
    yield from _speed(seen, nic)
    yield from _virtual(seen, nic, signs)
    for group in signs.suspected.get(nic.device, ()):
        # Not the rate of the moment, which would be news all the time: metrics have it.
        told = f"{group} above {counters.LIMITS[group]:.4g} a second"
        yield _found(counters.CODES[group], nic, told, State.SUSPECT)
    for mark in signs.marks:
        if mark.concerns(nic):
            code = "MarkedDown" if mark.state is State.DOWN else "MarkedSuspect"
            told = f"{mark.system[:64]}: {mark.why}"
            yield Finding(Trouble(code, nic.name, told), mark.state)


def _presence(seen: Seen, nic: Nic, signs: Signs) -> Iterator[Finding]:
    if nic.pci in signs.dead:
        yield _found("NicLost", nic, "it no longer answers on the bus", State.DOWN)
    elif nic.name not in seen.gone:
        if nic.state is State.DOWN:
            yield _found("PortDown", nic, "no port is active", State.DOWN)
    elif signs.trees.has(nic.pci) and seen.host.rdma_netns == "exclusive":
        told = "it is in another network namespace, or has no driver"
        yield _found("NicElsewhere", nic, told, None)
    else:
        yield _found("NicLost", nic, "it was there earlier in this boot", State.DOWN)


def _speed(seen: Seen, nic: Nic) -> Iterator[Finding]:
    """A port that is slower than most of its kind: a lane or a cable is bad."""
    if nic.state is not State.UP or nic.gbps is None or nic.rail is None:
        return
    speeds = Counter(
        one.gbps
        for one in seen.topology.nics
        if one.rail is not None and one.state is State.UP and one.link == nic.link and one.gbps
    )
    usual, count = speeds.most_common(1)[0]
    if count >= _ALIKE and nic.gbps < usual:
        told = f"{nic.gbps} Gb/s, and {count} others of its kind run at {usual}"
        yield _found("RateDegraded", nic, told, State.SUSPECT)


def _virtual(seen: Seen, nic: Nic, signs: Signs) -> Iterator[Finding]:
    """VFs that the PF says it has, or that the kubelet hands out, and that are not there."""
    ports = {one.hca: one.vfs for one in seen.host.ports}
    mine = ports.get(nic.device, ())
    text = signs.trees.files.get(f"bus/pci/devices/{nic.pci}/sriov_numvfs", "").strip()
    said = int(text) if text.isdecimal() else 0
    offered = {one for devices in (signs.usage.offered or {}).values() for one in devices}
    held = {one.device for one in signs.usage.held}
    missing = [
        one
        for one in sorted(offered | held)
        if pci.ADDRESS.fullmatch(one) and not signs.trees.has(one) and _card(one) == _card(nic.pci)
    ]
    if said > len(mine) and nic.name not in seen.gone:
        missing = missing or [f"{said - len(mine)} of {said}"]
    if missing:
        told = f"virtual functions are gone: {', '.join(missing[:4])}"
        yield _found("VfGone", nic, told, State.SUSPECT)


def _card(address: str) -> str:
    """The slot of a function: VFs usually have their PF's bus."""
    return address.rpartition(":")[0]


def _found(code: str, nic: Nic, told: str, state: State | None) -> Finding:
    return Finding(Trouble(code, nic.name, told), state)


def _state(nic: Nic, findings: Iterable[Finding]) -> State | None:
    states = [one.state for one in findings]
    worst = next((state for state in _RANK if state in states), None)
    if worst is not None:
        return worst
    return None if None in states else nic.state
