"""podrail-extender: answers kube-scheduler until it is told to stop."""

import logging
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from extender import app
from extender.binder import Binder
from extender.cluster import Cluster
from extender.judge import Judge
from extender.metrics import Metrics
from extender.settings import Settings
from podrail import catalog, profiles
from podrail.errors import MalformedError
from podrail.fabric import Profile
from podrail.profiles import Loaded
from podrail.topology import Topology
from podrail_io import files, logs, serving
from podrail_io.environ import SettingsError
from podrail_io.files import FileError, Placed
from podrail_io.kube import Api, KubeError
from podrail_io.living import Living
from podrail_io.reflector import World

_LOG: Final = logging.getLogger(__name__)


def main() -> None:
    """Serve; exit status 1 means that the settings or files were wrong."""
    try:
        settings = Settings.from_environ(os.environ)  # noqa: TID251 - the program reads it
        logs.setup(sys.stderr, settings.log_level)
        fabrics = Living(settings.profiles, load)
        shapes = _shapes(settings)
        api = Api.connect(settings.kubeconfig, settings.server)
    except (SettingsError, FileError, KubeError, MalformedError) as error:
        sys.exit(f"podrail-extender: {error}")
    for problem in fabrics.value.problems:
        _LOG.warning("profile left out", extra={"problem": str(problem)})
    serving.serve(lambda: _application(settings, fabrics, shapes, api), settings.serving)


def load(documents: list[Placed], earlier: Loaded | None) -> Loaded:
    """The shipped profiles and those of the folder."""
    shipped = files.package_documents("podrail", "data/profiles")
    return profiles.load([*shipped, *documents], earlier.profiles if earlier else None)


def _shapes(settings: Settings) -> Mapping[str, Topology]:
    own = [] if settings.shapes is None else files.folder_documents(settings.shapes)
    shipped = files.package_documents("podrail", "data/shapes")
    return catalog.read([*shipped, *own])


def _application(
    settings: Settings, fabrics: Living[Loaded], shapes: Mapping[str, Topology], api: Api
) -> Any:
    cluster = Cluster(api, shapes, World(time.monotonic, random.random))
    metrics = Metrics(cluster.age, lambda: cluster.synced)

    def now() -> Mapping[str, Profile]:
        return fabrics.value.profiles

    def problems() -> Sequence[str]:
        views = (("nodes", cluster.nodes.synced), ("pods", cluster.pods.synced))
        missing = [f"{name} are not synced" for name, synced in views if not synced]
        old = cluster.age() > settings.stale_seconds
        return missing or (["the view of the cluster is too old"] if old else [])

    judge = Judge(cluster, now, settings.stale_seconds)
    binder = Binder(
        api, cluster, now, settings.scheduler, settings.hold_seconds, metrics, time.monotonic
    )
    fabrics.start()
    cluster.start()
    return app.create(judge, binder, metrics, problems)
