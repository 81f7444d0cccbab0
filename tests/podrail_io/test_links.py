"""Addresses of views."""

import pytest

from podrail_io import links


@pytest.mark.parametrize(
    ("text", "slashes", "expected"),
    [("a/b c", False, "a%2Fb%20c"), ("a/b?", True, "a/b%3F"), ("?x#", False, "%3Fx%23")],
    ids=["one step", "a path", "marks"],
)
def test_what_users_wrote_is_no_mark_of_an_address(text: str, slashes: bool, expected: str) -> None:
    """Slashes stay only where they part a path."""
    assert expected == links.step(text, slashes=slashes)


def test_what_is_not_asked_is_left_out() -> None:
    """Empty texts and zeros; without any question there is no mark either."""
    assert "fleet?block=a%2Fb&page=2" == links.asked(
        "fleet", {"block": "a/b", "leaf": "", "page": 2, "x": 0}
    )
    assert "fleet" == links.asked("fleet", {"leaf": ""})
