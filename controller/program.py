"""podrail-controller: statuses of profiles, claim templates and reports on pods, until stopped."""

import atexit
import os
import platform
import random
import sys
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from controller import viewing
from controller.agents import Agents
from controller.conditions import Scenery
from controller.docket import Docket, Rules
from controller.reconciler import MANAGER, Reconciler, Times, View
from controller.reporter import Clocks, Reporter
from controller.scribe import Scribe
from controller.settings import Settings
from controller.templates import Templates
from controller.viewing import Parts
from podrail import catalog, profiles
from podrail.errors import MalformedError
from podrail.profiles import Loaded
from podrail.topology import Topology
from podrail_io import files, logs, serving, web
from podrail_io.environ import SettingsError
from podrail_io.files import FileError
from podrail_io.kube import Api, KubeError
from podrail_io.lease import Lease, Surroundings
from podrail_io.living import Living
from podrail_io.reflector import World


def main() -> None:
    """Serve; exit status 1 means that the settings were wrong."""
    try:
        settings = Settings.from_environ(os.environ)  # noqa: TID251 - the program reads it
        logs.setup(sys.stderr, settings.log_level)
        api = Api.connect(settings.kubeconfig, settings.server)
        shipped = files.package_documents(*profiles.SHIPPED)
        fabrics = Living(shipped, settings.profiles, profiles.layered)
        shapes = catalog.read(files.with_own(*catalog.SHIPPED, settings.shapes))
    except (SettingsError, FileError, KubeError, MalformedError, OSError) as error:
        sys.exit(f"podrail-controller: {error}")
    serving.serve(lambda: _application(settings, api, fabrics, shapes), settings.serving)


def _application(
    settings: Settings, api: Api, fabrics: Living[Loaded], shapes: Mapping[str, Topology]
) -> Any:
    world = World(time.monotonic, random.SystemRandom().random)
    view = View(api, world)
    fabrics.follow(api, profiles.RESOURCES, profiles.resource, world)
    identity = settings.identity or f"{platform.node()}_{uuid.uuid4()}"
    around = Surroundings(time.monotonic, _now, random.SystemRandom().random)
    lease = Lease(api, (settings.namespace, MANAGER), identity, around)
    site = Scenery({}, (), settings.isolation, placed=bool(settings.schedulers))
    reconciler = Reconciler(api, view, lease, Times(_stamp, time.thread_time), site)
    templates = Templates(api, world, lease, fabrics, reconciler.metrics)
    # The worker ends in good order at SIGTERM, and the next process need not wait for the lease.
    atexit.register(lease.stop)
    docket = Docket(
        api, world, Rules(settings.schedulers, settings.namespace, lambda: fabrics.value.profiles)
    )
    reporter = Reporter(
        docket,
        Agents(settings.stale_seconds, view.uid),
        Scribe(api, lease, reconciler.metrics),
        reconciler.metrics,
        Clocks(time.monotonic, time.time, _stamp),
    )
    for each in (view, fabrics, lease, reconciler, templates, reporter):
        each.start()
    viewing.serve(settings, api, world, Parts(view, docket, lease, fabrics), shapes)

    def problems() -> list[str]:
        return [*view.problems(), *templates.problems(), *docket.problems()]

    return web.application("podrail-controller", problems, reconciler.metrics.registry)


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the program is where the time comes from


def _stamp() -> str:
    return _now().strftime("%Y-%m-%dT%H:%M:%SZ")
