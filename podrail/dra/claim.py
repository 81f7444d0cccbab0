"""What a pod claims: the spec behind an entry of its spec.resourceClaims (resource.k8s.io/v1)."""

from collections.abc import Mapping
from typing import Any, Final

Document = Mapping[str, Any]
API_VERSION: Final = "resource.k8s.io/v1"
GROUP: Final = f"/apis/{API_VERSION}"
TEMPLATES: Final = f"{GROUP}/resourceclaimtemplates"
CLAIMS: Final = f"{GROUP}/resourceclaims"
_GENERATED: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was made for one pod: its template says the same, and no other pod
can name it."""


def of_template(document: Document) -> Document:
    """What claims of a template ask for: the API server puts metadata beside it."""
    found: Document = (document.get("spec") or {}).get("spec") or {}
    return found


def of_claim(document: Document) -> Document | None:
    """What a claim asks for; None for one that was made for a pod."""
    if _GENERATED in (document["metadata"].get("annotations") or {}):
        return None
    found: Document = document.get("spec") or {}
    return found


def classes(spec: Document) -> frozenset[str]:
    """The device classes that a spec's requests name, alternatives included."""
    found: set[str] = set()
    for request in (spec.get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        for one in (*((exactly,) if exactly else ()), *(request.get("firstAvailable") or ())):
            found.add(str(one.get("deviceClassName", "")))
    return frozenset(found)


def named(entry: Document, namespace: str) -> tuple[str, str]:
    """The template that an entry names and the claim that it names, one of the two empty.

    Each as namespace/name.
    """
    template = entry.get("resourceClaimTemplateName")
    if template:
        return f"{namespace}/{template}", ""
    return "", f"{namespace}/{entry.get('resourceClaimName')}"
