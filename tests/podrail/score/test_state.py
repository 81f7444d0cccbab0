"""What is known of a node, and when two nodes are in the same state."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import placing
import pytest
import states

from podrail.kubelet.node import Kubelet, Policy, Scope
from podrail.score import state
from podrail.score.state import State
from podrail.topology import Gpu, Nic, Role, Topology
from podrail.topology import State as Port


def named(host: str) -> Topology:
    """The aligned machine with the identifiers of one host, and a NIC that is no rail."""
    whole = placing.ALIGNED
    nics = tuple(replace(nic, device=f"{host}_{nic.name}") for nic in whole.nics)
    storage = Nic(f"{host}_storage", None, 0, role=Role.STORAGE)
    cards = tuple(Gpu(f"{host}-{gpu}", f"0000:0{gpu}:00.0", "NVIDIA H100") for gpu in range(8))
    tiers = tuple((*row, None) for row in whole.tiers)
    return replace(whole, nics=(*nics, storage), cards=cards, tiers=tiers, shape=host)


def test_equal_nodes_are_one_state() -> None:
    """Whatever their devices are called."""
    one, other = (state.idle(named(host)) for host in ("a", "b"))
    assert one is other
    assert frozenset({"NVIDIA H100"}) == one.products


def test_nodes_with_other_devices_free_are_not() -> None:
    """Nor those with another kubelet."""
    found = {
        states.node(),
        states.node(gpus=(0, 1)),
        states.node(free={states.GPU: 2}),
        states.node(used={0: 1}),
        states.node(policy=Policy.RESTRICTED),
    }
    assert 5 == len(found)


def test_the_evidence_says_how_rails_are() -> None:
    """A rail is down when all its ports are; one suspect port is half a rail."""
    nics = states.ports(placing.ALIGNED, r0=Port.DOWN, r1=Port.SUSPECT, r2=Port.UP)
    found = state.idle(nics)
    assert frozenset({0}) == found.down
    assert (1, 2, 3, 4, 5, 6, 7) == found.rails
    assert [0.0, 0.5, 1.0, 1.0] == [found.health[rail] for rail in range(4)]


def test_a_sick_gpu_is_not_free() -> None:
    """Its device plugin does not offer it."""
    cards = tuple(Gpu(f"G{gpu}", healthy=gpu != 3) for gpu in range(8))
    node = replace(placing.ALIGNED, cards=cards)
    assert (0, 1, 2, 4, 5, 6, 7) == state.idle(node).healthy_gpus
    assert (2, 4, 5, 6, 7) == state.free_gpus(node, [(0, 1)], 5)


@pytest.mark.parametrize(
    ("held", "free", "gpus"),
    [
        pytest.param([(0,), (1, 2)], 5, (3, 4, 5, 6, 7), id="all known"),
        pytest.param([(0,)], 5, None, id="of a pod nothing is known"),
        pytest.param([], 8, tuple(range(8)), id="nobody there"),
    ],
)
def test_free_gpus_are_known_only_if_they_are_as_many_as_are_free(
    held: Any, free: int, gpus: Any
) -> None:
    """One pod whose GPUs nobody knows makes all of them unknown."""
    assert gpus == state.free_gpus(placing.ALIGNED, held, free)


@pytest.mark.parametrize(
    ("sets", "gpus"),
    [
        pytest.param([{"gpus": [0, 1], "p": 1.0}], (0, 1), id="sure"),
        pytest.param([{"gpus": [0, 1], "p": 0.5}, {"gpus": [2, 3], "p": 0.5}], (), id="either"),
        pytest.param([{"gpus": [0, 1], "p": 0.9}], (), id="likely"),
        pytest.param([{"gpus": ["0"], "p": 1}], (), id="no numbers"),
        pytest.param("x", (), id="no list"),
    ],
)
def test_a_marker_tells_gpus_only_if_the_kubelet_had_no_choice(sets: Any, gpus: Any) -> None:
    """A likely set is not a known one."""
    assert gpus == state.sure_gpus(json.dumps({"v": 1, "gpuSets": sets}))


@pytest.mark.parametrize("text", [None, "", "{", "[]", "1"])
def test_a_marker_that_cannot_be_read_tells_nothing(text: str | None) -> None:
    """Whoever wrote it."""
    assert () == state.sure_gpus(text)


def test_devices_are_found_by_their_identifiers() -> None:
    """Those of other nodes, and of other resources, are not."""
    assert (1, 3) == state.held(["a-3", "b-0", "0000:3b:00.1", "a-1"], named("a"))
    assert () == state.held(["", "x"], placing.ALIGNED)


@pytest.mark.parametrize(
    ("words", "kubelet"),
    [
        pytest.param(("", "", ()), Kubelet(), id="nothing"),
        pytest.param(("odd", "odd", ("odd",)), Kubelet(), id="nothing that is known"),
        pytest.param(
            (
                "restricted",
                "pod",
                ("prefer-closest-numa-nodes=true", "max-allowable-numa-nodes=16"),
                "v1.35.2",
            ),
            Kubelet(Policy.RESTRICTED, Scope.POD, closest=True, most_numas=16, minor=35),
            id="everything",
        ),
        pytest.param(
            ("none", "container", ("prefer-closest-numa-nodes=false",), "v1.36.0-eks-1"),
            Kubelet(),
            id="turned off",
        ),
    ],
)
def test_a_kubelet_is_read_by_its_own_words(words: Any, kubelet: Kubelet) -> None:
    """What it does not say is as a kubelet has it by default."""
    assert kubelet == state.kubelet(*words)


@pytest.mark.parametrize(
    ("labels", "sliced"),
    [
        ({}, False),
        ({"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/gpu.replicas": "1"}, False),
        ({"nvidia.com/gpu.sharing-strategy": "time-slicing"}, True),
        ({"nvidia.com/gpu.product": "A100-SHARED"}, True),
        ({"nvidia.com/gpu.replicas": "4"}, True),
    ],
)
def test_shared_gpus_are_told_by_the_labels_of_gpu_feature_discovery(
    labels: dict[str, str], sliced: bool
) -> None:
    """Time-slicing and MPS both."""
    assert sliced is state.sliced(labels)


def test_a_label_names_the_product_where_the_evidence_does_not() -> None:
    """And the slowest rail sets the speed of a node."""
    nics = tuple(replace(nic, gbps=400 if nic.rail else 200) for nic in placing.ALIGNED.nics)
    found = State(replace(placing.ALIGNED, nics=nics), product="H200")
    assert (frozenset({"H200"}), 200) == (found.products, found.gbps)
    assert (frozenset(), None) == (states.node().products, states.node().gbps)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param((("nvidia.com/gpu", 4),), True, id="as many as are free"),
        pytest.param((("nvidia.com/gpu", 5),), False, id="more"),
        pytest.param((("other.com/nic", 9),), True, id="nobody says"),
        pytest.param((), True, id="none"),
    ],
)
def test_a_node_has_the_devices_that_nobody_took(
    devices: tuple[tuple[str, int], ...], expected: bool
) -> None:
    """Of a resource that nothing is known of it has enough."""
    assert expected == replace(state.idle(placing.ALIGNED), free=(("nvidia.com/gpu", 4),)).has(
        devices
    )
