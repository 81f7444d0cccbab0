"""Several kinds of evidence of one node made into one value, and which of them gave what.

The best evidence that lists devices says which devices there are; the others fill in what it does
not know, of devices that are the same by PCI address, name or id. GPUs without either are the same
by position only among evidence that counts them as nvidia-smi does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, Final

from podrail.topology import Evidence, Gpu, Judged, Nic, RailSource, Tier, Topology

ORDER: Final = tuple(Evidence)
_COUNTED: Final = frozenset({*Evidence} - {Evidence.NRT})
"""All but a count by NUMA node list GPUs in the order of their addresses."""
_OWN_FIELDS: Final = tuple(one.name for one in fields(Nic) if not one.name.startswith("rail"))
_SOURCES: Final = (*RailSource, None)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A topology, and the positions in it of the merged GPUs and NICs."""

    topology: Topology
    gpus: Mapping[int, int]
    nics: Mapping[int, int]


def merge(evidence: Iterable[Topology]) -> Topology | None:
    """One topology of all the evidence; None if there is none.

    An override with distances describes the node; one without corrects devices that others list.
    """
    ranked = sorted(evidence, key=lambda one: ORDER.index(one.evidence))
    if len(ranked) < 2:  # noqa: PLR2004 - nothing to merge
        return next(iter(ranked), None)
    lists = [
        one for one in ranked if one.evidence is not Evidence.OVERRIDE or any(map(any, one.tiers))
    ]
    gpus = next((one for one in lists if one.gpus), ranked[0])
    nics = next((one for one in lists if one.nics), ranked[0])
    seen = [_Seen(one, _gpus(gpus, one), _nics(nics, one)) for one in ranked]
    tiers = tuple(
        tuple(_cell(seen, gpu, nic) for nic in range(len(nics.nics)))
        for gpu in range(len(gpus.gpus))
    )
    merged = Topology(
        shape=next((one.shape for one in ranked if one.shape), ""),
        gpus=tuple(_known(_numa(one, gpu) for one in seen) for gpu in range(len(gpus.gpus))),
        nics=_railed(seen, tuple(_nic(seen, at) for at in range(len(nics.nics)))),
        tiers=tiers,
        judged=_judged(ranked),
        evidence=next(_givers(seen, tiers), Evidence.NONE),
        cards=tuple(_card(seen, gpu) for gpu in range(len(gpus.gpus))),
        missing=tuple(gpu for gpu in gpus.missing if not any(tiers[gpu])),
        partial=nics.partial,
        warnings=tuple(chain.from_iterable(one.warnings for one in ranked)),
    )
    return replace(merged, sources=_sources(seen, merged, gpus, nics))


def _judged(ranked: Sequence[Topology]) -> Judged:
    """By NUMA if any says so: by PCIe is what evidence says that cannot tell."""
    return Judged.NUMA if any(one.judged is Judged.NUMA for one in ranked) else Judged.PCIE


def _gpus(base: Topology, other: Topology) -> Mapping[int, int]:
    keys: tuple[Callable[[Gpu], str], ...] = (lambda card: card.pci, lambda card: card.id)
    found: dict[int, int] = {}
    cards = [other.card(at) for at in range(len(other.gpus))]
    for key in keys:
        known = {key(card): at for at, card in enumerate(cards) if key(card)}
        for gpu in range(len(base.gpus)):
            at = known.get(key(base.card(gpu)))
            if at is not None:
                found.setdefault(gpu, at)
    counted = {base.evidence, other.evidence} <= _COUNTED and len(base.gpus) == len(other.gpus)
    if other is base or (not found and counted):
        return {gpu: gpu for gpu in range(len(base.gpus))}
    return found


def _nics(base: Topology, other: Topology) -> Mapping[int, int]:
    """By address where it is the address of one NIC alone: ports of a card share theirs."""
    if other is base:
        return {at: at for at in range(len(base.nics))}
    found: dict[int, int] = {}
    keys: tuple[Callable[[Nic], str], ...] = (
        lambda nic: nic.pci,
        lambda nic: nic.device or nic.name,
        lambda nic: nic.netdev,
    )
    for key in keys:
        here, there = _unique(base.nics, key), _unique(other.nics, key)
        for text in here.keys() & there.keys():
            found.setdefault(here[text], there[text])
    return found


def _unique(nics: Sequence[Nic], key: Callable[[Nic], str]) -> Mapping[str, int]:
    texts = [key(nic) for nic in nics]
    return {text: at for at, text in enumerate(texts) if text and texts.count(text) == 1}


def _cell(seen: Sequence[_Seen], gpu: int, nic: int) -> Tier | None:
    return next((tier for one in seen if (tier := _of(one, gpu, nic)) is not None), None)


def _of(one: _Seen, gpu: int, nic: int) -> Tier | None:
    row, at = one.gpus.get(gpu), one.nics.get(nic)
    tiers = one.topology.tiers
    return None if row is None or at is None or row >= len(tiers) else tiers[row][at]


def _numa(one: _Seen, gpu: int) -> int | None:
    return one.topology.gpus[one.gpus[gpu]] if gpu in one.gpus else None


def _card(seen: Sequence[_Seen], gpu: int) -> Gpu:
    """A GPU is unhealthy if any evidence says so."""
    cards = [one.topology.card(one.gpus[gpu]) for one in seen if gpu in one.gpus]
    return Gpu(
        id=next((card.id for card in cards if card.id), ""),
        pci=next((card.pci for card in cards if card.pci), ""),
        product=next((card.product for card in cards if card.product), ""),
        healthy=all(card.healthy for card in cards),
    )


def _nic(seen: Sequence[_Seen], at: int) -> Nic:
    """A NIC with each field from the best evidence that knows it; rails are not its own affair."""
    known = [one.topology.nics[one.nics[at]] for one in seen if at in one.nics]
    values = {name: _known(getattr(nic, name) for nic in known) for name in _OWN_FIELDS}
    return replace(known[0], rail=None, rail_source=None, **values)


def _known(values: Iterable[Any]) -> Any:
    """The first value that is known, else what the last says instead."""
    value = None
    for value in values:
        if value not in {None, ""}:
            return value
    return value


def _railed(seen: Sequence[_Seen], nics: tuple[Nic, ...]) -> tuple[Nic, ...]:
    """The NICs with the rails of the best source as a whole, since two numberings do not mix.

    What an override says of single NICs stands before it.
    """
    numbered = [
        one
        for one in seen
        if any(one.topology.nics[at].rail is not None for at in one.nics.values())
    ]
    whole = [one for one in numbered if one.topology.evidence is not Evidence.OVERRIDE]
    best = min(whole, key=lambda one: _SOURCES.index(_source(one)), default=None)
    single = [one for one in numbered if one.topology.evidence is Evidence.OVERRIDE]
    found = list(nics)
    for one in [*([best] if best else []), *single]:
        for here, there in one.nics.items():
            said = one.topology.nics[there]
            if said.rail is not None:
                found[here] = replace(found[here], rail=said.rail, rail_source=said.rail_source)
    return tuple(found)


def _source(one: _Seen) -> RailSource | None:
    sources = {nic.rail_source for nic in one.topology.nics if nic.rail is not None}
    return min(sources, key=_SOURCES.index)


def _givers(seen: Sequence[_Seen], tiers: Sequence[Sequence[Tier | None]]) -> Iterator[Evidence]:
    """The evidence that gave distances, best first."""
    firsts = [
        next((one.topology.evidence for one in seen if _of(one, gpu, nic) is not None), None)
        for gpu, row in enumerate(tiers)
        for nic in range(len(row))
    ]
    return (evidence for evidence in ORDER if evidence in firsts)


def _sources(
    seen: Sequence[_Seen], merged: Topology, gpus: Topology, nics: Topology
) -> tuple[tuple[str, Evidence], ...]:
    """(part, evidence) for devices, distances, NUMA nodes."""
    numas = {
        next(one.topology.evidence for one in seen if _numa(one, gpu) is not None)
        for gpu, numa in enumerate(merged.gpus)
        if numa is not None
    }
    return (
        ("gpus", gpus.evidence),
        ("nics", nics.evidence),
        *(("tiers", evidence) for evidence in _givers(seen, merged.tiers)),
        *(("numa", evidence) for evidence in ORDER if evidence in numas),
    )
