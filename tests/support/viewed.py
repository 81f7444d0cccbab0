"""The rail map page, served in this process from a small API server, at a fixed time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import builders
import kinds_api
import mapped
import placing
from kinds_api import KindsApi

from controller.docket import Rules
from controller.page import app
from controller.page.board import Board, Terms
from controller.page.watch import Watch
from podrail.railmap.health import Around, Certificate
from podrail_io.aside import Aside
from podrail_io.kube import Api
from podrail_io.reflector import World

DAY = 86_400.0
CERTIFICATE = Certificate(
    "the webhook at podrail-webhook.podrail-system.svc:443",
    mapped.NOW - 5 * DAY,
    mapped.NOW + 25 * DAY,
)


@dataclass(frozen=True)
class Viewed:
    """A page that is served."""

    url: str
    api: KindsApi
    board: Board


@contextlib.contextmanager
def serving(documents: Mapping[str, list[dict[str, Any]]] | None = None) -> Iterator[Viewed]:
    """The page of some documents for the length of a block; the usual ones if none are given."""
    with kinds_api.serving() as api:
        mapped.put(api, mapped.documents() if documents is None else documents)
        world = World(time.monotonic, lambda: 0.5)
        watch = Watch(Api.connect(None, api.url), world, dict)
        board = drawn(watch)
        served = Aside(app.create(board), "127.0.0.1", 0)
        served.start()
        try:
            yield Viewed(f"http://{served.address}", api, board)
        finally:
            served.stop()
            watch.stop()


def drawn(watch: Watch) -> Board:
    """A board of a watch, at the usual time."""
    fabrics = builders.shipped()
    around = Around(1.0, active=True, ready={"True": 12}, certificates=(CERTIFICATE,))
    return Board(
        watch,
        Rules(frozenset({"podrail"}), "podrail-system", lambda: fabrics),
        lambda: fabrics,
        lambda: around,
        Terms(placing.SHAPES, 900, time.monotonic, lambda: mapped.NOW),
    )
