"""What becomes of a device's state: every trouble, and that it goes when its reason does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import machines
import placing
import pytest
from machines import Machine

from podrail.evidence.noderails import Allocation
from podrail.observation import health, host, report
from podrail.observation.health import Signs
from podrail.observation.marks import Mark
from podrail.observation.memory import Seen
from podrail.observation.usage import Usage
from podrail.topology import State

SHAPE = placing.SHAPES["hgx-h100-8nic"]
EIGHT = [0, 1, 2, 3, 4, 5, 6, 7]


def before_and_after(
    folder: Path, change: Callable[[Machine], object], vfs: int = 0
) -> tuple[Seen, Signs]:
    """What is seen of a machine that was whole before."""
    machine = machines.made(folder, SHAPE, vfs=vfs)
    before = report.look(machines.trees(folder), None, {})
    change(machine)
    trees = machines.trees(folder)
    return report.look(trees, before, {}), Signs(trees, driven=host.driven(trees.proc))


def told(seen: Seen, signs: Signs) -> list[tuple[str, str]]:
    """Code and device of each trouble."""
    return [(one.code, one.device) for one in health.judge(seen, signs)[1]]


def hide(machine: Machine) -> None:
    """Move an RDMA device to another network namespace."""
    (machine.sys / "class/infiniband/mlx5_3").unlink()


def hide_exclusively(machine: Machine) -> None:
    """The same where RDMA devices belong to one namespace each."""
    hide(machine)
    (machine.sys / "module/ib_core/parameters/netns_mode").write_text("N\n")


def undrive(machine: Machine) -> None:
    """Have the driver lose a GPU."""
    folder = machine.proc / "driver/nvidia/gpus" / machine.gpus[3]
    (folder / "information").unlink()


@pytest.mark.parametrize(
    ("change", "code", "state"),
    [
        pytest.param(lambda one: one.port(3, state="1: DOWN"), "PortDown", State.DOWN, id="down"),
        pytest.param(
            lambda one: one.port(3, rate="200 Gb/sec (2X NDR)"),
            "RateDegraded",
            State.SUSPECT,
            id="slow",
        ),
        pytest.param(lambda one: one.unplug(one.nics[3]), "NicLost", State.DOWN, id="unplugged"),
        pytest.param(hide, "NicLost", State.DOWN, id="undriven"),
        pytest.param(hide_exclusively, "NicElsewhere", None, id="elsewhere"),
    ],
)
def test_a_nic_in_trouble_is_marked_and_keeps_its_rail(
    change: Callable[[Machine], object], code: str, state: State | None, tmp_path: Path
) -> None:
    """One NIC changes its state; no rail changes its number."""
    seen, signs = before_and_after(tmp_path, change)
    topology, troubles = health.judge(seen, signs)
    assert [(code, "mlx5_3")] == [(one.code, one.device) for one in troubles]
    assert EIGHT == [nic.rail for nic in topology.nics]
    expected = [state if at == 3 else State.UP for at in EIGHT]
    assert expected == [nic.state for nic in topology.nics]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(lambda one: one.unplug(one.gpus[3]), "GpuLost", id="unplugged"),
        pytest.param(undrive, "GpuUndriven", id="undriven"),
    ],
)
def test_a_gpu_in_trouble_is_unhealthy_and_keeps_its_index(
    change: Callable[[Machine], object], code: str, tmp_path: Path
) -> None:
    """The others are as they were."""
    seen, signs = before_and_after(tmp_path, change)
    topology, troubles = health.judge(seen, signs)
    assert [(code, "0000:23:00.0")] == [(one.code, one.device) for one in troubles]
    assert [at != 3 for at in EIGHT] == [card.healthy for card in topology.cards]


def test_what_no_longer_answers_is_lost(tmp_path: Path) -> None:
    """Its configuration reads as all ones, though the kernel still lists it."""
    seen, signs = before_and_after(tmp_path, lambda _: None)
    dead = replace(signs, dead=frozenset({"0000:21:00.0", "0000:62:00.0"}))
    assert [("GpuLost", "0000:21:00.0"), ("NicLost", "mlx5_2")] == told(seen, dead)


def test_a_gpu_that_its_plugin_leaves_out_is_unhealthy(tmp_path: Path) -> None:
    """Only where the plugin names GPUs by the identifiers that the driver gives."""
    seen, signs = before_and_after(tmp_path, lambda _: None)
    some = frozenset(machines.UUID.format(at) + "::0" for at in range(7))
    offered = replace(signs, usage=Usage(offered={"nvidia.com/gpu": some}))
    assert [("GpuNotOffered", "0000:27:00.0")] == told(seen, offered)
    foreign = replace(signs, usage=Usage(offered={"nvidia.com/gpu": frozenset({"MIG-1"})}))
    assert [] == told(seen, foreign)


def remove_vf(machine: Machine) -> None:
    """Take a VF away behind its PF's back."""
    (machine.function(machine.nics[2]) / "virtfn1").unlink()
    (machine.sys / "bus/pci/devices/0000:62:00.2").unlink()


def test_a_vf_that_is_gone_makes_its_rail_suspect(tmp_path: Path) -> None:
    """Whether the PF still counts it or the kubelet still hands it out."""
    seen, signs = before_and_after(tmp_path, remove_vf, vfs=2)
    assert [("VfGone", "mlx5_2")] == told(seen, signs)
    held = (Allocation("example.com/rail3", "0000:63:00.7", "team", "p", "train"),)
    both = replace(signs, usage=Usage(held))
    assert [("VfGone", "mlx5_2"), ("VfGone", "mlx5_3")] == told(seen, both)


def test_counters_and_marks_are_reasons_too(tmp_path: Path) -> None:
    """Each with its own code; down beats suspect."""
    seen, signs = before_and_after(tmp_path, lambda _: None)
    marks = (
        Mark("nvsentinel", 5, "", State.SUSPECT, 0, "flaky"),
        Mark("other", None, "rail5", State.DOWN, 0, "drained"),
    )
    found = replace(signs, suspected={"mlx5_1": ("retransmits", "discards")}, marks=marks)
    topology, _ = health.judge(seen, found)
    assert [
        ("Retransmits", "mlx5_1"),
        ("Discards", "mlx5_1"),
        ("MarkedSuspect", "mlx5_5"),
        ("MarkedDown", "mlx5_5"),
    ] == told(seen, found)
    assert (State.SUSPECT, State.DOWN) == (topology.nics[1].state, topology.nics[5].state)


def test_what_comes_back_is_well_again(tmp_path: Path) -> None:
    """A NIC that is plugged in again has no trouble."""
    machine = machines.made(tmp_path, SHAPE)
    whole = report.look(machines.trees(tmp_path), None, {})
    link = (machine.sys / "class/infiniband/mlx5_3").readlink()
    hide(machine)
    without = report.look(machines.trees(tmp_path), whole, {})
    (machine.sys / "class/infiniband/mlx5_3").symlink_to(link)
    again = report.look(machines.trees(tmp_path), without, {})
    assert whole == again
    assert [] == told(again, Signs())
