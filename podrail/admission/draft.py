"""What the rules of injection hand on: the pod so far and the account of what was done to it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from podrail.admission.vicinity import NOWHERE, Vicinity
from podrail.fabric import Profile
from podrail.marker import Injected, Reason
from podrail.pod import Document, Pod


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pod asks of its fabric: the container that gets it, its GPUs, and the rails chosen."""

    container: int
    gpus: int
    rails: tuple[int, ...]


class Draft(NamedTuple):
    """The pod under the rules, the marker under way, and what the user should be told.

    A named tuple, as its marker is: a copy is made for every change.
    """

    pod: Pod
    marker: Injected
    profile: Profile
    demand: Demand
    vicinity: Vicinity = NOWHERE
    warnings: tuple[str, ...] = ()

    @property
    def container(self) -> Document:
        """The container that gets the rails."""
        found: Document = self.pod.containers[self.demand.container]
        return found

    @property
    def path(self) -> str:
        """The path of the container that gets the rails."""
        return f"spec.containers[{self.demand.container}]"

    def to(self, pod: Pod) -> "Draft":
        """The draft with the pod changed."""
        return self._replace(pod=pod)

    def put(self, field: str, value: object) -> "Draft":
        """The draft with a field of the container that gets the rails changed."""
        return self.to(self.pod.put(("spec", "containers", self.demand.container, field), value))

    def marked(self, **fields: Any) -> "Draft":
        """The draft with fields of the marker changed."""
        return self._replace(marker=self.marker._replace(**fields))

    def late(self, *keys: str) -> "Draft":
        """The draft with more keys that the Binding may replace."""
        return self.marked(late=(*self.marker.late, *keys)) if keys else self

    def keeping(self, *what: str) -> "Draft":
        """The draft with more things noted that the user had already and keeps."""
        return self.marked(kept=tuple(dict.fromkeys((*self.marker.kept, *what)))) if what else self

    def noting(self, code: str, path: str, message: str, *, warn: bool = True) -> "Draft":
        """The draft with one more reason, and a warning of it unless it is only for the record."""
        noted = self.marked(reasons=(*self.marker.reasons, Reason(code, path, message)))
        return noted.warning(f"{path}: {message}") if warn else noted

    def warning(self, text: str) -> "Draft":
        """The draft with one more warning for the user to read."""
        return self._replace(warnings=(*self.warnings, text))
