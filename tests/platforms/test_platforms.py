"""Every platform: its example, what its own guide has pods say, and the pods they become."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import admitted
import builders
import checkout
import pytest
import yaml
from admitted import Admitted

from podrail import document, names
from podrail.multus import dialect, networks

HERE = Path(__file__).parent
EXAMPLES = {path.stem: path for path in (checkout.ROOT / "examples" / "workloads").glob("*.yaml")}
OWN = {path.stem: path for path in (HERE / "workloads").glob("*.yaml")}
WORKLOADS = {**EXAMPLES, **OWN}
LEFT_ALONE = {
    # MPI launchers and Ray heads hold no rank.
    "documented-oke-vf-h100 Launcher": "NoGpu",
    "documented-oke-host Launcher": "NoGpu",
    "documented-oke-vf-mi300x Launcher": "NoGpu",
    "documented-coreweave-gb300 Launcher": "NoGpu",
    "documented-coreweave-ib Launcher": "NoGpu",
    "documented-eks-p5 Launcher": "NoGpu",
    "documented-eks-p5 headGroupSpec": "NoGpu",
    # TCPXO's plugin owns its settings; the pod says so with the label none.
    "documented-gke-a3-mega": "untouched",
}
ANNOTATIONS = {names.NETWORKS, dialect.GKE_KEY, dialect.GKE_DEFAULT_KEY, dialect.VOLCENGINE_KEY}


def pods(*stems: str, outcome: str = "injected") -> dict[str, Admitted]:
    """The admitted pods of these workloads that had this outcome, by workload and place."""
    return {
        f"{stem} {one.place}": one
        for stem in stems
        for one in admitted.workloads(WORKLOADS[stem])
        if one.outcome == outcome
    }


DOCUMENTED = pods(*(stem for stem in OWN if stem.startswith("documented-")))


def rails(pod: Mapping[str, Any], profile: str) -> tuple[list[str], dict[str, str]]:
    """The networks of a pod in their order, and its limits of the profile's resources."""
    said = admitted.said(pod)
    multus = networks.parse(said.get(names.NETWORKS, "")).elements
    found = [element.network(admitted.NAMESPACE) for element in multus]
    for key in (dialect.GKE_KEY, dialect.VOLCENGINE_KEY):
        found += [str(one) for one in json.loads(said.get(key, "[]"))]
    counted = {one.name for one in admitted.profiles()[profile].resources}
    limits = admitted.limits(pod)
    return found, {name: count for name, count in limits.items() if name in counted}


def bare(pod: Mapping[str, Any], profile: str) -> Any:
    """The pod before anybody gave it rails: without its networks and the profile's resources."""
    counted = {one.name for one in admitted.profiles()[profile].resources}
    said = admitted.said(pod)
    kept = {key: value for key, value in said.items() if key not in ANNOTATIONS}
    pod = document.put(pod, ("metadata", "annotations"), kept)
    for at, container in enumerate(pod["spec"]["containers"]):
        for kind, counts in (container.get("resources") or {}).items():
            left = {name: count for name, count in counts.items() if name not in counted}
            pod = document.put(pod, ("spec", "containers", at, "resources", kind), left)
    return pod


@pytest.mark.parametrize("stem", sorted(WORKLOADS))
def test_a_workload_becomes_its_golden_pods(stem: str, writing: bool) -> None:
    """The whole pod, its marker and what its author is told."""
    path = HERE / "golden" / f"{stem}.yaml"
    made = admitted.workloads(WORKLOADS[stem])
    if writing:
        path.write_text(admitted.golden(made))
    assert list(yaml.safe_load_all(path.read_text())) == [one.document() for one in made]


def test_every_golden_file_has_its_workload() -> None:
    """None is left over from a workload that is gone."""
    assert sorted(WORKLOADS) == sorted(path.stem for path in (HERE / "golden").iterdir())


def test_every_shipped_profile_has_an_example() -> None:
    """Of which every pod is injected with it."""
    found = {one.marker.profile for one in pods(*EXAMPLES).values() if one.marker}
    assert set(builders.shipped()) == found


@pytest.mark.parametrize("stem", sorted(WORKLOADS))
def test_a_second_pass_changes_nothing(stem: str) -> None:
    """The webhook on its own output: no patch, whatever the platform."""
    first = [one.pod for one in admitted.workloads(WORKLOADS[stem])]
    assert first == [admitted.admit(pod).pod for pod in first]


@pytest.mark.parametrize("place", sorted(DOCUMENTED))
def test_a_pod_as_its_platform_documents_it_keeps_its_rails(place: str) -> None:
    """What it names itself is counted: no network twice, no resource more."""
    one = DOCUMENTED[place]
    assert one.marker
    assert rails(one.before, one.marker.profile)[0] == rails(one.pod, one.marker.profile)[0]
    missing = {"hugepages-2Mi": "5120Mi"} if place.endswith("workerGroupSpecs[0].template") else {}
    assert {**admitted.limits(one.before), **missing} == admitted.limits(one.pod)


@pytest.mark.parametrize("place", sorted(DOCUMENTED))
def test_the_same_pod_without_its_rails_gets_what_its_platform_documents(place: str) -> None:
    """The networks in the documented order, the resources in the documented number."""
    one = DOCUMENTED[place]
    assert one.marker
    name = one.marker.profile
    assert rails(one.pod, name) == rails(admitted.admit(bare(one.before, name)).pod, name)


def test_only_pods_with_nothing_to_attach_have_no_bare_form() -> None:
    """The two tests above compare something."""
    same = [key for key, one in DOCUMENTED.items() if rails(one.pod, one.pod["metadata"]["labels"][names.FABRIC]) == ([], {})]  # fmt: skip
    assert ["documented-oke-host MPIJob/oci-h100-host spec.mpiReplicaSpecs.Worker.template"] == same


def test_pods_that_hold_no_rank_are_left_alone() -> None:
    """They carry the reason in their marker and are otherwise what they were."""
    found = {}
    for stem, path in OWN.items():
        for one in admitted.workloads(path):
            if one.outcome != "injected":
                role = [part for part in ("Launcher", "headGroupSpec") if part in one.place]
                found[" ".join([stem, *role])] = one.outcome
                left = {k: v for k, v in admitted.said(one.pod).items() if k != names.INJECTED}
                assert (admitted.said(one.before), one.before["spec"]) == (
                    left,
                    one.pod["spec"],
                )
    assert LEFT_ALONE == found


def test_one_network_twice_stays_twice() -> None:
    """The pod keeps its annotation and its devices byte for byte; without them it gets the same."""
    ((_, one),) = pods("one-network-twice").items()
    assert "rdma-net,rdma-net" == admitted.said(one.pod)[names.NETWORKS]
    assert {"nvidia.com/gpu": "8", "mellanox.com/sriov_rdma": "2"} == admitted.limits(one.pod)
    given = admitted.admit(bare(one.before, "one-network-twice")).pod
    assert "default/rdma-net@rdma0,default/rdma-net@rdma1" == admitted.said(given)[names.NETWORKS]
    assert admitted.limits(one.pod) == admitted.limits(given)


@pytest.mark.parametrize(
    ("profile", "gpus", "limits"),
    [
        ("eks-p5", 4, {"vpc.amazonaws.com/efa": "16"}),
        ("eks-p4d", 1, {"vpc.amazonaws.com/efa": "1"}),
        ("oke-vf-h100", 4, {"nvidia.com/rdma-vf": "8"}),
        ("oke-vf-h200", 1, {"nvidia.com/rdma-vf": "1"}),
        ("aks-sriov-ib", 2, {"rdma/ib": "2"}),
        ("aks-shared-ib", 2, {"rdma/shared_ib": "1"}),
        ("coreweave-ib", 2, {"rdma/ib": "1"}),
        ("ibm-vela", 4, {"nvidia.com/roce_gdr": "1"}),
        ("akash-rails", 2, {"rdma/rdma_shared_device_eth": "2"}),
    ],
)
def test_a_part_of_a_node_gets_its_share(profile: str, gpus: int, limits: dict[str, str]) -> None:
    """Counts follow the platform's own rule: a share of the node, one a GPU, or a flag."""
    one = admitted.admit(builders.document(builders.container(gpus=gpus), fabric=profile))
    assert {"nvidia.com/gpu": str(gpus), **limits} == admitted.limits(one.pod)


def test_ucx_is_the_users_unless_the_platform_names_its_devices() -> None:
    """CoreWeave does, for pods that say nothing themselves; nobody else's profile sets any."""

    def set_by_us(one: Admitted) -> set[str]:
        assert one.marker
        return {name for name in one.marker.env if name.startswith("UCX_")}

    assert {frozenset({"UCX_NET_DEVICES"})} == {
        frozenset(set_by_us(one)) for one in pods("coreweave-ib").values()
    }
    assert [{"UCX_NET_DEVICES"}, set()] == [
        set_by_us(one) for one in pods("prefill-decode-ucx").values()
    ]
    assert [set(), set()] == [set_by_us(one) for one in pods("prefill-decode").values()]
    says = {
        p.name
        for p in admitted.profiles().values()
        for s in p.settings
        if s.name.startswith("UCX_")
    }
    assert {"coreweave-ib"} == says


def test_a_gid_index_is_set_only_where_the_platforms_own_table_has_one() -> None:
    """Anywhere else NCCL finds it: indexes differ between the pods of one node (nccl#718)."""
    says = {p.name for p in admitted.profiles().values() for s in p.settings if s.name == "NCCL_IB_GID_INDEX"}  # fmt: skip
    assert {
        "oke-host",
        "oke-vf-h100",
        "oke-vf-h200",
        "oke-vf-mi300x",
        "ack-erdma",
        "amd-ainic",
    } == says
