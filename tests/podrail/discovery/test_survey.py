"""The drafts: for every shipped profile's platform, and for clusters that leave questions open."""

from __future__ import annotations

from typing import Any

import builders
import checkout
import nads
import pytest
import shown
import yaml

from podrail import profile
from podrail.doctor import nodes
from podrail.evidence import cluster as evidence
from podrail.fabric import Profile
from podrail.topology import Confidence

UNKNOWABLE = {
    "dra-gb200": "the GPU driver tells no NUMA node, and no NIC is on a GPU's root",
    "dra-pairs": "drafted from slices that were captured, below",
}
"""What nodes, networks and policies do not show, and why."""
CAPTURES = checkout.ROOT / "tests" / "data" / "topology" / "dra"
SHIPPED = builders.shipped()


def networks(one: Profile) -> list[Any]:
    """What of the networks does not depend on taste: not the names of interfaces."""
    return [(net.name, net.rail, net.repeat) for net in one.networks]


@pytest.mark.parametrize("name", sorted({*SHIPPED} - {*UNKNOWABLE}))
def test_a_shipped_profile_is_found_from_what_its_platform_shows(name: str) -> None:
    """Devices, rails, networks, counts, settings and extras are those of the profile."""
    wanted = SHIPPED[name]
    found = profile.read(shown.draft(*shown.documents(wanted)).document())
    same = ("attachment", "dialect", "gpu_resources", "rails", "partial", "requested_by")
    for field in (*same, "conf_file", "settings", "extras"):
        assert getattr(wanted, field) == getattr(found, field), field
    assert networks(wanted) == networks(found)
    for gpus in (wanted.rails.gpus, 4, 1):
        assert nodes.asked(wanted, gpus) == nodes.asked(found, gpus)


def captured(name: str) -> list[dict[str, Any]]:
    """A node whose slices were captured on such a machine, without a device plugin."""
    found = [
        one
        for kind in ("gpu", "dranet")
        for one in yaml.safe_load_all((CAPTURES / f"{name}-{kind}.yaml").read_text())
    ]
    items = [one for each in found for one in each.get("items", [each])]
    names = {evidence.slice_node(one) for one in items}
    return [*(shown.node(one, {}, {}) for one in sorted(names)), *items]


def test_claims_are_drafted_where_gpus_and_nics_share_roots() -> None:
    """As captured on p4d: eight GPUs and four NICs, two of one root with each."""
    found = shown.survey(*captured("p4d.24xlarge")).drafts
    like = profile.read(found[0].document())
    pairs = SHIPPED["dra-pairs"]
    assert (pairs.attachment, pairs.claim, pairs.settings) == (
        like.attachment,
        like.claim,
        like.settings,
    )
    assert (4, 8) == (like.rails.count, like.rails.gpus)


def test_claims_without_a_shared_root_are_asked_about() -> None:
    """On GB200 the GPUs hang on the CPU: no slice says which NICs are near."""
    (found, *_) = shown.survey(*captured("BM.GPU.GB200-v3.4")).drafts
    (line,) = [one for one in found.lines if one.field == "attachment"]
    assert "dra-gb200" in line.question


def test_every_line_says_how_sure_it_is() -> None:
    """And why; the guess about NUMA nodes is a question."""
    found = shown.draft(*shown.documents(SHIPPED["sriov-rails"]))
    assert all(line.because for line in found.lines)
    (groups,) = [line for line in found.lines if line.field == "rails.numaGroups"]
    assert (Confidence.LOW, True) == (groups.confidence, bool(groups.question))


def test_the_catalog_tells_the_numa_nodes_of_a_known_machine() -> None:
    """Then nothing is guessed."""
    found = shown.draft(*shown.documents(SHIPPED["aks-sriov-ib"]))
    (groups,) = [line for line in found.lines if line.field == "rails.numaGroups"]
    assert (Confidence.MEDIUM, "") == (groups.confidence, groups.question)


def test_names_of_somebody_elses_get_the_usual_settings() -> None:
    """The family of devices is the vendor's that node feature discovery found."""
    labels = {
        "feature.node.kubernetes.io/pci-0207_15b3.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-H200",
    }
    found = shown.draft(
        shown.gpus({"openshift.io/rail0": 4, "openshift.io/rail1": 4}, labels),
        *(
            nads.document(f"net{at}", nads.chain({"type": "sriov"}), f"openshift.io/rail{at}")
            for at in range(2)
        ),
    )
    settings = {one["name"]: one["value"] for one in found.document()["spec"]["settings"]}
    assert {"NCCL_IB_HCA": "mlx5", "NCCL_SOCKET_IFNAME": "eth0"}.items() <= settings.items()
    assert any("NCCL_IB_TC" in one for one in found.questions)
    assert "nvidia-h200-sriovvf" == found.name


def test_unknown_devices_are_a_question() -> None:
    """Nothing is set that nobody has seen."""
    found = shown.draft(shown.gpus({"example.com/rdma": 8}))
    assert {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"} == {
        one["name"] for one in found.document()["spec"]["settings"]
    }
    assert any("NCCL_IB_HCA" in one for one in found.questions)


def test_two_kinds_of_machines_get_two_drafts() -> None:
    """With names of their own."""
    found = shown.survey(
        shown.gpus({"rdma/ib": 8}, {"nvidia.com/gpu.product": "H200"}, "a"),
        shown.gpus({"rdma/ib": 8}, {"nvidia.com/gpu.product": "H200"}, "b"),
        shown.node("c", {"nvidia.com/gpu.product": "H200"}, {"amd.com/gpu": "8", "rdma/ib": "8"}),
    )
    assert ["h200-sriovvf", "h200-sriovvf-2"] == [one.name for one in found.drafts]


def test_what_differs_between_nodes_is_asked() -> None:
    """The draft counts what most of them give."""
    label = {"node.kubernetes.io/instance-type": "p5en.48xlarge"}
    found = shown.draft(
        *(shown.gpus({"vpc.amazonaws.com/efa": 16}, label, f"n{at}") for at in range(2)),
        shown.gpus({"vpc.amazonaws.com/efa": 15}, label, "short"),
    )
    assert any("1 give 15: short" in one for one in found.questions)


def test_other_networks_and_resources_are_asked_about() -> None:
    """They may be storage."""
    found = shown.draft(
        shown.gpus({"nvidia.com/rdma_vf": 8, "example.com/ibvf": 2}),
        nads.document("rdma-vf", nads.chain({"type": "sriov"}), "nvidia.com/rdma_vf"),
        nads.document("storage", nads.chain({"type": "macvlan"})),
    )
    assert any("networks default/storage" in one for one in found.questions)
    assert any("2 of example.com/ibvf" in one for one in found.questions)


def test_a_pool_without_rdma_is_asked_about() -> None:
    """DPDK pools look alike."""
    found = shown.draft(
        shown.gpus({"openshift.io/vf": 8}),
        nads.document("vf", nads.chain({"type": "sriov"}), "openshift.io/vf"),
        shown.policy("vf", "ens1", isRdma=False),
    )
    assert any("isRdma false" in one for one in found.questions)


def test_what_cannot_be_drafted_is_remarked() -> None:
    """More GPUs than a profile can say, odd names, resources that nobody gives, no GPUs at all."""
    many = shown.node("n", {}, {"nvidia.com/gpu": "100", "rdma/ib": "100"})
    found = shown.survey(
        many, nads.document("a.b", nads.chain({"type": "sriov"})), nads.rail(0, resource="x.y/z")
    )
    told = " ".join(found.remarks)
    assert () == found.drafts
    assert "No profile can say what 1 node with 100 nvidia.com/gpu" in told
    assert "default/a.b has a name" in told
    assert "default/rail0 takes a device of x.y/z, which no node" in told
    assert "there is nothing to draft" in " ".join(shown.survey().remarks)


def test_a_profile_that_is_there_is_told_of() -> None:
    """A draft may say the same."""
    found = shown.survey(shown.gpus(), {"kind": "FabricProfile", "metadata": {"name": "mine"}})
    assert any("FabricProfile mine" in one for one in found.remarks)
