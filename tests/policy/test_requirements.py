"""Documents that name tests name tests that exist."""

import re
from typing import Final

import checkout
import pytest

NAMED: Final = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SHORT: Final = re.compile(r"`(test_\w+)`")
REQUIREMENTS: Final = "docs/security/requirements.md"
THREATS: Final = "docs/security/threats.md"
MOST: Final = 57
STATES: Final = {"proved", "in part", "open"}
BESIDE: Final = {
    "docs/user/quotas.md": "tests/cluster/test_quotas.py",
    "docs/user/kueue.md": "tests/cluster/test_quotas.py",
}
"""Documents whose tests are all in one file, which they name once."""


def functions_of(path: str) -> set[str]:
    """The tests in a file."""
    return {one.name for one in checkout.functions(checkout.ROOT / path)}


def rows(document: str) -> list[list[str]]:
    """The cells of the rows of a document's tables, without the heads."""
    lines = [one for one in checkout.text(checkout.ROOT / document).splitlines() if one[:1] == "|"]
    cells = [[cell.strip() for cell in one.strip("|").split("|")] for one in lines]
    rules = {number for number, one in enumerate(cells) if set("".join(one)) == {"-"}}
    return [one for number, one in enumerate(cells) if not {number, number + 1} & rules]


@pytest.mark.parametrize("document", [REQUIREMENTS, THREATS])
def test_every_test_that_is_named_exists(document: str) -> None:
    """In the file that it is said to be in."""
    named = NAMED.findall(checkout.text(checkout.ROOT / document))
    assert named
    assert [] == [f"{path}::{name}" for path, name in named if name not in functions_of(path)]


def test_each_requirement_is_proved_or_says_what_is_missing() -> None:
    """All 57 in their order; where a test stands for less than the whole, the last column says so."""
    found = rows(REQUIREMENTS)
    assert [str(number) for number in range(1, MOST + 1)] == [one[0] for one in found]
    assert {5} == {len(one) for one in found}
    assert [] == [one[0] for one in found if one[2] not in STATES]
    assert [] == [one[0] for one in found if one[2] != "open" and not NAMED.search(one[3])]
    assert [] == [one[0] for one in found if one[2] != "proved" and not one[4]]


def test_each_threat_has_a_control_and_a_test() -> None:
    """A control that nothing tries is a hope."""
    found = rows(THREATS)
    assert found
    assert {3} == {len(one) for one in found}
    assert [] == [one[0] for one in found if not one[1] or not NAMED.search(one[2])]


@pytest.mark.parametrize("document", BESIDE)
def test_every_test_that_a_guide_names_exists(document: str) -> None:
    """In the file that it names."""
    text = checkout.text(checkout.ROOT / document)
    assert BESIDE[document] in text
    named = set(SHORT.findall(text))
    assert named
    assert set() == named - functions_of(BESIDE[document])
