"""The alerts and the dashboard: sound, and about metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import helm
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from certs.metrics import Metrics as CertsMetrics
from controller.metrics import Metrics as ControllerMetrics
from extender.metrics import Metrics as ExtenderMetrics
from nodeagent.metrics import Metrics as AgentMetrics
from nodeagent.metrics import Shown
from podrail_io.living import Living
from webhook.metrics import Metrics as WebhookMetrics

ALERTS: Final = helm.CHART / "files" / "alerts.yaml"
DASHBOARD: Final = helm.CHART / "files" / "dashboard.json"
NAMED: Final = re.compile(r"\b(?:podrail|apiserver)_[a-z_]+")
DERIVED: Final = re.compile(r"_(bucket|count|sum)$")
OTHERS: Final = {
    # Kubernetes 1.36, apiserver/pkg/admission/metrics; tests/cluster/test_chart.py sees the first.
    "apiserver_admission_webhook_fail_open_count",
    "apiserver_admission_webhook_admission_duration_seconds",
}


class Certificates:
    """What the webhook tells of its certificate."""

    not_after = 0.0
    reload_errors = 0


class Profiles:
    """A value that nothing is wrong with."""

    problems: tuple[str, ...] = ()


def exported() -> set[str]:
    """The names of all metrics that podrail's programs export, those that are empty too."""
    webhook = WebhookMetrics(Certificates())  # type: ignore[arg-type]  # two fields are read
    Living((), None, lambda _layers, _last: Profiles()).export(webhook.registry, "profiles")
    registries: list[CollectorRegistry] = [
        webhook.registry,
        ControllerMetrics(lambda: True, lambda: 0.0).registry,
        CertsMetrics(lambda: True).registry,
        ExtenderMetrics(lambda: 0.0, lambda: True).registry,
    ]
    agent = AgentMetrics(lambda: 0.0)
    agent.shown = Shown()
    texts = [generate_latest(one).decode() for one in registries]
    return {
        name
        for text in [*texts, agent.text()]
        for name in re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)
    }


def expressions(path: Path) -> list[str]:
    """All queries of a file."""
    if path == DASHBOARD:
        panels = json.loads(path.read_text())["panels"]
        return [one["expr"] for panel in panels for one in panel.get("targets", ())]
    groups = yaml.safe_load(path.read_text())["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


@pytest.mark.parametrize("path", [ALERTS, DASHBOARD], ids=lambda path: path.stem)
def test_every_metric_is_one_that_there_is(path: Path) -> None:
    """An alert on a name that nobody exports never fires."""
    known = exported() | OTHERS
    found = {name for one in expressions(path) for name in NAMED.findall(one)}
    assert "podrail_admission_requests_total" in found
    assert [] == sorted(
        name for name in found if name not in known and DERIVED.sub("", name) not in known
    )


def test_an_alert_says_what_it_is_and_what_to_look_at() -> None:
    """A summary, a description and how bad it is, each of them."""
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]  # fmt: skip
    assert {"critical", "warning"} == {rule["labels"]["severity"] for rule in rules}
    assert [] == [
        rule["alert"] for rule in rules if set(rule["annotations"]) != {"summary", "description"}
    ]
    names = [rule["alert"] for rule in rules]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.go
@pytest.mark.parametrize(
    ("words", "path"), [("check", ALERTS), ("test", Path(__file__).parent / "alerts_test.yaml")]
)
def test_promtool_has_nothing_to_say(words: str, path: Path, tmp_path: Path) -> None:
    """The rules are sound, and fire when they should and not before."""
    for one in (ALERTS, path):
        (tmp_path / one.name).write_text(one.read_text())
    flags = ("--lint=all", "--lint-fatal") if words == "check" else ()
    said = helm.run(words, "rules", *flags, tmp_path / path.name, package=helm.PROMTOOL)
    assert "SUCCESS" in said
