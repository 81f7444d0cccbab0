"""The documentation as a site: it builds without a warning, and its pages need no other host."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import checkout
import pytest
import reference

LOADED: Final = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]+)\"|<link\b([^>]*)>"
)
FROM_ELSEWHERE: Final = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a broken link, anchor or a page without a place is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "error", "-m", "mkdocs", "build", "--strict"]
    built = subprocess.run(
        [*command, "-d", str(folder)],
        cwd=checkout.ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    """Each text of docs/ has its page."""
    texts = (path for path in checkout.files() if path.parts[0] == "docs" and path.suffix == ".md")
    wanted = {path.with_suffix(".html") for path in texts}
    built = {Path("docs") / path.relative_to(site) for path in site.rglob("*.html")}
    assert set() == wanted - built


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    """Neither script, style, font nor image: it is read where there is no internet."""
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    assert pages
    loaded = [
        (path.name, found[1] or found[2])
        for path, text in pages.items()
        for found in LOADED.finditer(text)
    ]
    assert loaded
    assert [] == [one for one in loaded if re.search(r"(?:https?:)?//", one[1])]
    styles = {path.name: path.read_text() for path in site.rglob("*.css")}
    assert styles
    assert [] == [name for name, text in styles.items() if FROM_ELSEWHERE.search(text)]


def test_the_made_parts_of_pages_are_up_to_date() -> None:
    """`make generate` writes them."""
    found = {page: checkout.text(checkout.ROOT / page) for page in reference.PAGES}
    assert {page: reference.whole(page) for page in reference.PAGES} == found
