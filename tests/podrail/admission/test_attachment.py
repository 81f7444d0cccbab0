"""The rule that attaches networks: what counts as attached already."""

from __future__ import annotations

from typing import Any, Final

import builders
import pytest

from podrail import names
from podrail.admission import attachment, injection
from podrail.multus.networks import Wanted

SPEC: Final[dict[str, Any]] = {
    "attachment": "SharedDevice",
    "rails": {"count": 2, "gpus": 8},
    "networks": [{"name": f"default/rail{n}", "rail": n, "interface": f"rail{n}"} for n in (0, 1)],
}


def test_nothing_is_written_where_the_user_attached_every_network() -> None:
    """Under whatever interfaces: the text stays to the letter, and none of them is ours."""
    text = "default/rail1@b, default/rail0@a"
    found = injection.inject(
        builders.pod(annotations={names.NETWORKS: text}), builders.fabric(**SPEC)
    )
    assert text == found.pod.annotations[names.NETWORKS]
    assert ((), False) == (found.marker.networks, "networks" in found.marker.late)
    assert {"networks/default/rail0", "networks/default/rail1"} <= set(found.marker.kept)


def test_a_second_pass_finds_its_own_elements() -> None:
    """Also those that had to make way for an interface of the user's."""
    fabric = builders.fabric(**SPEC)
    once = injection.inject(builders.pod(annotations={names.NETWORKS: "other@rail0"}), fabric)
    assert once.pod.annotations[names.NETWORKS].startswith("other@rail0,default/rail0@rail0a,")
    twice = injection.inject(once.pod, fabric)
    assert once.pod == twice.pod


@pytest.mark.parametrize(
    ("interface", "expected"),
    [("rail0", ["rail0", "rail0a", "rail0b"]), ("x" * 15, ["x" * 15, "x" * 14 + "a", "x" * 14 + "b"])],
    ids=["short", "as long as Linux allows"],
)  # fmt: skip
def test_other_spellings_fit_into_an_interface_name(interface: str, expected: list[str]) -> None:
    """A letter at the end; IFNAMSIZ leaves 15 characters."""
    spelled = [one.interface for one in attachment.spellings(Wanted("d", "n", interface))]
    assert (expected, 27) == (spelled[:3], len(spelled))
