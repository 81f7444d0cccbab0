"""The rail map page in a browser; without Chromium these tests say NOT RUN."""

from __future__ import annotations

from collections.abc import Iterator

import browsing
import pytest
import viewed
from controlplane.binaries import NotRun
from playwright.sync_api import Browser
from viewed import Viewed


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    try:
        browsing.program()
    except NotRun as reason:
        pytest.skip(str(reason))
    with browsing.running() as running:
        yield running


@pytest.fixture(scope="session")
def served() -> Iterator[Viewed]:
    """The page of the usual cluster."""
    with viewed.serving() as running:
        yield running
