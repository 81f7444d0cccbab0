"""The nodes with GPUs by kind: what each kind offers, and where nodes of one kind differ."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from podrail import names, quantity
from podrail.discovery import platform
from podrail.doctor import fields
from podrail.doctor.fields import Document
from podrail.evidence import cluster as evidence
from podrail.topology import Topology

GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu", "aliyun.com/gpu", "habana.ai/gaudi")
"""The names under which GPUs are counted."""
_HUGE: Final = "hugepages-2Mi"


@dataclass(frozen=True, slots=True)
class Machine:
    """Nodes of one kind; counts are what most of them can give of each fabric resource."""

    types: tuple[str, ...]
    nodes: int
    gpu_resource: str
    gpus: int
    counts: Mapping[str, int]
    labels: Mapping[str, str]
    topology: Topology | None
    huge: bool
    """True if they have huge pages to give."""
    uneven: tuple[str, ...]
    """What some of the nodes give less of, in words."""
    claimed: Topology | None = None
    """GPUs and NICs that drivers offer to claims (DRA), if they do."""

    @property
    def platform(self) -> str:
        """The word of the platform; empty if it is not known."""
        return platform.known(self.labels)

    @property
    def called(self) -> str:
        """The nodes in words."""
        kinds = ", ".join(self.types) or "no machine type"
        plural = "" if self.nodes == 1 else "s"
        return f"{self.nodes} node{plural} with {self.gpus} {self.gpu_resource} ({kinds})"


def group(
    nodes: Iterable[Document],
    is_fabric: Callable[[str], bool],
    topologies: Mapping[str, Topology | None],
    claimed: Mapping[str, Topology],
) -> tuple[Machine, ...]:
    """The kinds of nodes that have GPUs to give or to claim, the most numerous first.

    Nodes of one machine type are one kind, whatever a broken device plugin leaves out; machine
    types that offer the same are one kind too.
    """
    alike: dict[tuple[str, str, str], list[Document]] = defaultdict(list)
    for node in nodes:
        counted = [name for name in GPUS if _count(node, name)]
        # GPUs of a DRA driver are counted by nobody: the profile's default name stands for them.
        for name in counted or (GPUS[:1] if fields.name(node) in claimed else ()):
            product = fields.label(node, names.GPU_PRODUCT)
            alike[fields.label(node, names.INSTANCE_TYPE), product, name].append(node)
    made = [
        _offering(_machine(kind, gpu, found, is_fabric, topologies), found, claimed)
        for (kind, _, gpu), found in sorted(alike.items())
    ]
    return tuple(sorted(_merged(made), key=lambda one: -one.nodes))


def _machine(
    kind: str,
    gpu: str,
    nodes: list[Document],
    is_fabric: Callable[[str], bool],
    topologies: Mapping[str, Topology | None],
) -> Machine:
    resources = sorted({name for one in nodes for name in _allocatable(one) if is_fabric(name)})
    counts = {name: _usual(nodes, name) for name in resources}
    gpus = _usual(nodes, gpu)
    shown = [topologies.get(fields.name(one)) for one in nodes]
    return Machine(
        types=(kind,) if kind else (),
        nodes=len(nodes),
        gpu_resource=gpu,
        gpus=gpus,
        counts={name: count for name, count in counts.items() if count},
        labels=_common(nodes),
        topology=next((one for one in shown if one is not None), None),
        huge=any(_count(one, _HUGE) for one in nodes),
        uneven=tuple(_uneven(nodes, {gpu: gpus, **counts})),
    )


def _offering(
    machine: Machine, nodes: Iterable[Document], claimed: Mapping[str, Topology]
) -> Machine:
    """The machine with what its nodes offer to claims; its GPUs are those if none are counted."""
    offers = (claimed.get(fields.name(one)) for one in nodes)
    found = next((one for one in offers if one is not None), None)
    if found is None:
        return machine
    return replace(machine, claimed=found, gpus=machine.gpus or len(found.gpus))


def _merged(machines: Iterable[Machine]) -> Iterator[Machine]:
    """Kinds that offer the same as one."""
    alike: dict[tuple[object, ...], list[Machine]] = defaultdict(list)
    for one in machines:
        key = (one.gpu_resource, one.gpus, tuple(one.counts.items()), one.platform)
        alike[key].append(one)
    for first, *others in alike.values():
        every = (first, *others)
        shared = set.intersection(*({*one.labels.items()} for one in every))
        yield Machine(
            types=tuple(sorted({kind for one in every for kind in one.types})),
            nodes=sum(one.nodes for one in every),
            gpu_resource=first.gpu_resource,
            gpus=first.gpus,
            counts=first.counts,
            labels=dict(sorted(shared)) if others else first.labels,
            topology=next((one.topology for one in every if one.topology is not None), None),
            huge=any(one.huge for one in every),
            uneven=tuple(told for one in every for told in one.uneven),
            claimed=next((one.claimed for one in every if one.claimed is not None), None),
        )


def _usual(nodes: Iterable[Document], name: str) -> int:
    """What most nodes can give; of equally frequent counts the larger."""
    counts = Counter(_count(one, name) for one in nodes)
    return max(counts, key=lambda count: (counts[count], count))


def _uneven(nodes: Iterable[Document], usual: Mapping[str, int]) -> Iterator[str]:
    for name, count in usual.items():
        others = [fields.name(one) for one in nodes if _count(one, name) != count]
        if others:
            given = sorted({_count(one, name) for one in nodes} - {count})
            yield (
                f"{name}: most nodes give {count}, {len(others)} give "
                f"{' or '.join(map(str, given))}: {', '.join(others[:3])}"
            )


def _common(nodes: Iterable[Document]) -> dict[str, str]:
    """The labels that all nodes have alike."""
    every = ({*evidence.labels(one).items()} for one in nodes)
    return dict(sorted(set.intersection(*every)))


def _allocatable(node: Document) -> Mapping[str, object]:
    return fields.part(node, "status", "allocatable")


def _count(node: Document, name: str) -> int:
    return quantity.count(_allocatable(node).get(name, 0))
