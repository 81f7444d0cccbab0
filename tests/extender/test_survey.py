"""What the watches of nodes come to: topology by the best evidence, kubelet, free GPUs, places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import staging

from extender.candidates import UNKNOWN
from extender.known import Held
from podrail import names
from podrail.evidence import noderails
from podrail.evidence.noderails import Allocation, Kubelet, NodeRails
from podrail.kubelet.node import Policy
from podrail.score.state import State
from podrail.topology import Evidence, Gpu, Topology
from podrail_io.kube import Event

GPUS = tuple(f"GPU-{number}" for number in range(8))
RAILS = staging.halves()


def stage(**fields: Any) -> staging.Stage:
    """An extender that knows a node of eight GPUs."""
    found = staging.Stage(RAILS, devices={"nvidia.com/gpu": "8"}, **fields)
    found.sees_nodes(n="bad")
    return found


def measured() -> Topology:
    """The good shape, as an agent saw it on this very node."""
    cards = tuple(Gpu(id=identifier, product="H100") for identifier in GPUS)
    return replace(staging.SHAPES["good"], evidence=Evidence.NODERAILS, cards=cards)


def sees_rails(found: staging.Stage, kind: str = "MODIFIED", **fields: Any) -> None:
    """Let the watch bring the node's NodeRails."""
    document = noderails.document(NodeRails("n", observed=measured(), **fields))
    found.cluster.survey.rails._take(Event(kind, document, "1"))


def state(found: staging.Stage) -> State:
    """The state of the node."""
    (seat,) = found.cluster.candidates(["n"]).seats
    assert seat.state is not None
    return seat.state


def sees_stranger(found: staging.Stage, name: str, gpus: int) -> None:
    """Let the watch bring a pod on the node that podrail has nothing to do with."""
    document = staging.stranger(name=name, nodeName="n")
    document["metadata"]["uid"] = f"uid-{name}"
    document["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    found.sees_pod(document)


def test_what_the_agent_saw_comes_before_the_machine_type() -> None:
    """And what it no longer says is forgotten."""
    found = stage()
    assert 0.2 == state(found).topology.worth[0][0]
    sees_rails(found, kubelet=Kubelet("restricted", "pod"))
    known = state(found)
    assert (1.0, Policy.RESTRICTED) == (known.topology.worth[0][0], known.kubelet.policy)
    assert {"H100"} == known.products
    sees_rails(found, "DELETED")
    assert 0.2 == state(found).topology.worth[0][0]


def test_the_time_of_an_observation_changes_nothing() -> None:
    """An agent that looks again every minute costs no more than the look."""
    found = stage()
    sees_rails(found, observed_at="2026-11-30T10:00:00Z")
    before = found.cluster.candidates(["n"]).seats
    sees_rails(found, observed_at="2026-11-30T10:01:00Z")
    assert before == found.cluster.candidates(["n"]).seats


def test_a_strangers_gpus_are_taken_and_which_ones_nobody_knows() -> None:
    """Only their number, until the agent says more."""
    found = stage()
    assert tuple(range(8)) == state(found).gpus
    sees_stranger(found, "s", 2)
    assert (None, {"nvidia.com/gpu": 6}) == (state(found).gpus, dict(state(found).free))


def test_the_agent_says_which_gpus_a_pod_holds() -> None:
    """By namespace and name, since PodResources has no UID; a pod that is gone holds nothing."""
    found = stage()
    sees_stranger(found, "s", 2)
    held = tuple(Allocation("nvidia.com/gpu", gpu, "team", "s", "c") for gpu in ("GPU-0", "GPU-5"))
    sees_rails(found, allocations=held)
    assert (1, 2, 3, 4, 6, 7) == state(found).gpus
    found.sees_pod({**staging.stranger(name="s"), "status": {"phase": "Failed"}})
    assert tuple(range(8)) == state(found).gpus


def test_a_marker_that_is_sure_says_which_gpus_are_taken() -> None:
    """A pod that left the kubelet no choice."""
    found = stage()
    marker = '{"v":1,"rails":[0,1,2,3],"gpuSets":[{"gpus":[0,1,2,3],"p":1.0}]}'
    found.sees_bound(staging.injected(RAILS), "n", **{names.PLACEMENT: marker})
    assert ((4, 5, 6, 7), {0: 1, 1: 1, 2: 1, 3: 1}) == (state(found).gpus, state(found).uses)


def test_a_bind_counts_at_once_and_a_failed_one_no_more() -> None:
    """The watch shows it only later."""
    found = stage()
    tenant = found.cluster.tenant("team/p", "n", Held((("nvidia.com/gpu", 4),)))
    found.cluster.hold("u", tenant, lambda _: (0, 1, 2, 3))
    assert ({"nvidia.com/gpu": 4}, 4) == (dict(state(found).free), len(state(found).uses))
    found.cluster.abandon("u")
    assert (tuple(range(8)), {}) == (state(found).gpus, state(found).uses)


def test_equal_nodes_share_their_state_and_their_place() -> None:
    """So that thousands of them are looked at once."""
    found = stage()
    for name in ("a", "b"):
        found.sees_node(name, "good", **{"topology.kubernetes.io/rack": "r"})
    one, other = found.cluster.candidates(["a", "b"]).seats
    assert one is other


def test_a_node_that_is_gone_is_unknown() -> None:
    """As one that never was."""
    found = stage()
    found.cluster.survey.nodes._take(Event("DELETED", {"metadata": {"name": "n"}}, "1"))
    assert [UNKNOWN] == found.cluster.candidates(["n"]).seats


def test_a_slice_counts_for_the_node_that_it_names() -> None:
    """All slices of a node together; a slice of no node is none of ours."""
    found = stage()
    slices = found.cluster.survey.slices
    for name, spec in (("mine", {"nodeName": "n"}), ("everyones", {"allNodes": True})):
        slices._take(Event("ADDED", {"metadata": {"name": name}, "spec": spec}, "1"))
    assert ["mine"] == list(slices.items())
    slices._take(Event("DELETED", {"metadata": {"name": "mine"}}, "1"))
    assert {} == found.cluster.survey._slices["n"]
