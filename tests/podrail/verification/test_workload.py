"""Which nodes measure against which, with which objects, and that the script does as it says."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import builders
import pytest

from podrail import names
from podrail import pod as pods
from podrail.admission import injection
from podrail.verification import plan, record, script, workload
from podrail.verification.workload import Order

SHIPPED = builders.shipped()


def order(*nodes: str, profile: str = "sriov-rails") -> Order:
    """An order for nodes."""
    return Order(SHIPPED[profile], "example.invalid/tests", nodes, "team")


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_every_node_has_two_partners_and_one_at_a_time(count: int) -> None:
    """Of two nodes each has one."""
    nodes = [f"n{at}" for at in range(count)]
    found = plan.pairs(nodes)
    partners = Counter(node for pair in found for node in (pair.server, pair.client))
    assert dict.fromkeys(nodes, 1 if count == 2 else 2) == partners
    busy = [(pair.round, node) for pair in found for node in (pair.server, pair.client)]
    assert len(busy) == len({*busy})


def test_one_node_has_nobody() -> None:
    """It measures its own GPUs."""
    assert () == plan.pairs(["a"])
    (job,) = workload.jobs(order("a"))
    assert "none" == env(job)["RAILS"]


def env(job: dict[str, Any]) -> dict[str, str]:
    """The variables of a Job's container."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container["env"]}


def test_the_pods_of_a_pair_know_each_other() -> None:
    """The client by the server's name in the headless Service."""
    server, client = workload.jobs(order("a", "b"))
    name = server["spec"]["template"]["spec"]["hostname"]
    subdomain = server["spec"]["template"]["spec"]["subdomain"]
    assert f"{name}.{subdomain}.team.svc" == env(client)["PEER"]
    assert ("a", "b") == (env(server)["NODE"], env(client)["NODE"])
    assert workload.service(order("a"))["metadata"]["name"] == subdomain
    owned = workload.service(order("a"), {"name": "j", "uid": "u"})["metadata"]["ownerReferences"]
    assert [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}] == owned


@pytest.mark.parametrize("profile", sorted(SHIPPED))
def test_podrail_injects_the_pods_as_any_others(profile: str) -> None:
    """They have the label and all GPUs of a node, so they get all rails."""
    (job,) = workload.jobs(order("a", profile=profile))
    template = job["spec"]["template"]
    assert profile == template["metadata"]["labels"][names.FABRIC]
    document = {"apiVersion": "v1", "kind": "Pod", **template}
    document["metadata"] = {**template["metadata"], "name": "x"}
    result = injection.inject(pods.read(document, "team"), SHIPPED[profile])
    assert "injected" == result.marker.outcome


def test_settings_for_nccl_are_options_of_perftest() -> None:
    """But for -1, which lets NCCL look for itself."""
    (job,) = workload.jobs(order("a", profile="oke-vf-h200"))
    assert "-x 3 --tclass 41 --sl 0" == env(job)["FLAGS"]
    (job,) = workload.jobs(order("a", profile="ack-erdma"))
    assert "" == env(job)["FLAGS"]


def test_pods_of_a_host_fabric_are_on_the_host() -> None:
    """And find each other by cluster names all the same."""
    spec = workload.jobs(order("a", profile="oke-host"))[0]["spec"]["template"]["spec"]
    assert (True, "ClusterFirstWithHostNet") == (spec["hostNetwork"], spec["dnsPolicy"])


@pytest.mark.parametrize(
    ("profile", "told"), [("eks-p5", "EFA"), ("tcp", "no RDMA"), ("sriov-rails", "")]
)
def test_what_ib_write_bw_cannot_measure(profile: str, told: str) -> None:
    """Then the pods measure no rail."""
    assert told in plan.unmeasured(SHIPPED[profile])
    assert bool(told) == (
        env(workload.jobs(order("a", "b", profile=profile))[0])["RAILS"] == "none"
    )


def test_all_nodes_at_once() -> None:
    """As many workers as nodes, a rank for each GPU."""
    job = workload.mpi_job(order("a", "b"))
    launcher, worker = job["spec"]["mpiReplicaSpecs"].values()
    assert 2 == worker["replicas"]
    assert "-np 16 " in launcher["template"]["spec"]["containers"][0]["command"][2]
    assert "sriov-rails" == worker["template"]["metadata"]["labels"][names.FABRIC]


def test_kubernetes_leaves_the_script_alone() -> None:
    """$(NAME) and $$ mean something to it in a command (core/v1, Container.command)."""
    assert [] == re.findall(r"\$\([A-Za-z_][A-Za-z0-9_.-]*\)|\$\$", script.TEXT)


def tools(folder: Path, **texts: str) -> Path:
    """A folder of programs that are shell scripts."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def device(sys: Path, name: str, netdev: str = "", link: str = "Ethernet") -> None:
    """An RDMA device below a stand-in for /sys."""
    port = sys / "class" / "infiniband" / name / "ports" / "1"
    (port / "gid_attrs" / "ndevs").mkdir(parents=True)
    (port / "link_layer").write_text(f"{link}\n")
    (port / "gid_attrs" / "ndevs" / "0").write_text(f"{netdev}\n")


def ran(sys: Path, path: str, **given: str) -> str:
    """What the script prints."""
    given = {"NODE": "a", "ROLE": "client", "PEER": "peer", "PEER_NODE": "b", "GPUS": "8"} | given
    settings = {"SYS": str(sys), "PATIENCE": "2", "RAILS": "", "FLAGS": "", **given, "PATH": path}
    done = subprocess.run(
        ["/bin/sh", "-c", script.TEXT], env=settings, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert "" == done.stderr
    return done.stdout


@pytest.fixture
def path() -> str:
    """Where sh finds the usual programs."""
    return os.environ["PATH"]  # noqa: TID251 - a shell needs it


WRITES = (
    'echo "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]"; echo "65536 9 0.0 391.2 0.7";'
    ' echo "$*" >> "$CALLS"'
)


def test_the_script_measures_the_rails_by_their_interfaces(tmp_path: Path, path: str) -> None:
    """A device that the pod has no interface of is told of, and the others are measured."""
    bin_ = tools(tmp_path / "bin", ib_write_bw=WRITES, all_reduce_perf="echo '# none'")
    device(tmp_path, "mlx5_4", "rail0")
    device(tmp_path, "mlx5_1", "rail2")
    calls = tmp_path / "calls"
    text = ran(
        tmp_path, f"{bin_}:{path}", RAILS="rail0 rail1 rail2", FLAGS="-x 3", CALLS=str(calls)
    )
    found = record.read(text)
    assert [("rail0", 391.2, "b", "a"), ("rail2", 391.2, "b", "a")] == [
        (one.rail, one.gbps, one.server, one.client) for one in found.links
    ]
    assert (("no RDMA device of interface rail1",), True) == (found.missing, found.complete)
    assert [
        "-d mlx5_4 -p 18516 -D 5 -F --report_gbits -x 3 peer",
        "-d mlx5_1 -p 18518 -D 5 -F --report_gbits -x 3 peer",
    ] == calls.read_text().splitlines()


def test_without_networks_the_devices_of_infiniband_are_rails(tmp_path: Path, path: str) -> None:
    """In the order of their numbers, without the Ethernet one."""
    bin_ = tools(tmp_path / "bin", ib_write_bw=WRITES, all_reduce_perf="false")
    for name in ("mlx5_10", "mlx5_2"):
        device(tmp_path, name, link="InfiniBand")
    device(tmp_path, "mlx5_3")
    text = ran(tmp_path, f"{bin_}:{path}", ROLE="server", CALLS=str(tmp_path / "calls"))
    found = record.read(text)
    assert ["mlx5_2", "mlx5_10"] == [one.rail for one in found.links]
    assert ("all_reduce_perf failed",) == found.missing


def test_a_peer_that_does_not_answer_is_told(tmp_path: Path, path: str) -> None:
    """After a while, on both sides."""
    bin_ = tools(tmp_path / "bin", ib_write_bw="exit 1")
    device(tmp_path, "mlx5_0", "rail0")
    for role, why in (("client", "no connection"), ("server", "nobody connected")):
        found = record.read(ran(tmp_path, f"{bin_}:{path}", ROLE=role, RAILS="rail0"))
        assert [why] == [one.why for one in found.links]
        assert ("no all_reduce_perf in the pod",) == found.missing


@pytest.mark.parametrize(
    ("rails", "told"),
    [("rail0", "no ib_write_bw in the pod"), ("", "no devices in the pod"), ("none", "")],
)
def test_what_a_pod_lacks_is_told(rails: str, told: str, tmp_path: Path, path: str) -> None:
    """Nothing of it is a failure of a rail."""
    found = record.read(ran(tmp_path, path, RAILS=rails))
    assert {"no all_reduce_perf in the pod", told} - {""} == {*found.missing}
    assert ((), True) == (found.links, found.complete)
