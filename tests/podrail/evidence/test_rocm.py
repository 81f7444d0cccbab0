"""rocm-smi's tables: GPUs and NUMA nodes, no NICs."""

from __future__ import annotations

import captures
import pytest

from podrail.errors import MalformedError
from podrail.evidence import rocm

MI300A = captures.text("amd/mi300a_4apu_xgmi.txt")


@pytest.mark.parametrize(
    ("name", "numas", "told"),
    [
        ("mi308x_8gpu_xgmi", (0, 0, 0, 0, 1, 1, 1, 1), 0),
        ("mi300a_4apu_xgmi", (0, 1, 2, 3), 0),
        ("mi100_4gpu_pcie", (None,) * 4, 0),
        ("gfx906_4gpu_pcie_one-socket", (None,) * 4, 0),
        ("8gpu_two-hives", (None,) * 8, 0),
        ("mi300_tpx_partition_errors", (0,) * 9 + (1, 2, 3), 24),
    ],
)
def test_a_capture_reads_as_expected(name: str, numas: tuple[int | None, ...], told: int) -> None:
    """Errors among the rows are passed over; unreadable links are counted."""
    found = rocm.read(captures.text(f"amd/{name}.txt"), "x")
    links = [f"x: rocm-smi could not read {told} links"] if told else []
    assert (numas, False) == (found.gpus, found.complete)
    assert ("x: rocm-smi shows no NICs", *links) == found.warnings


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("GPU1   15           0   ", "GPU1   15", "x:7: expected 4 cells, got 3"),
        ("GPU1   15           0 ", "GPU1   0            15", "x:7: expected 0 in the GPU's own column"),
        ("Numa Node: 3", "Numa Node: 3\nGPU[7]\t\t: (Topology) Numa Node: 0", "GPU 7 is not in the table"),
        ("       GPU0         GPU1         GPU2         GPU3", "       GPU0 GPU1", "tables of different sizes"),
    ],
)  # fmt: skip
def test_damage_is_refused_with_its_line(before: str, after: str, told: str) -> None:
    """A table is never shifted."""
    assert before in MI300A
    with pytest.raises(MalformedError) as caught:
        rocm.read(MI300A.replace(before, after, 1), "x")
    assert any(told in str(problem) for problem in caught.value.problems), caught.value.problems


def test_a_negative_numa_node_is_unknown() -> None:
    """The kernel's -1."""
    assert (None, 1, 2, 3) == rocm.read(MI300A.replace("Numa Node: 0", "Numa Node: -1"), "x").gpus


def test_text_without_a_table_is_refused() -> None:
    """Such as what nvidia-smi prints."""
    with pytest.raises(MalformedError, match="x: no table of GPUs found"):
        rocm.read(captures.matrix("dgx-h100_12nic_pxb").replace("\tGPU0", "\tmlx5_0"), "x")
