"""Topologies and injected pods for the tests of placement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import builders

from podrail import catalog, placement, pod
from podrail.admission import injection
from podrail.fabric import Profile
from podrail.placement import Wish
from podrail.topology import Topology

ROOT = Path(__file__).resolve().parents[2]
GPUS = ("nvidia.com/gpu",)


def shapes() -> dict[str, Topology]:
    """The shipped shapes and the two simulated ones."""
    folders = (ROOT / "podrail/data/shapes", ROOT / "podrail_cli/data/shapes")
    found = [
        (path.name, json.loads(path.read_text())) for folder in folders for path in folder.iterdir()
    ]
    return dict(catalog.read(found))


SHAPES = shapes()
ALIGNED = SHAPES["podrail-aligned"]
CROSSED = SHAPES["podrail-crossed"]
FOUR_RAILS = SHAPES["dgx1-v100"]


def injected(profile: Profile, *containers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A pod document after admission, in namespace team."""
    document = builders.document(*containers, fabric=profile.name, **fields)
    result = injection.inject(pod.read(document, "team"), profile)
    after: dict[str, Any] = json.loads(json.dumps(result.pod.document))
    after["metadata"] |= {"namespace": "team", "uid": f"uid-{after['metadata']['name']}"}
    return after


def wish(document: dict[str, Any]) -> Wish:
    """The wish of an injected pod."""
    found = placement.wish(document, GPUS)
    assert found is not None
    return found


def shared(partial: str = "Proportional") -> Profile:
    """A fabric of eight shared rails whose networks are chosen late."""
    return builders.fabric(
        "shared",
        attachment="SharedDevice",
        rails={"count": 8, "numaGroups": [[0, 1, 2, 3], [4, 5, 6, 7]]},
        networks=[{"name": f"default/rail{rail}", "rail": rail} for rail in range(8)],
        partial=partial,
        settings=[
            {
                "name": "NCCL_IB_TC",
                "value": "1",
                "late": [{"when": {"label": {"rack": "r"}}, "value": "2"}],
            },
            {
                "name": "NCCL_IB_SL",
                "value": "3",
                "carrier": "env",
                "late": [{"when": {"label": {"rack": "r"}}, "value": "4"}],
            },
        ],
    )
