"""How many pods jobs have, as the objects say that own them: watched, in so far as they are served.

Admission and kube-scheduler do not wait for them: a size that is not known is no size.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from podrail.gang import jobsize
from podrail.gang.jobsize import Owner
from podrail_io.kube import Api
from podrail_io.reflector import Reflector, World

PATHS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Job.batch": ("/apis/batch/v1/jobs",),
        "StatefulSet.apps": ("/apis/apps/v1/statefulsets",),
        "JobSet.jobset.x-k8s.io": ("/apis/jobset.x-k8s.io/v1alpha2/jobsets",),
        "LeaderWorkerSet.leaderworkerset.x-k8s.io": (
            "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
        ),
        "kubeflow.org": ("/apis/kubeflow.org/v1/pytorchjobs", "/apis/kubeflow.org/v2beta1/mpijobs"),
        "RayCluster.ray.io": ("/apis/ray.io/v1/rayclusters",),
        "Job.batch.volcano.sh": ("/apis/batch.volcano.sh/v1alpha1/jobs",),
        "PodGroup.scheduling.volcano.sh": ("/apis/scheduling.volcano.sh/v1beta1/podgroups",),
        "PodGroup.scheduling.x-k8s.io": ("/apis/scheduling.x-k8s.io/v1alpha1/podgroups",),
        "PodGroup.scheduling.k8s.io": ("/apis/scheduling.k8s.io/v1alpha2/podgroups",),
    }
)
"""Where the objects of each kind are listed; deploy/extender/rbac.yaml lets them be read."""

_LOOK_SECONDS: Final = 0.05


class Sizes:
    """The sizes of all jobs that are objects of these kinds."""

    def __init__(self, api: Api, world: World, gpu_names: Callable[[], Collection[str]]) -> None:
        self._watches: dict[str, list[Reflector[int]]] = defaultdict(list)
        for kind, paths in PATHS.items():
            for path in paths:
                watch = Reflector(api, path, _keeper(kind, path, gpu_names), world)
                self._watches[kind].append(watch)

    def start(self) -> None:
        """Begin to follow them."""
        for watches in self._watches.values():
            for watch in watches:
                watch.start()

    def wait(self, seconds: float) -> None:
        """Wait until all of them have been seen, so many seconds at most."""
        watches = [one for some in self._watches.values() for one in some]
        pause = threading.Event()
        for _ in range(round(seconds / _LOOK_SECONDS)):
            if all(watch.synced for watch in watches):
                return
            pause.wait(_LOOK_SECONDS)

    def of(self, owner: Owner) -> int | None:
        """How many pods the object's job has; None if that is not known."""
        key = f"{owner.namespace}/{owner.name}"
        found = (watch.get(key) for watch in self._watches.get(owner.kind, ()))
        return next((size for size in found if size is not None), None)


def _keeper(
    kind: str, path: str, gpu_names: Callable[[], Collection[str]]
) -> Callable[[dict[str, Any]], int | None]:
    """What makes a size of an object under a path; the items of a list do not say their kind."""
    group, version = path.removeprefix("/apis/").split("/")[:2]
    # The sizes of all kinds of this group are read alike.
    name = "PyTorchJob" if kind == group else kind.partition(".")[0]
    fields = {"apiVersion": f"{group}/{version}", "kind": name}
    return lambda document: jobsize.pods({**document, **fields}, gpu_names())
