"""The pod templates in a workload document: where they are, and the pods that come of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

TEMPLATES: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "Pod": [()],
    "Job": [("spec", "template")],
    "MPIJob": [("spec", "mpiReplicaSpecs", "*", "template")],
    "PyTorchJob": [("spec", "pytorchReplicaSpecs", "*", "template")],
}
"""Where each kind keeps its pod templates; * stands for every key of an object."""


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template as a Pod document, its path in the document, and its namespace."""

    path: tuple[str | int, ...]
    pod: Mapping[str, Any]
    namespace: str

    @property
    def dotted(self) -> str:
        """The path as people write it: items[0].spec.template."""
        parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path]
        return "".join(parts).removeprefix(".")


def templates(document: object, namespace: str) -> list[Template]:
    """Every pod template of the document; a List is searched item by item.

    namespace is used where the document names none. A document of an unknown kind has none.
    """
    return list(_found(document, (), namespace))


def known(document: object) -> bool:
    """True if the document is of a kind whose pod templates are known, or a list of such."""
    if not isinstance(document, dict):
        return False
    kind = str(document.get("kind"))
    return kind in TEMPLATES or kind == "List"


def _found(document: object, path: tuple[str | int, ...], namespace: str) -> Iterator[Template]:
    if not isinstance(document, dict):
        return
    kind = str(document.get("kind"))
    if kind == "List":
        items = document.get("items")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            yield from _found(item, (*path, "items", index), namespace)
        return
    metadata = document.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, dict) else None
    for steps in TEMPLATES.get(kind, ()):
        for place, template in _walk(document, steps, path):
            yield Template(place, _as_pod(template), own or namespace)


def _walk(
    value: object, steps: tuple[str, ...], path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    if not isinstance(value, dict):
        return
    if not steps:
        yield path, value
        return
    for key in list(value) if steps[0] == "*" else [steps[0]]:
        yield from _walk(value.get(key), steps[1:], (*path, key))


def _as_pod(template: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", **template}
