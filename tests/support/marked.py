"""Pods with podrail's markers as one version left them: tests/data/markers has a file for each.

`first.yaml` was written once, by the first code that wrote both markers. `latest.yaml` is what today's
code writes of the same pods; as a script this module writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import admitted
import builders
import checkout
import placing
import states
import yaml

from podrail import names, placement, pod
from podrail.admission import injection

FOLDER: Final = checkout.ROOT / "tests" / "data" / "markers"
FIRST: Final = FOLDER / "first.yaml"
LATEST: Final = FOLDER / "latest.yaml"
HEADER: Final = "# Written by tests/support/marked.py; edits here are lost.\n"
NODE: Final = "aligned-0"
ASKED: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "whole": ("sriov-rails", builders.container()),
    "late": ("macvlan-halves", builders.container(gpus=2)),
    "kept": (
        "sriov-rails",
        builders.container(env=[{"name": "NCCL_IB_HCA", "value": "mlx5_0"}]),
    ),
    "skipped": ("sriov-rails", builders.container(gpus=0)),
}
"""By the pods' names, their profiles and containers, before admission."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A pod as admission left it, and the placement marker of its Binding; none if it was skipped."""

    name: str
    pod: dict[str, Any]
    placement: str | None

    @property
    def injected(self) -> str:
        """The text of its admission marker."""
        return str(self.pod["metadata"]["annotations"][names.INJECTED])


def read(path: Path) -> dict[str, Marked]:
    """The pods of a file by name."""
    found = yaml.safe_load(path.read_text())
    made = (Marked(one["case"], one["pod"], one.get("placement")) for one in found)
    return {one.name: one for one in made}


def document(name: str) -> dict[str, Any]:
    """The pod of a name as its user writes it."""
    fabric, container = ASKED[name]
    return builders.document(container, fabric=fabric, name=name)


def write(name: str) -> Marked:
    """The pod of a name as today's code leaves it, bound to an idle node."""
    profile = admitted.profiles()[ASKED[name][0]]
    made = injection.inject(pod.read(document(name), admitted.NAMESPACE), profile)
    after = json.loads(json.dumps(made.pod.document))
    named = {**after, "metadata": {**after["metadata"], "namespace": admitted.NAMESPACE}}
    wish = placement.wish(named, profile.gpu_resources)
    if wish is None:
        return Marked(name, after, None)
    state = states.node()
    choice, score = (
        placement.choose(state, wish, profile, {}),
        placement.score(state, wish, profile),
    )
    return Marked(name, after, placement.record(NODE, placing.ALIGNED, wish, choice, score))


def text() -> str:
    """The text of `latest.yaml`; each marker in one line, as it is on pods."""
    made = [
        {
            "case": one.name,
            "pod": one.pod,
            **({"placement": one.placement} if one.placement else {}),
        }
        for one in map(write, ASKED)
    ]
    return HEADER + yaml.safe_dump(made, sort_keys=False, width=10**6)


if __name__ == "__main__":
    LATEST.write_text(text())
