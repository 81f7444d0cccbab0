"""The rail map page as people meet it: readable, reachable by keyboard, in light and dark.

PODRAIL_SCREENSHOTS names a folder to which the pictures of docs/user/rail-map.md are written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import browsing
import pytest
from playwright.sync_api import Browser, Page
from viewed import Viewed

pytestmark = pytest.mark.page
VIEWS: Final = {
    "fleet": "fleet",
    "node": "nodes/node-3",
    "crossed": "nodes/node-7",
    "jobs": "jobs",
    "job": "jobs/team/train",
    "pending": "pending",
    "waiting": "pending/team/late-0",
    "health": "health",
    "nothing": "nodes/none",
}
PICTURES: Final = ("fleet", "node", "job", "waiting")
MOST_BYTES: Final = 300 * 1024
LEAST_CONTRAST: Final = 4.5
"""Of text that is not large (WCAG 2.2, 1.4.3)."""
CONTRASTS: Final = """() => {
  const bright = text => {
    const [r, g, b] = text.match(/[0-9.]+/g).map(one => one / 255).map(
      one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll("g.box")].filter(one => one.querySelector("text")).map(one => {
    const ink = bright(getComputedStyle(one.querySelector("text")).fill);
    const ground = bright(getComputedStyle(one.querySelector("rect")).fill);
    return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
  });
}"""


@pytest.fixture(name="page")
def _page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page in the colours that the test asks for; what its console says is an error."""
    wanted: dict[str, Any] = {
        "viewport": {"width": 1280, "height": 800},
        **getattr(request, "param", {}),
    }
    context = browser.new_context(reduced_motion="reduce", **wanted)
    found = context.new_page()
    said: list[str] = []
    found.on("console", lambda one: said.append(one.text))
    found.on("pageerror", lambda one: said.append(str(one)))
    yield found
    context.close()
    assert [] == [one for one in said if "404" not in one]


SCHEMES: Final = [
    pytest.param({"color_scheme": "light"}, id="light"),
    pytest.param({"color_scheme": "dark"}, id="dark"),
]
PHONE: Final = [pytest.param({"viewport": {"width": 360, "height": 640}}, id="phone")]


@pytest.mark.parametrize("page", SCHEMES, indirect=True)
@pytest.mark.parametrize("name", VIEWS)
def test_axe_finds_nothing_wrong(page: Page, served: Viewed, name: str) -> None:
    """No violation of its rules in any view."""
    page.goto(f"{served.url}/{VIEWS[name]}")
    page.evaluate(browsing.AXE.read_text())
    found = page.evaluate("() => axe.run()")
    told = [
        (one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]
    ]
    assert [] == told
    assert len(found["passes"]) > 10


@pytest.mark.parametrize("page", SCHEMES, indirect=True)
@pytest.mark.parametrize("name", ["fleet", "node", "job"])
def test_letters_in_drawings_can_be_read(page: Page, served: Viewed, name: str) -> None:
    """Axe does not look into SVG: each letter stands out from its box."""
    page.goto(f"{served.url}/{VIEWS[name]}")
    ratios = page.evaluate(CONTRASTS)
    assert len(ratios) > 5
    assert min(ratios) >= LEAST_CONTRAST


def test_all_can_be_reached_by_keyboard(page: Page, served: Viewed) -> None:
    """The first stop skips to the content; then come the views; every link is a stop."""
    page.goto(f"{served.url}/fleet")
    page.keyboard.press("Tab")
    assert "Skip to the content" == page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")
    assert "content" == page.evaluate("document.activeElement.id")
    page.get_by_role("link", name="Jobs", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs")
    assert "Jobs" == page.get_by_role("heading", level=1).inner_text()
    assert 0 == page.locator("a:not([href]), [tabindex]:not([tabindex='0']):not(main)").count()


def test_a_person_finds_why_a_pod_waits(page: Page, served: Viewed) -> None:
    """From the fleet by two links, and on to the node that comes nearest."""
    page.goto(served.url)
    page.get_by_role("link", name="Pending").click()
    page.get_by_role("link", name="team/late-0").click()
    assert page.get_by_text("nvidia.com/gpu: 8 asked, 3 free").is_visible()
    page.get_by_role("link", name="node-3").click()
    assert "Node node-3" == page.get_by_role("heading", level=1).inner_text()


def test_a_node_is_found_by_its_name(page: Page, served: Viewed) -> None:
    """The search keeps what else was asked for."""
    page.goto(f"{served.url}/fleet?show=down")
    page.get_by_label("Node's name").fill("node-4")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/fleet?name=node-4&show=down")
    assert ["node-4"] == page.get_by_role("rowheader").get_by_role("link").all_inner_texts()


def test_each_drawing_has_a_name_and_a_table_beside_it(page: Page, served: Viewed) -> None:
    """Who cannot see it misses nothing."""
    for name in ("fleet", "node", "job", "waiting"):
        page.goto(f"{served.url}/{VIEWS[name]}")
        for drawing in page.get_by_role("img").all():
            labels = (drawing.get_attribute("aria-labelledby") or "").split()
            assert ["", ""] != [page.locator(f"#{one}").text_content() for one in labels]
        assert page.locator(".beside:has(svg)").count()
        assert 0 == page.locator(".beside:has(svg):not(:has(table))").count()


@pytest.mark.parametrize("page", PHONE, indirect=True)
@pytest.mark.parametrize("name", ["fleet", "node", "job", "waiting", "health"])
def test_a_narrow_window_scrolls_only_down(page: Page, served: Viewed, name: str) -> None:
    """Wide tables and drawings scroll by themselves (WCAG 2.2, 1.4.10)."""
    page.goto(f"{served.url}/{VIEWS[name]}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("page", PHONE, indirect=True)
@pytest.mark.parametrize("name", ["fleet", "job", "waiting"])
def test_a_phone_shows_a_row_of_eight_rails_and_the_bars_whole(
    page: Page, served: Viewed, name: str
) -> None:
    """Names take no more room than the longest of them needs."""
    page.goto(f"{served.url}/{VIEWS[name]}")
    assert page.locator(".drawing").count()
    assert page.evaluate(
        "[...document.querySelectorAll('.drawing')].every(one => one.scrollWidth <= one.clientWidth)"
    )


@pytest.mark.parametrize("page", PHONE, indirect=True)
def test_a_phone_wraps_no_cell_into_a_tower(page: Page, served: Viewed) -> None:
    """The table scrolls instead: no row is higher than a sixth of the screen."""
    page.goto(f"{served.url}/{VIEWS['waiting']}")
    heights = page.evaluate("[...document.querySelectorAll('tr')].map(one => one.offsetHeight)")
    assert max(heights) < 640 / 6


@pytest.mark.parametrize("page", SCHEMES, indirect=True)
def test_paper_is_white_and_cuts_no_drawing(page: Page, served: Viewed) -> None:
    """Whatever the screen's colours are; the width is that of A4."""
    page.set_viewport_size({"width": 720, "height": 1000})
    page.emulate_media(media="print")
    page.goto(f"{served.url}/{VIEWS['node']}")
    assert ["rgb(27, 31, 36)", "rgb(255, 255, 255)"] == page.evaluate(
        "(one => [one.color, one.backgroundColor])(getComputedStyle(document.body))"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.locator("svg").first.evaluate("one => one.getBoundingClientRect().right") <= 720


def test_nothing_moves(page: Page, served: Viewed) -> None:
    """For who asked for less motion."""
    page.goto(f"{served.url}/fleet")
    assert "0s" == page.locator("a").first.evaluate(
        "one => getComputedStyle(one).transitionDuration"
    )


def test_pictures_are_small(page: Page, served: Viewed, tmp_path: Path) -> None:
    """Those of the user's page come from here, all of them in less than 300 KiB."""
    folder = Path(os.environ.get("PODRAIL_SCREENSHOTS") or tmp_path)  # noqa: TID251 - asked for by hand
    for name in PICTURES:
        page.set_viewport_size({"width": 960, "height": 560})
        page.goto(f"{served.url}/{VIEWS[name]}")
        page.locator("section:has(svg)").first.evaluate("one => one.scrollIntoView()")
        page.screenshot(path=folder / f"rail-map-{name}.png")
    sizes = [(folder / f"rail-map-{name}.png").stat().st_size for name in PICTURES]
    assert 0 < sum(sizes) < MOST_BYTES
