"""Pods through a real kube-scheduler, with podrail and without, side by side in one cluster.

Without podrail somebody has written by hand what podrail injects: the same networks, resources and
settings, since kube-scheduler takes longer for a pod that asks for eight rails (Fit's look at each
extended resource, 1.36). Each run begins with empty nodes. Without podrail the cluster's scheduler
has its defaults, and once podrail's settings but no extender.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import blocks
import builders
import outcome
import programs
from blocks import Client, Effort, Target
from controlplane import nodes
from controlplane.installed import Installed, eventually, metric
from controlplane.plane import TOKEN, Cluster
from controlplane.processes import Child
from programs import Programs

from podrail import names, pod
from podrail.admission import injection

GOAL: Final = 1.25
"""From creation to the last bind, podrail's time over the default scheduler's, at most."""
RATE_GOAL: Final = 0.8
"""Pods bound in a second with podrail over those without, at least."""
FABRIC: Final = "sriov-rails"
NAMESPACE: Final = "team"
CREATORS: Final = 16
LEAF: Final = 16
BLOCK: Final = 128
SIZE: Final = "kueue.x-k8s.io/pod-group-total-count"
GROUP: Final = "kueue.x-k8s.io/pod-group-name"
INDEX: Final = "kueue.x-k8s.io/pod-group-pod-index"
NOMINATED: Final = 'podrail_nominations_total{result="made"}'
_LONGEST: Final = 1200
_SMALL: Final = 0.6
"""The share of single pods with a part of a node."""
_NUMBERS: Final = itertools.count()


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to schedule: the scheduler's name, and whether the pods opted into a fabric."""

    name: str
    scheduler: str
    podrail: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """A job: its name, its pods, and the GPUs of each."""

    name: str
    pods: int
    gpus: int = 8


@dataclass(frozen=True, slots=True)
class Ran:
    """How many seconds a run took, the bound pods, and how many of them had been nominated."""

    seconds: float
    pods: list[dict[str, Any]]
    nominated: int


MODES: Final = (
    Mode("default", "default"),
    Mode("no_extender", "no-extender"),
    Mode("podrail", "podrail", podrail=True),
)


def site(count: int) -> Iterator[dict[str, Any]]:
    """Nodes in leaves of 16 and blocks of 128; every fourth block's pairs are all SYS."""
    for number in range(count):
        shape = nodes.CROSSED if number // BLOCK % 4 == 3 else nodes.ALIGNED
        place = {
            "topology.kubernetes.io/block": f"block-{number // BLOCK}",
            "topology.kubernetes.io/rack": f"rack-{number // LEAF}",
        }
        yield nodes.node(f"node-{number:05d}", shape, nodes.HARDWARE, **place)


def pods(work: Work, mode: Mode) -> Iterator[dict[str, Any]]:
    """The pods of a job, as they are created."""
    for index in range(work.pods):
        document = builders.document(
            builders.container(gpus=work.gpus),
            fabric=FABRIC,
            name=f"{work.name}-{index}",
            labels={GROUP: work.name, INDEX: str(index)},
            annotations={SIZE: str(work.pods)},
            schedulerName=mode.scheduler,
        )
        yield document if mode.podrail else by_hand(document)


def by_hand(document: dict[str, Any]) -> dict[str, Any]:
    """The pod with all that podrail would inject, and nothing that says so."""
    found = injection.inject(pod.read(document, NAMESPACE), builders.shipped()[FABRIC]).pod.document
    made: dict[str, Any] = json.loads(json.dumps(found))
    del made["metadata"]["labels"][names.FABRIC], made["metadata"]["annotations"][names.INJECTED]
    return made


class Yard:
    """A cluster in which one scheduler after the other works, each with nothing beside it."""

    def __init__(self, installed: Installed, started: Programs, client: Client) -> None:
        self._cluster = installed.cluster
        self._started = started
        self._client = client
        self.extender = installed.extender()
        installed.register(installed.webhook().address())
        second = installed.scheduler_config(self.extender.address())
        plain = {key: second[key] for key in ("apiVersion", "kind")}
        self._configs = {
            "default": {**plain, "profiles": [{"schedulerName": "default"}]},
            "no_extender": {
                **second,
                "extenders": [],
                "profiles": [{**second["profiles"][0], "schedulerName": "no-extender"}],
            },
            "podrail": second,
        }

    def fill(self, documents: Iterable[dict[str, Any]]) -> None:
        """Create nodes."""
        self._send("nodes", "/api/v1/nodes", list(documents))

    def run(self, mode: Mode, queue: Sequence[dict[str, Any]], *, before: bool) -> Ran:
        """Have the pods bound by a mode's scheduler, started before they are created or after."""
        space = f"run-{mode.scheduler}-{next(_NUMBERS)}"
        path = f"/api/v1/namespaces/{space}/pods"
        client = self._cluster.client
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        account = f"/api/v1/namespaces/{space}/serviceaccounts/default"
        eventually(lambda: client.call("GET", account).status == 200, f"{space} has an account")
        scheduler = self._scheduler(space, mode) if before else None
        nominated = metric(self.extender, NOMINATED)
        began = time.monotonic()
        self._send(space, path, queue)
        if scheduler is None:
            scheduler = self._scheduler(space, mode)
            began = time.monotonic()
        eventually(partial(self._all_bound, path), "all pods are bound", _LONGEST)
        seconds = time.monotonic() - began
        scheduler.stop()
        found = client.items(path)
        eventually(partial(self._gone, path), "all pods are gone", _LONGEST)
        return Ran(seconds, found, round(metric(self.extender, NOMINATED) - nominated))

    def _scheduler(self, space: str, mode: Mode) -> Child:
        return self._cluster.scheduler(space, self._configs[mode.name])

    def _all_bound(self, path: str) -> bool:
        # A list of thousands of pods is no small work for the API server that is measured.
        time.sleep(0.4)
        waiting = self._cluster.client.get(path, limit="1", fieldSelector="spec.nodeName=")
        return not waiting["items"]

    def _gone(self, path: str) -> bool:
        """True once there are no pods; the API server forgets a deletion that nobody waits for."""
        with suppress(TimeoutError):
            self._cluster.client.delete(path)
        return not self._cluster.client.get(path, limit="1")["items"]

    def _send(self, name: str, path: str, documents: Sequence[dict[str, Any]]) -> None:
        bodies = self._started.body(name, *(json.dumps(one).encode() for one in documents))
        authority = self._cluster.folder / "certs" / "apiserver.crt"
        target = Target(f"https://127.0.0.1:{self._cluster.port}{path}", bodies, authority, TOKEN)
        sent = self._client.send(target, CREATORS, len(documents))
        if sent.errors:
            raise RuntimeError(f"{sent.errors} of {name} were not created: {sent.first}")


@dataclass(frozen=True, slots=True)
class Scale:
    """How many nodes the mixed queue and the one job have, and pods the measure of the rate."""

    mixed: int
    whole: int
    rate: int


FULL: Final = Scale(1000, 3072, 1000)
QUICK: Final = Scale(256, 256, 200)
FILLED: Final = 0.8
"""The share of the GPUs that the mixed queue asks for."""


def measure(folder: Path, client: Client, effort: Effort) -> dict[str, Any]:
    """All three, the one job in a cluster of its own."""
    scale = FULL if effort is blocks.FULL else QUICK
    found: dict[str, Any] = {}
    with Cluster() as cluster, programs.running(folder / "mixed") as started:
        yard = Yard(Installed(cluster), started, client)
        yard.fill(site(scale.mixed))
        found["rate"] = rate(yard, scale.rate)
        found["mixed"] = mixed(yard, queue_of(round(scale.mixed * 8 * FILLED)))
    with Cluster() as cluster, programs.running(folder / "whole") as started:
        yard = Yard(Installed(cluster), started, client)
        yard.fill(site(scale.whole))
        found["one_job"] = one_job(yard, scale.whole)
    return found


def one_job(yard: Yard, count: int, modes: Sequence[Mode] = MODES) -> dict[str, Any]:
    """One job over every node of the yard: from its creation to its last bind."""
    found: dict[str, Any] = {"nodes": count, "pods": count, "gpus": 8 * count}
    for mode in modes:
        ran = yard.run(mode, list(pods(Work("whole", count), mode)), before=True)
        found[mode.name] = {"seconds": round(ran.seconds, 1), **_placed(mode, ran)}
    found["memory"] = programs.memory(yard.extender)
    found["over_default"] = round(found["podrail"]["seconds"] / found["default"]["seconds"], 3)
    return found | {"goal": GOAL, "met": found["over_default"] <= GOAL}


def rate(yard: Yard, count: int) -> dict[str, Any]:
    """Pods bound in a second, of pods that were all there when the scheduler began."""
    found: dict[str, Any] = {"pods": count}
    for mode in MODES:
        ran = yard.run(mode, list(pods(Work("rate", count), mode)), before=False)
        found[mode.name] = {"pods_per_second": round(count / ran.seconds, 1), **_placed(mode, ran)}
    mine = found["podrail"]["pods_per_second"]
    for base in ("default", "no_extender"):
        found[f"over_{base}"] = round(mine / found[base]["pods_per_second"], 3)
    return found | {"goal": RATE_GOAL, "met": found["over_no_extender"] >= RATE_GOAL}


def _placed(mode: Mode, ran: Ran) -> dict[str, int]:
    """With podrail, how many pods carry a placement: the others were bound by kube-scheduler."""
    if not mode.podrail:
        return {}
    placed = sum(names.PLACEMENT in one["metadata"]["annotations"] for one in ran.pods)
    return {"placed": placed, "nominated": ran.nominated}


def mixed(yard: Yard, works: Sequence[Work]) -> dict[str, Any]:
    """A queue of jobs of all sizes, created in one order: what became of them in each mode."""
    found: dict[str, Any] = {
        "jobs": len(works),
        "pods": sum(work.pods for work in works),
        "gpus": sum(work.pods * work.gpus for work in works),
        "model": "expected share of the aligned rate by the kubelet model; a job's is its slowest pod's",
    }
    for mode in MODES:
        queue = [one for work in works for one in pods(work, mode)]
        ran = yard.run(mode, queue, before=True)
        found[mode.name] = {"seconds": round(ran.seconds, 1), **outcome.of(ran.pods, works)}
    return found


def queue_of(gpus: int, seed: int = 5) -> list[Work]:
    """Pods of 1, 2 and 4 GPUs and jobs of 1 to 32 nodes that ask for so many GPUs together."""
    chance, works, left = random.Random(seed), list[Work](), gpus
    while left > 0:
        small = chance.random() < _SMALL
        work = (
            Work(f"small-{len(works)}", 1, chance.choice((1, 2, 4)))
            if small
            else Work(
                f"job-{len(works)}", min(chance.choice((1, 2, 4, 8, 16, 32)), max(left // 8, 1))
            )
        )
        works.append(work)
        left -= work.pods * work.gpus
    return works
