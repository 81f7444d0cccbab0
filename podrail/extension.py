"""The wire of scheduler extenders: Go's field names, integers for scores, names for nodes.

k8s.io/kube-scheduler v0.36 extender/v1 has no JSON tags. A score of 7.0 makes kube-scheduler drop
the whole reply in silence; a reply without NodeNames and Nodes means that no node is feasible.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import document, pod
from podrail.errors import PodError, RequestError
from podrail.reading import shown

MOST_NODES: Final = 100_000
_BETWEEN: Final = '","'
# Names go into a URL; a UID has the same letters.
_NAME: Final = re.compile(r"[a-z0-9][-a-z0-9.]{0,252}")


@dataclass(frozen=True, slots=True)
class Arguments:
    """A pod, and the names of the nodes that are left for it.

    plain is True if JSON writes each name as it is: the request itself has them so.
    """

    pod: Mapping[str, Any]
    nodes: Sequence[str]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Bind:
    """The pod to bind, and where."""

    name: str
    namespace: str
    uid: str
    node: str


def arguments(body: bytes) -> Arguments:
    """ExtenderArgs, in the form with names (nodeCacheCapable) or with whole nodes.

    Raises:
        RequestError: not ExtenderArgs.
    """
    top = _object(document.read(body), "body")
    asked = _object(top.get("Pod"), "Pod")
    for key in ("metadata", "spec"):
        _object(asked.get(key), f"Pod.{key}")
    try:
        pod.read(asked, "")
    except PodError as error:
        raise RequestError(f"Pod.{error}") from error
    nodes = top.get("NodeNames")
    if nodes is None and isinstance(top.get("Nodes"), dict):
        nodes = _names(top["Nodes"].get("items"))
    if not isinstance(nodes, list) or len(nodes) > MOST_NODES:
        raise RequestError(f"NodeNames: expected a list of names, got {shown(nodes)}")
    if not set(map(type, nodes)) <= {str}:
        raise RequestError("NodeNames: expected names only")
    return Arguments(asked, nodes, plain=f'"{_BETWEEN.join(nodes)}"'.encode() in body)


def bind(body: bytes) -> Bind:
    """ExtenderBindingArgs.

    Raises:
        RequestError: not ExtenderBindingArgs.
    """
    top = _object(document.read(body), "body")
    return Bind(
        _text(top, "PodName"), _text(top, "PodNamespace"), _text(top, "PodUID"), _text(top, "Node")
    )


def filtered(asked: Arguments, refused: Mapping[str, str], temporary: Mapping[str, str]) -> bytes:
    """ExtenderFilterResult; refused are those that preemption cannot help."""
    passed = asked.nodes
    if refused or temporary:
        passed = [one for one in passed if one not in refused and one not in temporary]
    if asked.plain and passed:
        names = f'"{_BETWEEN.join(passed)}"'
    else:
        names = ",".join(map(json.dumps, passed))
    rest = _bytes({"FailedNodes": temporary, "FailedAndUnresolvableNodes": refused, "Error": ""})
    return f'{{"NodeNames":[{names}],'.encode() + rest[1:]


def priorities(asked: Arguments, scores: Sequence[int]) -> bytes:
    """HostPriorityList."""
    ends = {score: f',"Score":{score:d}}}' for score in set(scores)}
    if not asked.plain:
        names = map(json.dumps, asked.nodes)
        entries = ['{"Host":' + name + ends[one] for name, one in zip(names, scores, strict=True)]
        return f"[{','.join(entries)}]".encode()
    quoted = {score: '"' + end for score, end in ends.items()}
    pairs = zip(asked.nodes, scores, strict=True)
    found = ',{"Host":"'.join([name + quoted[score] for name, score in pairs])
    return f'[{{"Host":"{found}]'.encode() if found else b"[]"


def bound(error: str = "") -> bytes:
    """ExtenderBindingResult."""
    return _bytes({"Error": error})


def _object(value: object, path: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(f"{path}: expected an object, got {shown(value)}")
    return value


def _text(top: Mapping[str, Any], key: str) -> str:
    value = top.get(key)
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise RequestError(f"{key}: expected a name, got {shown(value)}")
    return value


def _names(nodes: object) -> list[object]:
    found = []
    for node in nodes if isinstance(nodes, list) else ():
        metadata = node.get("metadata") if isinstance(node, dict) else None
        found.append(metadata.get("name") if isinstance(metadata, dict) else None)
    return found


def _bytes(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
