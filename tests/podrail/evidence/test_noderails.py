"""The NodeRails object: read with all problems at once, written back as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import captures
import placing
import pytest

from podrail import schema
from podrail.errors import MalformedError
from podrail.evidence import noderails, rails, smi
from podrail.evidence.noderails import Allocation, Host, Kubelet, Netdev, NodeRails, Verdict
from podrail.topology import Evidence, Judged, RailSource, Tier


def document(**status: Any) -> dict[str, Any]:
    """Two GPUs and one NIC, with other status fields."""
    whole = {
        "source": "sysfs",
        "gpus": [{"index": 0, "id": "GPU-a", "pci": "0000:1A:00.0", "numa": 0}, {"healthy": False}],
        "nics": [{"rail": 0, "railSource": "pci", "role": "rail", "hca": "mlx5_0", "state": "up"}],
        "tiers": [["PIX"], [None]],
    }
    return {
        "apiVersion": "podrail.dev/v1alpha1",
        "kind": "NodeRails",
        "metadata": {"name": "n1", "uid": "u"},
        "status": {**whole, **status},
    }


def test_an_observation_reads_as_a_topology() -> None:
    """What is absent or null is unknown."""
    found = noderails.read(document()).topology
    assert found is not None
    assert (((Tier.PIX,), (None,)), (0, None)) == (found.tiers, found.gpus)
    assert ("0000:1a:00.0", False) == (found.cards[0].pci, found.cards[1].healthy)
    assert (0, RailSource.PCI, Evidence.NODERAILS) == (
        found.nics[0].rail,
        found.nics[0].rail_source,
        found.evidence,
    )


def test_what_the_host_receives_reads_as_it_was_written() -> None:
    """No flows are known where the sysctl is not to be seen; 0 is off."""
    host = {"netdevs": [{"name": "eth0", "queues": 1, "rps": 0, "rfs": 0}], "rpsSockFlowEntries": 0}
    found = noderails.read(document(host=host))
    assert (Host(netdevs=(Netdev("eth0", 1, 0, 0),), flows=0), None) == (
        found.host,
        noderails.read(document()).host.flows,
    )
    assert host == noderails.document(found)["status"]["host"]


def test_an_override_corrects_the_observation() -> None:
    """A NIC by its HCA; who says so is recorded."""
    spec = {"override": {"nics": [{"hca": "mlx5_0", "rail": 5}]}}
    found = noderails.read({**document(), "spec": spec}).topology
    assert found is not None
    assert (5, RailSource.OVERRIDE) == (found.nics[0].rail, found.nics[0].rail_source)
    assert ((Tier.PIX,), (None,)) == found.tiers


def test_an_object_without_devices_has_no_topology() -> None:
    """The agent has not reported yet, or idles."""
    bare = {"apiVersion": "podrail.dev/v1alpha1", "kind": "NodeRails", "metadata": {"name": "n"}}
    assert None is noderails.read(bare).topology


def test_what_was_written_reads_the_same() -> None:
    """Every field, with an override and allocations."""
    observed = replace(placing.SHAPES["dgx-a100"], shape="", evidence=Evidence.NODERAILS)
    nics = tuple(replace(nic, device=nic.name) for nic in observed.nics)
    grace = placing.SHAPES["Standard_ND128isr_GB300_v6"]
    admin = replace(grace, shape="", evidence=Evidence.OVERRIDE, judged=Judged.NUMA)
    whole = NodeRails(
        name="n1",
        override=replace(admin, nics=tuple(replace(nic, device=nic.name) for nic in admin.nics)),
        observed=replace(observed, nics=nics),
        source="sysfs",
        observed_at="2026-11-30T08:00:00Z",
        boot_id="b",
        kubelet=Kubelet("restricted", "pod", ("prefer-closest-numa-nodes",)),
        gpudirect=Verdict.PROVEN,
        gpudirect_reasons=("peermem",),
        allocations=(Allocation("nvidia.com/gpu", "GPU-a", "team", "p", "c"),),
    )
    assert whole == noderails.read(noderails.document(whole))


def test_a_capture_survives_the_object() -> None:
    """Distances, rails and what is not known of a NIC."""
    seen = rails.numbered(smi.read(captures.matrix("dgx-h100_12nic_pxb"), "x"))
    found = noderails.read(noderails.document(NodeRails("n", observed=seen))).topology
    assert found is not None
    assert (seen.tiers, seen.rails, seen.worth) == (found.tiers, found.rails, found.worth)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"tiers": [["PIX"]]}, "tiers: expected a row for each of 2 GPUs, got 1"),
        ({"tiers": [["PIX"], []]}, "tiers[1]: expected a word for each of 1 NICs, got 0"),
        ({"tiers": [["PIX"], ["PIXX"]]}, "tiers[1]: expected a list of at most 192 of PIX, PXB"),
        ({"tiers": [["PIX"], None]}, "tiers[1]: expected a list of at most 192 of PIX"),
        ({"gpus": [{"index": 1}, {}]}, "gpus[0].index: expected 0, the place in the list, got 1"),
        ({"gpus": [{"pci": "zz"}, {}]}, "gpus[0].pci: expected a string"),
        ({"gpus": [{"numa": -1}, {}]}, "gpus[0].numa: expected a whole number from 0"),
        ({"nics": [{"rail": 0}]}, "nics[0].hca: expected hca, netdev or pci"),
        ({"nics": [{"hca": "a", "role": "spare"}]}, "nics[0].role: expected one of rail, storage"),
        ({"nics": [{"hca": "a", "speed": 1}]}, "nics[0].speed: unknown field"),
        ({"gpudirect": {"verdict": "maybe"}}, "gpudirect.verdict: expected one of proven"),
        ({"colour": "red"}, "colour: unknown field"),
    ],
)
def test_a_problem_names_the_place(status: dict[str, Any], told: str) -> None:
    """A row is refused, not shifted or filled."""
    with pytest.raises(MalformedError) as caught:
        noderails.read(document(**status))
    found = [str(one) for one in caught.value.problems]
    assert any(one.startswith(f"NodeRails.status.{told}") for one in found), found


def test_every_problem_is_told_at_once() -> None:
    """Of the object itself too."""
    with pytest.raises(MalformedError) as caught:
        noderails.read({"kind": "Node", "spec": {"overrides": {}}, "status": 5})
    assert {
        "NodeRails.apiVersion",
        "NodeRails.kind",
        "NodeRails.metadata.name",
        "NodeRails.spec.overrides",
        "NodeRails.status",
    } == {one.path for one in caught.value.problems}


def test_the_reader_is_the_schema() -> None:
    """Recorded, it describes distances as lists of words that may be null."""
    found = schema.of(noderails.fields)["properties"]
    tiers = found["status"]["properties"]["tiers"]
    assert ("^(PIX|PXB|GROUP|PHB|NODE|SYS)$", True) == tuple(
        tiers["items"]["items"][key] for key in ("pattern", "nullable")
    )
    assert tiers == found["spec"]["properties"]["override"]["properties"]["tiers"]
    assert {"rail", "railSource", "hca", "gbps"} < set(
        found["status"]["properties"]["nics"]["items"]["properties"]
    )
