"""An explanation as a plain document: the fields of `podrail explain -o json` and of the page.

Nothing is decided here: what was injected comes from the pod's marker, the rest from the engine.
"""

from collections.abc import Iterator
from typing import Any, Final

from podrail import names
from podrail.explanation import HELP, Candidate, Explanation, Share
from podrail.marker import Injected, Reason
from podrail.reasons import CATALOGUE
from podrail.score.outlook import Outlook
from podrail.score.value import BEST

SHOWN_NODES: Final = 3
_DIGITS: Final = 4
_NOBODY_OFFERS: Final = "ResourceNotAdvertised"


def injected(marker: Injected) -> dict[str, Any]:
    """What admission gave the pod, what it kept, and why, each reason with what to do about it."""
    found = marker.document()
    del found["v"]
    return {**found, "reasons": [_reason(one) for one in marker.reasons]}


def _reason(reason: Reason) -> dict[str, Any]:
    meaning = CATALOGUE.get(reason.code)
    return {
        "code": reason.code,
        "path": reason.path,
        "message": reason.message,
        "severity": None if meaning is None else meaning.severity.value,
        "means": "" if meaning is None else meaning.means,
        "remedy": "" if meaning is None else meaning.remedy,
        "who": None if meaning is None else meaning.who.value,
    }


def placed(explanation: Explanation, shown: int = SHOWN_NODES) -> dict[str, Any]:
    """The job, the best nodes with each part of their scores, and why the others are out."""
    job = explanation.job
    return {
        "job": {
            "key": job.key,
            "rule": job.rule,
            "size": job.size,
            "atLeast": job.at_least,
            "index": job.index,
            "bound": explanation.crew.pods,
        },
        "nodes": {
            "total": len(explanation.best) + len(explanation.misses),
            "fit": len(explanation.best),
        },
        "best": [_best(one) for one in explanation.best[:shown]],
        "misses": [
            {**_node(one), "kind": one.kind, "reason": one.reason, "help": one.help}
            for one in explanation.misses[:shown]
        ],
        "refusals": list(_refusals(explanation)),
        "absent": list(_absent(explanation)),
    }


def _best(one: Candidate) -> dict[str, Any]:
    return {
        **_node(one),
        "points": one.points,
        "of": BEST,
        "worth": None if one.worth is None else round(one.worth, _DIGITS),
        **_expected(one.outlook),
        "parts": [_part(share) for share in one.shares],
    }


def _node(one: Candidate) -> dict[str, Any]:
    return {
        "node": one.spot.name,
        "shape": one.spot.labels.get(names.INSTANCE_TYPE, ""),
        "evidence": one.spot.topology or "none",
        "place": dict(
            zip(("zone", "fabric", "block", "leaf", "domain"), one.spot.place.names, strict=True)
        ),
    }


def _expected(found: Outlook | None) -> dict[str, Any]:
    if found is None:
        return {"expected": None, "tier": None, "rails": [], "gpuSets": []}
    return {
        "expected": None if found.worth is None else round(found.worth, _DIGITS),
        "tier": found.tier,
        "rails": list(found.rails),
        "gpuSets": [{"gpus": list(gpus), "p": round(p, _DIGITS)} for gpus, p in found.gpu_sets],
    }


def _part(share: Share) -> dict[str, Any]:
    return {
        "part": share.part,
        "value": round(share.value, _DIGITS),
        "weight": share.weight,
        "adds": round(share.adds, _DIGITS),
        "means": share.means,
    }


def _absent(explanation: Explanation) -> Iterator[dict[str, Any]]:
    """What the pod asks for and no node offers; profile is None if the pod itself asks for it."""
    admitted = explanation.wish.marker
    for resource in explanation.absent:
        ours = resource in admitted.resources
        yield {
            "code": _NOBODY_OFFERS,
            "resource": resource,
            "profile": admitted.profile if ours else None,
            "remedy": CATALOGUE[_NOBODY_OFFERS].remedy,
        }


def _refusals(explanation: Explanation) -> Iterator[dict[str, Any]]:
    for (kind, reason), nodes in explanation.refusals.items():
        yield {"kind": kind, "reason": reason, "nodes": nodes, "help": HELP[kind]}
