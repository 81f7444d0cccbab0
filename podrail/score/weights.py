"""The parts of a node's worth and how much each counts: the one table, kept in the user's page."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Part(StrEnum):
    """A part of a node's worth, from 0 to 1; one that does not apply is left out."""

    LIKENESS = "likeness"
    ALIGNMENT = "alignment"
    REACH = "reach"
    CLOSENESS = "closeness"
    BLOCK = "block"
    COMMON = "common"
    QUIET = "quiet"
    PACKING = "packing"
    HEALTH = "health"
    CERTAINTY = "certainty"
    NEIGHBOURS = "neighbours"


@dataclass(frozen=True, slots=True)
class Meaning:
    """How much a part counts, what it says, and when it applies."""

    weight: int
    means: str
    applies: str


_RAILS: Final = "the pod has GPUs and rails"
_JOB: Final = "pods of the job are bound"

MEANINGS: Final[Mapping[Part, Meaning]] = MappingProxyType(
    {
        Part.LIKENESS: Meaning(
            200,
            "GPU product and NIC speed are those of the job; another speed is worth 0.2, another "
            "product nothing",
            f"{_JOB} and both are known",
        ),
        Part.ALIGNMENT: Meaning(
            10, "how well GPUs and rails line up against the best that this node has", _RAILS
        ),
        Part.REACH: Meaning(
            50,
            "the share of the rails' bandwidth that the GPUs can expect, by PCIe distance",
            _RAILS,
        ),
        Part.CLOSENESS: Meaning(15, "how close the node is to the job's pods", _JOB),
        Part.BLOCK: Meaning(
            15,
            "how well the rest of the job fits into the node's block and leaf",
            "a node says where it is",
        ),
        Part.COMMON: Meaning(
            10, "how usual in the job the rails are that would serve the GPUs", f"{_JOB} with rails"
        ),
        Part.QUIET: Meaning(
            6, "how few other pods use the rails", "the fabric's devices are shared"
        ),
        Part.PACKING: Meaning(
            36,
            "what is left to others: whole nodes, NUMA halves, switch groups and pairs, by what "
            "they are worth to them, and rails nearer than those that the pod uses",
            "the pod takes part of a node, or has no rails",
        ),
        Part.HEALTH: Meaning(
            6,
            "the share of the rails that are up; a suspect one counts one half",
            "the pod has rails",
        ),
        Part.CERTAINTY: Meaning(4, "how little the kubelet's choice can change", _RAILS),
        Part.NEIGHBOURS: Meaning(
            5,
            "the share of the pods with neighbouring indexes on the same leaf",
            f"{_JOB} with indexes",
        ),
    }
)
WEIGHTS: Final[Mapping[Part, int]] = MappingProxyType(
    {part: meaning.weight for part, meaning in MEANINGS.items()}
)
OTHER_SPEED: Final = 0.2
REFUSED: Final = 0.1
"""What is left of the worth of a node that would be refused if the pod had not waited enough."""


def table() -> str:
    """The parts as a table in Markdown, the weightiest first."""
    lines = ["| Part | Weight | What it says | Applies if |", "|---|---|---|---|"]
    listed = sorted(MEANINGS.items(), key=lambda item: (-item[1].weight, item[0]))
    lines += [f"| `{part}` | {one.weight} | {one.means} | {one.applies} |" for part, one in listed]
    return "\n".join(lines) + "\n"
