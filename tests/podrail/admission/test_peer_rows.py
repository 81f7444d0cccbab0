"""What network-resources-injector does not get right, and what podrail makes of the same pods.

The nineteen rows were executed against its handler (61d01b96, August 2026); a row's number is in
the name of its test. Both count the devices of a pod's networks; podrail attaches them as well.
"""

from __future__ import annotations

import json
from typing import Any

import admitted
import pytest
from builders import container, document, fabric, review

from podrail import names
from podrail.admission import decision
from podrail.admission import review as reviews
from podrail.admission.decision import Directory
from podrail.multus import networks

VF = "example.com/vf"
DEFAULT_NETWORK = "v1.multus-cni.io/default-network"
INJECTION_LABEL = {"customize.example.com/networks": "true"}
POOL = {
    "attachment": "SriovVF",
    "rails": {"count": 2},
    "networks": [{"name": "default/pool", "interface": "vf", "repeat": 2, "resource": VF}],
    "resources": [{"name": VF, "count": {"per": "Rail"}}],
}
RAILS = {
    "attachment": "SriovVF",
    "rails": {"count": 2},
    "networks": [{"name": f"default/rail{rail}", "rail": rail} for rail in range(2)],
    "resources": [{"name": f"example.com/rail{rail}", "rail": rail} for rail in range(2)],
}
TRAIN = container()


def answered(pod: dict[str, Any], **spec: Any) -> bytes:
    """The webhook's answer to the pod, under a profile with this spec."""
    directory = Directory({"fabric": fabric("fabric", **(spec or POOL))})
    return decision.answer(reviews.read(review(pod)), directory).body


def came_out(pod: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """The pod after admission, which allows it."""
    after: dict[str, Any] = admitted.patched(pod, answered(pod, **spec))
    return after


def with_networks(text: str, *containers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A pod of the profile with this networks annotation."""
    annotations = {names.NETWORKS: text, **fields.pop("annotations", {})}
    return document(*containers, fabric="fabric", annotations=annotations, **fields)


def listed(pod: dict[str, Any]) -> str:
    """The networks annotation."""
    return str(pod["metadata"]["annotations"][names.NETWORKS])


def devices(pod: dict[str, Any], name: str = VF) -> list[str | None]:
    """What the limits of each container say of a resource; the requests say the same."""
    resources = [one.get("resources") or {} for one in pod["spec"]["containers"]]
    limits = [(one.get("limits") or {}).get(name) for one in resources]
    assert limits == [(one.get("requests") or {}).get(name) for one in resources]
    return limits


def holding(number: int, name: str = "train", gpus: int = 8, resource: str = VF) -> dict[str, Any]:
    """A container that asks for devices itself."""
    asked = {resource: str(number)}
    return container(name, gpus, limits=asked, requests=asked)


def refused(text: str) -> str:
    """The message with which a pod with this annotation is refused."""
    response = json.loads(answered(with_networks(text)))["response"]
    assert not response["allowed"]
    return str(response["status"]["message"])


def test_row_1_two_elements_are_two_devices() -> None:
    """A clean pod that names the network twice gets two devices and no third element."""
    pod = came_out(with_networks("default/pool, default/pool"))
    assert (["2"], "default/pool, default/pool") == (devices(pod), listed(pod))


def test_row_2_a_sidecars_device_counts() -> None:
    """What a sidecar asks for already is taken off; the other resource goes to the GPUs' container."""
    sidecar = holding(1, "side", 0, "example.com/rail0")
    pod = came_out(with_networks("default/rail0,default/rail1", TRAIN, sidecar), **RAILS)
    rails = [devices(pod, f"example.com/rail{rail}") for rail in range(2)]
    assert [[None, "1"], ["1", None]] == rails


def test_row_3_a_count_that_is_too_small_is_topped_up() -> None:
    """Three networks of a resource of which the container has one make three."""
    pod = came_out(with_networks(",".join(["default/pool"] * 3), holding(1)))
    assert ["3"] == devices(pod)


def test_row_4_a_count_that_is_right_stays_on_every_pass() -> None:
    """Two networks and two devices are two devices, also the second time."""
    once = came_out(with_networks("default/pool,default/pool", holding(2)))
    assert (["2"], ["2"]) == (devices(once), devices(came_out(once)))


def test_row_5_the_devices_of_another_container_are_not_asked_for_again() -> None:
    """A container beside that has them all leaves none to add."""
    text = "default/pool,default/pool"
    pod = came_out(with_networks(text, TRAIN, holding(2, "side", 0)))
    assert [None, "2"] == devices(pod)


@pytest.mark.parametrize("interface", ["IB_0", "eth0.100"])
def test_row_6_every_interface_name_that_multus_takes_is_taken(interface: str) -> None:
    """Upper case, underscores and dots are fine."""
    text = f"default/pool@{interface}"
    assert f"{text},default/pool@vf1" == listed(came_out(with_networks(text)))


def test_row_7_a_name_that_the_kernel_has_no_room_for_is_refused() -> None:
    """Sixteen characters would fail on the node: the author reads it at once."""
    assert "longer than 15 bytes" in refused("default/pool@interface16chars")


def test_row_8_a_dot_is_for_the_json_form() -> None:
    """Multus takes a.b as JSON and not as the short form; so does podrail, with a message."""
    assert "DNS-1123" in refused("a.b")
    assert listed(came_out(with_networks('[{"name":"a.b"}]'))).startswith('[{"name":"a.b"},')


@pytest.mark.parametrize("text", ['{"name":"a"}', '[{"name":"a"},]'])
def test_row_9_what_multus_cannot_read_is_refused_with_its_place(text: str) -> None:
    """An answer with a message, not a failed call."""
    assert "metadata.annotations['k8s.v1.cni.cncf.io/networks']" in refused(text)


def test_row_9_a_space_that_multus_trims_is_no_fault() -> None:
    """The user's spelling stays."""
    text = "default/pool @net5"
    assert f"{text},default/pool@vf1" == listed(came_out(with_networks(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["pool", "pool"]),
        ("[]", ["pool", "pool"]),
        # Without a sign of JSON it is a name.
        ("null", ["null", "pool", "pool"]),
    ],
)
def test_row_10_an_empty_list_is_a_list(text: str, expected: list[str]) -> None:
    """The rails come into it, and no word is mistaken for nothing."""
    found = listed(came_out(with_networks(text)))
    assert expected == [one.name for one in networks.parse(found).elements]


def test_row_11_a_null_in_the_list_is_refused() -> None:
    """It crashes Multus and the injector; here the author reads which element it is."""
    assert "networks'][0]: expected an object, got None" in refused("[null]")


def test_row_12_a_pod_without_containers_is_answered() -> None:
    """The webhook says that nothing asks for GPUs; the API server refuses the pod itself."""
    pod = with_networks("default/pool")
    pod["spec"]["containers"] = []
    assert "NoGpu" in came_out(pod)["metadata"]["annotations"][names.INJECTED]


def test_row_13_the_default_network_is_no_rail() -> None:
    """It is not touched, and the rails' devices are counted without it."""
    pod = with_networks("default/pool,default/pool", annotations={DEFAULT_NETWORK: "default/pool"})
    after = came_out(pod)
    assert ["2"] == devices(after)
    assert "default/pool" == after["metadata"]["annotations"][DEFAULT_NETWORK]


def test_row_14_an_unqualified_default_network_is_the_business_of_multus() -> None:
    """It is looked up in Multus's own namespace, which is no reason to refuse the pod."""
    after = came_out(with_networks("default/pool", annotations={DEFAULT_NETWORK: "calico"}))
    assert "calico" == after["metadata"]["annotations"][DEFAULT_NETWORK]


def test_row_15_networks_without_a_resource_are_attached() -> None:
    """Whether a network takes a device has no say in whether it is attached."""
    bare = {**POOL, "networks": [{"name": "default/bare", "interface": "b"}], "resources": []}
    pod = document(fabric="fabric", labels=INJECTION_LABEL)
    assert "default/bare@b" == listed(came_out(pod, **bare))


def test_row_16_the_users_networks_stay_and_all_are_counted() -> None:
    """Ours come after the user's, and the count is that of the list that comes out."""
    text = "default/rail0@mine,other"
    pod = came_out(with_networks(text, labels=INJECTION_LABEL), **RAILS)
    assert f"{text},default/rail1@rail1" == listed(pod)
    assert [["1"], ["1"]] == [devices(pod, f"example.com/rail{rail}") for rail in range(2)]


def test_row_17_a_pod_on_the_hosts_network_gets_no_network() -> None:
    """No CNI plugin would be called for it; the marker says so."""
    pod = came_out(document(fabric="fabric", hostNetwork=True))
    assert names.NETWORKS not in pod["metadata"]["annotations"]
    assert "HostNetwork" in pod["metadata"]["annotations"][names.INJECTED]


def test_row_18_the_users_node_selector_wins() -> None:
    """The fabric's zone is kept out, and the marker says that it was."""
    spec = {**POOL, "extras": {"nodeSelector": {"zone": "b"}}}
    pod = came_out(document(fabric="fabric", nodeSelector={"zone": "c"}), **spec)
    marker = json.loads(pod["metadata"]["annotations"][names.INJECTED])
    assert ({"zone": "c"}, ["nodeSelector/zone"]) == (pod["spec"]["nodeSelector"], marker["kept"])


def test_row_19_fields_that_nobody_knows_stay_byte_for_byte() -> None:
    """Ours follow an element whose spelling is the user's to the last blank."""
    text = '[ {"name" : "u", "future": {"n": 1e3}} ]'
    found = listed(came_out(with_networks(text)))
    assert found.startswith(text.removesuffix(" ]") + ",")
    assert ["u", "pool", "pool"] == [one.name for one in networks.parse(found).elements]
