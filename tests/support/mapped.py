"""A small cluster with something of everything, for the rail map: as documents and as a scene."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import audited
import builders
import placing
from controlplane import nodes

from podrail.audit.outcome import Ours
from podrail.evidence import noderails
from podrail.railmap import facts
from podrail.railmap.scene import Drafter, Facts, Scene
from podrail.topology import State

Document = dict[str, Any]
NOW = audited.STARTED + 60
JOB = "batch.kubernetes.io/job-name"
INDEX = "batch.kubernetes.io/job-completion-index"
RACK = "topology.kubernetes.io/rack"
BLOCK = "topology.kubernetes.io/block"
WORDS = (
    "0/9 nodes are available: 1 node(s) were unschedulable, 2 podrail: a rail that the pod was "
    "given is down, 6 Insufficient nvidia.com/gpu. preemption: 0/9 nodes are available: 9 No "
    "preemption victims found for incoming pod."
)
OURS = Ours(frozenset({"podrail"}), frozenset({"nvidia.com/gpu"}), frozenset({"kube-system"}))
WORKERS = ("train-0", "train-1", "train-2")
HALF = "half-0"


def node(name: str, block: str = "b0", rack: str = "r0", **fields: Any) -> Document:
    """A node of eight GPUs and rails in a block and rack; without a block it is nowhere."""
    labels = {BLOCK: block, RACK: rack} if block else {}
    made = nodes.node(name, fields.pop("shape", nodes.ALIGNED), nodes.HARDWARE, **labels)
    return {**made, "spec": fields}


def worker(name: str, at: str = "", gpus: int = 8, shape: str = nodes.ALIGNED) -> Document:
    """An injected pod of the job that its name begins with, placed on a node if one is given."""
    job, _, index = name.rpartition("-")
    found = placing.injected(
        builders.shipped()["sriov-rails"],
        builders.container(gpus=gpus),
        name=name,
        labels={JOB: job, INDEX: index},
    )
    metadata = {**found["metadata"], "creationTimestamp": audited.START}
    if not at:
        told = {"type": "PodScheduled", "status": "False", "message": WORDS}
        return {**found, "metadata": metadata, "status": {"phase": "Pending", "conditions": [told]}}
    notes = audited.placed(found, "sriov-rails", placing.SHAPES[shape], at)
    return {
        **found,
        "metadata": {**metadata, "annotations": {**metadata["annotations"], **notes}},
        "spec": {**found["spec"], "nodeName": at},
        "status": {"phase": "Running", "startTime": audited.START},
    }


def stranger(name: str, at: str, gpus: int) -> Document:
    """A pod with GPUs that has not opted in."""
    made = builders.document(builders.container(gpus=gpus), fabric=None, name=name, nodeName=at)
    metadata = {**made["metadata"], "namespace": "team", "uid": f"uid-{name}"}
    return {
        **made,
        "metadata": metadata,
        "status": {"phase": "Running", "startTime": audited.START},
    }


def program(component: str, name: str, *, ready: bool = True) -> Document:
    """A pod of podrail's own."""
    labels = {"app.kubernetes.io/name": "podrail", "app.kubernetes.io/component": component}
    metadata = {"name": name, "namespace": "podrail-system", "uid": name, "labels": labels}
    told = {"type": "Ready", "status": "True" if ready else "False"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": "node-8", "containers": [{"name": component}]},
        "status": {"phase": "Running", "conditions": [told]},
    }


def documents() -> dict[str, list[Document]]:
    """Nine nodes in two blocks and nowhere, three jobs, a waiting one, podrail's own programs."""
    heard = {
        "node-0": audited.node_rails({"team/train-0": (range(8), range(8))}, name="node-0"),
        "node-1": audited.node_rails(
            {"team/train-1": (range(8), range(8))}, {3: State.DOWN}, name="node-1"
        ),
        "node-2": audited.node_rails(
            {"team/train-2": (range(8), range(8))}, {5: State.SUSPECT}, name="node-2"
        ),
        "node-3": audited.node_rails(
            {"team/half-0": (range(4), range(4)), "team/other": ([5], [])}, name="node-3"
        ),
        "node-4": audited.node_rails({}, {7: State.DOWN}, name="node-4"),
        "node-6": audited.node_rails({}, at="2026-11-30T07:00:00Z", name="node-6"),
    }
    return {
        "nodes": [
            *(node(f"node-{at}", rack="r0" if at < 3 else "r1") for at in range(5)),
            node("node-5", "b1", "r2", unschedulable=True),
            node("node-6", "b1", "r2"),
            node("node-7", "b1", "r3", shape=nodes.CROSSED),
            node("node-8", ""),
        ],
        "pods": [
            *(worker(name, f"node-{at}") for at, name in enumerate(WORKERS)),
            worker(HALF, "node-3", 4),
            stranger("other", "node-3", 1),
            worker("crossed-0", "node-7", shape=nodes.CROSSED),
            worker("late-0"),
            program("webhook", "podrail-webhook-a"),
            program("webhook", "podrail-webhook-b", ready=False),
            program("extender", "podrail-extender-a"),
            program("controller", "podrail-controller-a"),
            program("certs", "podrail-certs-a", ready=False),
        ],
        "rails": [audited.written(one) for one in heard.values()],
    }


def known(given: Mapping[str, list[Document]] | None = None) -> Facts:
    """What watches make of documents."""
    whole = documents() if given is None else given
    pods = (one for document in whole.get("pods", []) if (one := facts.pod(document)) is not None)
    return Facts(
        nodes={one["metadata"]["name"]: facts.node(one) for one in whole["nodes"]},
        pods={one.key: one for one in pods},
        agents={one["metadata"]["name"]: facts.agent(one) for one in whole.get("rails", [])},
    )


def drafter() -> Drafter:
    """One that knows the shipped machine types and the simulated ones."""
    return Drafter(placing.SHAPES, 900)


def scene(given: Mapping[str, list[Document]] | None = None, at: float = NOW) -> Scene:
    """The map of documents."""
    return drafter().draw(known(given), OURS, at)


def put(api: Any, given: Mapping[str, list[Document]]) -> None:
    """Have a small API server serve the documents."""
    paths = {
        "nodes": "/api/v1/nodes",
        "pods": "/api/v1/pods",
        "rails": f"/apis/{noderails.API_VERSION}/noderails",
    }
    for kind, some in given.items():
        for one in some:
            api.put(f"{paths[kind]}/{one['metadata']['name']}", json.loads(json.dumps(one)))
