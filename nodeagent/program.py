"""podrail-nodeagent: tells what a node's GPUs, NICs and rails are and do, until it is stopped."""

import os
import random
import signal
import sys
import threading
import time
from datetime import UTC, datetime

from nodeagent.agent import Agent, Clocks, Parts
from nodeagent.kubelet import Source
from nodeagent.metrics import Metrics
from nodeagent.settings import Settings
from nodeagent.sight import Sight
from nodeagent.writer import NODES, Times, Writer
from podrail_io import logs
from podrail_io.bulletin import Bulletin
from podrail_io.environ import SettingsError
from podrail_io.followed import Followed
from podrail_io.podresources import PodResources
from podrail_io.slim import SlimApi


def main() -> None:
    """Run; exit status 1 means that the settings were wrong."""
    try:
        settings = Settings.from_environ(os.environ)  # noqa: TID251 - the program reads it
        logs.setup(sys.stderr, settings.log_level)
    except SettingsError as error:
        sys.exit(f"podrail-nodeagent: {error}")
    stopping, news = threading.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _end(stopping, news))
    # A thread takes its stack from the node's memory; none here goes deep.
    threading.stack_size(512 * 1024)
    agent, metrics, node = _made(settings, news)
    bulletin = Bulletin(settings.listen, agent.problems, metrics.text)
    bulletin.start()
    node.start()
    agent.run(stopping, news)
    node.stop()
    bulletin.stop()


def _made(settings: Settings, news: threading.Event) -> tuple[Agent, Metrics, Followed]:
    api = SlimApi(settings.api)
    metrics = Metrics(time.monotonic)
    times = Times(time.monotonic, _stamp, random.SystemRandom().random)
    node = Followed(api, NODES, settings.node, random.SystemRandom().random, news.set)
    resources = PodResources(settings.resources, time.monotonic)
    parts = Parts(
        sight=Sight(settings.sys, settings.proc),
        source=Source(resources, settings.kubelet_config, api, settings.node),
        writer=Writer(api, settings.node, times, metrics),
        node=node,
        metrics=metrics,
    )
    agent = Agent(settings.node, parts, Clocks(time.monotonic, time.time))
    return agent, metrics, node


def _end(stopping: threading.Event, news: threading.Event) -> None:
    stopping.set()
    news.set()


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - where the time comes from
