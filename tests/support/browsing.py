"""A headless Chromium of this machine's, driven by Playwright; nothing is downloaded."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from controlplane.binaries import NotRun
from playwright.sync_api import Browser, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
AXE: Final = resources.files("axe_playwright_python") / "axe.min.js"
"""axe-core, as this package brings it; its own way to run it has no types."""
PACKAGE: Final = "chromium"
"""Debian's package of it."""


def program() -> Path:
    """Where Chromium is.

    Raises:
        NotRun: it is not installed.
    """
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NotRun(f"no Chromium: install Debian's package {PACKAGE}, or one called {NAMES[-1]}")
    return Path(found)


@contextlib.contextmanager
def running() -> Iterator[Browser]:
    """A browser for the length of a block."""
    path = program()
    with (
        tempfile.TemporaryDirectory(prefix="podrail-browser-") as home,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(
            executable_path=path,
            # As root, Chromium has no sandbox; it opens nothing but pages of this machine.
            chromium_sandbox=os.getuid() != 0,
            env={"HOME": home, "PATH": os.defpath},
        )
        try:
            yield browser
        finally:
            browser.close()
