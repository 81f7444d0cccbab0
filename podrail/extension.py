"""The wire of scheduler extenders: Go's field names, integers for scores, names for nodes.

k8s.io/kube-scheduler v0.36 extender/v1 has no JSON tags. A score of 7.0 makes kube-scheduler drop
the whole reply in silence; a reply without NodeNames and Nodes means that no node is feasible.
"""

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from podrail import document, pod
from podrail.errors import PodError, RequestError
from podrail.reading import shown

MOST_NODES: Final = 100_000
KEPT_BYTES: Final = 1024 * 1024
"""The longest body that is not read again when it comes again: 50,000 names and their pod."""
_BETWEEN: Final = b'","'
_BEFORE: Final = b',"Nodes":null,"NodeNames":["'
_AFTER: Final = b'"]}'
"""What kube-scheduler writes before the first name and after the last (json.Marshal, v1.36.3)."""
_PLAIN: Final = b"abcdefghijklmnopqrstuvwxyz0123456789-."
# Names go into a URL; a UID has the same letters.
_NAME: Final = re.compile(r"[a-z0-9][-a-z0-9.]{0,252}")


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """A pod, and the names of the nodes that are left for it; compared by identity.

    listed has the names from the first to the last as the request writes them, each parted from
    the next by quotes and a comma; empty if JSON may write one in another way.
    """

    pod: Mapping[str, Any]
    nodes: Sequence[str]
    listed: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The kind of each node, in the order of the names, and the score of each kind."""

    kinds: Sequence[Hashable]
    scores: Mapping[Hashable, int]


@dataclass(frozen=True, slots=True)
class Bind:
    """The pod to bind, and where."""

    name: str
    namespace: str
    uid: str
    node: str


def arguments(body: bytes) -> Arguments:
    """ExtenderArgs, in the form with names (nodeCacheCapable) or with whole nodes.

    kube-scheduler sends the very same body to prioritize as it sent to filter, unless a node was
    refused: then the same object comes back.

    Raises:
        RequestError: not ExtenderArgs.
    """
    return _again(body) if len(body) <= KEPT_BYTES else _arguments(body)


def _arguments(body: bytes) -> Arguments:
    found = _quickly(body)
    if found is not None:
        return found
    top = _object(document.read(body), "body")
    asked = _pod(top)
    nodes = top.get("NodeNames")
    if nodes is None and isinstance(top.get("Nodes"), dict):
        nodes = _names(top["Nodes"].get("items"))
    if not isinstance(nodes, list) or len(nodes) > MOST_NODES:
        raise RequestError(f"NodeNames: expected a list of names, got {shown(nodes)}")
    if not set(map(type, nodes)) <= {str}:
        raise RequestError("NodeNames: expected names only")
    return Arguments(asked, nodes)


_again: Final = lru_cache(maxsize=4)(_arguments)


def _quickly(body: bytes) -> Arguments | None:
    """The same for a body whose end is nothing but plain names; None for any other.

    What stands before the names is, with a brace after it, the document without them: that brace
    ends no string and no inner object, or the document would not be whole.
    """
    before, mark, rest = body.partition(_BEFORE)
    listed = rest.removesuffix(_AFTER)
    between = listed.count(_BETWEEN)
    if not mark or len(listed) == len(rest) or between >= MOST_NODES:
        return None
    if listed.translate(None, _PLAIN) != _BETWEEN * between:
        return None
    try:
        top = document.read(before + b"}")
    except RequestError:
        return None
    return Arguments(_pod(top), listed.decode().split(_BETWEEN.decode()), listed) if top else None


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
    if not asked.listed or not passed:
        names = f"[{','.join(map(json.dumps, passed))}]".encode()
    elif passed is asked.nodes:
        names = b'["' + asked.listed + b'"]'
    else:
        names = b'["' + _BETWEEN.decode().join(passed).encode() + b'"]'
    rest = _bytes({"FailedNodes": temporary, "FailedAndUnresolvableNodes": refused, "Error": ""})
    return b'{"NodeNames":' + names + b"," + rest[1:]


@lru_cache(maxsize=4)
def priorities(asked: Arguments, ranking: Ranking) -> bytes:
    """HostPriorityList; the same question and ranking once more cost nothing."""
    if not ranking.kinds:
        return b"[]"
    names = asked.nodes if asked.listed else [json.dumps(one)[1:-1] for one in asked.nodes]
    ends = {one: f'","Score":{one:d}}},{{"Host":"' for one in set(ranking.scores.values())}
    end_of = {kind: ends[one] for kind, one in ranking.scores.items()}
    # Filled by slices and joined once: a string for each name would take twice the time.
    parts = [""] * (2 * len(names))
    parts[::2] = names
    parts[1::2] = map(end_of.__getitem__, ranking.kinds)
    parts[0] = f'[{{"Host":"{names[0]}'
    parts[-1] = f'","Score":{ranking.scores[ranking.kinds[-1]]:d}}}]'
    return "".join(parts).encode()


def bound(error: str = "") -> bytes:
    """ExtenderBindingResult."""
    return _bytes({"Error": error})


def _pod(top: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = _object(top.get("Pod"), "Pod")
    for key in ("metadata", "spec"):
        _object(asked.get(key), f"Pod.{key}")
    try:
        pod.read(asked, "")
    except PodError as error:
        raise RequestError(f"Pod.{error}") from error
    return asked


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
