"""The extender's filter and prioritize for many names, beside a handler that does nothing.

Beside a real kube-apiserver: nothing changed, each question about another pod, right after 500 nodes
changed, by the number of names, and the memory with tens of thousands of bound pods.
"""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import payloads
import programs
from blocks import Client, Comparison, Effort, Target
from controlplane.installed import Installed
from controlplane.plane import TOKEN, Cluster
from controlplane.processes import Child
from programs import Programs

NODES: Final = 5000
GOAL_MS: Final = 2.0
"""Filter and prioritize at 5,000 nodes when nothing changed, p50."""
CHANGED_GOAL_MS: Final = 15.0
"""The first of each right after CHANGED nodes changed."""
CHANGED: Final = 500
PEAK_GOAL_MIB: Final = 400
VERBS: Final = ("filter", "prioritize")
THREADS: Final = 16
"""The extender's own default."""
_REQUESTS: Final = 60
_CREATORS: Final = 16
_SETTLE_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Scale:
    """How many nodes and bound pods there are, and for how many names is asked."""

    nodes: int
    pods: int
    names: tuple[int, ...]


FULL: Final = Scale(15_000, 50_000, (500, 1000, 2000, 5000, 10_000, 15_000))
QUICK: Final = Scale(NODES, 0, (500, 1000, 2000, NODES))


class Crowd:
    """Objects of one cluster, created fast."""

    def __init__(self, cluster: Cluster, started: Programs, client: Client) -> None:
        self._cluster = cluster
        self._started = started
        self._client = client
        self._numbers = itertools.count()

    def create(self, path: str, documents: Sequence[dict[str, Any]]) -> None:
        """Create them.

        Raises:
            RuntimeError: the API server took some of them not.
        """
        name = f"crowd-{next(self._numbers)}"
        bodies = self._started.body(name, *(json.dumps(one).encode() for one in documents))
        authority = self._cluster.folder / "certs" / "apiserver.crt"
        url = f"https://127.0.0.1:{self._cluster.port}{path}"
        sent = self._client.send(Target(url, bodies, authority, TOKEN), _CREATORS, len(documents))
        if sent.errors:
            raise RuntimeError(f"{sent.errors} of {path} were not created: {sent.first}")


def measure(
    installed: Installed, started: Programs, client: Client, effort: Effort, scale: Scale
) -> dict[str, Any]:
    """One caller at a time, as kube-scheduler is."""
    crowd = Crowd(installed.cluster, started, client)
    crowd.create("/api/v1/nodes", payloads.cluster(scale.nodes))
    question = payloads.arguments(NODES)
    extender = installed.extender()
    null = started.stand_in("null", THREADS, tls=False)
    address = extender.address()
    extender.wait_until(lambda: _knows_the_nodes(address, question), 60)
    found: dict[str, Any] = {
        "nodes": scale.nodes,
        "names": NODES,
        "bytes": len(question),
        "in_flight": 1,
        "run_as": f"program beside a real kube-apiserver with {scale.nodes} nodes",
        "goal_p50_ms": GOAL_MS,
    }

    def case(name: str, *bodies: bytes) -> dict[str, Any]:
        path = started.body(name, *bodies)
        targets = {verb: Target(f"http://{address}/{verb}", path) for verb in VERBS}
        targets["null"] = Target(f"http://{null.address()}/", path)
        made = client.compare(targets, 1, effort.requests(_REQUESTS), effort.rounds)
        return _case(made, bodies[0])

    for many in scale.names:
        found.setdefault("growth", {})[str(many)] = case(
            f"arguments-{many}", payloads.arguments(many)
        )
    found |= found["growth"][str(NODES)]
    found["other_pods"] = case("others", *payloads.others(NODES, _REQUESTS))
    urls = {verb: f"{address}/{verb}" for verb in VERBS} | {"null": f"{null.address()}/"}
    found["after_changes"] = _after_changes(crowd, urls, question)
    found["memory"] = programs.memory(extender)
    return found | (_with_pods(crowd, extender, scale) if scale.pods else {})


def _with_pods(crowd: Crowd, extender: Child, scale: Scale) -> dict[str, Any]:
    """What the extender holds once so many pods are bound."""
    pods = [payloads.running(number, number % scale.nodes) for number in range(scale.pods)]
    crowd.create("/api/v1/namespaces/default/pods", pods)
    time.sleep(_SETTLE_SECONDS / 4)
    memory = programs.memory(extender)
    return {"memory_with_pods": {"pods": scale.pods, "goal_peak_rss_mib": PEAK_GOAL_MIB, **memory}}


def _case(made: Comparison, body: bytes) -> dict[str, Any]:
    ratios = {f"{verb}_p50_over_null": made.ratio(verb, "null") for verb in VERBS}
    return {**made.all(), **ratios, "json_loads_ms": _parsed(body)}


def _parsed(body: bytes) -> float:
    """Milliseconds that Python takes to parse such a body: the least that a call can cost."""
    times = []
    for _ in range(30):
        began = time.perf_counter()
        json.loads(body)
        times.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(times), 3)


def _after_changes(
    crowd: Crowd, urls: Mapping[str, str], question: bytes, rounds: int = 5
) -> dict[str, Any]:
    """The first filter and the first prioritize after pods were bound on 500 nodes, p50."""
    chance, numbers = Random(1), itertools.count()
    taken: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(rounds):
        nodes = chance.sample(range(NODES), CHANGED)
        pods = [payloads.stranger(next(numbers), node, chance.choice((1, 2, 4))) for node in nodes]
        crowd.create("/api/v1/namespaces/default/pods", pods)
        time.sleep(1)
        for name, times in taken.items():
            began = time.perf_counter()
            _sent(urls[name], question)
            times.append((time.perf_counter() - began) * 1000)
    return {
        "changed": CHANGED,
        "goal_p50_ms": CHANGED_GOAL_MS,
        **{f"{name}_p50_ms": round(statistics.median(times), 2) for name, times in taken.items()},
    }


def _knows_the_nodes(address: str, question: bytes) -> bool:
    """True once every name passes, and each aligned node scores more than every other."""
    try:
        passed = json.loads(_sent(f"{address}/filter", question))["NodeNames"]
        scored = json.loads(_sent(f"{address}/prioritize", question))
    except OSError:
        return False
    scores = [one["Score"] for one in scored]
    return len(passed) == NODES and min(scores[::2]) > max(scores[1::2])


def _sent(url: str, body: bytes) -> bytes:
    address, _, path = url.partition("/")
    with closing(http.client.HTTPConnection(address, timeout=30)) as connection:
        connection.request("POST", f"/{path}", body, {"Content-Type": "application/json"})
        return connection.getresponse().read()
