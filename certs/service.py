"""The long-running part of podrail-certs: the keeper, health, readiness and metrics."""

import atexit
import platform
import random
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from certs.keeper import Keeper, Times
from certs.settings import Settings
from podrail_io import logs, serving, web
from podrail_io.environ import SettingsError
from podrail_io.kube import Api, KubeError
from podrail_io.lease import Lease, Surroundings

LEASE: Final = "podrail-certs"


def run(variables: Mapping[str, str], now: Callable[[], datetime]) -> None:
    """Serve until told to stop; exit status 1 means that the settings were wrong."""
    try:
        settings = Settings.from_environ(variables)
        logs.setup(sys.stderr, settings.log_level)
        api = Api.connect(settings.kubeconfig, settings.server)
    except (SettingsError, KubeError) as error:
        sys.exit(f"podrail-certs: {error}")
    serving.serve(lambda: _application(settings, api, now), settings.serving)


def _application(settings: Settings, api: Api, now: Callable[[], datetime]) -> Any:
    identity = settings.identity or f"{platform.node()}_{uuid.uuid4()}"
    around = Surroundings(time.monotonic, now, random.SystemRandom().random)
    lease = Lease(api, (settings.namespace, LEASE), identity, around)
    keeper = Keeper(api, lease, settings, Times(now, time.monotonic))
    # The worker ends in good order at SIGTERM, and the next process need not wait for the lease.
    atexit.register(lease.stop)
    lease.start()
    keeper.start()
    return web.application("podrail-certs", keeper.problems, keeper.metrics.registry)
