"""Whether pods are placed by podrail."""

from __future__ import annotations

from typing import Any

import builders
import installations
import placing
import pytest
import scenes
from installations import CONFIG, config, parsed, told

from podrail.doctor import placement

FILE = "KubeSchedulerConfiguration"


def given(whole: dict[str, Any], **fields: Any) -> list[str]:
    """What is said of a configuration that was given as a file."""
    found = installations.cluster(whole, without=["Pod"], parsed=(), **fields)
    return told(placement.scheduler, found)


@pytest.mark.parametrize(
    ("pod", "key"),
    [
        (installations.scheduler(), "config.yaml"),
        (installations.scheduler("--config", "/etc/podrail/config.yaml", "-v=2"), "config.yaml"),
        (installations.scheduler("--config=/c.yaml", mountPath="/c.yaml", subPath="k"), "k"),
    ],
    ids=["in a folder", "in two words", "one file of the volume"],
)
def test_the_configuration_of_a_pod_is_found(pod: dict[str, Any], key: str) -> None:
    """By the ConfigMap that its --config is mounted from."""
    found = installations.cluster(pod, without=["Pod"], parsed=(parsed(config(), key=key),))
    assert [f"ok: ConfigMap {CONFIG} (podrail): all nodes, weight 20"] == told(
        placement.scheduler, found
    )


def test_a_key_may_be_mounted_under_another_name() -> None:
    """As the volume's items say."""
    pod = installations.scheduler()
    items = [{"key": "second", "path": "config.yaml"}]
    pod["spec"]["volumes"][0]["configMap"]["items"] = items
    found = installations.cluster(pod, without=["Pod"], parsed=(parsed(config(), key="second"),))
    assert told(placement.scheduler, found)[0].startswith("ok: ")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"nodeCacheCapable": False}, "fail: F: nodeCacheCapable is not true"),
        ({"bindVerb": ""}, "fail: F: bindVerb is not set"),
        ({"weight": 5}, "warn: F: the extender's weight is 5"),
        ({"weight": "x"}, "warn: F: the extender's weight is x"),
        ({"ignorable": False}, "warn: F: ignorable is not true"),
        ({"managedResources": [{"name": "a/b"}]}, "warn: F: managedResources lacks nvidia.com/gpu"),
    ],
    ids=["whole nodes", "no bind", "light", "no number", "not ignorable", "another resource"],
)
def test_a_setting_that_spoils_placement_is_told(change: dict[str, Any], line: str) -> None:
    """With what comes of it."""
    (only,) = given(config(**change))
    assert only.replace(FILE, "F").startswith(line)


@pytest.mark.parametrize("whole", [50, None], ids=["a half", "kube-scheduler's choice"])
def test_a_sample_of_the_nodes_is_told(whole: int | None) -> None:
    """What a profile says counts for itself."""
    sampled = config()
    sampled["percentageOfNodesToScore"] = whole
    (only,) = given(sampled)
    assert f"warn: {FILE}: percentageOfNodesToScore is not 100" in only
    sampled["profiles"][0]["percentageOfNodesToScore"] = 100
    assert given(sampled)[0].startswith("ok: ")


def test_beside_the_default_scheduler_a_point_weighs_more() -> None:
    """Its scores are in the same sum; and a claim's pods are never sent."""
    existing = config("extend-existing")
    profiles = {"fabric": builders.fabric()}
    lines = given(existing, profiles=profiles, asked=("fabric",))
    assert "ok: " == lines[0][:4]
    assert lines[0].endswith("all nodes, weight 60")
    lines = given(config("extend-existing", weight=20), profiles=profiles, asked=("fabric",))
    assert f"warn: {FILE}: the extender's weight is 20" in lines[0]
    lines = given(existing, asked=("dra-pairs",))
    assert any("pods of dra-pairs claim their GPUs" in line for line in lines)


def test_a_scheduler_name_that_nobody_serves_fails() -> None:
    """Its pods would be pending for ever."""
    other = config()
    other["profiles"][0]["schedulerName"] = "rails"
    assert "fail: no scheduler serves the schedulerName podrail of profiles in use" in given(other)


def test_a_scheduler_that_asks_nobody_fails() -> None:
    """Unless another one does, it is of no use to rails."""
    plain = {"kind": FILE, "extenders": [{"urlPrefix": "http://elsewhere:1"}]}
    assert given(plain)[0].startswith("fail: no extender of podrail's in")
    found = installations.cluster(plain)
    assert told(placement.scheduler, found)[0].startswith("ok: ConfigMap ")


def test_a_configuration_is_told_once() -> None:
    """However many replicas run with it."""
    named = installations.program("extender", "b")["metadata"]
    again = {**installations.scheduler(), "metadata": named}
    found = installations.cluster(again)
    assert 1 == len(told(placement.scheduler, found))


@pytest.mark.parametrize(
    ("pods", "line"),
    [
        ([installations.program("webhook")], "no scheduler shows its configuration"),
        (
            [installations.scheduler("--config=/etc/kubernetes/s.yaml")],
            "no scheduler shows its configuration: podrail-system/podrail-extender-0",
        ),
        ([], "there is no Pod in what was given"),
    ],
    ids=["no scheduler", "a file of the node", "no pods"],
)
def test_a_configuration_that_is_not_seen_is_unknown(pods: list[Any], line: str) -> None:
    """The file can be given."""
    found = installations.cluster(*pods, without=["Pod"])
    assert [f"unknown: {line}"] == told(placement.scheduler, found)


def test_pods_that_slipped_through_are_named() -> None:
    """Without the marker, or bound without a placement; ended ones are history."""
    bare = builders.document(name="bare")
    lost = scenes.bound(placing.injected(builders.fabric(), name="lost"), "n1")
    ended = {**bare, "status": {"phase": "Failed"}}
    found = installations.cluster(bare, lost, ended, builders.document(fabric="none"))
    assert [
        "warn: 1 pod created without the webhook, so without rails: /bare",
        "warn: 1 pod bound without podrail's placement: team/lost",
    ] == told(placement.pods, found)


def test_pods_of_other_schedulers_on_the_gpu_nodes_are_counted() -> None:
    """Those that have GPUs, by their scheduler."""
    mine = scenes.bound(builders.document(schedulerName="podrail"), "n1")
    other = scenes.bound(builders.document(fabric=None), "n1")
    cpu = scenes.bound(builders.document(builders.container(gpus=0), fabric=None), "n1")
    found = installations.cluster(mine, cpu)
    assert ["ok: 1 GPU pod on the GPU nodes, all placed by podrail"] == told(
        placement.strangers, found
    )
    (only,) = told(placement.strangers, installations.cluster(mine, other, other))
    assert only.startswith("warn: pods on the GPU nodes placed by default-scheduler (2)")


def test_without_podrails_scheduler_nobody_is_a_stranger() -> None:
    """Nothing is known of who should place."""
    found = installations.cluster(
        installations.program("webhook"), without=["Pod", "Namespace"], parsed=()
    )
    assert told(placement.strangers, found)[0].startswith("unknown: no profile is in use")
