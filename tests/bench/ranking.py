"""The extender's filter and prioritize for many names, beside a handler that does nothing."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any, Final

import payloads
import programs
from blocks import Client, Effort, Target
from controlplane.installed import Installed
from controlplane.plane import TOKEN, Cluster
from programs import Programs

NODES: Final = 5000
THREADS: Final = 16
"""The extender's own default."""
_REQUESTS: Final = 60
_CREATORS: Final = 16


def fill(cluster: Cluster, started: Programs, client: Client) -> None:
    """Create the nodes at the API server.

    Raises:
        RuntimeError: it took some of them not.
    """
    bodies = started.body("nodes", *(json.dumps(one).encode() for one in payloads.cluster(NODES)))
    authority = cluster.folder / "certs" / "apiserver.crt"
    url = f"https://127.0.0.1:{cluster.port}/api/v1/nodes"
    sent = client.send(Target(url, bodies, authority, TOKEN), _CREATORS, NODES)
    if sent.errors:
        raise RuntimeError(f"{sent.errors} nodes were not created: {sent.first}")


def measure(
    installed: Installed, started: Programs, client: Client, effort: Effort
) -> dict[str, Any]:
    """The comparison of one caller at a time, as kube-scheduler is, and the extender's memory."""
    question = payloads.arguments(NODES)
    extender = installed.extender()
    null = started.stand_in("null", THREADS, tls=False)
    address = extender.address()
    extender.wait_until(lambda: _knows_the_nodes(address, question), 60)
    bodies = started.body("arguments", question)
    targets = {
        verb: Target(f"http://{address}/{verb}", bodies) for verb in ("filter", "prioritize")
    }
    targets["null"] = Target(f"http://{null.address()}/", bodies)
    made = client.compare(targets, 1, effort.requests(_REQUESTS), effort.rounds)
    return {
        "nodes": NODES,
        "bytes": len(question),
        "in_flight": 1,
        "run_as": f"program beside a real kube-apiserver with {NODES} nodes",
        **made.all(),
        "filter_p50_over_null": made.ratio("filter", "null"),
        "prioritize_p50_over_null": made.ratio("prioritize", "null"),
        "memory": programs.memory(extender),
    }


def _knows_the_nodes(address: str, question: bytes) -> bool:
    """True once every name passes, half score best and the others, the misaligned, less."""
    try:
        passed = _post(address, "/filter", question)["NodeNames"]
        scores = [one["Score"] for one in _post(address, "/prioritize", question)]
    except OSError:
        return False
    return len(passed) == NODES and scores.count(max(scores)) == NODES // 2


def _post(address: str, path: str, body: bytes) -> Any:
    with closing(http.client.HTTPConnection(address, timeout=30)) as connection:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())
