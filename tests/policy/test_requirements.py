"""Documents that name tests name tests that exist."""

import re
from typing import Final

import checkout
import pytest

NAMED: Final = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SHORT: Final = re.compile(r"`(test_\w+)`")
REQUIREMENTS: Final = "docs/user/requirements-admission.md"
BESIDE: Final = {
    "docs/user/quotas.md": "tests/cluster/test_quotas.py",
    "docs/user/kueue.md": "tests/cluster/test_quotas.py",
}
"""Documents whose tests are all in one file, which they name once."""


def functions_of(path: str) -> set[str]:
    """The tests in a file."""
    return {one.name for one in checkout.functions(checkout.ROOT / path)}


def test_every_test_that_stands_for_a_requirement_exists() -> None:
    """And each requirement from 19 to 29 has one."""
    text = checkout.text(checkout.ROOT / REQUIREMENTS)
    named = NAMED.findall(text)
    assert [] == [f"{path}::{name}" for path, name in named if name not in functions_of(path)]
    rows = [line for line in text.splitlines() if re.match(r"\| \d", line)]
    assert [str(number) for number in range(19, 30)] == [row.split("|")[1].strip() for row in rows]
    assert [] == [row for row in rows if not NAMED.search(row)]


@pytest.mark.parametrize("document", BESIDE)
def test_every_test_that_a_guide_names_exists(document: str) -> None:
    """In the file that it names."""
    text = checkout.text(checkout.ROOT / document)
    assert BESIDE[document] in text
    named = set(SHORT.findall(text))
    assert named
    assert set() == named - functions_of(BESIDE[document])
