"""The webhook beside a handler that does nothing, on the same server, by pod and connections.

Peak memory is cumulative: that of a case counts everything asked before it.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import payloads
import programs
from blocks import Client, Comparison, Effort, Target
from payloads import Size

GOAL: Final = 1.2
"""The webhook's p50 over the null handler's, at most."""
P50_GOAL_MS: Final = 0.6
"""The webhook's p50 for the small pod at one connection, at most."""
THREADS: Final = 64
"""The webhook's own default."""
WIDE: Final = Size("64 containers", variables=29, sidecars=63, annotation=200)
HUGE: Final = Size("3 MiB", variables=9_000, sidecars=2, annotation=9500)
"""As much as kube-apiserver takes; the most that a webhook is ever asked about."""
_MANY: Final = (1, 8, 64)
# By pod: the usual requests of a block, and how many are in flight. Of 3 MiB one is answered at a
# time and some twenty may be under way, so that 64 would measure refusals (podrail_io.worker).
_CASES: Final = {
    payloads.SMALL: (300, _MANY),
    payloads.LARGE: (150, _MANY),
    WIDE: (64, _MANY),
    HUGE: (16, (1, 8)),
}


def measure(folder: Path, client: Client, effort: Effort) -> dict[str, Any]:
    """A case for each size of pod and number of connections, and the memory after all of them."""
    cases = []
    with programs.running(folder) as started:
        webhook = started.webhook()
        null = started.stand_in("null", THREADS, tls=True)
        url, base = f"https://{webhook.address()}/mutate", f"https://{null.address()}/"
        for size, (usual, in_flight) in _CASES.items():
            review = payloads.review(size)
            injects(webhook.address(), started.ca, review)
            bodies = started.body(size.name.replace(" ", ""), review)
            targets = {
                "webhook": Target(url, bodies, started.ca),
                "null": Target(base, bodies, started.ca),
            }
            for connections in in_flight:
                requests = max(effort.requests(usual), connections)
                meter = programs.Meter({"webhook": webhook, "null": null})
                made = client.compare(targets, connections, requests, effort.rounds)
                case = _case(size, len(review), connections, made)
                used = {"cpu_ms_per_request": meter.per_request(made)}
                cases.append({**case, **used, "memory": programs.memory(webhook)})
        return {"cases": cases, "memory": programs.memory(webhook)}


def injects(address: str, ca: Path, review: bytes) -> None:
    """Make sure that what is measured is an injection.

    Raises:
        RuntimeError: the answer carries no patch.
    """
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=ca)
    with closing(http.client.HTTPSConnection(host, int(port), context=context)) as connection:
        connection.request("POST", "/mutate", review, {"Content-Type": "application/json"})
        content = connection.getresponse().read()
    patch = json.loads(content).get("response", {}).get("patch", "")
    if b"networks" not in base64.b64decode(patch):
        raise RuntimeError(f"the webhook did not inject the benchmark's pod: {content[:500]!r}")


def _case(size: Size, length: int, connections: int, made: Comparison) -> dict[str, Any]:
    ratio = made.ratio("webhook", "null")
    goals = {"goal": GOAL, "met": ratio["median"] <= GOAL}
    if size is payloads.SMALL and connections == 1:
        p50 = made.figures("webhook")["p50_ms"]
        goals |= {"p50_goal_ms": P50_GOAL_MS, "p50_met": p50 <= P50_GOAL_MS}
    return {
        "pod": size.name,
        "bytes": length,
        "in_flight": connections,
        **made.all(),
        "p50_over_null": ratio,
        **goals,
    }
