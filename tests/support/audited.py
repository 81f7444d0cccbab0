"""Bound pods with their markers, and NodeRails as an agent writes them, for reports on pods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import builders
import placing

from podrail import binding, names, placement
from podrail.audit import outcome, sight, subject
from podrail.audit.outcome import Ours, Report
from podrail.audit.sight import Sight
from podrail.audit.subject import Subject
from podrail.evidence import noderails
from podrail.evidence.noderails import Allocation, Host, NodeRails, Port, Trouble
from podrail.placement import Choice
from podrail.score import state
from podrail.topology import Evidence, Gpu, Nic, State, Topology

START = "2026-11-30T08:00:00Z"
LATER = "2026-11-30T08:00:07Z"
STARTED = datetime(2026, 11, 30, 8, tzinfo=UTC).timestamp()
NODE = "n1"
OURS = Ours(frozenset({"podrail"}), frozenset({"nvidia.com/gpu"}), frozenset({"kube-system"}))
Held = Mapping[str, tuple[Iterable[int], Iterable[int]]]
WHOLE: Held = {"team/worker-0": (range(8), range(8))}


def gpu(at: int) -> str:
    """What NVIDIA's plugin calls a GPU."""
    return f"GPU-{at}"


def virtual(at: int) -> str:
    """The PCI address of the VF of a NIC."""
    return f"0000:{0x60 + at:02x}:00.2"


def topology(shape: Topology = placing.ALIGNED, bad: Mapping[int, State] | None = None) -> Topology:
    """A node of a shape as its agent sees it, with NICs in other states than up."""
    states = bad or {}
    nics = tuple(
        Nic(
            f"mlx5_{at}",
            nic.rail,
            nic.numa,
            device=f"mlx5_{at}",
            pci=f"0000:{0x60 + at:02x}:00.0",
            state=states.get(at, State.UP),
        )
        for at, nic in enumerate(shape.nics)
    )
    cards = tuple(Gpu(gpu(at), f"0000:{0x20 + at:02x}:00.0") for at in range(len(shape.gpus)))
    return replace(shape, shape="", nics=nics, cards=cards, evidence=Evidence.NODERAILS)


def node_rails(
    held: Held = WHOLE,
    bad: Mapping[int, State] | None = None,
    at: str = LATER,
    shape: Topology = placing.ALIGNED,
    name: str = NODE,
) -> NodeRails:
    """The object: which pod holds which GPUs and VFs, and which NICs are not up."""
    seen = topology(shape, bad)
    return NodeRails(
        name,
        observed=seen,
        source="sysfs",
        observed_at=at,
        allocations=tuple(_allocations(held)),
        host=Host(ports=tuple(Port(nic.device, vfs=(virtual(at),)) for at, nic in enumerate(seen.nics))),
        troubles=tuple(
            Trouble("PortDown", f"mlx5_{at}", "no port is active")
            for at, state in (bad or {}).items()
            if state is State.DOWN
        ),
    )  # fmt: skip


def _allocations(held: Held) -> Iterable[Allocation]:
    for key, (gpus, nics) in held.items():
        namespace, _, pod = key.partition("/")
        for at in gpus:
            yield Allocation("nvidia.com/gpu", gpu(at), namespace, pod, "train")
        for at in nics:
            yield Allocation(f"nvidia.com/rail{at}", virtual(at), namespace, pod, "train")


def seen(**fields: Any) -> Sight:
    """What is kept of it."""
    found = sight.of(node_rails(**fields))
    assert found is not None
    return found


def document(
    gpus: int = 8,
    shape: Topology | None = placing.ALIGNED,
    fabric: str = "sriov-rails",
    name: str = "worker-0",
    **annotations: str,
) -> dict[str, Any]:
    """A pod that was injected, placed on NODE, of a shape that is known or not, and started."""
    profile = builders.shipped()[fabric]
    found = placing.injected(profile, builders.container(gpus=gpus), name=name)
    return {
        **found,
        "metadata": {**found["metadata"], "annotations": {
            **found["metadata"]["annotations"], **placed(found, fabric, shape), **annotations,
        }},
        "spec": {**found["spec"], "nodeName": NODE},
        "status": {"phase": "Running", "startTime": START},
    }  # fmt: skip


def placed(
    found: dict[str, Any], fabric: str, shape: Topology | None, node: str = NODE
) -> dict[str, str]:
    """The annotations that the extender's Binding carries."""
    profile, wish = builders.shipped()[fabric], placing.wish(found)
    here = None if shape is None else state.idle(shape)
    choice = placement.choose(here, wish, profile, {})
    late = binding.late(found, wish, profile, {}, Choice(choice.rails, None, conflict=False))
    record = placement.record(node, shape, wish, choice)
    return {**late.annotations, names.PLACEMENT: record}


def pod(**fields: Any) -> Subject:
    """What is kept of it."""
    found = subject.kept(document(**fields))
    assert found is not None
    return found


def judged(pod: Subject, seen: Sight | None, fabric: str = "") -> Report:
    """The report, which there must be."""
    found = outcome.judge(pod, seen, OURS, fabric)
    assert found is not None
    return found


def codes(report: Report) -> list[str]:
    """The codes of its findings."""
    return [one.code.value for one in report.findings]


def written(found: NodeRails) -> dict[str, Any]:
    """The object as the API server has it."""
    whole: dict[str, Any] = json.loads(json.dumps(noderails.document(found)))
    return whole
