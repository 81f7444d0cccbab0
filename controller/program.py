"""podrail-controller: keeps the statuses of FabricProfiles true until it is told to stop."""

import atexit
import os
import platform
import random
import sys
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from controller.reconciler import MANAGER, Reconciler, Times, View
from controller.settings import Settings
from podrail_io import logs, serving, web
from podrail_io.environ import SettingsError
from podrail_io.kube import Api, KubeError
from podrail_io.lease import Lease, Surroundings
from podrail_io.reflector import World


def main() -> None:
    """Serve; exit status 1 means that the settings were wrong."""
    try:
        settings = Settings.from_environ(os.environ)  # noqa: TID251 - the program reads it
        logs.setup(sys.stderr, settings.log_level)
        api = Api.connect(settings.kubeconfig, settings.server)
    except (SettingsError, KubeError) as error:
        sys.exit(f"podrail-controller: {error}")
    serving.serve(lambda: _application(settings, api), settings.serving)


def _application(settings: Settings, api: Api) -> Any:
    view = View(api, World(time.monotonic, random.random))
    identity = settings.identity or f"{platform.node()}_{uuid.uuid4()}"
    around = Surroundings(time.monotonic, _now, random.random)
    lease = Lease(api, (settings.namespace, MANAGER), identity, around)
    reconciler = Reconciler(api, view, lease, Times(_stamp, time.thread_time), settings.isolation)
    # The worker ends in good order at SIGTERM, and the next process need not wait for the lease.
    atexit.register(lease.stop)
    view.start()
    lease.start()
    reconciler.start()
    return web.application("podrail-controller", view.problems, reconciler.metrics.registry)


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the program is where the time comes from


def _stamp() -> str:
    return _now().strftime("%Y-%m-%dT%H:%M:%SZ")
