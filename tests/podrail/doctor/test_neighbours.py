"""Who else has a hand in the same pods."""

from __future__ import annotations

from typing import Any

import builders
import installations
import pytest
from installations import told

from podrail.doctor import neighbours

HOOKS = "MutatingWebhookConfiguration"
NRI = "network-resources-injector-config"
RULE = {"resources": ["pods"], "operations": ["CREATE"]}
SPEC = {
    "attachment": "SriovVF",
    "rails": {"count": 8, "gpus": 8},
    "partial": "Proportional",
    "networks": [{"name": "default/vf", "interface": "vf", "repeat": 8, "resource": "a.b/vf"}],
    "resources": [{"name": "a.b/vf", "count": {"per": "GPU"}}],
}


def hook(name: str = NRI, policy: str = "Never", **entry: Any) -> dict[str, Any]:
    """A registration of somebody else's."""
    entries = [{"name": "x.y.z", "rules": [RULE], "reinvocationPolicy": policy, **entry}]
    return {"kind": HOOKS, "metadata": {"name": name}, "webhooks": entries}


def injector(*words: str) -> dict[str, Any]:
    """The pod of network-resources-injector."""
    container = {"name": "n", "image": "x/network-resources-injector:v1.9.0", "args": list(words)}
    return {"kind": "Pod", "metadata": {"name": "n"}, "spec": {"containers": [container]}}


def lines(*documents: dict[str, Any], by: str = "Podrail") -> list[str]:
    """What is said with a profile whose resources are requested by one of the two."""
    profiles = {"f": builders.fabric("f", requestedBy=by, **SPEC)}
    found = installations.cluster(*documents, profiles=profiles, asked=("f",))
    return told(neighbours.injectors, found)


def test_podrail_alone_is_well() -> None:
    """As are webhooks that have nothing to do with new pods, and others that count nothing."""
    other = hook("else", rules=[{"resources": ["services"], "operations": ["*"]}])
    assert ["ok: there are none"] == lines(other)
    assert ["ok: istio: not known to count devices for networks"] == lines(hook("istio"))


@pytest.mark.parametrize(
    ("by", "name", "policy", "words", "told_"),
    [
        ("Injector", NRI, "Never", [], "fail: network-resources-injector-config is called before"),
        ("Injector", NRI, "IfNeeded", [], "ok: "),
        ("Injector", f"z-{NRI}", "Never", [], "ok: "),
        ("Podrail", NRI, "Never", [], "ok: "),
        ("Podrail", NRI, "Never", ["-honor-resources"], "ok: "),
        ("Podrail", NRI, "IfNeeded", ["--honor-resources=true"], "fail: network-resources-injec"),
        ("Podrail", f"z-{NRI}", "Never", ["-honor-resources"], "fail: z-network-resources-inject"),
        ("Podrail", f"z-{NRI}", "Never", ["-honor-resources=false"], "ok: "),
    ],
)
def test_the_rows_of_the_page_on_injectors(
    by: str, name: str, policy: str, words: list[str], told_: str
) -> None:
    """None or twice as many devices is a fault."""
    assert lines(hook(name, policy), injector(*words), by=by)[0].startswith(told_)


def test_an_injector_that_is_kept_away_by_a_selector_is_no_matter() -> None:
    """The user has seen to it."""
    kept = hook(objectSelector={"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]})
    assert lines(kept, by="Injector")[0].startswith("ok: ")


def test_spiderpool_is_told() -> None:
    """Nobody has tried the two together."""
    assert lines(hook("spiderpool-controller"))[0].startswith("warn: spiderpool-controller: ")


def test_registrations_that_were_not_looked_at_are_unknown() -> None:
    """Podrail's own too."""
    found = installations.cluster(without=[HOOKS])
    assert [f"unknown: there is no {HOOKS} in what was given"] == told(neighbours.injectors, found)


def test_without_podrails_registration_its_usual_name_counts() -> None:
    """Which of the two is called first is then as deploy/ has it."""
    profiles = {"f": builders.fabric("f", requestedBy="Injector", **SPEC)}
    found = installations.cluster(hook(), without=[HOOKS], profiles=profiles, asked=("f",))
    assert told(neighbours.injectors, found)[0].startswith("fail: ")


def quota(**hard: str) -> dict[str, Any]:
    """A quota of the namespace that uses the profile."""
    named = {f"requests.{key.replace('__', '/')}": value for key, value in hard.items()}
    return {
        "kind": "ResourceQuota",
        "metadata": {"namespace": "team", "name": "q"},
        "spec": {"hard": named},
    }


def short(*quotas: dict[str, Any]) -> list[str]:
    """What is said of quotas where the profile asks for a VF per GPU."""
    labels = {"podrail.dev/fabric": "f"}
    home = {"kind": "Namespace", "metadata": {"name": "team", "labels": labels}}
    found = installations.cluster(
        home,
        *quotas,
        without=["Namespace", "ResourceQuota"],
        profiles={"f": builders.fabric("f", **SPEC)},
    )
    return told(neighbours.quotas, found)


def test_a_quota_that_no_pod_fits_fails() -> None:
    """One that only a whole node's pod does not fit is a warning."""
    assert ["fail: team/q refuses every pod of f: a.b/vf 0, asked 1"] == short(
        quota(**{"a.b__vf": "0"})
    )
    assert ["warn: team/q refuses every pod with 8 GPUs of f: a.b/vf 4, asked 8"] == short(
        quota(**{"a.b__vf": "4"})
    )


def test_a_quota_with_room_or_on_other_things_is_well() -> None:
    """As is one of a namespace that uses no profile."""
    far = {**quota(**{"a.b__vf": "0"}), "metadata": {"namespace": "far", "name": "q"}}
    assert ["ok: 3 quotas; none blocks a profile's pods"] == short(
        quota(**{"a.b__vf": "64"}), quota(cpu="1"), far
    )


def test_quotas_that_were_not_looked_at_are_unknown() -> None:
    """For want of rights, say."""
    found = installations.cluster(without=["ResourceQuota"], unseen={"ResourceQuota": "403"})
    assert ["unknown: 403"] == told(neighbours.quotas, found)
