"""What deploy/certs says, without a cluster: rights in full, and what they are bound to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy" / "certs"


def rules(kind: str) -> list[tuple[Any, ...]]:
    """The rules of the roles of a kind."""
    found = yaml.safe_load_all((DEPLOY / "rbac.yaml").read_text())
    return [
        (rule["apiGroups"], rule["resources"], rule.get("resourceNames"), rule["verbs"])
        for one in found
        if one["kind"] == kind
        for rule in one["rules"]
    ]


def test_it_may_not_more_than_it_needs() -> None:
    """No list of Secrets, no deletion, one registration, one Lease."""
    registration = (
        ["admissionregistration.k8s.io"],
        ["mutatingwebhookconfigurations"],
        ["podrail"],
        ["get", "patch"],
    )
    assert [registration] == rules("ClusterRole")
    assert [
        ([""], ["secrets"], None, ["create"]),
        ([""], ["secrets"], ["podrail-ca", "podrail-tls"], ["get", "update"]),
        (["discovery.k8s.io"], ["endpointslices"], None, ["list"]),
        (["coordination.k8s.io"], ["leases"], None, ["create"]),
        (["coordination.k8s.io"], ["leases"], ["podrail-certs"], ["get", "update"]),
    ] == rules("Role")


def test_no_manifest_brings_a_certificate() -> None:
    """Whoever renders or applies them twice changes none: they are made where they are kept."""
    texts = [path.read_text() for path in DEPLOY.parent.rglob("*.yaml")]
    assert texts
    assert [] == [text for text in texts if "genCA" in text or "BEGIN CERT" in text]
