"""The Events that are told: one object for each thing and reason, which counts how often.

Events are applied, and their names follow from what they are about, so that the same one sent
twice is still one: after a crash, or by a controller that has just taken over.
"""

import zlib
from collections.abc import Mapping
from typing import Any, Final

from podrail.audit import record
from podrail.audit.outcome import Outcome, Report
from podrail.audit.subject import Subject
from podrail.audit.told import Times

COMPONENT: Final = "podrail-controller"
AGENT_STALE: Final = "AgentStale"
NODE_NAMESPACE: Final = "default"
"""Where the Events of things without a namespace are."""
_NAME: Final = 200


def of_pod(pod: Subject, report: Report, times: Times, now: str) -> dict[str, Any]:
    """The Event that tells the outcome of a pod."""
    about = {"kind": "Pod", "name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    kind = "Normal" if report.outcome is Outcome.ALIGNED else "Warning"
    told = {"reason": report.outcome.value, "message": record.message(report), "type": kind}
    found = _event(about, told, f"{pod.uid} {report.outcome}")
    times_told = {"firstTimestamp": times.first, "lastTimestamp": now, "count": times.count}
    return {**found, **times_told}


def of_stale_agent(node: str, uid: str, since: str, now: str) -> dict[str, Any]:
    """The Event that tells that a node's agent has been silent since a time."""
    about = {"kind": "Node", "name": node, "uid": uid}
    message = (
        f"podrail's agent on this node was last heard {since}: what podrail knows of its rails may "
        "be out of date. Look at its pod."
    )
    told = {"reason": AGENT_STALE, "message": message, "type": "Warning"}
    found = _event(about, told, f"{uid} {since}")
    return {**found, "firstTimestamp": now, "lastTimestamp": now, "count": 1}


def path(event: Mapping[str, Any]) -> str:
    """Where an Event belongs."""
    metadata = event["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/events/{metadata['name']}"


def _event(about: Mapping[str, str], told: Mapping[str, str], key: str) -> dict[str, Any]:
    name, namespace = about["name"][:_NAME], about.get("namespace", NODE_NAMESPACE)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{zlib.crc32(key.encode()):08x}", "namespace": namespace},
        "involvedObject": {"apiVersion": "v1", **about},
        **told,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
    }
