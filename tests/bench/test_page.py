"""The page's benchmark itself, on a few nodes."""

import page


def test_every_view_is_measured() -> None:
    """With a page that is found, whatever the size of the fleet."""
    found = page.measure(80, 2)
    assert set(page.paths(80)) == set(found["views"])
    assert all(one["p50_ms"] <= one["max_ms"] for one in found["views"].values())
