"""What a job of a trace asks of nodes: its pods as the webhook makes them, and what they need."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import fit, names, placement, pod
from podrail.admission import injection
from podrail.errors import MalformedError, PodError, Problem
from podrail.fabric import Attachment, Profile
from podrail.placement import Wish
from podrail.score.need import Need
from podrail.simulation.trace import Work

NAMESPACE: Final = "simulation"
_JOB_NAME: Final = "batch.kubernetes.io/job-name"


@dataclass(frozen=True, slots=True)
class Order:
    """A job with the wish, the need and the counted devices of each of its pods."""

    work: Work
    fabric: Profile
    wish: Wish
    need: Need
    asked: Mapping[str, int]
    gpu_name: str

    @property
    def key(self) -> str:
        """The job's key."""
        return self.wish.job.key


def order(work: Work, fabric: Profile) -> Order:
    """The order of a job.

    Raises:
        PodError: its pods get no rails from the fabric.
        MalformedError: the fabric's devices are claimed.
    """
    gpu_name = fabric.gpu_resources[0]
    if fabric.attachment is Attachment.DRA:
        message = f"profile {fabric.name} gives devices by claims, which are not simulated"
        raise MalformedError(f"job {work.name}", [Problem("profile", message)])
    made = injection.inject(pod.read(_document(work, fabric), NAMESPACE), fabric)
    document = dict(made.pod.document)
    document["metadata"] = {**document["metadata"], "namespace": NAMESPACE}
    wish = placement.wish(document, (gpu_name,))
    if wish is None:
        why = made.marker.reasons[0].message if made.marker.reasons else made.marker.reason
        raise PodError(made.marker.reason, f"job {work.name}", f"it gets no rails: {why}")
    return Order(work, fabric, wish, wish.need(fabric), dict(fit.asked(document)), gpu_name)


def _document(work: Work, fabric: Profile) -> dict[str, Any]:
    """A pod with nothing but its GPUs; on the host's network where the fabric is."""
    limits = {fabric.gpu_resources[0]: str(work.gpus)}
    host = fabric.attachment is Attachment.HOST_NETWORK
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": work.name,
            "labels": {names.FABRIC: fabric.name, _JOB_NAME: work.name},
        },
        "spec": {
            "containers": [{"name": "train", "resources": {"limits": limits}}],
            **({"hostNetwork": True} if host else {}),
        },
    }
