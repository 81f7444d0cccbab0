"""The pod templates in a workload document: where they are, and the pods that come of them.

A Pod is its own; a template is known by its shape: an object whose spec has a list of containers.
So every kind is served that carries one, whatever its path: Job, JobSet, MPIJob, PyTorchJob,
LeaderWorkerSet, RayCluster, RayJob, Deployment, StatefulSet, TrainingRuntime, Volcano's Job, an
AppWrapper's components, a List. A TrainJob names a runtime instead, and has none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template as a Pod document, its path in the document, and its namespace."""

    path: Path
    pod: Mapping[str, Any]
    namespace: str

    @property
    def dotted(self) -> str:
        """The path as people write it: items[0].spec.template."""
        parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path]
        return "".join(parts).removeprefix(".")


def templates(document: object, namespace: str) -> list[Template]:
    """Every pod template of the document, in its order.

    namespace is used where neither the template nor an object around it names one.
    """
    return list(_found(document, (), namespace))


def _found(value: object, path: Path, namespace: str) -> Iterator[Template]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _found(item, (*path, index), namespace)
    if not isinstance(value, dict):
        return
    metadata = value.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, dict) else None
    namespace = own if isinstance(own, str) and own else namespace
    if value.get("kind") == "Pod" or _is_template(value.get("spec")):
        yield Template(path, {"apiVersion": "v1", "kind": "Pod", **value}, namespace)
        return
    for key, inner in value.items():
        yield from _found(inner, (*path, key), namespace)


def _is_template(spec: object) -> bool:
    return isinstance(spec, dict) and isinstance(spec.get("containers"), list)
