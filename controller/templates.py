"""Makes the ResourceClaimTemplate that a pod of ours names, where its namespace has none.

What a template asks for is the profile's word, never the pod's, and its name holds a hash of that.
None is ever changed or deleted here. One belongs to its FabricProfile and goes with it, if that is
a custom resource; one of a shipped profile goes with its namespace.
"""

import logging
import threading
from dataclasses import dataclass
from typing import Final

from controller import guard
from controller.metrics import Metrics
from podrail import fit, marker, names, profile, profiles
from podrail.dra import claim, template
from podrail.dra.template import Template
from podrail.profiles import Loaded
from podrail_io.kube import Api, Document, KubeError, StatusError
from podrail_io.lease import SPARE_SECONDS, Lease
from podrail_io.living import Living
from podrail_io.reflector import Reflector, World

_LOG: Final = logging.getLogger(__name__)
PODS: Final = "/api/v1/pods"
LABELS: Final = {
    "app.kubernetes.io/name": "podrail",
    "app.kubernetes.io/managed-by": "podrail-controller",
}
LOOK_SECONDS: Final = 0.2
"""How often it is looked whether there is something to do: pods wait for it."""
AGAIN_SECONDS: Final = 5.0
"""The pause before a template that could not be made is tried again."""
CONFLICT: Final = 409


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """A template that a pod names: where, and which profile in which generation it is of."""

    namespace: str
    name: str
    profile: str
    generation: int


class Templates:
    """The loop that makes them; nothing but the lease's holder does."""

    def __init__(
        self, api: Api, world: World, lease: Lease, fabrics: Living[Loaded], metrics: Metrics
    ) -> None:
        self._api = api
        self._lease = lease
        self._fabrics = fabrics
        self._metrics = metrics
        self._news = threading.Event()
        self._stopping = threading.Event()
        self.pods: Reflector[Need] = Reflector(api, PODS, need, world, self._told)
        self.there: Reflector[claim.Document] = Reflector(
            api, claim.TEMPLATES, claim.of_template, world, self._told
        )
        self.owners: Reflector[str] = Reflector(api, profiles.RESOURCES, _uid, world, self._told)

    def start(self) -> None:
        """Begin to follow the cluster and to make what is missing, in threads of its own."""
        for one in (self.pods, self.there, self.owners):
            one.start()
        threading.Thread(target=self._run, name="templates", daemon=True).start()

    def stop(self) -> None:
        """End after the write under way."""
        self._stopping.set()
        for one in (self.pods, self.there, self.owners):
            one.stop()

    def problems(self) -> list[str]:
        """What has not been seen yet."""
        views = (("pods", self.pods), ("claim templates", self.there), ("owners", self.owners))
        return [f"{name} are not synced" for name, one in views if not one.synced]

    def round(self) -> bool:
        """Make each template that is named and missing; False if one could not be made."""
        needs = sorted(set(self.pods.items().values()))
        done = [self._satisfied(one) for one in needs]
        return all(done)

    def _run(self) -> None:
        due, pause = True, LOOK_SECONDS
        while not self._stopping.wait(pause):
            due, pause = due or self._news.is_set(), LOOK_SECONDS
            self._news.clear()
            if not self._lease.held:
                due = True
            elif due and not self.problems() and self._fabrics.synced:
                due = not guard.guarded(self.round, self._metrics.faults)
                pause = AGAIN_SECONDS if due else LOOK_SECONDS

    def _satisfied(self, need: Need) -> bool:
        found = self._wanted(need)
        there = self.there.get(f"{need.namespace}/{need.name}")
        told = {"namespace": need.namespace, "template": need.name, "profile": need.profile}
        if found is None:
            if there is None:
                _LOG.warning("template of no profile is missing", extra=told)
            return True
        if there is None:
            return self._made(need, found)
        if there != found.spec["spec"]:
            _LOG.warning("template is not podrail's", extra=told)
        return True

    def _wanted(self, need: Need) -> Template | None:
        """The template, if the profile has one of that name now or had it in the pod's time."""
        loaded = self._fabrics.value
        for one in (loaded.profiles.get(need.profile), loaded.at(need.profile, need.generation)):
            if one is not None and need.name in template.every(one):
                return template.every(one)[need.name]
        return None

    def _made(self, need: Need, found: Template) -> bool:
        if not self._lease.held:
            return False
        path = f"{claim.GROUP}/namespaces/{need.namespace}/resourceclaimtemplates"
        body = document(need, found, self.owners.get(need.profile))
        try:
            self._api.post(path, body, timeout=SPARE_SECONDS - 1)
        except KubeError as error:
            if isinstance(error, StatusError) and error.status == CONFLICT:
                return True
            self._metrics.template_errors.inc()
            told = {"namespace": need.namespace, "template": need.name, "problem": str(error)}
            _LOG.warning("template not made", extra=told)
            return False
        self._metrics.templates.inc()
        return True

    def _told(self, _change: object) -> None:
        self._news.set()


def document(need: Need, found: Template, owner: str | None) -> Document:
    """The ResourceClaimTemplate; owner is the UID of its FabricProfile, None if it has none."""
    metadata: Document = {
        "name": found.name,
        "namespace": need.namespace,
        "labels": {**LABELS, names.FABRIC: need.profile},
    }
    if owner is not None:
        # No controller and nothing blocked: the garbage collector takes it after its profile.
        reference = {"apiVersion": profile.API_VERSION, "kind": profile.KIND}
        metadata["ownerReferences"] = [{**reference, "name": need.profile, "uid": owner}]
    return {
        "apiVersion": claim.API_VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": dict(found.spec),
    }


def need(pod: Document) -> Need | None:
    """The template that a living pod of ours names; None for any other pod."""
    metadata = pod["metadata"]
    if fit.ended(pod):
        return None
    found = marker.injected((metadata.get("annotations") or {}).get(names.INJECTED))
    if found is None or not found.injected:
        return None
    for entry in (pod.get("spec") or {}).get("resourceClaims") or ():
        name = entry.get("resourceClaimTemplateName") or ""
        if name.startswith(f"{template.PREFIX}{found.profile}-"):
            return Need(metadata["namespace"], name, found.profile, found.generation)
    return None


def _uid(document: Document) -> str | None:
    found: str | None = document["metadata"].get("uid")
    return found
