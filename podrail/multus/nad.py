"""A NetworkAttachmentDefinition (k8s.cni.cncf.io/v1), and from which namespaces pods reach it."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from podrail.errors import Problem
from podrail.multus import conflist
from podrail.multus.conflist import Conflist
from podrail.reading import Reader

DEFINITIONS: Final = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
"""Where an API server has them."""
RESOURCE: Final = "k8s.v1.cni.cncf.io/resourceName"
"""Annotation: the resource of which Multus hands each attachment a device."""
NODE_SELECTOR: Final = "k8s.v1.cni.cncf.io/nodeSelector"
"""Annotation: the nodes that have the network; only network-resources-injector reads it."""


@dataclass(frozen=True, slots=True)
class Nad:
    """One definition; problems are what Multus or a plugin would refuse."""

    namespace: str
    name: str
    resource: str
    node_selector: str
    config: Conflist
    problems: tuple[Problem, ...]

    @property
    def key(self) -> str:
        """The definition as namespace/name."""
        return f"{self.namespace}/{self.name}"

    def starved(self, asked: Container[str]) -> str:
        """Why a pod that asks for these resources gets no device here; empty if it gets one.

        Multus then calls the plugin without a device, and the plugin fails (multus-cni v4.3).
        """
        if self.resource and self.resource not in asked:
            return f"takes a device of {self.resource}, which no container asks for"
        if not self.resource and self.config.needs_device:
            chain = ", ".join(self.config.types)
            return f"has no annotation {RESOURCE}, so its plugins ({chain}) get no device"
        return ""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Multus's namespaceIsolation, and its globalNamespaces, which stay open to all pods.

    It covers the networks annotation only (multus-cni v4.3, GetNetworkDelegates).
    """

    enforced: bool = False
    open_to_all: frozenset[str] = frozenset({"default"})

    @classmethod
    def of(cls, enforced: bool, namespaces: str) -> "Isolation":  # noqa: FBT001 - Multus's own two
        """As in Multus's configuration: namespaceIsolation, and globalNamespaces with commas."""
        return cls(enforced, frozenset(namespaces.split(",")))

    def hides(self, namespace: str, pod_namespace: str) -> bool:
        """True if pods of a namespace cannot use the definitions of another one."""
        return self.enforced and namespace != pod_namespace and namespace not in self.open_to_all


OPEN: Final = Isolation()


def read(document: object) -> Nad:
    """The definition in a document; whatever is wrong with it is in its problems."""
    top = Reader.of(document, "")
    metadata = top.part("metadata")
    annotations = metadata.part("annotations")
    config = conflist.read(top.part("spec").raw("config"), "spec.config")
    return Nad(
        namespace=metadata.text("namespace"),
        name=metadata.text("name"),
        resource=annotations.text(RESOURCE),
        node_selector=annotations.text(NODE_SELECTOR, limit=4096),
        config=config,
        problems=(*top.problems, *config.problems),
    )
