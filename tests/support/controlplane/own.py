"""A control plane of a fixture's own, for as long as its tests run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controlplane.binaries import NotRun
from controlplane.plane import Cluster


@contextmanager
def plane(session: pytest.Session) -> Iterator[Cluster]:
    """One that ends with the block; its logs are kept if a test has failed meanwhile.

    The test is skipped, and told as not run, where its programs can be neither found nor built.
    """
    try:
        found = Cluster()
    except NotRun as missing:
        pytest.skip(str(missing))
    with found:
        failed = session.testsfailed
        yield found
        found.keep = session.testsfailed > failed
