"""Whether admission works."""

from __future__ import annotations

from typing import Any

import installations
import pytest
from installations import told

from podrail.doctor import admission
from podrail.doctor.cluster import Probe

POLICY = "ValidatingAdmissionPolicy"
BINDING = "ValidatingAdmissionPolicyBinding"


def test_both_kinds_are_served() -> None:
    """One line for both."""
    assert ["ok: FabricProfile and NodeRails are served as v1alpha1"] == told(
        admission.crds, installations.cluster()
    )


def test_kinds_that_are_missing_or_idle_are_named() -> None:
    """A definition that another one stands in the way of is not established."""
    first, *_ = installations.crds()
    cut = {**first, "spec": {"versions": []}}
    found = installations.cluster(cut, without=["CustomResourceDefinition"])
    assert [
        "fail: not there: noderails.podrail.dev",
        "fail: there, but not served as v1alpha1: fabricprofiles.podrail.dev",
    ] == told(admission.crds, found)


def test_an_unregistered_webhook_fails() -> None:
    """The labels have no effect then."""
    other = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "else"}}
    found = installations.cluster(other, without=["MutatingWebhookConfiguration"])
    (only,) = told(admission.webhook, found)
    assert only.startswith("fail: not registered: pod.podrail.dev, namespace.podrail.dev; labels")


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ({"clientConfig": {}}, "fail: no caBundle in pod.podrail.dev, namespace.podrail.dev"),
        ({"failurePolicy": "Fail"}, "warn: failurePolicy is not Ignore in pod.podrail.dev"),
        ({"reinvocationPolicy": "Never"}, "warn: reinvocationPolicy is not IfNeeded in pod"),
    ],
    ids=["no CA", "fails closed", "called once"],
)
def test_a_registration_that_is_not_deploys_is_told(field: dict[str, Any], line: str) -> None:
    """With what comes of it."""
    hook = installations.registration(**field)
    found = installations.cluster(hook, without=["MutatingWebhookConfiguration"])
    (only,) = told(admission.webhook, found)
    assert only.startswith(line)


@pytest.mark.parametrize(
    ("probe", "line"),
    [
        (Probe(injected=True), "ok: a dry run of an opted-in pod came back with podrail's marker"),
        (Probe(injected=False), "fail: a dry run of an opted-in pod came back without"),
        (Probe(False, "podrail: the webhook has not seen it"), "fail: the API server could not"),
        (Probe(False, "403 quota"), "unknown: the dry run was refused: 403 quota"),
        (None, "unknown: not asked; 1 of its 1 pods are ready"),
    ],
    ids=["marked", "bare", "refused by the policy", "refused by another", "not asked"],
)
def test_whether_the_webhook_answers(probe: Probe | None, line: str) -> None:
    """A refusal of anybody else's tells nothing of it."""
    (only,) = told(admission.answers, installations.cluster(probe=probe))
    assert only.startswith(line)


def test_pods_of_the_webhook_that_are_not_ready_fail() -> None:
    """Nobody answers then; and if there are no pods nothing is known."""
    down = {**installations.program("webhook"), "status": {}}
    found = installations.cluster(down, without=["Pod"], probe=None)
    assert ["fail: none of its 1 pods is ready"] == told(admission.answers, found)
    found = installations.cluster(without=["Pod"], probe=None)
    assert ["unknown: not asked, and no pods of it were given"] == told(admission.answers, found)


def test_without_the_policy_an_outage_goes_unnoticed() -> None:
    """A policy without its binding does nothing."""
    policy, *_ = installations.manifest("webhook/policy.yaml")
    found = installations.cluster(policy, {"kind": BINDING}, without=[POLICY, BINDING])
    (only,) = told(admission.policy, found)
    assert only.startswith("fail: podrail-injected is not in force")


def test_a_policy_that_does_not_deny_is_told() -> None:
    """Warn and Audit start the pod."""
    mild = [one for one in installations.manifest("webhook/policy.yaml") if one["kind"] == BINDING]
    mild[0]["spec"]["validationActions"] = ["Warn"]
    (only,) = told(admission.policy, installations.cluster(*mild, without=[BINDING]))
    assert only.startswith("warn: podrail-injected-pod does not deny")
