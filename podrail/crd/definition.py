"""What the definitions of all our kinds have in common."""

from dataclasses import dataclass
from typing import Any, Final

from podrail.names import GROUP
from podrail.schema import Schema

VERSION: Final = "v1alpha1"
CATEGORY: Final = "podrail"


@dataclass(frozen=True, slots=True)
class Kind:
    """A cluster-scoped kind of ours: its names, and its columns as (name, type, JSON path)."""

    kind: str
    plural: str
    short: str
    columns: tuple[tuple[str, str, str], ...]


_WORD: Final = {"type": "string", "minLength": 1, "maxLength": 316}
GENERATION: Final = {"type": "integer", "format": "int64", "minimum": 0}
_CONDITION: Final[Schema] = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        "type": _WORD,
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "observedGeneration": GENERATION,
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": _WORD,
        "message": {"type": "string", "maxLength": 32_768},
    },
}
CONDITIONS: Final[Schema] = {
    "type": "array",
    "maxItems": 16,
    "items": _CONDITION,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
"""The list of meta/v1 Condition, for the status of any kind."""


def whole(spec: Schema, status: Schema, name: Schema) -> Schema:
    """The schema of an object of ours with these parts and this metadata.name."""
    return {
        "type": "object",
        "properties": {
            # The API server's own; of metadata a schema may bound the name and nothing else.
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": name}},
            "spec": spec,
            "status": status,
        },
    }


def of(kind: Kind, described: Schema) -> dict[str, Any]:
    """The CustomResourceDefinition of one of our kinds with this schema."""
    columns = [{"name": name, "type": form, "jsonPath": path} for name, form, path in kind.columns]
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": described},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    names = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "shortNames": [kind.short],
        "categories": [CATEGORY],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{GROUP}",
            "labels": {"app.kubernetes.io/name": "podrail"},
        },
        "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]},
    }
