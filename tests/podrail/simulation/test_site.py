"""Nodes that exist only for a simulation."""

from __future__ import annotations

from dataclasses import replace

import pytest
import simulated

from podrail.errors import MalformedError
from podrail.score import state
from podrail.simulation import site
from podrail.simulation.site import Row


def test_a_row_is_written_with_colons() -> None:
    """Leaf and block may be left out."""
    assert Row("p5.48xlarge", 64, 8, 32) == site.row("p5.48xlarge:64:8:32")
    assert Row("x", 1) == site.row("x:1")


@pytest.mark.parametrize("text", ["", "x", ":5", "x:0", "x:1:2:3:4", "x:a", "x:-1", "x:9999999"])
def test_what_is_no_row_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(MalformedError, match="expected SHAPE:COUNT"):
        site.row(text)


def test_nodes_stand_in_leaf_groups_and_blocks() -> None:
    """Idle, with the devices that a pod with all of its GPUs is given."""
    spots = simulated.nodes("podrail-aligned:6:2:4")
    assert ["0.0/0", "0.0/0", "0.0/1", "0.0/1", "0.1/2", "0.1/2"] == [s.place.leaf for s in spots]
    rails = {f"nvidia.com/rail{rail}": 1 for rail in range(8)}
    assert {"nvidia.com/gpu": 8, **rails} == spots[0].free
    assert ("", "") == simulated.nodes("podrail-aligned:1")[0].place.names[2:4]


def test_shared_devices_are_for_many_pods() -> None:
    """GPUs never are."""
    (spot,) = simulated.nodes("podrail-aligned:1", fabric=simulated.RAILS)
    assert 8 == spot.free["nvidia.com/gpu"]
    assert 1 == spot.free["nvidia.com/rail0"]


def test_an_unknown_machine_type_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(MalformedError, match=r"nothing: no such machine type .* podrail-aligned"):
        simulated.nodes("nothing:1")


def test_free_gpus_that_nobody_names_are_the_last_ones() -> None:
    """A dump may tell only how many are free."""
    (spot,) = simulated.nodes("podrail-aligned:1")
    assert spot.state is not None
    unsure = replace(spot, free={"nvidia.com/gpu": 3}, state=replace(spot.state, gpus=None))
    (found,) = site.settled([unsure], ["nvidia.com/gpu"])
    assert found.state is not None
    assert (5, 6, 7) == found.state.gpus
    assert found.state is state.same(found.state)
