"""A cluster as plain documents, with what the doors have made out of those that need more.

A kind that was not looked at is no kind that is absent: checks say unknown of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from podrail import names, quantity
from podrail.doctor import fields
from podrail.evidence import cluster as evidence
from podrail.evidence import noderails
from podrail.evidence.atlas import Found, Unused
from podrail.evidence.noderails import NodeRails
from podrail.fabric import Profile
from podrail.multus.nad import OPEN, Isolation

Document = Mapping[str, Any]
NAMESPACE: Final = "podrail-system"
COMPONENT: Final = "app.kubernetes.io/component"
APPLICATION: Final = "app.kubernetes.io/name"
_USUAL_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")


@dataclass(frozen=True, slots=True)
class Probe:
    """What the API server made of a dry run of an opted-in pod: its marker, or why not."""

    injected: bool
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate in use; vouched is None where it is not known which CAs are trusted."""

    place: str
    not_before: datetime
    not_after: datetime
    authority: bool
    vouched: bool | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document out of a ConfigMap: the ConfigMap as namespace/name, and the key."""

    place: str
    key: str
    document: Document


@dataclass(frozen=True)
class Cluster:
    """All that the checks look at."""

    documents: Mapping[str, tuple[Document, ...]]
    """By kind."""
    seen: frozenset[str]
    """The kinds that were looked at: of these there are no others than the documents."""
    profiles: Mapping[str, Profile]
    """Those in force, whether used or not."""
    asked: tuple[str, ...] = ()
    """Profiles to look at though nobody uses them."""
    problems: tuple[str, ...] = ()
    """What is wrong with FabricProfiles, which are not in force then."""
    unseen: Mapping[str, str] = field(default_factory=dict)
    """Why a kind could not be looked at."""
    now: datetime | None = None
    """The time; None for a dump, whose age is not known."""
    found: Mapping[str, Found] = field(default_factory=dict)
    """What is known of the devices of each node."""
    parsed: tuple[Parsed, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    probe: Probe | None = None
    """None if nobody was asked."""

    def of(self, kind: str) -> tuple[Document, ...]:
        """The documents of a kind."""
        return self.documents.get(kind, ())

    def why(self, kind: str) -> str:
        """Why a kind was not looked at."""
        return self.unseen.get(kind, f"there is no {kind} in what was given")

    def look(self, what: str) -> str:
        """How to have these kinds looked at, as kubectl calls them."""
        if self.now is None:
            return f"Give what this writes, too: kubectl get {what} -A -o json"
        return f"Ask as somebody who may: kubectl get {what} -A"

    @cached_property
    def used(self) -> tuple[Profile, ...]:
        """The profiles that somebody uses, or that are custom resources, or that were asked for."""
        labelled = {
            fields.label(one, names.FABRIC)
            for kind in ("Pod", "Namespace")
            for one in self.of(kind)
        }
        wanted = labelled | {fields.name(one) for one in self.of("FabricProfile")} | {*self.asked}
        return tuple(one for key, one in sorted(self.profiles.items()) if key in wanted)

    @cached_property
    def gpu_resources(self) -> tuple[str, ...]:
        """The names under which GPUs are asked for."""
        named = {name for one in self.profiles.values() for name in one.gpu_resources}
        return tuple(sorted(named.union(_USUAL_GPUS)))

    @cached_property
    def gpu_nodes(self) -> tuple[Document, ...]:
        """The nodes that have GPUs to give."""
        return tuple(
            node
            for node in self.of("Node")
            if any(
                quantity.count(fields.part(node, "status", "allocatable").get(name, 0))
                for name in self.gpu_resources
            )
        )

    @cached_property
    def rails(self) -> Mapping[str, NodeRails | Unused]:
        """What the agents say, by node."""
        return {fields.name(one): evidence.node_rails(one) for one in self.of(noderails.KIND)}

    def programs(self, component: str) -> tuple[Document, ...]:
        """The pods of a component of podrail's own."""
        return tuple(
            pod
            for pod in self.of("Pod")
            if fields.label(pod, APPLICATION) == "podrail"
            and fields.label(pod, COMPONENT) == component
        )

    @cached_property
    def multus(self) -> Isolation | None:
        """How Multus isolates namespaces, by its ConfigMap or its arguments; None if unknown.

        The thick plugin has a daemon-config.json, the thin one is told by flags (multus-cni v4.3).
        """
        for one in self.parsed:
            if "namespaceIsolation" in one.document or one.key == "daemon-config.json":
                enforced = one.document.get("namespaceIsolation") is True
                return Isolation.of(enforced, _open(fields.text(one.document, "globalNamespaces")))
        every = (container for pod in self.of("Pod") for container in fields.containers(pod))
        told = (fields.words(one) for one in every if "multus" in fields.text(one, "image"))
        said = next(told, None)
        if said is None:
            return None
        value = fields.flag(said, "namespace-isolation")
        enforced = value is not None and value != "false"
        return Isolation.of(enforced, _open(fields.flag(said, "global-namespaces") or ""))

    @property
    def isolation(self) -> Isolation:
        """The same, taken for open where it is not known."""
        return self.multus or OPEN


def _open(namespaces: str) -> str:
    return namespaces or "default"
