"""What a job of a trace asks of nodes."""

from __future__ import annotations

import builders
import pytest
import simulated

from podrail.errors import MalformedError, PodError
from podrail.simulation import order


def test_pods_are_made_by_the_webhooks_rules() -> None:
    """They ask for the fabric's devices beside their GPUs, and have the rails of admission."""
    (found,) = simulated.orders(simulated.job("a", pods=3, gpus=4))
    rails = found.need.rails
    assert (4, "simulation/a") == (len(rails), found.key)
    assert {"nvidia.com/gpu": 4, **{f"nvidia.com/rail{rail}": 1 for rail in rails}} == found.asked


@pytest.mark.parametrize("name", sorted(set(builders.shipped()) - {"dra-pairs", "dra-numa"}))
def test_every_shipped_fabric_can_be_simulated(name: str) -> None:
    """Unless its devices are claimed."""
    fabric = builders.shipped()[name]
    work = simulated.job(gpus=fabric.rails.gpus or 8)
    if fabric.attachment.value == "Dra":
        with pytest.raises(MalformedError, match="by claims"):
            order.order(work, fabric)
        return
    assert work.gpus == order.order(work, fabric).need.gpus


def test_pods_without_rails_are_refused() -> None:
    """There is nothing to compare."""
    suspended = builders.fabric("off", mode="Suspended", attachment="None")
    with pytest.raises(PodError, match=r"job job: it gets no rails: profile off is suspended"):
        order.order(simulated.job(), suspended)
