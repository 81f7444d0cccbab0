"""The topology of a node out of all that is known of it, by the evidence order of design §6.

Nodes of which the same is known share one Topology: what follows from a topology is then made once
for thousands of nodes. Identifiers of GPUs differ everywhere, so they stand beside it (`Found`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from podrail import names
from podrail.evidence import merge, rails
from podrail.evidence.noderails import Kubelet, NodeRails
from podrail.evidence.nrt import Reported
from podrail.topology import Evidence, Gpu, Nic, RailSource, Topology

MOST_KINDS: Final = 16_384
"""How many different nodes are remembered; beyond that equal ones may not share their value."""
Leaves = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Unused:
    """Evidence that gave nothing, and why; broken if it is there but cannot be read."""

    evidence: Evidence
    why: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What each kind of document says of one node; None where there is no such document."""

    labels: Mapping[str, str] = field(default_factory=dict)
    rails: NodeRails | Unused | None = None
    slices: Topology | Unused | None = None
    counted: Reported | Unused | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a node."""

    topology: Topology | None
    """Shared with all nodes like this one, so it has no identifiers of GPUs."""
    ids: tuple[str, ...] = ()
    """The identifier of each GPU; empty where it is unknown."""
    evidence: tuple[Topology, ...] = ()
    """What was merged, best first."""
    unused: tuple[Unused, ...] = ()
    kubelet: Kubelet = field(default_factory=Kubelet)

    @property
    def whole(self) -> Topology | None:
        """The topology as this node's own, GPUs' identifiers included."""
        if self.topology is None or not any(self.ids):
            return self.topology
        cards = enumerate(self.ids)
        return replace(
            self.topology, cards=tuple(replace(self.topology.card(at), id=id_) for at, id_ in cards)
        )

    @property
    def basis(self) -> Topology | None:
        """The topology if it has GPUs and rails to place by; a node without is simply unknown."""
        found = self.topology
        return found if found is not None and found.gpus and found.rails else None


@dataclass(frozen=True, slots=True)
class _Made:
    """What comes of evidence in which each GPU's identifier is replaced by a mark."""

    topology: Topology
    marks: tuple[str, ...]
    evidence: tuple[Topology, ...]


class Atlas:
    """Topologies by what they come from; threads may share it."""

    def __init__(self, shapes: Mapping[str, Topology]) -> None:
        self._shapes = shapes
        self._made = lru_cache(maxsize=MOST_KINDS)(_make)

    def find(self, said: Said) -> Found:
        """The topology of a node of which this is said, with what was of use and what was not."""
        used, unused = self._evidence(said)
        kubelet = _kubelet(said)
        if not used:
            return Found(None, unused=unused, kubelet=kubelet)
        marks: dict[str, str] = {"": ""}
        marked = tuple(_marked(one, marks) for one in used)
        leaves = tuple(sorted(rails.leaves(said.labels).items()))
        # A topology's hash leaves cards out, and nodes often differ in nothing else.
        made = self._made(marked, leaves, tuple(one.cards for one in marked))
        back = {mark: id_ for id_, mark in marks.items()}
        ids = tuple(back[mark] for mark in made.marks)
        return Found(made.topology, ids, made.evidence, unused, kubelet)

    def _evidence(self, said: Said) -> tuple[list[Topology], tuple[Unused, ...]]:
        """What there is to merge, and why the rest is not."""
        found = [*_rails(said.rails), _slices(said.slices), self._shape(said.labels)]
        found.append(_counted(said.counted))
        unused = [one for one in found if isinstance(one, Unused)]
        used = [one for one in found if isinstance(one, Topology)]
        lacking = _lacking(used)
        if lacking:
            kept = {Evidence.OVERRIDE, Evidence.NODERAILS}
            unused += [Unused(one.evidence, lacking) for one in used if one.evidence not in kept]
            used = [one for one in used if one.evidence in kept]
        return used, tuple(unused)

    def _shape(self, labels: Mapping[str, str]) -> Topology | Unused:
        kind = labels.get(names.INSTANCE_TYPE, "")
        if not kind:
            return Unused(Evidence.CATALOG, f"the node has no label {names.INSTANCE_TYPE}")
        missing = Unused(Evidence.CATALOG, f"the catalog has no distances of machine type {kind}")
        return self._shapes.get(kind, missing)


def _rails(said: NodeRails | Unused | None) -> list[Topology | Unused]:
    if said is None:
        return [Unused(Evidence.NODERAILS, "there is no NodeRails object")]
    if isinstance(said, Unused):
        return [said]
    override = [] if said.override is None else [said.override]
    missing = Unused(Evidence.NODERAILS, "its status has no devices")
    return [*override, said.observed or missing]


def _slices(said: Topology | Unused | None) -> Topology | Unused:
    if said is None:
        return Unused(Evidence.DRA, "there are no ResourceSlices")
    if isinstance(said, Topology) and not (said.gpus or said.nics):
        return Unused(Evidence.DRA, "its ResourceSlices have no GPUs and no RDMA devices")
    return said


def _counted(said: Reported | Unused | None) -> Topology | Unused:
    if said is None:
        return Unused(Evidence.NRT, "there is no NodeResourceTopology object")
    if isinstance(said, Unused):
        return said
    if not (said.topology.gpus or said.topology.nics):
        return Unused(Evidence.NRT, "it counts no resource that is known as GPUs or NICs")
    return said.topology


def _lacking(used: Iterable[Topology]) -> str:
    """Why no other evidence may add devices; empty if it may.

    The agent lists all that the node has: what it did not see is gone, whatever the catalog says.
    """
    seen = next((one for one in used if one.evidence is Evidence.NODERAILS), None)
    if seen is None or (seen.gpus and seen.nics):
        return ""
    return f"NodeRails says that the node has no {'NICs' if seen.gpus else 'GPUs'}"


def _kubelet(said: Said) -> Kubelet:
    """As the agent read it, else as a topology updater reports it."""
    if isinstance(said.rails, NodeRails) and said.rails.kubelet != Kubelet():
        return said.rails.kubelet
    if isinstance(said.counted, Reported):
        return Kubelet(said.counted.policy, said.counted.scope)
    return Kubelet()


def _marked(topology: Topology, marks: dict[str, str]) -> Topology:
    """The topology with a mark for each identifier of a GPU, the same for the same one."""
    if not any(card.id for card in topology.cards):
        return topology
    for card in topology.cards:
        marks.setdefault(card.id, f"#{len(marks)}")
    return replace(
        topology, cards=tuple(replace(card, id=marks[card.id]) for card in topology.cards)
    )


def _make(
    evidence: tuple[Topology, ...], leaves: Leaves, _cards: tuple[tuple[Gpu, ...], ...] = ()
) -> _Made:
    found = _numbered(evidence, dict(leaves))
    bare = tuple(replace(card, id="") for card in found.cards)
    return _Made(
        replace(found, cards=() if set(bare) <= {Gpu()} else bare),
        tuple(found.card(at).id for at in range(len(found.gpus))),
        evidence,
    )


def _numbered(evidence: tuple[Topology, ...], leaf_of: Mapping[str, str]) -> Topology:
    """The evidence as one topology, its NICs numbered; an override corrects what comes of it."""
    merged = merge.merge(evidence)
    assert merged is not None  # noqa: S101 - there is some evidence
    override = [one for one in evidence if one.evidence is Evidence.OVERRIDE]
    rest = merge.merge(one for one in evidence if one.evidence is not Evidence.OVERRIDE)
    if not override or rest is None:
        return _by_leaf(merged, leaf_of)
    corrected = merge.merge([*override, _by_leaf(rest, leaf_of)])
    assert corrected is not None  # noqa: S101 - merged from two
    nics = zip(merged.nics, corrected.nics, strict=True)
    return rails.numbered(replace(merged, nics=tuple(_as(one, other) for one, other in nics)))


def _as(nic: Nic, other: Nic) -> Nic:
    return replace(nic, rail=other.rail, rail_source=other.rail_source, role=other.role)


def _by_leaf(topology: Topology, leaf_of: Mapping[str, str]) -> Topology:
    """NICs numbered by leaf switch where all that is known is a guess: labels come before it."""
    sources = {nic.rail_source for nic in topology.nics if nic.rail is not None}
    if leaf_of and sources <= {RailSource.PCI}:
        bare = (replace(nic, rail=None, rail_source=None) for nic in topology.nics)
        found = rails.numbered(replace(topology, nics=tuple(bare)), leaf_of)
        if RailSource.LABEL in {nic.rail_source for nic in found.nics}:
            return found
    return rails.numbered(topology)


def gifts(found: Found) -> Iterator[tuple[Evidence, tuple[str, ...]]]:
    """What each evidence gave, best first: gpus, nics, tiers, numa, rails; empty for nothing."""
    for one in found.evidence:
        yield one.evidence, _gifts(found, one)


def _gifts(found: Found, one: Topology) -> tuple[str, ...]:
    if found.topology is None or len(found.evidence) == 1:
        listed = {
            "gpus": one.gpus,
            "nics": one.nics,
            "tiers": any(map(any, one.tiers)),
            "numa": {None} < {*one.gpus, None},
        }
        return tuple(part for part, there in listed.items() if there)
    given = [part for part, giver in found.topology.sources if giver is one.evidence]
    if given:
        return tuple(given)
    rest = _numbered(tuple(other for other in found.evidence if other is not one), {})
    whole = _numbered(found.evidence, {})
    changed = {
        "gpus": (rest.cards, rest.judged) != (whole.cards, whole.judged),
        "rails": [nic.rail for nic in rest.nics] != [nic.rail for nic in whole.nics],
        "nics": [replace(nic, rail=None, rail_source=None) for nic in rest.nics]
        != [replace(nic, rail=None, rail_source=None) for nic in whole.nics],
    }
    return tuple(part for part, differs in changed.items() if differs)
