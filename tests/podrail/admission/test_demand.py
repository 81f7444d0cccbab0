"""Which container gets the rails, how many, and which."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail import names
from podrail.admission import demand
from podrail.admission.demand import Skip
from podrail.admission.draft import Demand
from podrail.errors import PodError

GROUPS = [[0, 1, 2, 3], [4, 5, 6, 7]]


def asked(pod: Any, **spec: Any) -> Demand | Skip:
    """The demand of a pod on a fabric of eight rails."""
    return demand.of(pod, builders.fabric(**{"rails": {"count": 8, "numaGroups": GROUPS}, **spec}))


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        (builders.pod(builders.container(gpus=0)), "NoGpu"),
        (builders.pod(builders.container(limits={"nvidia.com/gpu": "0"})), "NoGpu"),
        (builders.pod(builders.container(limits={"nvidia.com/gpumem": "4000"})), "FractionalGpu"),
        (builders.pod(annotations={"gpu-fraction": "0.5"}), "FractionalGpu"),
        (builders.pod(builders.container(limits={"nvidia.com/mig-1g.10gb": "1"})), "Mig"),
        (builders.pod(builders.container(limits={"nvidia.com/gpu.shared": "1"})), "SharedGpu"),
        (builders.pod(nodeSelector={"nvidia.com/gpu.sharing-strategy": "mps"}), "SharedGpu"),
        (builders.pod(nodeSelector={"nvidia.com/gpu.product": "A100-SHARED"}), "SharedGpu"),
        (builders.pod(annotations={"kubernetes.io/config.mirror": "x"}), "MirrorPod"),
        (
            builders.pod(builders.container(gpus=0), initContainers=[builders.container("init")]),
            "NoGpu",
        ),
    ],
)
def test_a_pod_without_a_gpu_of_its_own_is_skipped(pod: Any, code: str) -> None:
    """The reason says which kind of pod it is."""
    found = asked(pod)
    assert isinstance(found, Skip)
    assert code == found.reason.code


@pytest.mark.parametrize(("host", "skipped"), [(True, False), (False, True), (None, True)])
def test_a_fabric_of_the_hosts_network_is_for_pods_on_it(host: bool | None, skipped: bool) -> None:
    """A pod is never put on the host's network by us."""
    found = asked(builders.pod(hostNetwork=host), attachment="HostNetwork")
    assert skipped == (isinstance(found, Skip) and found.reason.code == "NotOnHostNetwork")


@pytest.mark.parametrize(("count", "skipped"), [("0", True), ("1", False)])
def test_a_pod_that_asks_for_none_gets_none(count: str, skipped: bool) -> None:
    """An explicit zero in the container with the GPUs is the user's word (mlbatch writes it)."""
    pod = builders.pod(builders.container(limits={"x.io/vf": count}))
    found = asked(pod, resources=[{"name": "x.io/vf", "count": {"per": "Fixed"}}])
    assert skipped == (isinstance(found, Skip) and found.reason.code == "ZeroRails")


def test_the_only_container_with_gpus_gets_the_rails_wherever_it_stands() -> None:
    """Sidecars may come first."""
    pod = builders.pod(builders.container("side", gpus=0), builders.container("train"))
    assert Demand(1, 8, tuple(range(8))) == asked(pod)


def test_the_named_container_gets_the_rails() -> None:
    """The annotation decides between several containers with GPUs."""
    pod = builders.pod(
        builders.container("a", gpus=4), builders.container("b"), annotations={names.CONTAINER: "b"}
    )
    assert Demand(1, 8, tuple(range(8))) == asked(pod)


@pytest.mark.parametrize(
    ("pod", "code", "words"),
    [
        (
            builders.pod(builders.container("a"), builders.container("b")),
            "SeveralGpuContainers",
            "containers a, b all ask for GPUs",
        ),
        (
            builders.pod(annotations={names.CONTAINER: "x"}),
            "NoSuchContainer",
            "with GPUs (train), got 'x'",
        ),
        (
            builders.pod(builders.container(limits={"nvidia.com/gpu": "1500m"})),
            "MalformedQuantity",
            "whole number",
        ),
        (
            builders.pod(builders.container(limits={"nvidia.com/gpu": [8]})),
            "MalformedQuantity",
            "[8]",
        ),
        (
            builders.pod(builders.container(requests={"nvidia.com/gpu": "4"})),
            "RequestIsNotLimit",
            "expected the limit 8, got 4",
        ),
        (builders.pod(annotations={names.RAILS: "0,9"}), "NoSuchRail", "from 0 to 7"),
        (builders.pod(annotations={names.RAILS: "0,0"}), "NoSuchRail", "different rails"),
        (builders.pod(annotations={names.RAILS: "all"}), "NoSuchRail", "got 'all'"),
    ],
)
def test_a_pod_that_contradicts_itself_is_refused_with_what_to_change(
    pod: Any, code: str, words: str
) -> None:
    """The message names the value and what was expected."""
    with pytest.raises(PodError) as caught:
        asked(pod)
    assert code == caught.value.code
    assert words in caught.value.message


def test_a_whole_node_gets_every_rail_whatever_the_policy() -> None:
    """Partial policies are for parts of a node."""
    assert isinstance(found := asked(builders.pod(), partial="Deny"), Demand)
    assert tuple(range(8)) == found.rails


@pytest.mark.parametrize(
    ("gpus", "partial", "sizes"),
    [
        (4, "AllRails", {8}),
        (4, "SameNuma", {4}),
        (1, "SameNuma", {4}),
        (6, "SameNuma", {8}),
        (4, "Proportional", {4}),
        (1, "Proportional", {1}),
        (6, "Proportional", {6}),
    ],
)
def test_a_part_of_a_node_gets_what_the_policy_says(
    gpus: int, partial: str, sizes: set[int]
) -> None:
    """All rails, whole NUMA groups, or in proportion."""
    found = asked(builders.pod(builders.container(gpus=gpus)), partial=partial)
    assert isinstance(found, Demand)
    assert {len(found.rails)} == sizes
    assert sorted(found.rails) == list(found.rails)


def test_a_profile_for_whole_nodes_refuses_a_part() -> None:
    """Deny says how many GPUs a node has."""
    with pytest.raises(PodError, match="8 GPUs, not 4"):
        asked(builders.pod(builders.container(gpus=4)), partial="Deny")


def test_jobs_spread_over_the_halves_and_a_jobs_pods_stay_together() -> None:
    """The NUMA group follows from the job, so that all its pods have the same rails."""

    def rails(job: str, pod: int) -> tuple[int, ...]:
        labels = {"batch.kubernetes.io/job-name": job, "batch.kubernetes.io/controller-uid": job}
        found = asked(
            builders.pod(builders.container(gpus=4), labels=labels, name=f"{job}-{pod}"),
            partial="SameNuma",
        )
        assert isinstance(found, Demand)
        return found.rails

    assert all(rails(f"job-{number}", 0) == rails(f"job-{number}", 1) for number in range(20))
    assert {(0, 1, 2, 3), (4, 5, 6, 7)} == {rails(f"job-{number}", 0) for number in range(20)}


def test_the_users_rails_win() -> None:
    """The annotation is read before the policy."""
    found = asked(builders.pod(annotations={names.RAILS: "5,4"}), partial="Deny")
    assert isinstance(found, Demand)
    assert (4, 5) == found.rails
