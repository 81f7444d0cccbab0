"""What became of a pod: where it is bound and what was expected there, or what it waits for."""

import json
from collections.abc import Mapping
from typing import Any

from podrail import dump, names
from podrail.score.value import BEST

Document = Mapping[str, Any]


def of(pod: Document) -> dict[str, Any]:
    """The fields of a pod of the cluster: phase, node, what podrail wrote at the bind, the wait."""
    metadata, status = pod.get("metadata") or {}, pod.get("status") or {}
    return {
        "phase": str(status.get("phase") or ""),
        "node": dump.node_of(pod),
        "scheduler": str((pod.get("spec") or {}).get("schedulerName") or ""),
        "placement": _placement((metadata.get("annotations") or {}).get(names.PLACEMENT)),
        "waiting": _waiting(status),
    }


def _placement(text: object) -> dict[str, Any] | None:
    """What the placement marker says; None if there is none that can be read."""
    try:
        found = json.loads(text if isinstance(text, str) else "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("v") != names.FORMAT_VERSION:
        return None
    score = found.get("score")
    return {
        "rails": found.get("rails") or [],
        "tier": found.get("tier"),
        "expected": found.get("expected"),
        "evidence": found.get("evidence"),
        "points": score.get("total") if isinstance(score, dict) else None,
        "of": BEST,
        "conflict": found.get("conflict") is True,
    }


def _waiting(status: Document) -> str:
    """Why the pod is not bound, in kube-scheduler's words; empty if nothing says so."""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return str(one.get("message") or one.get("reason") or "")
    return ""
