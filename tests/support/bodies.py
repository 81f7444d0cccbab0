"""Random bodies for the webhook: bytes that mean nothing, and reviews with one thing broken."""

from __future__ import annotations

import json
from typing import Any

import builders
from hypothesis import strategies as st

from podrail import document

Path = tuple[str | int, ...]

_POD: dict[str, Any] = builders.document(
    builders.container(
        limits={"nvidia.com/rail0": "1"},
        env=[{"name": "NCCL_DEBUG", "value": "WARN"}],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
        securityContext={"capabilities": {"add": ["IPC_LOCK"]}},
    ),
    annotations={"k8s.v1.cni.cncf.io/networks": "team/other@eth1"},
    initContainers=[{**builders.container("side", gpus=0), "restartPolicy": "Always"}],
    volumes=[{"name": "data", "emptyDir": {}}],
    nodeSelector={"a": "b"},
)
_REVIEW: dict[str, Any] = json.loads(builders.review(_POD))


def _paths(value: object, path: Path = ()) -> list[Path]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # fmt: skip
    return [path, *(one for step, inner in steps for one in _paths(inner, (*path, step)))]


_ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, -1, 0, 10**400, 1.5, float("nan"), float("-inf")),
        *("", "0", "-8", "8e99", "0.5", "\ud800", "\x00", "é" * 300, "[", "[{}]", "a,,b"),
        *([], [None], [[]], ["x"], [{"name": "x"}] * 3, [[[[[]]]]]),
        *({}, {"": ""}, {"name": 5}, {"nvidia.com/gpu": "3"}),
    ]
)
BYTES = st.binary(max_size=64) | st.text(max_size=32).map(str.encode)
"""What is hardly ever JSON."""


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A review's bytes with a stretch of them cut out, doubled or replaced."""
    whole = json.dumps(_REVIEW).encode()
    start = draw(st.integers(0, len(whole)))
    end = draw(st.integers(start, min(len(whole), start + 40)))
    return whole[:start] + draw(BYTES | st.just(2 * whole[start:end])) + whole[end:]


@st.composite
def odd(draw: st.DrawFn) -> bytes:
    """A review with odd values in one to three of its places."""
    review: Any = _REVIEW
    for _ in range(draw(st.integers(1, 3))):
        review = document.put(review, draw(st.sampled_from(_paths(review))), draw(_ODD))
        if not isinstance(review, dict):
            break
    return json.dumps(review).encode()


ANY = BYTES | damaged() | odd()
