"""A cluster at one moment, out of its documents: every node's state and place, every job's pods.

What the extender follows live is here made at once, by the same rules.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import dump, fit, locality, marker, names
from podrail.dump import Dump
from podrail.errors import MalformedError
from podrail.evidence import noderails
from podrail.evidence.atlas import Found
from podrail.gang import blocks, job, jobsize
from podrail.gang.claims import Claims
from podrail.gang.job import Lookup
from podrail.gang.jobsize import Owner
from podrail.gang.siblings import Member, Siblings
from podrail.locality import Place
from podrail.score import state
from podrail.score.state import State

Document = Mapping[str, Any]
NOW: Final = 0.0
_LASTING: Final = 1.0


@dataclass(frozen=True, slots=True)
class Spot:
    """A node at this moment; state is None where nothing is known of its devices."""

    name: str
    labels: Mapping[str, str]
    place: Place
    state: State | None
    free: Mapping[str, int]
    capacity: Mapping[str, int]
    cordoned: bool = False
    topology: str = ""
    """Which evidence its topology comes from; empty for none."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The nodes, and what is known of the jobs whose pods are bound."""

    spots: tuple[Spot, ...]
    siblings: Siblings
    claims: Claims
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class _Bound:
    """A pod that holds devices: what podrail gave it, if it did."""

    document: Document
    rails: tuple[int, ...]
    gpus: tuple[int, ...]
    injected: bool


def take(
    whole: Dump,
    found: Mapping[str, Found],
    gpu_resources: Collection[str],
    apart_from: tuple[str, str] = ("", ""),
) -> Snapshot:
    """The snapshot of a dump; found has what is known of each node's devices, by its name.

    apart_from is the namespace and name of the pod that is asked about: it counts as not bound.

    Raises:
        ValueError: a count of devices is none.
    """
    bound: dict[str, list[_Bound]] = defaultdict(list)
    for one in whole.pods:
        if dump.node_of(one) and not fit.ended(one) and _name(one) != apart_from:
            bound[dump.node_of(one)].append(_bound(one))
    camera = _Camera(found, bound, dict(_held(whole.rails)), gpu_resources)
    spots = tuple(camera.spot(node) for node in whole.nodes)
    lookup = _lookup(whole.owners, gpu_resources)
    return Snapshot(spots, *_jobs(spots, bound, lookup), lookup)


def _name(one: Document) -> tuple[str, str]:
    metadata = one.get("metadata") or {}
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def _bound(one: Document) -> _Bound:
    annotations = (one.get("metadata") or {}).get("annotations") or {}
    admitted = marker.injected(annotations.get(names.INJECTED))
    if admitted is None or not admitted.injected:
        return _Bound(one, (), (), injected=False)
    placed = annotations.get(names.PLACEMENT)
    rails = admitted.rails if placed is None else marker.placed_rails(placed)
    return _Bound(one, rails, state.sure_gpus(placed), injected=True)


def _held(rails: Iterable[Document]) -> Iterator[tuple[str, Collection[str]]]:
    """The devices that containers hold on each node, as the kubelet told the agent."""
    for document in rails:
        try:
            found = noderails.read(document)
        except MalformedError:
            # Told as evidence that cannot be read (podrail.evidence.cluster).
            continue
        yield found.name, frozenset(one.device for one in found.allocations)


@dataclass(frozen=True, slots=True)
class _Camera:
    """All that is known of nodes besides their own documents, by their names."""

    found: Mapping[str, Found]
    bound: Mapping[str, Sequence[_Bound]]
    held: Mapping[str, Collection[str]]
    gpu_resources: Collection[str]

    def spot(self, node: Document) -> Spot:
        """The node with what its pods leave of it."""
        labels, name = dump.labels(node), node["metadata"]["name"]
        free = fit.free(node, (one.document for one in self.bound.get(name, ())))
        capacity = fit.free(node, ())
        known = self._state(node, free, capacity)
        return Spot(
            name=name,
            labels=labels,
            place=locality.of(labels),
            state=known,
            free=free,
            capacity=capacity,
            cordoned=(node.get("spec") or {}).get("unschedulable") is True,
            topology="" if known is None else known.topology.evidence.value,
        )

    def _state(
        self, node: Document, free: Mapping[str, int], capacity: Mapping[str, int]
    ) -> State | None:
        labels, name = dump.labels(node), node["metadata"]["name"]
        found = self.found.get(name)
        if found is None or found.basis is None:
            return None
        seen, bound = found.kubelet, self.bound.get(name, ())
        version = str(((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion", ""))
        known = [one.gpus for one in bound]
        known.append(state.held(self.held.get(name, ()), found.whole or found.basis))
        gpus = sum(free.get(resource, 0) for resource in self.gpu_resources)
        uses = Counter(rail for one in bound for rail in one.rails)
        return state.same(
            State(
                state.plain(found.basis),
                state.kubelet(seen.policy, seen.scope, seen.options, version),
                capacity=state.counted(capacity),
                free=state.counted(free),
                gpus=state.free_gpus(found.basis, known, gpus),
                used=tuple(sorted(uses.items())),
                product=labels.get(names.GPU_PRODUCT, ""),
                sliced=state.sliced(labels),
            )
        )


def _lookup(owners: Mapping[Owner, Document], gpu_resources: Collection[str]) -> Lookup:
    def pods(owner: Owner) -> int | None:
        document = owners.get(owner)
        return None if document is None else jobsize.pods(document, gpu_resources)

    return pods


def _jobs(
    spots: Iterable[Spot], bound: Mapping[str, Sequence[_Bound]], lookup: Lookup
) -> tuple[Siblings, Claims]:
    """The crews of all jobs, and what each still claims where its latest pod in order runs."""
    siblings, claims = Siblings(), Claims()
    injected = [(spot, one) for spot in spots for one in bound[spot.name] if one.injected]
    # A job's claim is where its latest pod is.
    injected.sort(key=lambda both: fit.since(both[1].document))
    for at, (spot, one) in enumerate(injected):
        found = job.of(one.document, _name(one.document)[0], lookup)
        siblings.seen(str(at), found.key, member(spot, one.rails, found.index))
        rest = blocks.rest(found, siblings.crew(found.key)) or 0
        claims.make(found.key, spot.place, rest, NOW + _LASTING)
    return siblings, claims


def member(spot: Spot, rails: tuple[int, ...], index: int | None) -> Member:
    """The pod of a job that is bound there."""
    known = spot.state
    product = min(known.products, default="") if known is not None else ""
    gbps = (known.gbps or 0) if known is not None else 0
    return Member(spot.name, spot.place, rails, product, gbps, index)
