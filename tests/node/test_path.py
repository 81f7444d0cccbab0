"""The whole path on a real node: from one label to interfaces, devices, NCCL's settings and reports.

Webhook, kube-scheduler with the extender, Binding, kubelet, Multus and CNI plugins are the real
ones; only /sys and what is behind the devices are made up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import builders
import nads
import pytest
from controlplane.installed import eventually
from realnode import cni, seen
from realnode.fabrics import Hardware
from realnode.node import RealNode
from realnode.seen import Seen

from podrail import names
from podrail.fabric import Verified

pytestmark = pytest.mark.node
STORAGE, SECOND = "default/storage", "kube-system/second"
OTHERS = {STORAGE: "10.90.0.0/16", SECOND: "10.89.0.0/16"}
NADS = "/apis/k8s.cni.cncf.io/v1/namespaces/{}/network-attachment-definitions/{}"


@dataclass(frozen=True, slots=True)
class Case:
    """A pod, and what its fabric gives it; devices: how many of each resource besides GPUs."""

    fabric: str
    gpus: int
    interfaces: tuple[str, ...] = ()
    devices: dict[str, int] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    container: dict[str, Any] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


def rails(*numbers: int) -> tuple[str, ...]:
    """The interfaces of rails."""
    return tuple(f"rail{one}" for one in numbers)


def numbered(name: str, count: int) -> tuple[str, ...]:
    """The interfaces of a network that is attached so many times."""
    return tuple(f"{name}{at}" for at in range(count))


ALL = rails(*range(8))
ONE_TOKEN = {"rdma/hca_shared_devices_a": 1}
EACH = {f"nvidia.com/rail{one}": 1 for one in range(8)}
BESIDE = {names.NETWORKS: f"{STORAGE}@store0"}
INSTEAD = {"v1.multus-cni.io/default-network": SECOND}
READ_ONLY = {"securityContext": {"readOnlyRootFilesystem": True}}
CASES = {
    "macvlan": Case("macvlan-rails", 8, ALL, ONE_TOKEN),
    "storage beside": Case("macvlan-rails", 8, ("store0", *ALL), ONE_TOKEN, annotations=BESIDE),
    "default network": Case("macvlan-rails", 8, ALL, ONE_TOKEN, annotations=INSTEAD),
    "ipvlan": Case("ipvlan-rails", 8, ALL, ONE_TOKEN),
    "resource a rail": Case("sriov-rails", 8, ALL, EACH),
    "read-only root": Case("sriov-rails", 8, ALL, EACH, container=READ_ONLY),
    "pool": Case("sriov-pool", 8, numbered("vf", 8), {"nvidia.com/rdma-vf": 8}),
    "half of a pool": Case("sriov-pool", 4, numbered("vf", 4), {"nvidia.com/rdma-vf": 4}),
    "host devices": Case("host-device", 8, numbered("hostdev", 8), {"nvidia.com/hostdev": 8}),
    "host network": Case("oke-host", 8, spec={"hostNetwork": True}),
    "TCP only": Case("tcp", 8),
}
"""Cases of one fabric stand together: its devices and networks are laid once."""
IN_A_NETWORK = [name for name, case in CASES.items() if "hostNetwork" not in case.spec]
COUNTED = [name for name, case in CASES.items() if case.devices and case.devices != ONE_TOKEN]


def params(labels: list[str]) -> pytest.MarkDecorator:
    """The tests of these cases."""
    found = [pytest.param(CASES[one].fabric, one, id=one) for one in labels]
    return pytest.mark.parametrize(("laid", "placed"), found, indirect=True)


@pytest.fixture(scope="module", autouse=True)
def _others(node: RealNode) -> Iterator[None]:
    """Networks that are no rails: a user's storage, and one to take the default one's place."""
    client = node.cluster.client
    for key, subnet in OTHERS.items():
        space, name = key.split("/")
        config = json.dumps(cni.bridge(name, subnet))
        client.create(nads.document(name, config, namespace=space))
    yield
    for key in OTHERS:
        client.delete(NADS.format(*key.split("/")))


@pytest.fixture(scope="module")
def placed(request: pytest.FixtureRequest, laid: RealNode, room: str) -> Iterator[Seen]:
    """A case's pod, running."""
    case = CASES[request.param]
    name = request.param.replace(" ", "-").replace("'", "").lower()
    extra = {"annotations": case.annotations, "container": case.container, **case.spec}
    client, path = laid.cluster.client, f"/api/v1/namespaces/{room}/pods/{name}"
    client.create(seen.document(case.fabric, case.gpus, name, **extra), room)
    yield seen.of(laid, room, name)
    client.delete(path)
    eventually(lambda: client.call("GET", path).status == 404, f"{name} is gone", 40)


@params(list(CASES))
def test_a_pod_runs_where_the_extender_put_it(placed: Seen, node: RealNode) -> None:
    """With both markers, and the distances that the node's agent has seen."""
    placement = placed.placement
    assert ("injected", node.name, "noderails", False) == (
        placed.injected["outcome"],
        placement["node"],
        placement["evidence"],
        placement["conflict"],
    )


@params(IN_A_NETWORK)
def test_a_pod_has_the_interfaces_of_its_rails_and_no_other(
    placed: Seen, request: pytest.FixtureRequest
) -> None:
    """In its network namespace, each with an address; eth0 is left alone."""
    case = CASES[request.node.callspec.params["placed"]]
    assert {"lo", "eth0", *case.interfaces} == set(placed.interfaces)
    assert [] == [name for name, addresses in placed.interfaces.items() if len(addresses) != 1]


@params(list(CASES))
def test_a_container_reads_its_settings(placed: Seen) -> None:
    """What admission and the Binding wrote is in its environment and in /etc/nccl.conf."""
    assert placed.annotations[names.NCCL_CONF] == placed.conf
    assert "eth0" == placed.environ["GLOO_SOCKET_IFNAME"]
    late = [name for name in placed.annotations if name.startswith(names.ENV_PREFIX)]
    given = [placed.environ[name.removeprefix(names.ENV_PREFIX)] for name in late]
    assert [placed.annotations[name] for name in late] == given


@params(list(CASES))
def test_a_container_holds_the_devices_that_were_counted(
    placed: Seen, request: pytest.FixtureRequest
) -> None:
    """As the kubelet's PodResources tells it, GPUs included."""
    case = CASES[request.node.callspec.params["placed"]]
    expected = {"nvidia.com/gpu": case.gpus, **case.devices}
    assert expected == {name: len(ids) for name, ids in placed.held.items()}


@params(COUNTED)
def test_multus_passes_the_devices_that_the_kubelet_gave(placed: Seen, hardware: Hardware) -> None:
    """Each interface gets another of the pod's; a rail's interface gets one of that rail."""
    held = [ids for name, ids in placed.held.items() if name != "nvidia.com/gpu"]
    assert sorted(placed.passed.values()) == sorted(frozenset().union(*held))
    attached = {one["interface"]: one["rail"] for one in placed.injected["networks"]}
    assert set(attached) == set(placed.passed)
    on = {name: hardware.rail(device) for name, device in placed.passed.items()}
    named = {name: rail for name, rail in attached.items() if rail is not None}
    assert named == {name: on[name] for name in named}
    assert not named or set(named.values()) == set(placed.placement["rails"])


@params(["default network"])
def test_another_default_network_is_left_to_the_user(placed: Seen) -> None:
    """Rails are attached beside it."""
    assert placed.interfaces["eth0"][0].startswith("10.89.")


@params(["host network"])
def test_on_the_hosts_network_nothing_is_attached_and_the_machine_type_decides(
    placed: Seen,
) -> None:
    """The HCAs are those of this machine type, bound late; the default is another's."""
    assert names.NETWORKS not in placed.annotations
    assert "rail0" in placed.interfaces
    assert "NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11\n" in placed.conf


def test_what_a_profile_says_of_itself_was_done_here() -> None:
    """Those verified on a node are those whose pods run in the tests above."""
    # On a kernel without ipvlan a macvlan stands in for it.
    ran = {case.fabric for case in CASES.values()} - {"ipvlan-rails"}
    shipped = builders.shipped().values()
    assert {one.name for one in shipped if one.verified is Verified.NODE} == ran
