"""Pods that claim their NICs by DRA: scored by what the claim binds, and touched in no way."""

from __future__ import annotations

from typing import Any

import staging

from podrail.extension import Arguments
from podrail_io.kube import Event


def request(name: str, count: int) -> dict[str, Any]:
    """A request of a claim."""
    driver = {"gpu": "gpu.nvidia.com", "nic": "dranet"}[name]
    return {"name": name, "exactly": {"deviceClassName": driver, "count": count}}


def template() -> dict[str, Any]:
    """A claim template for a GPU and a NIC that share their PCIe root."""
    devices: dict[str, Any] = {
        "requests": [request("gpu", 1), request("nic", 1)],
        "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}],
    }
    spec = {"spec": {"devices": devices}}
    return {"metadata": {"name": "pair", "namespace": "team"}, "spec": spec}


def stage() -> staging.Stage:
    """An aligned node, one whose pairs are far apart, and the template."""
    found = staging.Stage()
    found.sees_nodes(a="good", b="bad")
    found.claimed.templates._take(Event("ADDED", template(), "1"))
    return found


def pod() -> dict[str, Any]:
    """A pod that claims and has not opted in."""
    made = staging.stranger()
    made["spec"]["containers"][0]["resources"] = {}
    claim = {"name": "pair", "resourceClaimTemplateName": "pair"}
    made["spec"]["resourceClaims"] = [claim]
    return made


def test_a_node_with_pairs_is_better_for_a_claim_than_one_without() -> None:
    """And no node is refused: what fits is for DRA to say."""
    found = stage()
    question = Arguments(pod(), ["a", "b"])
    assert {} == found.judge.filter(question)
    best, other = found.scores(question)
    assert best == 10
    assert other < 10


def test_a_claim_that_nobody_knows_is_told_as_such() -> None:
    """All nodes are the same then."""
    found = staging.Stage()
    found.sees_nodes(a="good", b="bad")
    assert [0, 0] == found.scores(Arguments(pod(), ["a", "b"]))
    assert 1 == found.count("unscored_calls_total", reason="not_injected")


def test_a_pod_that_only_claims_is_bound_as_it_is() -> None:
    """Never touched otherwise."""
    found = stage()
    found.sees_pod(pod())
    assert "" == found.binds(pod(), "a")
    assert {} == found.api.annotations


def test_a_claim_made_for_one_pod_is_not_kept() -> None:
    """Its template says the same, and there are as many of them as pods."""
    found = stage()
    document: dict[str, Any] = {
        "metadata": {"name": "p-pair", "namespace": "team"},
        "spec": {"devices": {}},
    }
    found.claimed.claims._take(Event("ADDED", document, "1"))
    made = {"resource.kubernetes.io/pod-claim-name": "pair"}
    metadata = {**document["metadata"], "name": "q-pair", "annotations": made}
    found.claimed.claims._take(Event("ADDED", {**document, "metadata": metadata}, "1"))
    assert ["team/p-pair"] == list(found.claimed.claims.items())
