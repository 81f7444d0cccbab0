"""The device plugins of the tests: what they say to a kubelet's device manager."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import deviceplugins
import grpc  # type: ignore[import-untyped]  # grpcio has no types
import pytest
from controlplane.installed import eventually
from deviceplugins import Device, Mount, Node, Plugin, Served, kinds, manager, preference
from deviceplugins.manager import Listed, Manager
from deviceplugins.plugin import Grant, Prefer

from podrail_io import wire

CARDS = {f"GPU-{at}": at // 4 for at in range(8)}
VF = "0000:60:00.1"


@pytest.fixture(name="there")
def _there(tmp_path: Path) -> Iterator[Manager]:
    """A device manager."""
    with manager.running(tmp_path) as found:
        yield found


def served(folder: Path, *plugins: Plugin) -> Served:
    """Plugins that the manager of the folder has taken."""
    found = Served(folder, plugins)
    found.wait_registered()
    return found


def lists(there: Manager, resource: str, many: int) -> list[Listed]:
    """What a plugin has listed, once it has so often."""
    found = there.plugins[resource].lists
    eventually(lambda: len(found) >= many, f"{many} lists of {resource}")
    return found


def test_each_kind_lists_its_devices(tmp_path: Path, there: Manager) -> None:
    """GPUs and VFs say their NUMA node, zero too; shares of a pool say none."""
    plugins = (
        kinds.gpus({"GPU-0": 0, "GPU-1": 1}),
        *kinds.by_rail("x.dev/rail", [{VF: 0}, {"0000:61:00.1": None}]),
        kinds.shared("x.dev/shared", 2),
        kinds.shared("x.dev/near", 1, numa=1),
        kinds.replicas({"GPU-0": 1}, 2, resource="x.dev/slice"),
    )
    with deviceplugins.serve(tmp_path, plugins) as serving:
        serving.wait_registered()
        found = {
            name: (one.prefers, lists(there, name, 1)[0]) for name, one in there.plugins.items()
        }
    assert {
        "nvidia.com/gpu": (True, {"GPU-0": (0, True), "GPU-1": (1, True)}),
        "x.dev/rail0": (False, {VF: (0, True)}),
        "x.dev/rail1": (False, {"0000:61:00.1": (None, True)}),
        "x.dev/shared": (False, {"0": (None, True), "1": (None, True)}),
        "x.dev/near": (False, {"0": (1, True)}),
        "x.dev/slice": (True, {"GPU-0::0": (1, True), "GPU-0::1": (1, True)}),
    } == found


def test_a_device_falls_ill_and_recovers(tmp_path: Path, there: Manager) -> None:
    """Each time the list is sent anew; so is a list of other devices."""
    with deviceplugins.serve(tmp_path, [kinds.virtual("x.dev/vf", {VF: 1})]) as serving:
        serving.wait_registered()
        lists(there, "x.dev/vf", 1)
        serving.health("x.dev/vf", VF, healthy=False)
        lists(there, "x.dev/vf", 2)
        serving.health("x.dev/vf", VF, healthy=True)
        lists(there, "x.dev/vf", 3)
        serving.show("x.dev/vf", [Device("other")])
        found = lists(there, "x.dev/vf", 4)
    assert [{VF: (1, True)}, {VF: (1, False)}, {VF: (1, True)}, {"other": (None, True)}] == found


def test_a_new_kubelet_gets_the_plugins_too(tmp_path: Path) -> None:
    """Its start has removed every socket of the folder."""
    with deviceplugins.serve(tmp_path, [kinds.virtual("x.dev/vf", {VF: 1})]) as serving:
        for times in (1, 2):
            with manager.running(tmp_path) as there:
                serving.wait_registered(times)
                assert [{VF: (1, True)}] == lists(there, "x.dev/vf", 1)
            for socket in tmp_path.glob("*.sock"):
                socket.unlink()


def test_what_comes_with_devices(tmp_path: Path, there: Manager) -> None:
    """Variables, mounts and device nodes, as the plugin grants them; unknown devices are refused."""
    node, mount = Node("/dev/null", "/dev/infiniband/uverbs0"), Mount("/etc/hostname", "/etc/rail")
    whole = Plugin("x.dev/all", (Device("a"), Device("b")), grant=lambda ids: Grant({"IDS": ",".join(ids)}, (mount,), (node,)))  # fmt: skip
    serving = served(tmp_path, whole, kinds.virtual("x.dev/vf", {VF: 1}), kinds.replicas({"GPU-0": 1}, 2))  # fmt: skip
    try:
        given = there.plugins["x.dev/all"].allocated("b", "a")
        assert [("IDS", "b,a")] == pairs(given)
        assert ("/etc/rail", "/etc/hostname", 1) == described(given, 2)
        assert ("/dev/infiniband/uverbs0", "/dev/null", "rw") == described(given, 3)
        assert [("PCIDEVICE_X_DEV_VF", VF)] == pairs(there.plugins["x.dev/vf"].allocated(VF))
        shared = there.plugins[kinds.GPU].allocated("GPU-0::0", "GPU-0::1")
        assert [("NVIDIA_VISIBLE_DEVICES", "GPU-0")] == pairs(shared)
        with pytest.raises(grpc.RpcError, match="unknown devices"):
            there.plugins["x.dev/vf"].allocated("0000:99:00.1")
        assert ["b,a", VF, "GPU-0::0,GPU-0::1"] == [",".join(one.ids) for one in serving.calls]
    finally:
        serving.stop()


def test_the_kubelet_is_told_what_is_preferred(tmp_path: Path, there: Manager) -> None:
    """The required ones are among them."""
    serving = served(tmp_path, kinds.gpus(CARDS))
    try:
        gpus = there.plugins[kinds.GPU]
        assert {"GPU-4", "GPU-5", "GPU-6", "GPU-7"} == set(
            gpus.preferred(list(CARDS), 4, ["GPU-6"])
        )
        assert ("GPU-3",) == gpus.preferred(["GPU-3", "GPU-1"], 1)
    finally:
        serving.stop()


@pytest.mark.parametrize(
    ("free", "size", "expected"),
    [
        (range(8), 2, {0, 1}),
        (range(8), 4, {0, 1, 2, 3}),
        ((1, 2, 3, 4, 5, 6, 7), 4, {4, 5, 6, 7}),
        ((0, 4, 5), 2, {4, 5}),
        (range(8), 8, set(range(8))),
        ((0, 1), 3, set()),
    ],
)
def test_whole_gpus_are_kept_together(free: range, size: int, expected: set[int]) -> None:
    """The partition whose sets are worth most together gives its best set (go-gpuallocator)."""
    prefer = kinds.gpus(CARDS).prefer
    assert prefer is not None
    found = prefer([f"GPU-{at}" for at in free], [], size)
    assert {f"GPU-{at}" for at in expected} == set(found)


def test_gpus_of_one_switch_are_kept_together() -> None:
    """They are worth more to each other than others of their NUMA node."""
    prefer = kinds.gpus(CARDS, switches=[("GPU-0", "GPU-3"), ("GPU-1", "GPU-2")], nvlinks=0).prefer
    assert prefer is not None
    assert ["GPU-0", "GPU-3"] == list(prefer([f"GPU-{at}" for at in (0, 1, 2, 3)], [], 2))


@pytest.mark.parametrize(
    ("prefer", "available", "required", "size", "expected"),
    [
        (preference.distributed, "b::0 b::1 a::1", (), 2, ["b::0", "b::1"]),
        (preference.distributed, "a::0 a::1 b::0 b::1", (), 2, ["a::0", "b::0"]),
        (preference.packed, "b::0 b::1 a::1", (), 2, ["a::1", "b::0"]),
        (preference.packed, "a::0 a::1 b::0 b::1", (), 2, ["a::0", "a::1"]),
        (preference.packed, "b::0 b::1 a::0 a::1", ("a::1",), 2, ["a::1", "a::0"]),
        (preference.distributed, "a::0", (), 2, []),
    ],
    ids=["least held", "evenly", "most held", "one card", "required", "too few"],
)  # fmt: skip
def test_replicas_are_balanced_or_packed(
    prefer: Callable[[Sequence[str]], Prefer],
    available: str,
    required: tuple[str, ...],
    size: int,
    expected: list[str],
) -> None:
    """One after the other, by how many of a card's replicas are held already."""
    every = ("a::0", "a::1", "b::0", "b::1")
    assert expected == list(prefer(every)(available.split(), required, size))


def pairs(given: bytes) -> list[tuple[str, str]]:
    """The variables of a ContainerAllocateResponse."""
    return [(wire.text(one, 1), wire.text(one, 2)) for one in wire.parts(given, 1)]


def described(given: bytes, number: int) -> tuple[str | int | bytes, ...]:
    """The fields of its first mount or device node."""
    values = (value for _, value in wire.fields(wire.parts(given, number)[0]))
    return tuple(one.decode() if isinstance(one, bytes) else one for one in values)
