"""Pods, reviews and profiles as values, with defaults for all that a test does not care about."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import yaml

from podrail import names, profile, profiles
from podrail.fabric import Profile
from podrail.pod import Pod
from podrail.pod import read as read_pod


def container(name: str = "train", gpus: int = 8, **fields: Any) -> dict[str, Any]:
    """A container with GPUs in its limits; limits and requests given are added."""
    limits = {**({"nvidia.com/gpu": str(gpus)} if gpus else {}), **fields.pop("limits", {})}
    requests = fields.pop("requests", {})
    resources = {"limits": limits, **({"requests": requests} if requests else {})}
    return {"name": name, "image": "example.invalid/train", "resources": resources, **fields}


def document(
    *containers: dict[str, Any],
    fabric: str | None = "sriov-rails",
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    name: str = "worker-0",
    **spec: Any,
) -> dict[str, Any]:
    """A Pod document."""
    marked = {**({names.FABRIC: fabric} if fabric else {}), **(labels or {})}
    metadata = {
        "name": name,
        "labels": marked,
        **({"annotations": annotations} if annotations else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(containers or (container(),)), **spec},
    }


def pod(*containers: dict[str, Any], namespace: str = "team", **fields: Any) -> Pod:
    """A Pod value."""
    return read_pod(document(*containers, **fields), namespace)


def review(pod_document: object, namespace: str = "team", **request: Any) -> bytes:
    """The body of an AdmissionReview for the creation of a pod."""
    return json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "operation": "CREATE",
                "namespace": namespace,
                "object": pod_document,
                **request,
            },
        }
    ).encode()


def profile_document(name: str = "fabric", **spec: Any) -> dict[str, Any]:
    """A FabricProfile document."""
    return {
        "apiVersion": profile.API_VERSION,
        "kind": profile.KIND,
        "metadata": {"name": name},
        "spec": spec,
    }


def fabric(name: str = "fabric", **spec: Any) -> Profile:
    """A profile with this spec."""
    return profile.read(profile_document(name, **spec))


@cache
def shipped() -> dict[str, Profile]:
    """The profiles that the package ships."""
    folder = resources.files("podrail") / "data" / "profiles"
    documents = [(path.name, yaml.safe_load(path.read_text())) for path in folder.iterdir()]
    loaded = profiles.load(documents)
    assert loaded.problems == ()
    return dict(loaded.profiles)
