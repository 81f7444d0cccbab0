"""What pods claim by DRA: the specs of claims and of claim templates, as watches bring them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from podrail_io.kube import Api
from podrail_io.reflector import Reflector, World

Document = Mapping[str, Any]
TEMPLATES: Final = "/apis/resource.k8s.io/v1/resourceclaimtemplates"
CLAIMS: Final = "/apis/resource.k8s.io/v1/resourceclaims"
_GENERATED: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was made from a template, which says the same."""


class Claimed:
    """The specs by namespace/name."""

    def __init__(self, api: Api, world: World) -> None:
        self.templates: Reflector[Document] = Reflector(api, TEMPLATES, _template, world)
        self.claims: Reflector[Document] = Reflector(api, CLAIMS, _claim, world)

    def start(self) -> None:
        """Begin to follow them."""
        self.templates.start()
        self.claims.start()

    def of(self, namespace: str) -> Callable[[Document], Document | None]:
        """What gives the spec behind an entry of a pod's spec.resourceClaims, if it is known."""

        def spec(entry: Document) -> Document | None:
            template = entry.get("resourceClaimTemplateName")
            if template:
                return self.templates.get(f"{namespace}/{template}")
            return self.claims.get(f"{namespace}/{entry.get('resourceClaimName')}")

        return spec


def _template(document: Document) -> Document | None:
    return (document.get("spec") or {}).get("spec")


def _claim(document: Document) -> Document | None:
    if _GENERATED in (document["metadata"].get("annotations") or {}):
        return None
    return document.get("spec")
