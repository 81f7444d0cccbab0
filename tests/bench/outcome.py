"""What a placement is worth: aligned pairs, leaves per job, and the bandwidth that a model expects.

It is told from bound pods alone and by the same rules for all: a pod's rails are those of its limits,
its GPUs what the kubelet model expects on its node.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import builders
import placing
from controlplane import nodes

from podrail import pod
from podrail.admission import injection
from podrail.kubelet.model import Refused
from podrail.score import outlook, state

if TYPE_CHECKING:
    from scheduling import Work

LEAF, BLOCK = 16, 128


def of(pods: Sequence[dict[str, Any]], works: Sequence[Work]) -> dict[str, Any]:
    """The figures of a run."""
    by_job: Mapping[str, list[dict[str, Any]]] = defaultdict(list)
    for one in pods:
        by_job[one["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"]].append(one)
    worth = {work.name: [_worth(one, work.gpus) for one in by_job[work.name]] for work in works}
    jobs = [work for work in works if work.pods > 1]
    gpus = sum(work.pods * work.gpus for work in works)
    whole = sum(work.gpus * sum(worth[work.name]) for work in works)
    job_gpus = sum(work.pods * work.gpus for work in jobs)
    slowest = sum(work.pods * work.gpus * min(worth[work.name]) for work in jobs)
    return {
        "aligned_share": round(whole / gpus, 3),
        "modelled_bandwidth_of_jobs": round(slowest / job_gpus, 3) if job_gpus else None,
        "leaves_per_job_over_fewest": _spread(by_job, jobs, LEAF),
        "blocks_per_job_over_fewest": _spread(by_job, jobs, BLOCK),
    }


def number(one: Mapping[str, Any]) -> int:
    """The number of a pod's node."""
    return int(one["spec"]["nodeName"].rpartition("-")[2])


def _spread(by_job: Mapping[str, Sequence[Any]], jobs: Sequence[Work], size: int) -> float | None:
    """The mean over jobs of how many places they are in against the fewest."""
    found = [
        len({number(one) // size for one in by_job[job.name]}) / -(-job.pods // size)
        for job in jobs
    ]
    return round(statistics.mean(found), 3) if found else None


def _worth(one: Mapping[str, Any], gpus: int) -> float:
    crossed = number(one) // BLOCK % 4 == 3
    limits = one["spec"]["containers"][0]["resources"]["limits"]
    rails = tuple(rail for rail in range(8) if f"nvidia.com/rail{rail}" in limits)
    return _expected(nodes.CROSSED if crossed else nodes.ALIGNED, gpus, rails)


@cache
def _expected(shape: str, gpus: int, rails: tuple[int, ...]) -> float:
    fabric = builders.shipped()["sriov-rails"]
    document = builders.document(builders.container(gpus=gpus), fabric=fabric.name)
    admitted = injection.inject(pod.read(document, "team"), fabric).pod.document
    wish = placing.wish(json.loads(json.dumps(admitted)))
    found = outlook.given(state.idle(placing.SHAPES[shape]), wish.need(fabric), rails)
    return 0.0 if isinstance(found, Refused) else found.worth or 0.0
