"""podrail topology: one value from every kind of evidence, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import captures
import pytest
import terminal
from captures import gpu, nic

from podrail.evidence import noderails, rails, smi
from podrail.evidence.noderails import NodeRails


def shown(*arguments: str | Path, given: object = None) -> dict[str, Any]:
    """What -o json prints."""
    result = terminal.run("topology", *arguments, "-o", "json", given=given)
    assert 0 == result.exit_code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_matrix_is_shown_as_json() -> None:
    """A GPU and a NIC for each column of the header, a row for each GPU, null without one."""
    found = shown("--nvidia-smi", captures.FOLDER / "smi/4gpu_26nic_all-sys_ragged.txt")
    assert (4, 26) == (len(found["gpus"]), len(found["nics"]))
    assert [["SYS"] * 26] * 3 + [None] == found["tiers"]
    assert (False, True) == (found["complete"], "GPU3 has no row" in found["warnings"][0])


def test_labels_and_devices_are_told_apart() -> None:
    """The NIC legend may be offset."""
    found = shown("--nvidia-smi", "-", given=captures.matrix("hgx-h20_8nic_legend-offset"))
    assert ("NIC0", "mlx5_1", 0, "pci") == tuple(
        found["nics"][0][key] for key in ("label", "device", "rail", "railSource")
    )
    assert (True, [], "PIX", "high") == tuple(
        found[key] for key in ("complete", "warnings", "best", "confidence")
    )


def test_every_kind_of_evidence_is_read(tmp_path: Path) -> None:
    """The evidence is named in the answer."""
    sys = captures.lay(
        tmp_path / "node/sys", gpu("pci0000:1a/0000:1a:00.0"), nic("pci0000:1b/0000:1b:00.0", "a")
    )
    object_ = tmp_path / "rails.json"
    seen = rails.numbered(smi.read(captures.matrix("hgx-h100_8nic_pix"), "x"))
    object_.write_text(json.dumps(noderails.document(NodeRails("n", observed=seen))))
    cases: dict[str, tuple[str | Path, str]] = {
        "--rocm-smi": (captures.FOLDER / "amd/mi308x_8gpu_xgmi.txt", "rocm-smi"),
        "--nccl-xml": (captures.FOLDER / "xml/p4d.24xlarge-topo.xml", "nccl-xml"),
        "--shape": ("dgx-h100", "catalog"),
        "--node-rails": (object_, "noderails"),
    }
    assert {"sysfs"} == {shown("--sysfs", one)["evidence"] for one in (sys, sys.parent)}
    assert {kind: name for kind, (_, name) in cases.items()} == {
        kind: shown(kind, value)["evidence"] for kind, (value, _) in cases.items()
    }


def test_a_trimmed_copy_of_sys_is_read(tmp_path: Path) -> None:
    """Without bus/pci, as a small capture is."""
    folder = captures.snapshot(tmp_path, "32em64t-2n8c_dimms")
    found = shown("--sysfs", folder)
    assert [("mlx4_0", 56)] == [(one["device"], one["gbps"]) for one in found["nics"]]


def test_people_get_a_matrix_and_a_line_for_each_rail() -> None:
    """Warnings go to stderr."""
    result = terminal.run(
        "topology", "--nvidia-smi", captures.FOLDER / "smi/h20_5nic_4-rails-for-8-gpus.txt"
    )
    lines = result.stdout.splitlines()
    assert "8 GPUs, 5 NICs from nvidia-smi, complete, high confidence" == lines[0]
    assert "GPU1  NODE  NODE  SYS   SYS   SYS   0" == lines[4]
    assert ["3", "NIC4", "6", "PIX", "?", "?", "?", "address", "(a", "guess)"] == lines[-1].split()
    assert 4 == len(lines) - next(at for at, line in enumerate(lines) if "RAIL" in line) - 1


def test_without_rails_that_is_said() -> None:
    """A machine without NICs is not wrong."""
    result = terminal.run("topology", "--rocm-smi", captures.FOLDER / "amd/mi300a_4apu_xgmi.txt")
    assert result.stdout.endswith("no NIC is near a GPU: no rails\n")
    assert result.stderr.endswith("mi300a_4apu_xgmi.txt: rocm-smi shows no NICs\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "expected one of --nvidia-smi, --rocm-smi"),
        (["--shape", "dgx-h100", "--nvidia-smi", "-"], "got 2 of them"),
        (["--shape", "dgx-h1"], "no shape of that name has distances; those are BM.GPU"),
        (["--nvidia-smi", "missing.txt"], "missing.txt: No such file"),
        (["--sysfs", "missing"], "missing: expected a folder"),
        (["--sysfs", "."], "no PCI devices found; expected a copy of /sys"),
        (["--nvidia-smi", "-"], "standard input:3: GPU0: expected 20 cells, got 19"),
        (["--nccl-xml", "-"], "standard input:1: "),
        (["--node-rails", "-"], "standard input"),
    ],
)
def test_wrong_input_is_status_2_with_its_place(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File and line on stderr, nothing on stdout."""
    monkeypatch.chdir(tmp_path)
    damaged = captures.matrix("dgx-h100_12nic_pxb").replace("GPU0\t X ", "GPU0 ", 1)
    result = terminal.run("topology", *arguments, given=damaged)
    assert (2, "") == (result.exit_code, result.stdout)
    assert told in result.stderr


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ("", "standard input: expected one NodeRails, got 0"),
        (
            "{apiVersion: podrail.dev/v1alpha1, kind: NodeRails, metadata: {name: n}}",
            "standard input: neither spec.override nor status has devices",
        ),
    ],
)
def test_an_object_must_have_devices(documents: str, told: str) -> None:
    """Exactly one object, with something in it."""
    result = terminal.run("topology", "--node-rails", "-", given=documents)
    assert (2, True) == (result.exit_code, told in result.stderr)
