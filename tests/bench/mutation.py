"""The webhook beside a handler that does nothing, on the same server, by pod and connections."""

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
CONNECTIONS: Final = (1, 8, 32)
THREADS: Final = 64
"""The webhook's own default."""
_REQUESTS: Final = 300


def measure(folder: Path, client: Client, effort: Effort) -> dict[str, Any]:
    """A case for each size of pod and number of connections, and the memory after all of them."""
    cases = []
    with programs.running(folder) as started:
        webhook = started.webhook()
        null = started.stand_in("null", THREADS, tls=True)
        url, base = f"https://{webhook.address()}/mutate", f"https://{null.address()}/"
        for size in (payloads.SMALL, payloads.LARGE):
            review = payloads.review(size)
            injects(webhook.address(), started.ca, review)
            bodies = started.body(size.name.replace(" ", ""), review)
            targets = {
                "webhook": Target(url, bodies, started.ca),
                "null": Target(base, bodies, started.ca),
            }
            for connections in CONNECTIONS:
                requests = effort.requests(_REQUESTS)
                meter = programs.Meter({"webhook": webhook, "null": null})
                made = client.compare(targets, connections, requests, effort.rounds)
                case = _case(size, len(review), connections, made)
                cases.append({**case, "cpu_ms_per_request": meter.per_request(made)})
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
    return {
        "pod": size.name,
        "bytes": length,
        "in_flight": connections,
        **made.all(),
        "p50_over_null": ratio,
        "goal": GOAL,
        "met": ratio["median"] <= GOAL,
    }
