"""What NCCL's log tells. The lines have the form of public logs; hosts and values are our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from podrail.nccl import log, signs
from podrail.nccl.log import Account
from podrail.nccl.paths import Verdict
from podrail.nccl.signs import Gravity

DATA = Path(__file__).resolve().parents[2] / "data" / "nccl"


def decoded(name: str) -> Account:
    """The account of a log of the tests."""
    return log.decode((DATA / name).read_text().splitlines())


def said(*texts: str, level: str = "WARN") -> Account:
    """The account of these lines of one process."""
    lines = (f"a:1:2 [0] transport/net_ib.cc:9 NCCL {level} {text}" for text in texts)
    return log.decode(lines)


def test_a_job_on_its_rails_is_well() -> None:
    """Version, hosts, ranks, network, NICs, transports, rails; no sign."""
    found = decoded("aligned.log")
    assert found.well
    assert (("2.27.3",), ("worker-0", "worker-1"), 8) == (found.versions, found.hosts, found.ranks)
    assert {"IB": 8} == found.networks
    assert ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3") == found.nics["worker-1"]
    assert {"IB with GPUDirect RDMA": 16, "GPU to GPU": 8} == found.transports
    assert (Verdict.ALIGNED, ()) == (found.alignment.verdict, found.signs)


def test_a_job_that_fell_back_to_tcp_is_not() -> None:
    """Whatever stands before the lines; the first line of each sign is told."""
    found = decoded("fallback.log")
    assert (False, True) == (found.well, found.by_tcp)
    assert ({"Socket": 2}, {"worker-1": ("eth0",)}) == (found.networks, found.nics)
    assert {"TCP sockets": 2} == found.transports
    assert [("NoRdmaDevice", 2, 4), ("NoPlugin", 2, 3)] == [
        (one.sign.code, one.count, one.line) for one in found.signs
    ]
    assert found.signs[0].example.endswith("NET/IB : No device found.")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Bootstrap : no socket interface found", "NoSocketInterface"),
        ("NCCL_IB_DISABLE set by environment to 1.", "RdmaTurnedOff"),
        ("NET/IB : No device found.", "NoRdmaDevice"),
        ("Failed to open libibverbs.so[.1]", "NoVerbsLibrary"),
        ("NET/IB : No IP interface found.", "NoAddressForRdma"),
        ("Call to ibv_modify_qp failed with error No such device errno 19", "NoSuchGid"),
        ("Call to ibv_modify_qp failed with error No data available errno 61", "EmptyGid"),
        ("Call to ibv_modify_qp failed with 22 Invalid argument errno 22", "WrongIndex"),
        ("Call to ibv_modify_qp failed with error Network is unreachable errno 101", "NoRoute"),
        ("NET/IB : Got completion from peer 10.0.0.1<4> with error 12, opcode 0", "PeerUnreachable"),
        ("NET/IB : Got completion from peer x with status=12 opcode=1", "PeerUnreachable"),
        ("NET/IB: Got completion from peer x with status=IBV_WC_RETRY_EXC_ERR(12) opcode=",
         "PeerUnreachable"),
        ("NET/IB : Got completion with error 4, opcode 8983, len 0", "LocalProtection"),
        ("NET/IB : Got completion from peer x with status=5 opcode=129", "Flushed"),
        ("NET/IB : Got completion from peer x with status=10 opcode=1", "BadCompletion"),
        ("NET/IB : read failed in ncclIbRoceGetVersionNum: Invalid argument", "NoRoceVersion"),
        ("Call to ibv_reg_mr failed with error Cannot allocate memory", "NotEnoughLockedMemory"),
        ("NET/IB : Try selecting NICs of only one link type using NCCL_IB_HCA", "MixedLinks"),
        ("Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)",
         "SharedMemory"),
        ("NET/OFI Failed. No eligible providers were found", "NoEfa"),
        ("Net/Socket : Connection closed by remote peer worker-1<2>", "PeerGone"),
        ("socketStartConnect: Connect to 10.0.0.1<2> failed : Connection refused", "Refused"),
        ("GPU Direct RDMA Disabled for GPU 1 / HCA 0 (distance 7 > 5)", "FarFromNic"),
        ("NET/Plugin : No plugin found (libnccl-net.so).", "NoPlugin"),
    ],
)  # fmt: skip
def test_a_line_has_its_meaning(text: str, code: str) -> None:
    """The first sign that matches."""
    (only,) = said(text).signs
    assert code == only.sign.code


def test_lines_of_other_programs_may_be_signs() -> None:
    """The kernel's and PyTorch's; others are passed over."""
    lines = ["Bus error (core dumped)", "Watchdog caught collective operation timeout: WorkNCCL"]
    found = log.decode([*lines, "step 1"])
    assert (0, ["SharedMemory", "Hangs"]) == (found.lines, [one.sign.code for one in found.signs])


def test_a_note_alone_leaves_the_job_well() -> None:
    """Most images have no plugin."""
    assert said("NET/Plugin: Could not find: libnccl-net.so").well


def test_an_old_log_is_read() -> None:
    """NCCL 2.4: no send and receive, hosts may be empty."""
    lines = [
        ":20:289 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:192.168.1.1<0>",
        ":20:289 [0] NCCL INFO Ring 00 : 0 -> 1 [send] via NET/IB/0",
        ":20:289 [0] NCCL INFO Channel 00 : 0[1b000] -> 1[3d000] via direct shared memory",
        ":20:289 [0] NCCL TRACE something else",
    ]
    found = log.decode(lines)
    assert ({"": ("mlx5_0",)}, {"direct shared memory": 1}) == (found.nics, found.transports)


def test_a_name_of_a_network_may_have_blanks() -> None:
    """As the plugin of EFA's has."""
    text = "Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/3/GDRDMA"
    found = said("Using network AWS Libfabric", text, level="INFO")
    assert ({"AWS Libfabric": 1}, {"AWS Libfabric with GPUDirect RDMA": 1}) == (
        found.networks,
        found.transports,
    )


def test_a_gap_in_the_numbers_keeps_its_place() -> None:
    """The log may have been cut."""
    assert ("mlx5_0", "", "mlx5_2") == said(
        "NET/IB : Using [0]mlx5_0:1/IB [2]mlx5_2:1/IB [RO]; OOB a:1<0>", level="INFO"
    ).nics["a"]


def test_every_sign_is_told_to_users() -> None:
    """In the page, with the same words; codes are unique."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "user" / "decode-log.md").read_text()
    codes = [sign.code for sign in signs.SIGNS]
    assert len(set(codes)) == len(codes)
    for sign in signs.SIGNS:
        assert f"| `{sign.code}` | {sign.gravity} | {sign.means} | {sign.remedy} |" in page
    assert set(Gravity) == {sign.gravity for sign in signs.SIGNS}
