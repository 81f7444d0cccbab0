"""What a live cluster has, kind by kind: whole lists, each with why it could not be had."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from podrail import profiles
from podrail.evidence import cluster, noderails
from podrail.gang.jobsize import Owner
from podrail.multus import nad
from podrail_cli import live
from podrail_io.kube import Api, Document, StatusError

_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "Node": (live.NODES,),
    "Pod": ("/api/v1/pods",),
    "Namespace": ("/api/v1/namespaces",),
    "ResourceQuota": ("/api/v1/resourcequotas",),
    noderails.KIND: (live.RAILS,),
    "FabricProfile": (profiles.RESOURCES,),
    cluster.SLICE: live.SLICES,
    cluster.COUNT: (live.COUNTS,),
    "NetworkAttachmentDefinition": (nad.DEFINITIONS,),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",),
    "MutatingWebhookConfiguration": (f"{_ADMISSION}/mutatingwebhookconfigurations",),
    "ValidatingAdmissionPolicy": (f"{_ADMISSION}/validatingadmissionpolicies",),
    "ValidatingAdmissionPolicyBinding": (f"{_ADMISSION}/validatingadmissionpolicybindings",),
}
"""Where each kind is listed, the newest version first."""
PLACES: Final = ("Node", "Pod", noderails.KIND, "FabricProfile", cluster.SLICE, cluster.COUNT)
"""The kinds by which pods are placed."""
_OWNERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Job.batch": ("batch/v1 jobs",),
    "StatefulSet.apps": ("apps/v1 statefulsets",),
    "JobSet.jobset.x-k8s.io": ("jobset.x-k8s.io/v1alpha2 jobsets",),
    "TrainJob.trainer.kubeflow.org": ("trainer.kubeflow.org/v1alpha1 trainjobs",),
    "LeaderWorkerSet.leaderworkerset.x-k8s.io": ("leaderworkerset.x-k8s.io/v1 leaderworkersets",),
    "kubeflow.org": ("kubeflow.org/v1 pytorchjobs", "kubeflow.org/v2beta1 mpijobs"),
    "RayCluster.ray.io": ("ray.io/v1 rayclusters",),
    "Job.batch.volcano.sh": ("batch.volcano.sh/v1alpha1 jobs",),
    "PodGroup.scheduling.volcano.sh": ("scheduling.volcano.sh/v1beta1 podgroups",),
    "PodGroup.scheduling.x-k8s.io": ("scheduling.x-k8s.io/v1alpha1 podgroups",),
    "PodGroup.scheduling.k8s.io": ("scheduling.k8s.io/v1alpha2 podgroups",),
}
_ABSENT: Final = frozenset({404, 405})
"""No such object, or no such kind in this API server."""


@dataclass(frozen=True, slots=True)
class Census:
    """The documents by kind; a kind is seen or unseen, and unseen says why."""

    documents: Mapping[str, tuple[Document, ...]]
    unseen: Mapping[str, str]

    @property
    def seen(self) -> frozenset[str]:
        """The kinds of which there are no others than these."""
        return frozenset(self.documents)

    def listed(self, kinds: Iterable[str]) -> list[Document]:
        """The documents of some kinds, one after another."""
        return [one for kind in kinds for one in self.documents.get(kind, ())]


def take(api: Api, kinds: Iterable[str]) -> Census:
    """All objects of these kinds.

    Raises:
        UnreachableError: the API server does not answer.
    """
    documents: dict[str, tuple[Document, ...]] = {}
    unseen: dict[str, str] = {}
    for kind in kinds:
        try:
            documents[kind] = listed(api, kind, PATHS[kind])
        except StatusError as error:
            unseen[kind] = f"{kind} may not be listed: {error}"
    return Census(documents, unseen)


def listed(api: Api, kind: str, paths: Iterable[str]) -> tuple[Document, ...]:
    """All objects at the first of these paths that is served; none if none is.

    Raises:
        StatusError: the API server keeps them.
        UnreachableError: it does not answer.
    """
    for path in paths:
        try:
            items = [one for page in api.pages(path) for one in page.items]
        except StatusError as error:
            if error.status in _ABSENT:
                continue
            raise
        version = path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]
        # The items of a list of the API server's own kinds do not say what they are.
        return tuple({"apiVersion": version, "kind": kind, **one} for one in items)
    return ()


def one(api: Api, path: str) -> Document | None:
    """The object at a path; None if there is none, or nobody may see it.

    Raises:
        UnreachableError: the API server does not answer.
    """
    try:
        return api.get(path)
    except StatusError:
        return None


def namespaced(namespace: str, plural: str, name: str = "") -> str:
    """The path of core objects in a namespace."""
    whole = f"/api/v1/namespaces/{quote(namespace, safe='')}/{plural}"
    return f"{whole}/{quote(name, safe='')}" if name else whole


def owner(api: Api, wanted: Owner) -> Document | None:
    """The object that knows how many pods a job has; None if it is not there to be seen."""
    for said in _OWNERS.get(wanted.kind, ()):
        version, plural = said.split()
        path = f"/apis/{version}/namespaces/{quote(wanted.namespace, safe='')}/{plural}"
        found = one(api, f"{path}/{quote(wanted.name, safe='')}")
        if found is not None:
            return _named(found, version, wanted)
    return None


def _named(found: Document, version: str, wanted: Owner) -> dict[str, Any]:
    kind = wanted.kind.partition(".")[0] if wanted.kind != "kubeflow.org" else "PyTorchJob"
    return {"apiVersion": version, "kind": kind, **found}
