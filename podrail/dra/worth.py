"""What a node is worth to a pod that claims its NICs: only a score, since DRA decides what fits.

kube-scheduler's allocator takes the first devices that meet a claim (1.36): a NIC that must share
an attribute with a GPU is aligned wherever the claim fits, others are as chance has it.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Final

from podrail import alignment, marker, names, quantity
from podrail import pod as pods
from podrail.dra import device, template
from podrail.marker import Injected
from podrail.topology import ALIGNED, Topology

Document = Mapping[str, Any]
MOST_SETS: Final = 128
"""Sets of GPUs looked at, where nothing binds the NICs to them; 4 of 8 are 70."""
_ALL: Final = template.MOST_DEVICES


@dataclass(frozen=True, slots=True)
class Asked:
    """The GPUs and NICs of a pod; bound if each claimed NIC has to be near a claimed GPU."""

    gpus: int
    nics: int
    bound: bool


@dataclass(frozen=True, slots=True)
class _Requests:
    """The requests of one claim for GPUs and for NICs: how many devices, by request."""

    gpus: Mapping[str, int]
    nics: Mapping[str, int]
    bound: bool


def gpus(found: Injected) -> int:
    """The GPUs that the marker says were claimed; 0 if they stand in the limits."""
    counts = found.resources.items()
    return sum(count for name, count in counts if device.GPU.fullmatch(name))


def of(
    pod: Document, spec_of: Callable[[Document], Document | None], gpu_resources: Collection[str]
) -> Asked | None:
    """What a pod that claims NICs asks for; None for one that claims none, or unknown ones.

    spec_of gives the ResourceClaimSpec behind an entry of spec.resourceClaims, if it is known.
    """
    spec = pod.get("spec") or {}
    entries = spec.get("resourceClaims") or ()
    claims = [_requests(known) for one in entries if (known := spec_of(one)) is not None]
    claimed = sum(sum(one.gpus.values()) for one in claims)
    nics = sum(sum(one.nics.values()) for one in claims)
    if not nics:
        return None
    limits = sum(_limited(one, gpu_resources) for one in spec.get("containers") or ())
    near = all(one.bound for one in claims if one.nics) or _made_by_us(pod, claimed)
    return Asked(claimed + limits, nics, near and not limits)


def value(topology: Topology, asked: Asked) -> float | None:
    """What the node is worth, from 0 to 1; None where nothing can be said.

    Bound NICs are as good as the node's pairs; others are its first ones, for GPUs anywhere.
    """
    if not topology.rails or not asked.gpus:
        return None
    if asked.bound:
        best = sum(
            any(topology.worth[rail][gpu] >= ALIGNED for rail in topology.rails)
            for gpu in range(len(topology.gpus))
        )
        return round(min(1.0, best / asked.gpus), 6)
    rails = topology.rails[: asked.nics]
    wanted = min(asked.gpus, len(topology.gpus))
    if not rails or not wanted:
        return 0.0
    sets = list(islice(combinations(range(len(topology.gpus)), wanted), MOST_SETS))
    worth = math.fsum(alignment.best(topology, one, rails).worth for one in sets)
    return round(worth / len(sets), 6)


def _made_by_us(pod: Document, claimed: int) -> bool:
    """True for GPUs and NICs of a template of ours: NUMA groups bind them without an attribute."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    found = marker.injected(annotations.get(names.INJECTED))
    return found is not None and found.injected and 0 < claimed == gpus(found)


def _limited(container: Document, gpu_resources: Collection[str]) -> int:
    limits = pods.limits(container)
    return sum(quantity.count(limits.get(name, 0)) for name in gpu_resources)


def _requests(spec: Document) -> _Requests:
    devices = spec.get("devices") or {}
    counts: dict[str, dict[str, int]] = {"gpu": {}, "nic": {}}
    for request in devices.get("requests") or ():
        for kind, count in _kinds(request):
            counts[kind].setdefault(str(request.get("name")), count)
    pairs = [_covered(one, counts) for one in devices.get("constraints") or ()]
    covered = {name for nics in pairs for name in nics}
    return _Requests(counts["gpu"], counts["nic"], set(counts["nic"]) <= covered)


def _kinds(request: Document) -> Iterator[tuple[str, int]]:
    """The kind and count of a request; of alternatives the first is looked at."""
    first = (request.get("exactly"), *(request.get("firstAvailable") or ()), {})
    exactly: Document = next(one for one in first if one is not None)
    name = str(exactly.get("deviceClassName", ""))
    count = _ALL if exactly.get("allocationMode") == "All" else int(exactly.get("count") or 1)
    if device.GPU.fullmatch(name):
        yield "gpu", count
    elif device.NIC.fullmatch(name):
        yield "nic", count


def _covered(constraint: Document, counts: Mapping[str, Mapping[str, int]]) -> Iterable[str]:
    """The NIC requests that a constraint binds to a GPU's."""
    if not constraint.get("matchAttribute"):
        return ()
    named = {str(one).partition("/")[0] for one in constraint.get("requests") or ()}
    # A constraint that names no requests is for all of them.
    gpus_named, nics_named = (set(counts[kind]) & (named or set(counts[kind])) for kind in counts)
    return nics_named if gpus_named else ()
