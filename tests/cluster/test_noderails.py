"""NodeRails at a real API server: what it stores, what it refuses, how it is listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import captures
import evidence
import placing
import pytest
import terminal
import yaml
from controlplane.installed import ROOT, documents, eventually
from controlplane.plane import Cluster

from podrail.errors import MalformedError
from podrail.evidence import nccl_xml, noderails, rails, rocm, slices, smi
from podrail.evidence.noderails import Allocation, Kubelet, NodeRails, Verdict
from podrail.topology import Tier, Topology

pytestmark = pytest.mark.cluster
FOLDER = "/apis/podrail.dev/v1alpha1/noderails"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/noderails.podrail.dev"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
STRICT = "fieldValidation=Strict"


@pytest.fixture(scope="module", autouse=True)
def _defined(cluster: Cluster) -> None:
    """The definition of deploy/ is served."""
    (crd,) = documents(ROOT / "deploy" / "crds" / "noderails.yaml")
    answer = cluster.client.try_create(crd, fieldValidation="Strict")
    assert answer.status in {201, 409}, answer.message
    assert () == answer.warnings
    eventually(lambda: cluster.client.call("GET", FOLDER).status == 200, "NodeRails are served")


@pytest.fixture(autouse=True)
def _own(cluster: Cluster) -> Iterator[None]:
    """No object outlives its test."""
    yield
    cluster.client.delete(FOLDER)


def test_the_definition_is_structural_and_found_by_its_names(cluster: Cluster) -> None:
    """Short name and category work in kubectl; status is a subresource."""
    conditions = cluster.client.get(DEFINITION)["status"]["conditions"]
    assert {("NamesAccepted", "True"), ("Established", "True")} == {
        (one["type"], one["status"]) for one in conditions
    }
    served = cluster.client.get("/apis/podrail.dev/v1alpha1")["resources"]
    (found, status) = [one for one in served if one["kind"] == "NodeRails"]
    assert (["nr"], ["podrail"], False) == (
        found["shortNames"],
        found["categories"],
        found["namespaced"],
    )
    assert "noderails/status" == status["name"]


def stored(cluster: Cluster, document: dict[str, Any]) -> dict[str, Any]:
    """The object as the API server has it, spec first, then status, both strictly validated."""
    made = cluster.client.call("POST", f"{FOLDER}?{STRICT}", document)
    assert (201, ()) == (made.status, made.warnings), made.message
    whole = {**document, "metadata": made.body["metadata"]}
    path = f"{FOLDER}/{document['metadata']['name']}/status?{STRICT}"
    put = cluster.client.call("PUT", path, whole)
    assert (200, ()) == (put.status, put.warnings), put.message
    return cluster.client.get(f"{FOLDER}/{document['metadata']['name']}")


def _dra(*names: str) -> Topology:
    texts = [(name, yaml.safe_load(captures.text(f"dra/{name}.yaml"))) for name in names]
    (found,) = slices.read(texts).values()
    return found


CAPTURES = {
    **{f"smi-{name}": smi.read(captures.matrix(name), name) for name in captures.MATRICES},
    "rocm": rocm.read(captures.text("amd/mi308x_8gpu_xgmi.txt"), "rocm"),
    "xml": nccl_xml.read(captures.text("xml/p4d.24xlarge-topo.xml"), "xml"),
    "dra": _dra("p4d.24xlarge-gpu", "p4d.24xlarge-dranet"),
    "dra-grace": _dra("BM.GPU.GB200-v3.4-gpu", "BM.GPU.GB200-v3.4-dranet"),
}


def _named(topology: Topology) -> Topology:
    """The catalog has NICs without a name; an agent sees no such thing."""
    nics = (
        one if one.name else replace(one, name=f"rdma{at}") for at, one in enumerate(topology.nics)
    )
    return replace(topology, nics=tuple(nics))


SEEN = {
    **{f"shape-{name}": _named(found) for name, found in placing.SHAPES.items()},
    **{name: rails.numbered(found) for name, found in CAPTURES.items()},
}


@pytest.mark.parametrize("name", SEEN)
def test_what_an_agent_saw_is_stored_and_read_back(cluster: Cluster, name: str) -> None:
    """Every machine type of the catalog and every capture: nothing is pruned, nothing changed."""
    written = noderails.document(
        NodeRails(
            name="n1",
            override=replace(SEEN[name], gpus=(), cards=(), tiers=()),
            observed=SEEN[name],
            source="sysfs",
            observed_at="2026-11-30T08:00:00Z",
            boot_id="b",
            kubelet=Kubelet("restricted", "pod", ("prefer-closest-numa-nodes=true",)),
            gpudirect=Verdict.POSSIBLE,
            gpudirect_reasons=("nvidia_peermem",),
            allocations=(Allocation("nvidia.com/gpu", "GPU-a", "team", "p", "c"),),
        )
    )
    found = stored(cluster, written)
    assert (written["spec"], written["status"]) == (found["spec"], found["status"])
    again = noderails.read(found)
    assert noderails.read(written) == again
    assert (SEEN[name].tiers, SEEN[name].rails) == (
        (again.observed.tiers, again.observed.rails) if again.observed else ((), ())
    )


def test_the_largest_object_is_stored(cluster: Cluster) -> None:
    """64 GPUs and 192 NICs: the rules can afford the bounds."""
    gpus = [{"index": at, "id": f"GPU-{at}"} for at in range(64)]
    nics = [{"hca": f"mlx5_{at}"} for at in range(192)]
    status = {"gpus": gpus, "nics": nics, "tiers": [["PIX", None] * 96] * 64}
    found = stored(cluster, whole(status=status))
    assert status == found["status"]


def test_null_is_unknown_where_nothing_is_known(cluster: Cluster) -> None:
    """A NUMA node, a rail, a speed and a distance."""
    nic = {"hca": "a", "rail": None, "numa": None, "gbps": None}
    override = {"gpus": [{"numa": None}], "nics": [nic], "tiers": [[None]]}
    found = stored(cluster, whole(spec={"override": override}))
    read = noderails.read(found).override
    assert read is not None
    assert ((None,), ((None,),), None) == (read.gpus, read.tiers, read.nics[0].gbps)


def whole(**parts: Any) -> dict[str, Any]:
    """An object of these parts."""
    head = {"apiVersion": "podrail.dev/v1alpha1", "kind": "NodeRails", "metadata": {"name": "n1"}}
    return {**head, **parts}


NIC = {"hca": "a"}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"gpus": [{}, {}], "nics": [NIC], "tiers": [["PIX"]]}, "expected a row of tiers for each"),
    ({"nics": [NIC], "tiers": [["PIX"]]}, "expected a row of tiers for each of gpus"),
    ({"gpus": [{}], "nics": [NIC], "tiers": [[]]}, "expected a word or null for each of nics"),
    ({"gpus": [{}], "tiers": [["PIX"]]}, "expected a word or null for each of nics"),
    ({"gpus": [{}], "nics": [NIC], "tiers": [["PIXX"]]}, "spec.override.tiers[0][0]"),
    ({"gpus": [{"index": 1}, {"index": 0}]}, "expected each gpus[].index to be its place"),
    ({"gpus": [{"index": 0}, {"index": 0}]}, "expected each gpus[].index to be its place"),
    ({"gpus": [{"index": 1}]}, "expected each gpus[].index to be its place"),
    ({"nics": [{"rail": 0}]}, "expected hca, netdev or pci"),
    ({"nics": [{**NIC, "role": "spare"}]}, 'supported values: "rail", "storage", "management"'),
    ({"nics": [{**NIC, "rail": 128}]}, "should be less than or equal to 127"),
    ({"nics": [NIC] * 193}, "must have at most 192 items"),
    ({"gpus": [{"pci": "zz"}]}, "spec.override.gpus[0].pci"),
    ({"gpus": [{"numa": -1}]}, "spec.override.gpus[0].numa"),
    ({"judgedBy": "luck"}, 'supported values: "pcie", "numa"'),
]


@pytest.mark.parametrize(("listed", "expected"), BAD, ids=range(len(BAD)))
def test_what_the_reader_refuses_is_refused_early(
    cluster: Cluster, listed: dict[str, Any], expected: str
) -> None:
    """An admin's override as an agent's status, with a message that names what was expected."""
    document = whole(spec={"override": listed})
    with pytest.raises(MalformedError):
        noderails.read(document)
    answer = cluster.client.call("POST", f"{FOLDER}?dryRun=All&{STRICT}", document)
    assert 422 == answer.status
    assert expected in answer.message
    made = cluster.client.call("POST", FOLDER, whole()).body
    put = cluster.client.call("PUT", f"{FOLDER}/n1/status", {**made, "status": listed})
    assert (422, True) == (put.status, expected.replace("spec.override", "status") in put.message)


def test_a_field_that_nobody_knows_is_told(cluster: Cluster) -> None:
    """As kubectl asks for it: an error with its path."""
    document = whole(spec={"override": {"nics": [{**NIC, "speed": 400}]}})
    answer = cluster.client.call("POST", f"{FOLDER}?{STRICT}", document)
    assert 400 == answer.status
    assert 'unknown field "spec.override.nics[0].speed"' in answer.message


def test_a_spec_says_nothing_of_the_status(cluster: Cluster) -> None:
    """An admin who applies an override never touches what the agent wrote, and the reverse."""
    stored(cluster, whole(status={"source": "sysfs"}))
    answer = cluster.client.patch(f"{FOLDER}/n1", {"spec": {"override": {"nics": [NIC]}}, "status": {"source": "me"}})  # fmt: skip
    assert 200 == answer.status
    assert ({"override": {"nics": [NIC]}}, {"source": "sysfs"}) == (
        answer.body["spec"],
        answer.body["status"],
    )


def test_a_listing_shows_counts_policy_and_gpudirect(cluster: Cluster) -> None:
    """What kubectl get noderails prints."""
    found = NodeRails(
        "n1",
        observed=placing.SHAPES["dgx-h100"],
        kubelet=Kubelet("restricted"),
        gpudirect=Verdict.PROVEN,
    )
    stored(cluster, noderails.document(found))
    stored(cluster, whole(metadata={"name": "n2"}))
    table = _table(cluster)
    assert ["Name", "GPUs", "Rails", "Policy", "GPUDirect", "Age"] == [
        one["name"] for one in table["columnDefinitions"]
    ]
    assert [["n1", 8, 8, "restricted", "proven"], ["n2", None, None, None, None]] == [
        row["cells"][:-1] for row in table["rows"]
    ]


def _table(cluster: Cluster) -> dict[str, Any]:
    client = cluster.client
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    headers = {"Authorization": f"Bearer {client._token}", "Accept": accept}
    with closing(client._connect()) as connection:
        connection.request("GET", FOLDER, headers=headers)
        found: dict[str, Any] = json.loads(connection.getresponse().read())
    return found


def test_the_command_shows_a_live_node(cluster: Cluster) -> None:
    """What the API server has of it, asked as the admin: its label, NodeRails and slices."""
    found = NodeRails("aligned-0", observed=replace(placing.ALIGNED, gpus=(None,) * 8))
    stored(cluster, noderails.document(found))
    (one,) = [one for one in evidence.slices("aligned-0") if one["spec"]["driver"] == "dra.net"]
    body = {**one, "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "aligned-0-dra"}}
    pool = {**one["spec"]["pool"], "generation": 1, "resourceSliceCount": 1}
    body["spec"] = {**one["spec"], "pool": pool}
    made = cluster.client.call("POST", SLICES, body)
    assert 201 == made.status, made.message
    try:
        words = ("topology", "--node", "aligned-0", "--kubeconfig", cluster.kubeconfig)
        shown = json.loads(terminal.run(*words, "-o", "json").stdout)
        text = terminal.run(*words).stdout
    finally:
        cluster.client.delete(f"{SLICES}/aligned-0-dra")
    assert ["noderails", "dra"] == [one["evidence"] for one in shown["gave"]]
    assert ("noderails", 8) == (shown["evidence"], len(shown["gpus"]))
    assert "the catalog has no distances of machine type podrail-aligned" in text


def test_the_words_for_distances_are_tiers(cluster: Cluster) -> None:
    """Each of them is stored."""
    words = [*Tier, None]
    nics = [{"hca": f"a{at}"} for at in range(len(words))]
    found = stored(cluster, whole(status={"gpus": [{}], "nics": nics, "tiers": [words]}))
    assert [words] == found["status"]["tiers"]
