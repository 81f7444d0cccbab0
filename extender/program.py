"""podrail-extender: answers kube-scheduler until it is told to stop."""

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from prometheus_client import generate_latest

from extender import app
from extender.announcer import Announcer
from extender.around import Around, Terms
from extender.asking import Desk, Names
from extender.binder import Binder
from extender.claimed import Claimed
from extender.cluster import Cluster
from extender.judge import Judge
from extender.metrics import Metrics
from extender.nominator import Nominator
from extender.settings import Settings
from podrail import catalog, profiles
from podrail.errors import MalformedError
from podrail.profiles import Loaded
from podrail.topology import Evidence, Topology
from podrail_io import files, logs, serving, validity
from podrail_io.bulletin import Bulletin
from podrail_io.environ import SettingsError
from podrail_io.files import FileError
from podrail_io.kube import Api, KubeError
from podrail_io.living import Living
from podrail_io.reflector import World
from podrail_io.tls import Certificates


def main() -> None:
    """Serve; exit status 1 means that the settings or files were wrong."""
    try:
        settings = Settings.from_environ(os.environ)  # noqa: TID251 - the program reads it
        logs.setup(sys.stderr, settings.log_level)
        shipped = files.package_documents(*profiles.SHIPPED)
        fabrics = Living(shipped, settings.profiles, profiles.layered)
        shapes = catalog.read(files.with_own(*catalog.SHIPPED, settings.shapes))
        api = Api.connect(settings.kubeconfig, settings.server)
        certificates = serving.certificates_of(settings.serving)
    except (SettingsError, FileError, KubeError, MalformedError, OSError) as error:
        sys.exit(f"podrail-extender: {error}")
    serving.serve(
        lambda: _application(settings, fabrics, shapes, api, certificates),
        settings.serving,
        certificates,
    )


def _application(
    settings: Settings,
    fabrics: Living[Loaded],
    shapes: Mapping[str, Topology],
    api: Api,
    certificates: Certificates | None,
) -> Any:
    world = World(time.monotonic, random.SystemRandom().random)
    names = Names(lambda: fabrics.value.profiles)
    around = Around(world, _now, names.resources)
    cluster = Cluster(api, shapes, around, Terms(settings.hold_seconds, settings.claim_seconds))
    metrics = Metrics(cluster.age, lambda: cluster.synced)
    fabrics.follow(api, profiles.RESOURCES, profiles.resource, world)
    metrics.export_nodes(lambda: _evidence(cluster))
    fabrics.export(metrics.registry, "profiles")
    validity.export(certificates, metrics.registry)

    def problems() -> Sequence[str]:
        found = _views(cluster, fabrics, settings.stale_seconds)
        return [*found, *validity.problems(certificates)]

    claimed = Claimed(api, world)
    desk = Desk(names, cluster.sizes.of, claimed)
    judge = Judge(cluster, desk, settings.stale_seconds, _now, metrics.count_unscored)
    announcer = Announcer(api, _now)
    clock, ours = time.monotonic, settings.scheduler
    held = settings.hold_seconds
    nominator = Nominator(api, cluster, desk, judge, ours, metrics, clock, held)
    heard = nominator.taken if settings.nominate else _nobody
    binder = Binder(api, cluster, desk, ours, metrics, announcer, clock, heard)
    if settings.bulletin is not None:
        told = metrics.registry
        Bulletin(settings.bulletin, problems, lambda: generate_latest(told).decode()).start()
    for part in (fabrics, cluster, claimed, announcer, nominator):
        part.start()
    return app.create(judge, binder, metrics, problems)


def _views(cluster: Cluster, fabrics: Living[Loaded], stale_seconds: int) -> Sequence[str]:
    """What is missing of the views of the API server, or that they are too old."""
    views = (
        ("nodes", cluster.survey.nodes.synced),
        ("pods", cluster.pods.synced),
        ("profiles", fabrics.synced),
    )
    missing = [f"{name} are not synced" for name, synced in views if not synced]
    old = cluster.age() > stale_seconds
    return missing or (["the view of the cluster is too old"] if old else [])


def _evidence(cluster: Cluster) -> Mapping[str, int]:
    found = (cluster.standing(name).topology for name in cluster.survey.nodes.items())
    return Counter((Evidence.NONE if one is None else one.evidence).value for one in found)


def _nobody(_job: str) -> None:
    """Hear of a bind and do nothing."""


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the program is where the time comes from
