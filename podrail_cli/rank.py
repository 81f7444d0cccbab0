"""`podrail rank`: the nodes of a cluster for one pod, best first, by the extender's own rules."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import fit, names, placement, pod
from podrail.errors import MalformedError, Problem
from podrail.evidence.atlas import Found
from podrail.placement import Wish
from podrail.reading import shown
from podrail.score import state, value
from podrail.score.state import State
from podrail_cli import output

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A node and what it is worth to the pod; reason says why it cannot run there."""

    node: str
    shape: str
    score: int
    expected: float | None
    tier: str
    reason: str

    def document(self) -> dict[str, Any]:
        """The node as `-o json` prints it."""
        return {
            "node": self.node,
            "shape": self.shape,
            "score": self.score,
            "expected": self.expected,
            "tier": self.tier,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Cluster:
    """The nodes and pods of a cluster, as `kubectl get nodes,pods -A -o json` writes them."""

    nodes: tuple[Document, ...]
    pods: tuple[Document, ...]

    @classmethod
    def of(cls, documents: Iterable[Any]) -> "Cluster":
        """The nodes and pods among documents and lists of documents.

        Raises:
            MalformedError, PodError: a node or pod is not what core/v1 says.
        """
        kinds: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            items = document.get("items") if isinstance(document, dict) else None
            for one in items if isinstance(items, list) else [document]:
                kind = one.get("kind") if isinstance(one, dict) else None
                if isinstance(kind, str) and kind in _CHECKS:
                    _CHECKS[kind](one)
                    kinds[kind].append(one)
        return cls(tuple(kinds["Node"]), tuple(kinds["Pod"]))


def _check_node(node: Document) -> None:
    metadata = _part(node, "metadata", "metadata")
    name = metadata.get("name")
    if not isinstance(name, str):
        raise _wrong("metadata.name", "a string", name)
    _part(metadata, "labels", f"node {name}: metadata.labels")
    _part(_part(node, "status", f"node {name}: status"), "allocatable", f"node {name}: allocatable")


def _check_pod(document: Document) -> None:
    node = pod.read(document, "").spec.get("nodeName")
    if node is not None and not isinstance(node, str):
        raise _wrong("pod: spec.nodeName", "a string", node)


def _part(parent: Document, key: str, path: str) -> Document:
    value = parent.get(key)
    if value is not None and not isinstance(value, dict):
        raise _wrong(path, "an object", value)
    return value or {}


def _wrong(path: str, expected: str, value: object) -> MalformedError:
    return MalformedError(
        "the cluster", [Problem(path, f"expected {expected}, got {shown(value)}")]
    )


_CHECKS: Final = {"Node": _check_node, "Pod": _check_pod}
"""What is read of each kind has the types that core/v1 gives it; a dump may be edited by hand."""


def rank(
    wanting: Document, wish: Wish, cluster: Cluster, found: Mapping[str, Found]
) -> list[Ranked]:
    """Every node of the cluster: those that fit by score, then the others.

    found has what is known of each node by its name.
    """
    bound: dict[str, list[Document]] = defaultdict(list)
    for one in cluster.pods:
        bound[(one.get("spec") or {}).get("nodeName") or ""].append(one)
    wanted = fit.asked(wanting)
    reasons, known = [], []
    for node in cluster.nodes:
        free = fit.free(node, bound[node["metadata"]["name"]])
        state_ = _state(found.get(node["metadata"]["name"]), free)
        misfit = None if state_ is None else placement.judge(state_, wish)
        reasons.append(fit.shortage(wanted, free) or (misfit.value if misfit else ""))
        known.append(state_)
    values = [
        None if state_ is None else placement.score(state_, wish).value
        for state_, reason in zip(known, reasons, strict=True)
        if not reason
    ]
    scores = iter(value.points(values))
    ranked = [
        _ranked(node, state_, wish, "" if reason else next(scores), reason)
        for node, state_, reason in zip(cluster.nodes, known, reasons, strict=True)
    ]
    return sorted(ranked, key=lambda one: (bool(one.reason), -one.score, one.node))


def broken(found: Mapping[str, Found]) -> list[str]:
    """What tells of nodes but cannot be read, a line each."""
    return [
        f"{node}: {one.evidence} is not used: {one.why}"
        for node, known in sorted(found.items())
        for one in known.unused
        if one.broken
    ]


def _state(found: Found | None, free: Mapping[str, int]) -> State | None:
    if found is None or found.basis is None:
        return None
    seen = found.kubelet
    kubelet = state.kubelet(seen.policy, seen.scope, seen.options)
    return state.same(State(state.plain(found.basis), kubelet, free=state.counted(free)))


def _ranked(
    node: Document, known: State | None, wish: Wish, score: int | str, reason: str
) -> Ranked:
    found = placement.chosen(known, wish, None, wish.marker.rails).outlook
    worth = None if found is None else found.worth
    return Ranked(
        node=node["metadata"]["name"],
        shape=_labels(node).get(names.INSTANCE_TYPE, ""),
        score=score if isinstance(score, int) else 0,
        expected=None if worth is None else round(worth, 4),
        tier=found.tier.value if found is not None and found.tier is not None else "",
        reason=reason,
    )


def _labels(node: Document) -> Mapping[str, str]:
    return node["metadata"].get("labels") or {}


def table(ranked: Sequence[Ranked]) -> str:
    """The nodes as a table for people."""
    rows = [
        (
            one.node,
            one.shape or "-",
            "-" if one.reason else str(one.score),
            "?" if one.expected is None else f"{one.expected:.0%}",
            one.tier or "?",
            one.reason,
        )
        for one in ranked
    ]
    return output.table(("NODE", "SHAPE", "SCORE", "ALIGNED", "TIER", "WHY NOT"), rows)
