"""Fifteen behaviours that users of other injectors missed, each as one of its issues tells it.

Where the design says otherwise than an issue asks (an annotation that cannot be read), the design
has the last word: such a pod is refused with a message to act on.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import admitted
import builders
import placing
import pytest

from podrail import names, placement, pod
from podrail.admission import decision, injection, review
from podrail.admission.decision import Answer, Directory
from podrail.admission.injection import Injection
from podrail.admission.vicinity import Vicinity
from podrail.errors import PodError
from podrail.multus import networks
from podrail.placement import Misfit
from podrail.score import state, value
from podrail.topology import Topology

SHM = {"name": "dshm", "mountPath": "/dev/shm"}


def inject(document: dict[str, Any], profile: str = "oke-vf-h200", **around: Any) -> Injection:
    """The pod under a shipped profile."""
    found = pod.read(document, "team")
    return injection.inject(found, builders.shipped()[profile], Vicinity(**around))


def container(result: Injection, at: int = 0) -> dict[str, Any]:
    """A container of the pod that comes out."""
    found: dict[str, Any] = result.pod.document["spec"]["containers"][at]
    return found


def answered(document: object, labels: dict[str, str] | None = None) -> Answer:
    """The webhook's answer in a namespace with these labels."""
    directory = Directory(builders.shipped(), lambda _namespace: labels or {})
    return decision.answer(review.read(builders.review(document)), directory)


@pytest.mark.parametrize("profile", sorted(builders.shipped()))
def test_1_a_second_run_changes_nothing(profile: str) -> None:
    """Nothing grows: env, annotation, volumes and resources (OME, Google's TCPXO script)."""
    gpu = builders.shipped()[profile].gpu_resources[0]
    document = builders.document(
        builders.container(gpus=0, limits={gpu: "8", "memory": "1Ti"}), hostNetwork=profile == "oke-host"
    )  # fmt: skip
    once = inject(document, profile)
    assert once.marker.injected
    assert once == inject(json.loads(json.dumps(once.pod.document)), profile)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("rdma-vf,team/a@eth1, b,b", "team/a@eth1, b,b,default/"),
        ('[{"name":"a","namespace":"x","interface":"net7"}]', '"net7"},{"interface":"vf0"'),
        ('[ {"name":"a","cni-args":{"k":[1]},"odd":null} , {"name":"a"} ]', '{"name":"a"},{"int'),
    ],
    ids=["short", "JSON", "JSON of any spelling"],
)
def test_2_the_users_networks_are_kept_byte_for_byte(text: str, form: str) -> None:
    """Ours follow in the same form, JSON as JSON (Istio and Spiderpool wrote over them)."""
    after = inject(builders.document(annotations={names.NETWORKS: text})).pod.annotations[
        names.NETWORKS
    ]
    assert after.startswith(text.rstrip("] ").rstrip())
    assert form in after
    assert len(networks.parse(text).elements) + 8 == len(networks.parse(after).elements)


def test_3_networks_that_nobody_can_read_are_refused() -> None:
    """With the place and what was expected; Multus would fail the pod later, or crash."""
    with pytest.raises(PodError, match=r"networks'\]\[1\]: expected \[namespace/\]name"):
        inject(builders.document(annotations={names.NETWORKS: "a,B/c/d"}))


def test_4_the_default_network_is_not_touched() -> None:
    """Spiderpool names Calico there."""
    said = {"v1.multus-cni.io/default-network": "kube-system/calico"}
    assert said.items() <= dict(inject(builders.document(annotations=said)).pod.annotations).items()


@pytest.mark.parametrize(
    "mine",
    [
        {"value": "lo"},
        {"value": ""},
        {"valueFrom": {"configMapKeyRef": {"name": "nccl", "key": "ifname"}}},
    ],
    ids=["value", "empty value", "valueFrom"],
)
def test_5_a_variable_that_is_set_is_not_touched(mine: dict[str, Any]) -> None:
    """Also one that the file would carry: the process's own value beats it anyway."""
    entries = [{"name": name, **mine} for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")]
    result = inject(builders.document(builders.container(env=entries)))
    assert entries == container(result)["env"]
    assert {"env/GLOO_SOCKET_IFNAME", "env/NCCL_SOCKET_IFNAME"} <= set(result.marker.kept)


def test_5_sources_of_variables_are_kept_and_named_in_a_warning() -> None:
    """What a ConfigMap holds is not read at admission, so its author is told (AKS, IBM, AMD)."""
    source = [{"configMapRef": {"name": "nccl-env-vars"}}]
    result = inject(builders.document(builders.container(envFrom=source)))
    assert source == container(result)["envFrom"]
    assert any("GLOO_SOCKET_IFNAME" in warning for warning in result.warnings)


@pytest.mark.parametrize("path", ["/etc/nccl.conf", "/etc", "/etc/"])
def test_5_an_nccl_conf_of_the_users_stays(path: str) -> None:
    """Nothing of ours is mounted over it or inside it."""
    mounts = [{"name": "mine", "mountPath": path}]
    result = inject(builders.document(builders.container(volumeMounts=mounts)))
    assert "NcclConfTaken" in {reason.code for reason in result.marker.reasons}
    assert [path, "/dev/shm"] == [one["mountPath"] for one in container(result)["volumeMounts"]]


def test_5_the_users_nccl_conf_file_stays() -> None:
    """It names another file than /etc/nccl.conf, which NCCL reads beside it and after it."""
    entry = {"name": "NCCL_CONF_FILE", "value": "/mine/nccl.conf"}
    assert entry in container(inject(builders.document(builders.container(env=[entry]))))["env"]


def test_6_containers_without_gpus_are_not_touched() -> None:
    """Init containers, native sidecars and daemons; the first container need not be the one."""
    daemon = builders.container("daemon", gpus=0)
    before = [builders.container("setup", gpus=0), {**builders.container("proxy", gpus=0), "restartPolicy": "Always"}]  # fmt: skip
    result = inject(builders.document(daemon, builders.container(), initContainers=before))
    assert (before, daemon) == (result.pod.spec["initContainers"], container(result))
    assert "8" == container(result, 1)["resources"]["limits"]["nvidia.com/rdma-vf"]


def test_7_two_containers_with_gpus_are_refused_until_one_is_named() -> None:
    """Networks are the pod's, devices a container's: the message names both containers."""
    two = [builders.container("actor", gpus=4), builders.container("critic", gpus=4)]
    with pytest.raises(PodError, match="actor, critic"):
        inject(builders.document(*two))
    named = inject(builders.document(*two, annotations={names.CONTAINER: "critic"}))
    assert ("critic", two[0]) == (named.marker.container, container(named))


def test_8_a_request_is_never_other_than_its_limit() -> None:
    """Whatever the pod had of it; one that differs already is refused before the API server does."""
    short = builders.container(limits={"nvidia.com/rdma-vf": 2}, requests={"nvidia.com/rdma-vf": 2})
    resources = container(inject(builders.document(short)))["resources"]
    assert "8" == resources["limits"]["nvidia.com/rdma-vf"]
    assert "8" == resources["requests"]["nvidia.com/rdma-vf"]
    with pytest.raises(PodError, match="expected the limit 2, got 1"):
        inject(builders.document({**short, "resources": {"limits": {"nvidia.com/gpu": 8, "nvidia.com/rdma-vf": 2}, "requests": {"nvidia.com/rdma-vf": 1}}}))  # fmt: skip


@pytest.mark.parametrize(
    ("gpus", "told"),
    [("8", "injected"), (8, "injected"), ("8e0", "injected"), ("8k", "injected"), ("0", "NoGpu"), (0, "NoGpu")],
)  # fmt: skip
def test_9_a_count_may_be_spelled_in_any_way(gpus: object, told: str) -> None:
    """Zero is none."""
    document = builders.document(builders.container(gpus=0, limits={"nvidia.com/gpu": gpus}))
    marker = inject(document).marker
    assert told == ("injected" if marker.injected else marker.reason)


@pytest.mark.parametrize("gpus", ["$GPUS", "${N_GPUS}", "", "0.5", "-1", True, [8]])
def test_9_what_is_no_count_is_refused_and_named(gpus: object) -> None:
    """A placeholder that nobody filled in is a mistake of the pod, not of the webhook."""
    document = builders.document(builders.container(gpus=0, limits={"nvidia.com/gpu": gpus}))
    found = json.loads(
        answered({**document, "metadata": {"labels": {names.FABRIC: "oke-vf-h200"}}}).body
    )
    assert not found["response"]["allowed"]
    assert "nvidia.com/gpu" in found["response"]["status"]["message"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (builders.document(builders.container(gpus=0)), "NoGpu"),
        (builders.document(annotations={"gpu-fraction": "0.5"}), "FractionalGpu"),
        (builders.document(annotations={"gpu-memory": "2000"}), "FractionalGpu"),
        (builders.document(builders.container(limits={"nvidia.com/gpumem": 4})), "FractionalGpu"),
        (builders.document(resourceClaims=[{"name": "nics"}]), "DraNetworks"),
    ],
    ids=["launcher or head", "KAI fraction", "KAI memory", "HAMi", "claimed NICs"],
)
def test_10_who_has_no_use_for_rails_is_left_alone(document: dict[str, Any], reason: str) -> None:
    """But for the marker that says why."""
    result = inject(document, claim_classes=lambda _namespace, _claim: frozenset({"dra.net"}))
    assert (False, reason) == (result.marker.injected, result.marker.reason)
    assert document["spec"] == result.pod.spec
    assert {names.INJECTED} == result.pod.annotations.keys() - document["metadata"].get("annotations", {}).keys()  # fmt: skip


def test_10_a_pod_on_the_hosts_network_gets_no_networks() -> None:
    """Multus does nothing for it."""
    result = inject(builders.document(hostNetwork=True))
    assert names.NETWORKS not in result.pod.annotations
    assert "HostNetwork" in {reason.code for reason in result.marker.reasons}


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [
        ({}, {}),
        ({"annotations": None, "labels": None}, {"env": []}),
        ({"annotations": {}}, {"env": None, "volumeMounts": None, "securityContext": None}),
    ],
    ids=["bare metadata", "null annotations", "null lists"],
)
def test_11_what_is_missing_or_null_is_written_by_a_valid_patch(
    metadata: dict[str, Any], fields: dict[str, Any]
) -> None:
    """The eRDMA webhook gives up on a pod without annotations."""
    before = {"metadata": metadata, "spec": {"containers": [{"name": "side"}, {**builders.container(), **fields}]}}  # fmt: skip
    after = admitted.patched(before, answered(before, {names.FABRIC: "oke-vf-h200"}).body)
    assert 8 == len(networks.parse(after["metadata"]["annotations"][names.NETWORKS]).elements)
    assert {"name": "side"} == after["spec"]["containers"][0]


def test_12_gpus_and_devices_may_be_of_two_vendors() -> None:
    """Which is counted under which name is the profile's say (Oracle's MI300X)."""
    amd = builders.container(gpus=0, limits={"amd.com/gpu": "8"})
    limits = container(inject(builders.document(amd), "oke-vf-mi300x"))["resources"]["limits"]
    assert {"amd.com/gpu": "8", "nvidia.com/rdma-vf": "8"} == limits


@pytest.mark.parametrize(
    ("mount", "volume"),
    [
        (SHM, {"name": "dshm", "emptyDir": {"medium": "Memory"}}),
        ({**SHM, "name": "shm", "mountPath": "/dev/shm/"}, {"name": "shm", "emptyDir": {}}),
        ({**SHM, "name": "shmem"}, {"name": "shmem", "hostPath": {"path": "/dev/shm"}}),
    ],
    ids=["dshm", "slash at the end", "hostPath"],
)
def test_13_shared_memory_is_mounted_once(mount: dict[str, Any], volume: dict[str, Any]) -> None:
    """The path decides, not the volume's name: a second mount is refused (OME)."""
    document = builders.document(builders.container(volumeMounts=[mount]), volumes=[volume])
    result = inject(document)
    paths = [one["mountPath"].rstrip("/") for one in container(result)["volumeMounts"]]
    assert 1 == paths.count("/dev/shm")
    assert volume in result.pod.spec["volumes"]


def test_14_a_network_is_named_with_its_namespace() -> None:
    """So a pod of any namespace finds it where the profile says (Oracle's guide relies on that)."""
    said = inject(builders.document()).pod.annotations[names.NETWORKS]
    assert {"default"} == {element.namespace for element in networks.parse(said).elements}


def test_14_a_network_that_is_not_there_is_told() -> None:
    """As a warning with the network's name: the definition may yet come (Akash refuses the pod)."""
    result = inject(builders.document(), nads={})
    assert "NadMissing" in {reason.code for reason in result.marker.reasons}
    assert any("default/rdma-vf" in warning for warning in result.warnings)
    assert result.marker.injected


def nodes(*lacking: str) -> Topology:
    """The aligned machine without these NICs."""
    whole = placing.ALIGNED
    kept = [at for at, nic in enumerate(whole.nics) if nic.name not in lacking]
    return replace(
        whole,
        nics=tuple(whole.nics[at] for at in kept),
        tiers=tuple(tuple(row[at] for at in kept) for row in whole.tiers),
    )


NICS = tuple(nic.name for nic in placing.ALIGNED.nics)


@pytest.mark.parametrize(
    ("profile", "topology", "misfit"),
    [
        ("sriov-rails", nodes(), None),
        ("sriov-rails", nodes(NICS[7]), Misfit.NO_RAILS),
        ("sriov-pool", nodes(NICS[7]), Misfit.NO_RAILS),
        ("macvlan-rails", nodes(NICS[7]), None),
        ("sriov-rails", nodes(*NICS), Misfit.NO_RAILS),
        ("tcp", nodes(*NICS), None),
    ],
    ids=["whole", "a rail less", "a pool's rail less", "late rails", "no NIC", "no NIC wanted"],
)
def test_15_a_node_with_fewer_nics_has_a_defined_verdict(
    profile: str, topology: Topology, misfit: Misfit | None
) -> None:
    """Rails fixed at admission must all be there, late ones only in part."""
    wish = placing.wish(placing.injected(builders.shipped()[profile]))
    assert misfit == placement.judge(state.idle(topology), wish, builders.shipped()[profile])


def test_15_every_mix_of_known_and_unknown_nodes_has_scores() -> None:
    """A node of which nothing is known lies in the middle, or all are equal."""
    wish = placing.wish(placing.injected(placing.shared()))
    known = [
        placement.score(state.idle(topology), wish).value
        for topology in (nodes(), nodes(NICS[0]), nodes(*NICS))
    ]
    assert 10 == value.points([*known, None])[0]
    assert all(0 <= point <= 10 for point in value.points([*known, None]))
    assert [0, 0] == value.points([None, None])


def test_15_a_resource_of_an_unknown_vendor_is_scored_by_its_rails() -> None:
    """The extender counts rails, not prefixes."""
    rails = [{"name": f"x.example/r{rail}", "rail": rail} for rail in range(8)]
    odd = builders.fabric("odd", attachment="SriovVF", rails={"count": 8}, resources=rails)
    known = builders.shipped()["sriov-rails"]
    usual = placing.wish(placing.injected(known))
    wish = placing.wish(placing.injected(odd))
    node = state.idle(nodes())
    assert placement.score(node, usual, known) == placement.score(node, wish, odd)
