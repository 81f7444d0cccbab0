"""The option that writes the golden files anew; what it writes is read in the diff."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """--golden=write, for runs of this folder."""
    parser.addoption("--golden", choices=("compare", "write"), default="compare")


@pytest.fixture
def writing(request: pytest.FixtureRequest) -> bool:
    """True if the golden files are to be written; a run of all tests has no such option."""
    return bool(request.config.getoption("--golden", "compare") == "write")
