"""Drafts profiles for a cluster: one for each kind of machine with GPUs (design §4).

Only what the cluster shows is high; a shipped profile that asks for the same gives the settings.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from podrail import profile
from podrail.discovery import kin, machines, multus, pools, scene, series, wiring
from podrail.discovery.draft import Discovery, Draft, Source
from podrail.discovery.line import Line
from podrail.discovery.machines import Machine
from podrail.discovery.pools import Pool
from podrail.discovery.scene import Scene
from podrail.doctor import fields
from podrail.doctor.cluster import Cluster
from podrail.errors import MalformedError
from podrail.evidence.cluster import SLICE
from podrail.fabric import Attachment, Profile
from podrail.multus import nad
from podrail.multus.nad import Nad
from podrail.topology import Confidence, Evidence, Topology

NAD: Final = "NetworkAttachmentDefinition"
GKE_NETWORK: Final = "Network"
OWN: Final = "FabricProfile"
LOOKED_AT: Final = (
    *("Node", NAD, pools.POLICY, pools.CLUSTER_POLICY, GKE_NETWORK),
    *("NodeRails", SLICE, OWN),
)
"""The kinds that say something here."""
_RDMA: Final = frozenset(Attachment) - {Attachment.NONE, Attachment.EFA, Attachment.ERDMA}
_RAILED: Final = 2
"""From so many rails on there is something to group."""


def survey(cluster: Cluster, shipped: Iterable[Profile]) -> Discovery:
    """What can be drafted; shipped are the profiles whose settings may be taken."""
    known = [*shipped]
    found_pools = pools.read(cluster.documents)
    nads = [one for one in map(nad.read, cluster.of(NAD)) if _can_be_named(one)]
    counted = {one.name for each in known for one in each.resources}
    counted |= {one.resource for one in nads if one.resource}
    kinds = machines.group(
        cluster.of("Node"),
        lambda name: scene.is_fabric(name, counted, found_pools),
        {name: one.topology for name, one in cluster.found.items()},
        dict(_claimed(cluster)),
    )
    drafts: list[Draft] = []
    remarks = [*_remarks(cluster, kinds, nads)]
    for one in kinds:
        seen = _scene(cluster, one, nads, found_pools)
        try:
            drafts.append(_draft(seen, known, {draft.name for draft in drafts}))
        except MalformedError as error:
            problems = "; ".join(map(str, error.problems[:3]))
            remarks.append(f"No profile can say what {one.called} show: {problems}")
    return Discovery(tuple(drafts), tuple(_sources(cluster)), tuple(remarks))


def _claimed(cluster: Cluster) -> Iterator[tuple[str, Topology]]:
    """The nodes whose drivers offer GPUs and NICs, with both."""
    for name, found in cluster.found.items():
        for one in found.evidence:
            if one.evidence is Evidence.DRA and one.gpus and one.nics:
                yield name, one


def _scene(
    cluster: Cluster, machine: Machine, nads: Sequence[Nad], found: tuple[Pool, ...]
) -> Scene:
    known = multus.ATTACHMENTS.keys()
    every = series.sort(one for one in nads if one.resource or known & {*one.config.types})
    # A rail may have no devices just now: its network stays among those that have some.
    given = {*machine.counts}
    lists = [one for one in every if not one.resources or given & {*one.resources}]
    networks = (fields.name(one) for one in cluster.of(GKE_NETWORK))
    gke = tuple(networks) if machine.platform == "gke" else ()
    return Scene(machine, tuple(sorted(lists, key=_rank)), found, gke)


def _rank(one: series.Series) -> tuple[bool, int, bool, str]:
    """Networks that take devices first, then the longest series, then those open to all pods."""
    namespace = one.networks[0].nad.namespace
    return not one.resources, -len(one.networks), namespace != "default", namespace


def _draft(seen: Scene, shipped: Sequence[Profile], taken: set[str]) -> Draft:
    machine = seen.machine
    told = (*wiring.lines(seen), *_gpus(machine))
    bare = Draft(_name(machine, told, taken), machine.called, told)
    like = profile.read(bare.document())
    groups = tuple(_groups(like.rails.count, machine))
    model = kin.nearest(like, machine.platform, shipped)
    settings = (
        kin.usual(like, machine.labels) if model is None else kin.lines(model, machine.platform)
    )
    because = f"the nodes: {machine.called}"
    description = Line("description", _description(like, machine), Confidence.HIGH, because)
    whole = (description, *told, *groups, *settings)
    return replace(bare, lines=whole, questions=tuple(_questions(seen, like, model)))


def _gpus(machine: Machine) -> Iterator[Line]:
    counted = f"most nodes give {machine.gpus} of {machine.gpu_resource}"
    if machine.claimed is not None:
        counted = f"{machine.gpus} GPUs, as ResourceSlices say"
    yield Line("gpuResources", [machine.gpu_resource], Confidence.HIGH, counted)
    yield Line("rails.gpus", machine.gpus, Confidence.HIGH, counted)


def _groups(rails: int, machine: Machine) -> Iterator[Line]:
    """The rails by NUMA node, as measured, as the catalog has it, or in equal halves."""
    if rails < _RAILED:
        return
    topology = machine.topology
    numa = _numa(rails, topology)
    if numa and topology is not None:
        groups = [[rail for rail in range(rails) if numa[rail] == one] for one in sorted({*numa})]
        because = f"evidence {topology.evidence} of the nodes' devices"
        yield Line("rails.numaGroups", groups, topology.confidence, because)
        return
    half = -(-rails // 2)
    groups = [[*range(half)], [*range(half, rails)]]
    question = "Which rails are on which NUMA node? Run the node agent, or: nvidia-smi topo -m"
    because = "equal halves, as nothing tells"
    yield Line("rails.numaGroups", groups, Confidence.LOW, because, question)


def _numa(rails: int, topology: Topology | None) -> list[int]:
    """The NUMA node of each rail; empty where that of one is not known.

    Where NICs are no rails of their own (AWS: four to a GPU) a rail is a GPU's.
    """
    if topology is None:
        return []
    of_rails = [topology.numa_of(rail) for rail in topology.rails]
    found = of_rails if len(of_rails) == rails else [*topology.gpus]
    known = [one for one in found if one is not None]
    return known if len(known) == rails else []


def _description(like: Profile, machine: Machine) -> str:
    kinds = ", ".join(machine.types) or machine.labels.get("nvidia.com/gpu.product", "")
    return f"Drafted by discovery: {like.attachment} on {kinds or 'nodes with GPUs'}"[:500]


def _name(machine: Machine, told: Sequence[Line], taken: set[str]) -> str:
    how = next(line.value for line in told if line.field == "attachment")
    start = (*machine.types, machine.labels.get("nvidia.com/gpu.product", ""), "gpu")
    words = next(word for word in start if word)
    stem = re.sub(r"[^a-z0-9]+", "-", f"{words}-{how}".lower()).strip("-")[:60].rstrip("-")
    numbers = (f"{stem}-{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (stem, *numbers) if one not in taken)


def _questions(seen: Scene, like: Profile, model: Profile | None) -> Iterator[str]:
    machine = seen.machine
    yield from (f"{told}. What of those?" for told in machine.uneven)
    for other in seen.series[1:] if like.networks else seen.series:
        names = ", ".join(one.nad.key for one in other.networks[:3])
        yield f"There are also networks {names}: are they another fabric, storage, or copies?"
    for resource in sorted({*machine.counts} - {one.name for one in like.resources}):
        yield f"Nodes also give {machine.counts[resource]} of {resource}: is it for training?"
    for pool in seen.pools:
        if pool.rdma is False and any(pool.gives(one.name) for one in like.resources):
            yield f"{pool.place} has isRdma false: its VFs carry no RDMA. Is that meant?"
    if model is None and like.attachment in _RDMA:
        yield "Which traffic class do the switches expect (NCCL_IB_TC)? InfiniBand needs none."
        if not any(one.startswith("feature.node") for one in machine.labels):
            yield "Which devices are the rails (NCCL_IB_HCA)? Unset, NCCL takes all active ones."


def _sources(cluster: Cluster) -> Iterator[Source]:
    for kind in LOOKED_AT:
        unseen = "" if kind in cluster.seen else cluster.why(kind)
        yield Source(kind, len(cluster.of(kind)), unseen)


def _remarks(cluster: Cluster, kinds: Sequence[Machine], nads: Sequence[Nad]) -> Iterator[str]:
    if not kinds:
        yield f"No node has {' or '.join(machines.GPUS)} to give: there is nothing to draft."
    for name in map(fields.name, cluster.of(OWN)):
        yield f"There is a FabricProfile {name} already: compare before you apply a draft."
    given = {name for one in kinds for name in one.counts}
    for one in nads:
        if one.resource and one.resource not in given:
            yield f"{one.key} takes a device of {one.resource}, which no node with GPUs gives."
    for found in map(nad.read, cluster.of(NAD)):
        if not _can_be_named(found):
            yield f"{found.key} has a name that Multus's short form and a profile cannot have."


def _can_be_named(one: Nad) -> bool:
    return bool(profile.NAME.fullmatch(one.name) and profile.NAME.fullmatch(one.namespace))
