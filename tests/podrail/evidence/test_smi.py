"""nvidia-smi's matrices: read as they are, or refused with the line; never shifted."""

from __future__ import annotations

import re
from typing import Any

import captures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podrail.errors import MalformedError
from podrail.evidence import smi
from podrail.topology import Tier, Topology

DGX = captures.matrix("dgx-h100_12nic_pxb")
MARKDOWN = {"azure-nd-gb300-v6_4nic_mdtable", "oci-bm-gpu-gb200-v3-4_8nic_mdtable"}


def rows(topology: Topology) -> list[str]:
    """The rows of the GPUs that have one."""
    return [
        " ".join(tier or "null" for tier in row)
        for at, row in enumerate(topology.tiers)
        if at not in topology.missing
    ]


def read(text: str) -> Topology:
    return smi.read(text, "x.txt")


def problems(text: str) -> list[str]:
    with pytest.raises(MalformedError) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("name", sorted(captures.MATRICES))
def test_a_capture_reads_as_expected(name: str) -> None:
    """Distances, devices and NUMA nodes of all 41, as found by hand."""
    expected = captures.MATRICES[name]
    found = smi.read(captures.matrix(name), name)
    assert [one.replace("SOC", "SYS") for one in expected["tiers"] or rows(found)] == rows(found)
    assert expected["nics"] == len(found.nics)
    assert len(found.gpus) == len(set(re.findall(r"GPU\d+", captures.matrix(name))))
    if name not in MARKDOWN:
        devices = [nic.device for nic in found.nics]
        assert (expected["devices"] or [""] * len(devices)) == devices


@pytest.mark.parametrize("name", sorted({*captures.MATRICES} - MARKDOWN))
def test_numa_nodes_are_read_from_the_tail(name: str) -> None:
    """N/A, an absent column and a GPU without a row are unknown."""
    found = smi.read(captures.matrix(name), name)
    shown = [numa for at, numa in enumerate(found.gpus) if at not in found.missing]
    wanted = captures.MATRICES[name]["numa"] or ["N/A"] * len(shown)
    assert [None if one == "N/A" else int(one) for one in wanted] == shown


@pytest.mark.parametrize(
    ("name", "complete", "told"),
    [
        ("dgx-h100_12nic_pxb", True, []),
        ("dgx-h100_12nic_pxb_truncated", True, []),
        ("4gpu_26nic_all-sys_ragged", False, ["x.txt: GPU3 has no row"]),
        (
            "dgx-h100_76nic_truncated-to-56",
            False,
            ["x.txt:2: nvidia-smi shows 56 of 76 NICs; sysfs has them all"]
            + [f"x.txt: GPU{gpu} has no row" for gpu in range(2, 8)],
        ),
    ],
)
def test_what_is_left_out_is_told(name: str, complete: bool, told: list[str]) -> None:
    """A GPU without a row and NICs beyond nvidia-smi's limit make it incomplete."""
    found = read(captures.matrix(name))
    assert (complete, told) == (found.complete, list(found.warnings))


def test_a_lost_row_is_filled_in_from_the_nics() -> None:
    """Distances are the same both ways; the NUMA node is not among them."""
    found = read(re.sub(r"(?m)^GPU3\t.*\n", "", DGX))
    assert rows(read(DGX)) == rows(found)
    assert (True, None, ()) == (found.complete, found.gpus[3], found.missing)
    assert found.warnings == ("x.txt: GPU3 has no row; it is filled in from the NICs' rows",)


def test_a_lost_row_is_filled_in_as_far_as_the_nics_go() -> None:
    """What no row tells stays unknown."""
    text = re.sub(r"(?m)^(GPU3|NIC[01])\t.*\n", "", DGX)
    assert (None, None, Tier.NODE) == read(text).tiers[3][:3]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("NIC8\tNIC9", "NIC8NIC9"),
        ("NIC11\tCPU", "NIC11CPU"),
        ("\tGPU0\tGPU1", "GPU0\tGPU1"),
        ("\tGPU0\tGPU1", "     GPU0GPU1"),
        ("PXB\tNODE\tNODE", "PXBNODENODE"),
        ("GPU0\t X \t", "GPU0X"),
        ("SYS\t0-55", "SYS0-55"),
        ("167\t0\t\tN/A", "167 0N/A"),
        ("CPU Affinity\tNUMA Affinity", "CPU AffinityNUMA Affinity"),
        ("Legend:\n", "\n"),
        ("\nGPU0\t", "\n----\t----\t----\n\nGPU0\t"),
        ("\n", "\r\n"),
        ("\n", "\n# "),
    ],
)
def test_what_can_mean_only_one_thing_is_read(before: str, after: str) -> None:
    """Lost tabs, comment signs and separators change nothing."""
    assert before in DGX
    assert rows(read(DGX)) == rows(read(DGX.replace(before, after)))


def test_glued_devices_are_split() -> None:
    """Older drivers head the columns with them."""
    text = captures.matrix("dgx-a100_12nic_mlx5-columns")
    assert read(text) == read(text.replace("mlx5_3\tmlx5_4", "mlx5_3mlx5_4"))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("NIC0\tNIC1\t", "NIC0\t", "x.txt:2: expected columns without gaps or repeats, got 'NIC2'"),
        ("NIC1\t", "NIC0\t", "x.txt:2: expected columns without gaps or repeats, got 'NIC0'"),
        ("GPU1\tGPU2", "GPU1\tGP2", "x.txt:2: expected a header of GPUn, NICn or device names"),
        ("\nGPU0\t X \tNV18", "\nGPU0\t X ", "x.txt:3: GPU0: expected 20 cells, got 19, then '0-55"),
        ("\nGPU0\t X \tNV18", "\nGPU0\tNV18\t X ", "x.txt:3: GPU0: expected X in its own column"),
        ("\nGPU0\t X \tNV18", "\nGPU0\t X \tSYX", "x.txt:3: GPU0: expected 20 cells, got 1, then 'SYX"),
        ("\nGPU0\t", "\nGPU\t", "x.txt:3: expected a row that begins with one of the columns"),
        ("\nGPU0\t", "\nGPU1\t", "x.txt:3: GPU1: expected X in its own column"),
        ("\nGPU2\t", "\nGPU12\t", "x.txt:5: expected a row that begins with one of the columns"),
        ("N/A\nGPU1", "N/AGPU1", "x.txt:3: GPU0: expected 20 cells and CPU and NUMA affinity, got"),
        ("\nNIC11\tSYS", "\nNIC11\tPIX", "x.txt:22: NIC11 to GPU0 is PIX, but SYS in line 3"),
        ("\nNIC0\tPXB", "\nNIC0\tNV18", "x.txt:11: NIC0: NVLink joins GPUs, not NICs"),
        ("\nLegend", "\n\tGPU0\tGPU1\tNIC0\nLegend", "x.txt:24: a second matrix; expected one"),
    ],
)  # fmt: skip
def test_damage_is_refused_with_its_line(before: str, after: str, told: str) -> None:
    """Nothing is mended that could mean something else."""
    assert before in DGX
    found = problems(DGX.replace(before, after, 1))
    assert any(problem.startswith(told) for problem in found), found


def test_a_row_that_is_there_twice_is_refused() -> None:
    """Two logs run into one."""
    row = DGX.splitlines()[2]
    assert ["x.txt:4: GPU0 has a row already, in line 3"] == problems(
        DGX.replace(f"{row}\n", f"{row}\n{row}\n")
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "x.txt: no matrix found"),
        ("No devices were found\n", "x.txt: no matrix found"),
        ("\nGPU0\t X \tPIX\t0-3\n", "x.txt:2: expected a header of GPUn, NICn or device names"),
        ("\tGPU0\tGPU1\tCPU Affinity\n", "x.txt:1: a header without rows"),
        ("\tGPU0\tmlx5_0\tGPU1\n", "x.txt:1: expected at most 192 columns, GPUs first"),
        ("\tGPU0\t" + "\t".join(f"NIC{n}" for n in range(200)), "x.txt:1: expected at most 192"),
    ],
)
def test_text_without_a_matrix_is_refused(text: str, told: str) -> None:
    """The message says what was looked for."""
    assert problems(text)[0].startswith(told)


@pytest.mark.parametrize(
    ("tail", "numa"),
    [
        ("\t0-3\t1\t\tN/A", 1),
        ("\t0-3\t1\tN/A", 1),
        ("   0-3   1   N/A", 1),
        ("\t\t1\t\tN/A", 1),
        ("   1   N/A", None),
        ("\t0-3\t0,8,252-255\t\tN/A", None),
        ("\t0-3\t\t\tN/A", None),
        ("\t0-3", None),
        ("", None),
    ],
)
def test_a_numa_node_is_read_only_where_it_is_certain(tail: str, numa: int | None) -> None:
    """Blanks leave open which of two columns a single number is in; a list is no node."""
    head = "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    assert (numa,) == read(f"{head}GPU0\t X \tPIX{tail}\n").gpus


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Any, str]:
    """A capture as it is, and with the damage that pasting does."""
    name = draw(st.sampled_from(sorted(captures.MATRICES)))
    text = captures.matrix(name)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(text) - 1)))
        match draw(st.sampled_from(["cut", "drop", "glue", "line", "space"])):
            case "cut":
                text = text[:at]
            case "drop":
                text = text[:at] + text[at + 1 :]
            case "glue":
                text = text[:at] + re.sub(r"\s+", "", text[at : at + 6]) + text[at + 6 :]
            case "line":
                lines = text.splitlines(keepends=True)
                text = "".join(lines[: (n := at % (len(lines) or 1))] + lines[n + 1 :])
            case _:
                text = text[:at] + draw(st.sampled_from([" ", "\t", "\n"])) + text[at:]
    return smi.read(captures.matrix(name), "whole"), text


@settings(max_examples=400, deadline=None)
@given(damaged())
def test_damaged_text_is_refused_or_means_the_same(case: tuple[Topology, str]) -> None:
    """No cell of what is read differs from the whole matrix; it may be unknown."""
    whole, text = case
    try:
        found = read(text)
    except MalformedError as error:
        found, told = whole, error.problems
    else:
        told = ()
    assert all(problem.path.startswith("x.txt") for problem in told)
    assert (len(whole.gpus), len(whole.nics)) == (len(found.gpus), len(found.nics))
    for row, expected in zip(found.tiers, whole.tiers, strict=True):
        assert all(cell in {None, wanted} for cell, wanted in zip(row, expected, strict=True))


@settings(max_examples=200, deadline=None)
@given(st.text("GPUNIC0123XSYPBDEOmlx5_ \t\n|#-", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing else is ever raised."""
    try:
        read(text)
    except MalformedError:
        return
