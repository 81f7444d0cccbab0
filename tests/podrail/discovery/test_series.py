"""Rails by the numbers in the names of networks."""

from __future__ import annotations

import nads
import pytest

from podrail.discovery import series
from podrail.discovery.series import Series
from podrail.multus import nad
from podrail.topology import Confidence


def sorted_(*names: str, resource: str = "") -> tuple[Series, ...]:
    """The series of networks with these names; resource is a beginning of each one's own."""
    return series.sort(
        nad.read(nads.document(name, nads.chain({"type": "sriov"}), resource and resource + name))
        for name in names
    )


@pytest.mark.parametrize(
    ("names", "rails", "planes", "confidence"),
    [
        (("rail10", "rail9", *(f"rail{at}" for at in range(9))), 11, 1, Confidence.HIGH),
        (("gpu2-macvlan", "gpu1-macvlan"), 2, 1, Confidence.HIGH),
        (("ibp64s0", "ibp24s0"), 2, 1, Confidence.LOW),
        (("r0-p0", "r0-p1", "r1-p0", "r1-p1", "r2-p0", "r2-p1"), 3, 2, Confidence.MEDIUM),
        (("p0-r0", "p1-r0", "p0-r1", "p1-r1", "p0-r2", "p1-r2"), 3, 2, Confidence.MEDIUM),
        (("ibp24s0", "ibp64s1"), 2, 1, Confidence.LOW),
        (("net",), 1, 1, Confidence.HIGH),
        (("rail1", "rail01"), 1, 1, Confidence.HIGH),
    ],
    ids=["from 0", "from 1", "bus", "rail and plane", "plane and rail", "no grid", "one", "same"],
)
def test_the_rails_of_a_series(
    names: tuple[str, ...], rails: int, planes: int, confidence: Confidence
) -> None:
    """Only a count from 0 or 1 is sure."""
    (found,) = sorted_(*names)
    assert (rails, planes, confidence) == (found.rails, found.planes, found.confidence)
    assert [*range(rails)] == sorted({one.rail for one in found.networks})


def test_numbers_order_the_rails_not_letters() -> None:
    """rail10 is after rail9."""
    (found,) = sorted_("rail1", "rail10", "rail2")
    assert ["rail1", "rail2", "rail10"] == [one.nad.name for one in found.networks]


def test_names_without_numbers_are_one_series_if_each_has_devices_of_its_own() -> None:
    """In the order of their names, which nobody vouches for."""
    (found,) = sorted_("blue", "amber", resource="x.y/")
    assert (["amber", "blue"], Confidence.LOW) == (
        [one.nad.name for one in found.networks],
        found.confidence,
    )
    assert 2 == len(sorted_("blue", "amber"))


def test_a_single_network_is_single() -> None:
    """The others are not."""
    assert ["one"] == [one.single.name for one in sorted_("one") if one.single]
    assert [None] == [one.single for one in sorted_("r0", "r1")]
