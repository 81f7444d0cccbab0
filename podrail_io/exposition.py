"""Metrics as text, format 0.0.4, for a program in which prometheus_client's 2.5 MiB matter."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Kind(StrEnum):
    """Whether a value only ever grows."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Sample:
    """A value and the values of its labels, in the order of the family's names."""

    value: float
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """What is told under one name; a counter's name ends with _total."""

    name: str
    kind: Kind
    told: str
    labels: tuple[str, ...]
    samples: tuple[Sample, ...]


def text(families: Iterable[Family]) -> str:
    """The families one after the other."""
    return "".join(f"{line}\n" for one in families for line in _lines(one))


def _lines(family: Family) -> Iterable[str]:
    yield f"# HELP {family.name} {family.told}"
    yield f"# TYPE {family.name} {family.kind}"
    for sample in family.samples:
        pairs = zip(family.labels, sample.labels, strict=True)
        told = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in pairs)
        where = f"{{{told}}}" if told else ""
        yield f"{family.name}{where} {_number(sample.value)}"


def _number(value: float) -> str:
    words = {float("inf"): "+Inf", float("-inf"): "-Inf"}
    return words.get(value) or repr(float(value))
