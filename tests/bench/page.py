"""The rail map page at 5,000 nodes: each view's time over HTTP, while pods come and go.

By itself: `python tests/bench/page.py`. One process serves and asks, as a controller beside its
other work would, so the asking takes its part of the interpreter too.
"""

from __future__ import annotations

import http.client
import itertools
import json
import resource
import statistics
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

import audited
import mapped
import payloads
import viewed

from controller.page import app
from controller.page.watch import Watch
from podrail.railmap import facts
from podrail.railmap.facts import Agent
from podrail.railmap.scene import Facts
from podrail_io import serving
from podrail_io.aside import Aside

NODES: Final = 5000
JOB: Final = 64
WAITING: Final = 200
GOAL_P95_MS: Final = 200.0
CHANGED: Final = 50
"""The pods that change before each request."""
REQUESTS: Final = 60
FEW: Final = 20


class Still(Watch):
    """A watch that knows a cluster from the beginning, of which some pods change when asked to."""

    def __init__(self, given: Facts) -> None:
        self._given = given
        self._pods_now = dict(given.pods)
        self._turns = itertools.cycle(list(given.pods))

    def start(self) -> None:
        """It has begun."""

    @property
    def synced(self) -> bool:
        """It knows all."""
        return True

    def age(self) -> float:
        """It has just been confirmed."""
        return 0.0

    def facts(self) -> Facts:
        """What is known, copied as a reflector does."""
        given = self._given
        return Facts({**given.nodes}, {**self._pods_now}, {**given.agents}, {})

    def change(self, many: int) -> None:
        """Have some pods change."""
        for key in itertools.islice(self._turns, many):
            self._pods_now[key] = replace(self._pods_now[key])


def measure(count: int = NODES, requests: int = REQUESTS) -> dict[str, Any]:
    """The milliseconds of each view, of the first look, and of a look right after a change."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    watch = Still(cluster(count))
    served = Aside(app.create(viewed.drawn(watch)), "127.0.0.1", 0)
    served.start()
    # As in the program, where serving sets it for the page's sake too.
    sys.setswitchinterval(serving.SWITCH_SECONDS)
    try:
        first = _took(served.address, "/fleet")
        views = {
            name: _many(served.address, path, watch, requests)
            for name, path in paths(count).items()
        }
    finally:
        served.stop()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "nodes": count,
        "pods": count + WAITING,
        "goal_p95_ms": GOAL_P95_MS,
        "first_ms": round(first, 1),
        "grown_mib": round((after - before) / 1024),
        "views": views,
    }


def paths(count: int) -> dict[str, str]:
    """What is asked for."""
    node = payloads.name(count // 2)
    return {
        "fleet": "/fleet",
        "fleet_last_page": f"/fleet?page={count}",
        "fleet_fragmented": "/fleet?show=fragmented",
        "fleet_json": "/fleet.json",
        "node": f"/nodes/{node}",
        "jobs": "/jobs",
        "job": "/jobs/team/job-1",
        "pending": "/pending",
        "waiting_pod": "/pending/team/late-7",
        "health": "/health",
    }


def _many(address: str, path: str, watch: Still, requests: int) -> dict[str, float]:
    taken = []
    for _ in range(requests):
        watch.change(CHANGED)
        taken.append(_took(address, path))
        # People do not ask without a pause; this lets scenes grow old between requests.
        time.sleep(0.05)
    taken.sort()
    return {
        "p50_ms": round(statistics.median(taken), 1),
        "p95_ms": round(taken[int(0.95 * (len(taken) - 1))], 1),
        "max_ms": round(taken[-1], 1),
    }


def _took(address: str, path: str) -> float:
    began = time.perf_counter()
    with closing(http.client.HTTPConnection(address, timeout=60)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    if answer.status != http.client.OK:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
    return (time.perf_counter() - began) * 1000


def cluster(count: int) -> Facts:
    """So many nodes with agents, a pod on each but every tenth, and some that wait."""
    made = (facts.node(one) for one in payloads.cluster(count))
    template = mapped.worker("job-0", "node-0")
    waiting = mapped.worker("late-0")
    said = facts.agent(audited.written(audited.node_rails({"team/job-0": (range(8), range(8))})))
    pods = [_pod(template, number, payloads.name(number)) for number in range(count) if number % 10]
    late = [_named(waiting, f"late-{number}", f"late-{number // 8}") for number in range(WAITING)]
    return Facts(
        nodes={one.name: one for one in made},
        pods={one.key: one for document in (*pods, *late) if (one := facts.pod(document))},
        agents={payloads.name(number): _agent(said, number) for number in range(count)},
    )


def _pod(template: dict[str, Any], number: int, node: str) -> dict[str, Any]:
    found = _named(template, f"job-{number // JOB}-{number}", f"job-{number // JOB}")
    return {**found, "spec": {**found["spec"], "nodeName": node}}


def _named(template: dict[str, Any], name: str, job: str) -> dict[str, Any]:
    labels = {**template["metadata"]["labels"], mapped.JOB: job}
    metadata = {**template["metadata"], "name": name, "uid": name, "labels": labels}
    return {**template, "metadata": metadata}


def _agent(template: Agent, number: int) -> Agent:
    """What the agent of a node says, made of what another's said: reading takes milliseconds."""
    assert template.sight is not None
    (held,) = template.sight.pods.values()
    pods = {f"team/job-{number // JOB}-{number}": held} if number % 10 else {}
    return replace(template, sight=replace(template.sight, pods=pods))


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:])), indent=1))
    sys.exit(0)
