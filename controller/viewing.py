"""Serves the rail map page beside the controller's work, which never waits for it."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from controller.docket import Docket, Rules
from controller.page import app, surroundings
from controller.page.board import Board, Terms
from controller.page.surroundings import Webhook
from controller.page.watch import Watch
from controller.reconciler import View
from controller.settings import Settings
from podrail.profiles import Loaded
from podrail.railmap.health import Around
from podrail.topology import Topology
from podrail_io.aside import Aside
from podrail_io.kube import Api
from podrail_io.lease import Lease
from podrail_io.living import Living
from podrail_io.reflector import World

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the page reads of the controller."""

    view: View
    docket: Docket
    lease: Lease
    fabrics: Living[Loaded]


def serve(
    settings: Settings, api: Api, world: World, parts: Parts, shapes: Mapping[str, Topology]
) -> None:
    """Serve the page at the settings' address, if there is one, in threads of its own.

    Raises:
        OSError: the address cannot be had.
    """
    if settings.page is None:
        return
    webhook = Webhook(settings.webhook, world.clock)
    watch = Watch(api, world, parts.docket.spaces.items)
    fabrics = parts.fabrics

    def around() -> Around:
        return Around(
            age=max(parts.view.age(), watch.age()),
            active=parts.lease.held,
            ready=surroundings.ready(parts.view.profiles.items()),
            certificates=(webhook.certificate(),),
        )

    board = Board(
        watch,
        Rules(settings.schedulers, settings.namespace, lambda: fabrics.value.profiles),
        lambda: fabrics.value.profiles,
        around,
        Terms(shapes, settings.stale_seconds, world.clock, time.time),
    )
    served = Aside(app.create(board), *settings.page)
    served.start()
    _LOG.info("page listening", extra={"page": served.address})
