"""The user's own values that NCCL takes for something else."""

from typing import Any

import pytest

from podrail.nccl import misreading
from podrail.reading import shown


def messages(name: str, value: str, *, rdma: bool = True) -> list[str]:
    """What is said of one variable, without its name and value."""
    found = misreading.of([{"name": name, "value": value}], rdma=rdma)
    begins = f"{name}={shown(value)} "
    assert all(one.message.startswith(begins) for one in found)
    return [one.message.removeprefix(begins) for one in found]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("NCCL_IB_DISABLE", "true", "is read as 0: words are 0"),
        ("NCCL_IB_DISABLE", "yes", "is read as 0: words are 0"),
        ("NCCL_IB_DISABLE", '"1"', "is read as 0: words are 0"),
        ("NCCL_IB_TIMEOUT", "22s", "is read as 22: words are 0 and what follows"),
        ("NCCL_IB_TC", "0106", "is read as 70: a leading 0 makes it octal"),
        ("NCCL_IB_TC", "08", "is read as 0"),
        ("NCCL_IB_TC", "9" * 30, "is too large a number: NCCL takes its default"),
        ("NCCL_IB_TIMEOUT", "0", "is outside the range from 1 to 24: 0, or 32 and more, waits"),
        ("NCCL_IB_TIMEOUT", "100", "is outside the range from 1 to 24"),
        ("NCCL_IB_PKEY", "0xffff", "it is an index into the port's P_Key table, not the key"),
        ("NCCL_BUFFSIZE", "0", "is outside the range from 1: memory runs out"),
        ("NCCL_IB_TC", "", "is empty: NCCL takes its default, and no nccl.conf can set it"),
        ("NCCL_NET_GDR_LEVEL", "pxb", "NCCL ignores other words"),
        ("NCCL_NET_GDR_LEVEL", "3", "is an old number for a distance"),
        ("NCCL_NET_GDR_LEVEL", "LOC", "turns GPUDirect RDMA off"),
        ("NCCL_SOCKET_FAMILY", "inet6", "is not one of AF_INET, AF_INET6"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0", "is not a range of addresses"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0/255.0.0.0", "is not a range of addresses"),
        ("NCCL_IB_HCA", "=^mlx5_0", "takes ^ for a part of a name"),
        ("NCCL_IB_HCA", "==mlx5_0", "has the name '=mlx5_0', which nothing has"),
        ("NCCL_IB_HCA", "mlx5_0, mlx5_1", "has the name ' mlx5_1', which nothing has"),
        ("NCCL_IB_HCA", "mlx5_0,^mlx5_1", "has the name '^mlx5_1', which nothing has"),
        ("NCCL_IB_HCA", "mlx5_0,mlx5_1", "also matches mlx5_10 to mlx5_19: write = in front"),
        ("NCCL_IB_HCA", "^mlx5_1:1", "also matches mlx5_10 to mlx5_19: write ^= in front"),
        ("NCCL_IB_HCA", "mlx5_0:0", "has port 0"),
        ("NCCL_IB_HCA", "^", "names nothing: everything is left out"),
        ("NCCL_IB_HCA", "=", "names nothing: all are taken"),
        ("NCCL_IB_HCA", ",".join(["mlx5_0"] * 33), "has more than 32 names"),
        ("NCCL_IB_HCA", "", "is empty: NCCL takes every device"),
        ("NCCL_SOCKET_IFNAME", "^", "is one character, which counts as empty"),
        ("NCCL_SOCKET_IFNAME", "", "is empty: NCCL chooses an interface itself"),
        ("NCCL_SOCKET_IFNAME", ",".join(["eth0"] * 17), "has more than 16 names"),
        ("GLOO_SOCKET_IFNAME", "^lo,docker0", "is not read as NCCL's lists are"),
        ("GLOO_SOCKET_IFNAME", "=eth0", "is not read as NCCL's lists are"),
        ("TP_SOCKET_IFNAME", "eth0,eth1", "has more than 1 name"),
        ("NCCL_IB_GID_INDEX", "3", "fixes an index that differs between pods"),
        ("NCCL_IB_DISABLE", "1", "turns RDMA off"),
        ("NCCL_GRAPH_FILE", "/graph.xml", "stops NCCL where the file is missing"),
        ("NCCL_GRAPH_FILE", "", "cannot open that file and stops"),
        ("NCCL_PROTO", "Simple", "is for debugging"),
        ("NCCL_PROTO", "ll,ll128", "forces LL128, which corrupts data"),
        ("NCCL_PROTO", "^LL128", "is for debugging"),
        ("NCCL_ALGO", "Ring", "is for debugging"),
        ("NCCL_NET", "tcp", "is no network of NCCL's own (IB, Socket)"),
        ("NCCL_NET", "Socket", "means TCP"),
        ("NCCL_NET", "", "no network has that name"),
        ("NCCL_NET_PLUGIN", "", "loads no network plugin"),
        ("NCCL_TOPO_FILE", "", "reads no topology file"),
        ("NCCL_NET_MERGE_LEVEL", "", "means LOC"),
        ("NCCL_HOSTID", "me", "takes them for one machine"),
        ("NCCL_IB_CUDA_SUPPORT", "1", "is not read by any release since 2.5: NCCL_NET_GDR_LEVEL"),
        ("UCX_NET_DEVICES", "eth0,mlx5_3:1", "names mlx5_3:1, but the numbers"),
    ],
)
def test_a_value_that_means_something_else_is_told(name: str, value: str, told: str) -> None:
    """One finding that says what becomes of the value."""
    (message,) = messages(name, value)
    assert told in message


def test_one_value_can_be_wrong_in_two_ways() -> None:
    """To NCCL auto is 0, and 0 is an index like any other."""
    read, fixed = messages("NCCL_IB_GID_INDEX", "auto")
    assert read.startswith("is read as 0")
    assert fixed.startswith("fixes an index")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_DISABLE", "0"),
        ("NCCL_IB_GID_INDEX", "-1"),
        ("NCCL_IB_TC", "0x6a"),
        ("NCCL_IB_TC", " 106 "),
        ("NCCL_IB_SL", "07"),
        ("NCCL_IB_HCA", "mlx5"),
        ("NCCL_IB_HCA", "^mlx5_8"),
        ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"),
        ("NCCL_IB_HCA", "mlx5_0,mlx5_12,rocep25s0f0"),
        ("NCCL_SOCKET_IFNAME", "=eth0"),
        ("NCCL_SOCKET_IFNAME", "^lo,docker"),
        ("GLOO_SOCKET_IFNAME", "eth0,eth1"),
        ("GLOO_SOCKET_IFNAME", ""),
        ("NCCL_NET", "ib"),
        ("NCCL_NET", "AWS Libfabric"),
        ("NCCL_NET_GDR_LEVEL", "PHB"),
        ("NCCL_NET_PLUGIN", "none"),
        ("NCCL_DEBUG", "info"),
        ("NCCL_IB_ADDR_RANGE", "fd02::/16"),
        ("NCCL_TOPO_FILE", "/topo.xml"),
        ("UCX_NET_DEVICES", "eth0"),
        ("NCCL_OF_A_PLUGIN", "true"),
        ("MASTER_ADDR", "true"),
    ],
)
def test_a_value_that_means_what_it_says_is_left_alone(name: str, value: str) -> None:
    """No finding for what platforms rightly write, or for what nobody here knows."""
    assert [] == messages(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_DISABLE", "1"),
        ("NCCL_NET", "Socket"),
        ("NCCL_IB_GID_INDEX", "3"),
        ("UCX_NET_DEVICES", "mlx5_0:1"),
    ],
)
def test_without_rdma_there_is_nothing_to_lose(name: str, value: str) -> None:
    """Under a profile of TCP a pod may well turn RDMA off."""
    assert [] == messages(name, value, rdma=False)


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "NCCL_IB_DISABLE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "NCCL_IB_DISABLE", "value": "$(DISABLE)"},
        {"name": "NCCL_IB_DISABLE", "value": True},
        {"value": "true"},
    ],
    ids=["valueFrom", "reference", "not a text", "no name"],
)
def test_only_literal_values_are_judged(entry: dict[str, Any]) -> None:
    """What the process will see cannot be told from here."""
    assert () == misreading.of([entry], rdma=True)


def test_the_last_of_a_name_counts() -> None:
    """The kubelet takes the last entry of a name, and its place is told."""
    entries = [{"name": "NCCL_IB_TC", "value": value} for value in ("true", "yes")]
    (found,) = misreading.of([{"name": "A", "value": "1"}, *entries], rdma=True)
    assert (2, "NCCL_IB_TC") == (found.index, found.name)
    assert found.message.startswith("NCCL_IB_TC='yes' is read as 0")


def test_an_entry_without_a_value_is_empty() -> None:
    """core/v1: value defaults to the empty string."""
    (found,) = misreading.of([{"name": "NCCL_NET_PLUGIN"}], rdma=True)
    assert "is empty" in found.message


def test_a_long_value_is_cut_in_the_message() -> None:
    """A value cannot flood the warnings of an admission."""
    (found,) = misreading.of([{"name": "NCCL_NET", "value": "x" * 100_000}], rdma=True)
    assert len(found.message) < 300
