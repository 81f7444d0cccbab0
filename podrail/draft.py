"""What the rules of injection hand on: the pod so far and the account of what was done to it."""

from dataclasses import dataclass, replace

from podrail.fabric import Profile
from podrail.marker import Injected, Reason
from podrail.pod import Pod


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pod asks of its fabric: the container that gets it, its GPUs, and the rails chosen."""

    container: int
    gpus: int
    rails: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """The pod under the rules, the marker under way, and what the user should be told."""

    pod: Pod
    marker: Injected
    profile: Profile
    demand: Demand
    warnings: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path of the container that gets the rails."""
        return f"spec.containers[{self.demand.container}]"

    def to(self, pod: Pod) -> "Draft":
        """The draft with the pod changed."""
        # dataclasses.replace would cost four times as much, and this is done for every change.
        return Draft(pod, self.marker, self.profile, self.demand, self.warnings)

    def put(self, field: str, value: object) -> "Draft":
        """The draft with a field of the container that gets the rails changed."""
        return self.to(self.pod.put(("spec", "containers", self.demand.container, field), value))

    def noting(self, code: str, path: str, message: str, *, warn: bool = True) -> "Draft":
        """The draft with one more reason, and a warning of it unless it is only for the record."""
        reason = Reason(code, path, message)
        warnings = (*self.warnings, f"{path}: {message}") if warn else self.warnings
        marker = replace(self.marker, reasons=(*self.marker.reasons, reason))
        return replace(self, marker=marker, warnings=warnings)

    def keeping(self, *what: str) -> "Draft":
        """The draft with more things noted that the user had already and keeps."""
        return replace(self, marker=replace(self.marker, kept=(*self.marker.kept, *what)))
