"""What the demo runs on: its cluster in memory, the two programs, and both ways to place pods."""

import base64
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import jsonpatch

from podrail import alignment, names
from podrail.topology import Topology
from podrail_cli import demo_world
from podrail_cli.demo_api import DemoApi
from podrail_cli.demo_programs import DemoError, Program
from podrail_cli.demo_store import KINDS, Target

Document = dict[str, Any]

WEIGHT: Final = 20
"""The extender's weight in deploy/extender/scheduler-second.yaml; a point counts ten times that."""
_PLURALS: Final = {kind: plural for plural, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Stage:
    """The cluster, the programs, and the machine types they know."""

    api: DemoApi
    webhook: Program
    extender: Program
    shapes: Mapping[str, Topology]


def create(api: DemoApi, document: Document) -> Document:
    """The object as the cluster keeps it."""
    namespace = document["metadata"].get("namespace", "")
    return api.store.create(Target(_PLURALS[document["kind"]], namespace), document)


def pods(api: DemoApi) -> list[Document]:
    """Every pod of the cluster."""
    found: list[Document] = api.store.listed(Target("pods"))["items"]
    return found


def admitted(stage: Stage, pod: Document) -> tuple[Document, list[str]]:
    """The pod after the webhook's patch, and the warnings that kubectl would print."""
    request = {
        "uid": pod["metadata"]["name"],
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": demo_world.NAMESPACE,
        "object": pod,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    response = stage.webhook.post("/mutate", review)["response"]
    if not response["allowed"]:
        raise DemoError(response["status"]["message"])
    patch = json.loads(base64.b64decode(response["patch"]))
    return jsonpatch.JsonPatch(patch).apply(pod), response.get("warnings", [])


def by_default_rules(stage: Stage, wanted: Sequence[Document]) -> list[Document]:
    """The pods, bound as kube-scheduler's defaults would: to the emptiest node that fits."""
    known = pods(stage.api)
    placed = []
    for pod in deepcopy(list(wanted)):
        fitting = demo_world.feasible(pod, demo_world.nodes(), known)
        scores = {
            node["metadata"]["name"]: demo_world.default_score(node, known) for node in fitting
        }
        pod["spec"]["nodeName"] = demo_world.best(fitting, scores)
        known.append(pod)
        placed.append(pod)
    return placed


def with_extender(stage: Stage, wanted: Sequence[Document]) -> list[Document]:
    """The pods, bound by the real extender, which writes their placement into them."""
    for pod in wanted:
        created = create(stage.api, pod)
        fitting = demo_world.feasible(created, demo_world.nodes(), pods(stage.api))
        nodes = [node["metadata"]["name"] for node in fitting]
        left = stage.extender.post("/filter", {"Pod": created, "NodeNames": nodes})["NodeNames"]
        points = stage.extender.post("/prioritize", {"Pod": created, "NodeNames": left})
        extra = {one["Host"]: 10 * WEIGHT * one["Score"] for one in points}
        known = pods(stage.api)
        candidates = [node for node in fitting if node["metadata"]["name"] in extra]
        scores = {
            node["metadata"]["name"]: extra[node["metadata"]["name"]]
            + demo_world.default_score(node, known)
            for node in candidates
        }
        metadata = created["metadata"]
        bind = {
            "PodName": metadata["name"],
            "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"],
            "Node": demo_world.best(candidates, scores),
        }
        if error := stage.extender.post("/bind", bind)["Error"]:
            raise DemoError(error)
    known_names = {pod["metadata"]["name"] for pod in wanted}
    return [pod for pod in pods(stage.api) if pod["metadata"]["name"] in known_names]


def aligned(stage: Stage, wanted: Sequence[Document]) -> int:
    """How many GPU-NIC pairs of these bound pods are aligned."""
    return sum(_aligned_on(stage, str(pod["spec"]["nodeName"])) for pod in wanted)


def _aligned_on(stage: Stage, node: str) -> int:
    """How many of a whole-node pod's GPU-NIC pairs are aligned on a node."""
    kinds = {one["metadata"]["name"]: one["metadata"]["labels"] for one in demo_world.nodes()}
    topology = stage.shapes[kinds[node][names.INSTANCE_TYPE]]
    gpus = tuple(range(len(topology.gpus)))
    rails = alignment.best(topology, gpus, topology.rails).rails
    return alignment.aligned_pairs(topology, list(zip(gpus, rails, strict=True)))


def best_possible(stage: Stage, count: int) -> int:
    """The most pairs that any choice of so many nodes could align."""
    each = sorted(
        (_aligned_on(stage, one["metadata"]["name"]) for one in demo_world.nodes()), reverse=True
    )
    return sum(each[:count])
