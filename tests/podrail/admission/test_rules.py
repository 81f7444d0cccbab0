"""The rules of injection, one by one: networks, resources, settings, extras."""

from __future__ import annotations

import json
from typing import Any

import builders
import pytest

from podrail import names
from podrail.admission import injection
from podrail.admission.injection import Injection
from podrail.fabric import Profile

RAILS = {
    "attachment": "SriovVF",
    "rails": {"count": 2, "gpus": 8},
    "networks": [{"name": "default/rail0", "rail": 0}, {"name": "default/rail1", "rail": 1}],
    "resources": [{"name": "x.io/rail0", "rail": 0}, {"name": "x.io/rail1", "rail": 1}],
}
POOL = {
    "attachment": "SriovVF",
    "rails": {"count": 4, "gpus": 4},
    "networks": [
        {"name": "default/vf", "interface": "vf", "repeat": 4, "resource": "x.io/vf"},
        {"name": "store/fs", "interface": "fs"},
    ],
    "resources": [{"name": "x.io/vf", "count": {"per": "GPU"}}],
    "partial": "Proportional",
}


def result(
    *containers: Any, profile: Profile | None = None, spec: Any = None, **pod: Any
) -> Injection:
    """The injection of a pod with a profile of this spec."""
    chosen = profile or builders.fabric(**(spec or RAILS))
    return injection.inject(builders.pod(*containers, **pod), chosen)


def limits(found: Injection, container: int = 0) -> dict[str, str]:
    """The limits of a container, without its GPUs."""
    all_limits = found.pod.containers[container]["resources"]["limits"]
    return {name: value for name, value in all_limits.items() if name != "nvidia.com/gpu"}


def codes(found: Injection) -> set[str]:
    """The codes of the reasons."""
    return {reason.code for reason in found.marker.reasons}


def test_every_rail_is_attached_under_its_own_interface() -> None:
    """The short form is used when the user has none."""
    found = result()
    assert "default/rail0@rail0,default/rail1@rail1" == found.pod.annotations[names.NETWORKS]
    assert [(0, "rail0", 0), (1, "rail1", 1)] == [
        (one.index, one.interface, one.rail) for one in found.marker.networks
    ]


def test_a_network_that_the_user_attached_is_not_attached_again() -> None:
    """Whatever interface the user chose; it is noted as kept, and its device is counted."""
    found = result(annotations={names.NETWORKS: "default/rail0@mine"})
    assert "default/rail0@mine,default/rail1@rail1" == found.pod.annotations[names.NETWORKS]
    assert ("networks/default/rail0",) == found.marker.kept
    assert {"x.io/rail0": "1", "x.io/rail1": "1"} == limits(found)


def test_an_interface_name_that_is_taken_gets_a_letter() -> None:
    """The user's name stays; ours makes way."""
    found = result(annotations={names.NETWORKS: "other@rail0"})
    assert (
        "other@rail0,default/rail0@rail0a,default/rail1@rail1"
        == found.pod.annotations[names.NETWORKS]
    )


def test_an_unqualified_network_is_in_the_pods_namespace() -> None:
    """rail0 in namespace team is not default/rail0; in namespace default it is."""
    text = {names.NETWORKS: "rail0"}
    assert (
        "rail0,default/rail0@rail0,default/rail1@rail1"
        == result(annotations=text).pod.annotations[names.NETWORKS]
    )
    assert (
        "rail0,default/rail1@rail1"
        == result(annotations=text, namespace="default").pod.annotations[names.NETWORKS]
    )


def test_a_pool_is_attached_in_proportion_and_storage_always() -> None:
    """Two of four GPUs get two VFs; a single network without a rail stays."""
    found = result(builders.container(gpus=2), spec=POOL)
    assert "default/vf@vf0,default/vf@vf1,store/fs@fs" == found.pod.annotations[names.NETWORKS]
    assert {"x.io/vf": "2"} == {
        key: value for key, value in limits(found).items() if key == "x.io/vf"
    }


def test_repeated_networks_of_the_user_count_towards_the_pool() -> None:
    """Sixteen by hand and a pool of four: nothing is added, and all sixteen have a device."""
    found = result(
        builders.container(gpus=4, limits={"x.io/vf": "16"}),
        spec=POOL,
        annotations={names.NETWORKS: ",".join(["default/vf"] * 16)},
    )
    assert ",".join(["default/vf"] * 16) + ",store/fs@fs" == found.pod.annotations[names.NETWORKS]
    assert "16" == limits(found)["x.io/vf"]


def test_a_pod_on_the_hosts_network_gets_no_networks() -> None:
    """Multus does nothing for it, and the marker says so."""
    found = result(hostNetwork=True)
    assert names.NETWORKS not in found.pod.annotations
    assert "HostNetwork" in codes(found)


def test_an_element_without_a_name_is_kept_and_told() -> None:
    """Multus will not find it, and that is the user's to know."""
    found = result(annotations={names.NETWORKS: "a,"})
    assert "a,,default/rail0@rail0,default/rail1@rail1" == found.pod.annotations[names.NETWORKS]
    assert "EmptyNetwork" in codes(found)


@pytest.mark.parametrize(
    ("spec", "late"),
    [(RAILS, False), ({**RAILS, "attachment": "SharedDevice", "resources": []}, True)],
)
def test_networks_are_late_only_where_no_device_is_counted_for_a_rail(
    spec: Any, late: bool
) -> None:
    """Limits are fixed at admission."""
    assert late == ("networks" in result(spec=spec).marker.late)


def test_requests_equal_limits_and_only_the_shortfall_is_added() -> None:
    """What a sidecar has already counts; the container with GPUs gets the rest."""
    side = builders.container("side", gpus=0, limits={"x.io/rail0": "1"})
    found = result(side, builders.container())
    assert {"x.io/rail1": "1"} == limits(found, 1)
    assert {"x.io/rail1": "1"} == found.pod.containers[1]["resources"]["requests"]


def test_a_native_sidecar_counts_and_an_init_container_does_not() -> None:
    """Sidecars run beside the app; init containers hand their devices on."""
    sidecar = {
        **builders.container("s", gpus=0, limits={"x.io/rail0": "1"}),
        "restartPolicy": "Always",
    }
    assert {"x.io/rail1": "1"} == limits(result(initContainers=[sidecar]))
    init = builders.container("s", gpus=0, limits={"x.io/rail0": "1"})
    assert {"x.io/rail0": "1", "x.io/rail1": "1"} == limits(result(initContainers=[init]))


def test_more_than_needed_is_left_alone() -> None:
    """A user who asks for more keeps it."""
    assert {"x.io/rail0": "3", "x.io/rail1": "1"} == limits(
        result(builders.container(limits={"x.io/rail0": "3"}))
    )


@pytest.mark.parametrize(
    ("per", "gpus", "expected"),
    [
        ("Rail", 8, "6"),
        ("GPU", 8, "24"),
        ("Node", 8, "3"),
        ("Node", 4, "2"),
        ("Pod", 4, "3"),
        ("Fixed", 8, "3"),
    ],
)
def test_a_count_is_data_of_the_profile(per: str, gpus: int, expected: str) -> None:
    """The same value means per rail, GPU, share of a node, or pod."""
    resource = {"name": "x.io/r", "count": {"per": per, "value": 3}}
    spec = {**RAILS, "attachment": "SharedDevice", "resources": [resource]}
    assert {"x.io/r": expected} == limits(result(builders.container(gpus=gpus), spec=spec))


def test_an_annotation_only_profile_leaves_the_requests_to_the_injector() -> None:
    """network-resources-injector counts them out of the networks, whichever runs first."""
    found = result(spec={**RAILS, "requestedBy": "Injector"})
    assert {} == limits(found)
    assert {} == found.marker.resources
    assert "default/rail0@rail0,default/rail1@rail1" == found.pod.annotations[names.NETWORKS]


HUGE = {"resources": [{"name": "hugepages-2Mi", "count": {"per": "Pod", "value": "64Mi"}}]}


def test_huge_pages_are_asked_for_by_size() -> None:
    """The same in requests and limits, as core/v1 wants it."""
    found = result(builders.container(limits={"memory": "1Gi"}), spec=HUGE)
    assert {"memory": "1Gi", "hugepages-2Mi": "64Mi"} == limits(found)
    assert {"hugepages-2Mi": "64Mi"} == found.pod.containers[0]["resources"]["requests"]


def test_huge_pages_of_the_user_stay() -> None:
    """Another size is noted as kept."""
    given = {"memory": "1Gi", "hugepages-2Mi": "2Mi"}
    found = result(builders.container(limits=given), spec=HUGE)
    assert given == limits(found)
    assert ("resources/hugepages-2Mi",) == found.marker.kept
    for spelled in ("64Mi", "65536Ki"):
        same = {"memory": "1Gi", "hugepages-2Mi": spelled}
        assert () == result(builders.container(limits=same), spec=HUGE).marker.kept


def test_huge_pages_are_left_out_where_the_api_server_would_refuse_them() -> None:
    """They want memory or CPU asked for beside them."""
    found = result(spec=HUGE)
    assert {} == limits(found)
    assert "HugepagesNeedMemory" in codes(found)


FILE = {"settings": [{"name": "NCCL_IB_TC", "value": "106"}]}


@pytest.mark.parametrize("path", ["/etc/nccl.conf", "/etc/rccl.conf"])
def test_a_file_that_is_read_anyway_needs_no_variable(path: str) -> None:
    """NCCL's own and RCCL's own."""
    container = result(spec={**FILE, "confFile": path}).pod.containers[0]
    assert path == container["volumeMounts"][0]["mountPath"]
    assert "env" not in container


def test_a_file_elsewhere_is_named_by_a_variable() -> None:
    """NCCL_CONF_FILE, which is read instead of ~/.nccl.conf."""
    spec = {**FILE, "confFile": "/opt/podrail/nccl.conf"}
    container = result(spec=spec).pod.containers[0]
    assert [{"name": "NCCL_CONF_FILE", "value": "/opt/podrail/nccl.conf"}] == container["env"]


def test_a_conf_file_of_the_users_keeps_its_variable() -> None:
    """The profile's file makes way, unless NCCL reads it anyway."""
    mine = [{"name": "NCCL_CONF_FILE", "value": "/mine"}]
    elsewhere = result(
        builders.container(env=mine), spec={**FILE, "confFile": "/opt/podrail/nccl.conf"}
    )
    assert "NcclConfTaken" in codes(elsewhere)
    assert mine == elsewhere.pod.containers[0]["env"]
    beside = result(builders.container(env=mine), spec=FILE)
    assert names.NCCL_CONF in beside.pod.annotations


@pytest.mark.parametrize(
    ("path", "taken"),
    [("/opt", True), ("/opt/podrail/", True), ("/opt/podrail2", False), ("/", True)],
)
def test_a_mount_above_the_file_hides_it(path: str, taken: bool) -> None:
    """A file cannot be mounted into what the user mounts."""
    mounts = [{"name": "u", "mountPath": path}]
    spec = {**FILE, "confFile": "/opt/podrail/nccl.conf"}
    found = result(builders.container(volumeMounts=mounts), spec=spec)
    assert taken == ("NcclConfTaken" in codes(found))


SETTINGS = {
    "settings": [
        {"name": "GLOO_SOCKET_IFNAME", "value": "eth0", "carrier": "env"},
        {
            "name": "NCCL_IB_TC",
            "value": "106",
            "late": [{"when": {"instanceType": "x"}, "value": "96"}],
        },
        {
            "name": "NCCL_IB_SL",
            "value": "1",
            "carrier": "env",
            "late": [{"when": {"instanceType": "x"}, "value": "2"}],
        },
    ]
}


def test_settings_reach_the_pod_by_their_carriers() -> None:
    """A variable, a variable from an annotation, and a file from an annotation."""
    found = result(spec=SETTINGS)
    container = found.pod.containers[0]
    reference = {
        "apiVersion": "v1",
        "fieldPath": "metadata.annotations['podrail.dev/env.NCCL_IB_SL']",
    }
    assert [
        {"name": "GLOO_SOCKET_IFNAME", "value": "eth0"},
        {"name": "NCCL_IB_SL", "valueFrom": {"fieldRef": reference}},
    ] == container["env"]
    assert "1" == found.pod.annotations["podrail.dev/env.NCCL_IB_SL"]
    assert "NCCL_IB_TC=106\n" == found.pod.annotations[names.NCCL_CONF]
    assert "/etc/nccl.conf" == container["volumeMounts"][0]["mountPath"]
    assert ("env.NCCL_IB_SL", "nccl.conf") == found.marker.late


@pytest.mark.parametrize(
    "entry", [{"value": "net1"}, {"valueFrom": {"fieldRef": {"fieldPath": "x"}}}, {}]
)
def test_the_users_variable_stays(entry: dict[str, Any]) -> None:
    """By value, by reference or empty: it is the user's and noted as kept."""
    mine = {"name": "GLOO_SOCKET_IFNAME", **entry}
    found = result(builders.container(env=[mine]), spec=SETTINGS)
    assert mine == found.pod.containers[0]["env"][0]
    assert "env/GLOO_SOCKET_IFNAME" in found.marker.kept
    assert "GLOO_SOCKET_IFNAME" not in found.marker.env


def test_a_variable_that_beats_the_file_is_noted() -> None:
    """NCCL reads the environment first, so the file's value has no effect for that name."""
    found = result(builders.container(env=[{"name": "NCCL_IB_TC", "value": "1"}]), spec=SETTINGS)
    assert ("env/NCCL_IB_TC",) == found.marker.kept


@pytest.mark.parametrize("path", ["/etc", "/etc/", "/etc/nccl.conf"])
def test_a_mount_of_the_user_keeps_its_place(path: str) -> None:
    """The profile's file makes way, and the marker says so."""
    found = result(
        builders.container(volumeMounts=[{"name": "u", "mountPath": path}]), spec=SETTINGS
    )
    assert names.NCCL_CONF not in found.pod.annotations
    assert "NcclConfTaken" in codes(found)


def test_variables_from_elsewhere_are_warned_about() -> None:
    """What an envFrom holds is invisible at admission, and explicit variables beat it."""
    found = result(builders.container(envFrom=[{"configMapRef": {"name": "x"}}]), spec=SETTINGS)
    assert "EnvFromHidden" in codes(found)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"configMapRef": {"name": "x"}}, "ConfigMap x"),
        ({"secretRef": {"name": "y"}}, "Secret y"),
        ({}, "an unknown source"),
    ],
)
def test_the_source_of_hidden_variables_is_named(source: dict[str, Any], told: str) -> None:
    """So that its author knows where to look."""
    found = result(builders.container(envFrom=[source]), spec=SETTINGS)
    (reason,) = (one for one in found.marker.reasons if one.code == "EnvFromHidden")
    assert f"variables from {told} lose" in reason.message


def extra(*containers: Any, extras: dict[str, Any], **pod: Any) -> Injection:
    """The injection of a pod with a profile of these extras."""
    return result(*containers, spec={"extras": extras}, **pod)


def test_the_scheduler_is_set_only_where_the_pod_has_no_other() -> None:
    """Another scheduler is the user's choice and warned about."""
    assert "podrail" == extra(extras={"schedulerName": "podrail"}).pod.spec["schedulerName"]
    found = extra(extras={"schedulerName": "podrail"}, schedulerName="volcano")
    assert "volcano" == found.pod.spec["schedulerName"]
    assert "OtherScheduler" in codes(found)


def test_a_node_selector_is_added_key_by_key() -> None:
    """The user's value for a key stays."""
    found = extra(extras={"nodeSelector": {"a": "1", "b": "2"}}, nodeSelector={"a": "9"})
    assert {"a": "9", "b": "2"} == found.pod.spec["nodeSelector"]
    assert ("nodeSelector/a",) == found.marker.kept


def test_cluster_dns_is_kept_on_the_hosts_network() -> None:
    """ClusterFirst means Default there, so the profile's policy takes its place."""
    extras = {"dnsPolicy": "ClusterFirstWithHostNet"}
    assert "ClusterFirstWithHostNet" == extra(extras=extras, hostNetwork=True).pod.spec["dnsPolicy"]
    assert "None" == extra(extras=extras, hostNetwork=True, dnsPolicy="None").pod.spec["dnsPolicy"]
    assert "dnsPolicy" not in extra(extras=extras).pod.spec


def test_shared_memory_is_mounted_unless_something_is_there() -> None:
    """Looked up by mount path, never by volume name."""
    found = extra(extras={"shmSize": "32Gi"})
    assert {"medium": "Memory", "sizeLimit": "32Gi"} == found.pod.spec["volumes"][0]["emptyDir"]
    mine = builders.container(volumeMounts=[{"name": "x", "mountPath": "/dev/shm/"}])
    assert "volumes" not in extra(mine, extras={"shmSize": "32Gi"}).pod.spec


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (None, ["IPC_LOCK"]),
        ({"capabilities": {"add": ["SYS_PTRACE"]}}, ["SYS_PTRACE", "IPC_LOCK"]),
        ({"capabilities": {"add": ["ALL"]}}, ["ALL"]),
        ({"capabilities": {"add": ["IPC_LOCK"]}}, ["IPC_LOCK"]),
        ({"privileged": True}, None),
    ],
)
def test_ipc_lock_is_added_to_the_capabilities(context: Any, expected: list[str] | None) -> None:
    """Merged, and only where it means something."""
    container = builders.container(**({"securityContext": context} if context else {}))
    found = extra(container, extras={"ipcLock": True}).pod.containers[0]["securityContext"]
    assert expected == (found.get("capabilities") or {}).get("add")


def test_ipc_lock_for_another_user_than_root_is_warned_about() -> None:
    """The capability is inert there (nvidia-container-toolkit #2037)."""
    assert "IpcLockInert" in codes(
        extra(extras={"ipcLock": True}, securityContext={"runAsUser": 1000})
    )


def test_a_suspended_profile_changes_nothing_but_the_marker() -> None:
    """The off switch."""
    found = result(spec={**RAILS, "mode": "Suspended"})
    assert ("skipped", "Suspended") == (found.marker.outcome, found.marker.reason)
    assert {names.INJECTED} == set(found.pod.annotations)


def test_an_observing_profile_records_what_it_would_do() -> None:
    """The marker has the networks and resources, the pod has not."""
    found = result(spec={**RAILS, "mode": "Observe"})
    assert ("skipped", "Observed", 2) == (
        found.marker.outcome,
        found.marker.reason,
        len(found.marker.networks),
    )
    assert {names.INJECTED} == set(found.pod.annotations)
    assert found.warnings[0].startswith("podrail: would inject")


def test_the_annotations_of_a_copied_pod_are_reset() -> None:
    """Of podrail's keys only the user's survive a copy."""
    stale = {
        names.PLACEMENT: "{}",
        names.INJECTED: "x",
        "podrail.dev/env.NCCL_OLD": "1",
        names.RAILS: "0",
    }
    found = result(annotations=stale)
    assert {names.NETWORKS, names.INJECTED, names.RAILS} == set(found.pod.annotations)
    assert "fabric" == json.loads(found.pod.annotations[names.INJECTED])["profile"]


def test_a_marker_never_outgrows_its_bound() -> None:
    """Many reasons lose their messages first."""
    many = ",".join(["a", *[""] * 60])
    text = result(annotations={names.NETWORKS: many}).pod.annotations[names.INJECTED]
    assert len(text) <= names.MARKER_BYTES
    assert "injected" == json.loads(text)["outcome"]
