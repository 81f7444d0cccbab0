"""`podrail doctor` at a real API server: what it says of podrail as deploy/ installs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import terminal
import yaml
from controlplane.installed import Installed, eventually
from controlplane.plane import Cluster
from controlplane.processes import free_port

pytestmark = pytest.mark.cluster
PODS = "/api/v1/pods"


def told(cluster: Cluster, *words: str | Path) -> dict[str, dict[str, Any]]:
    """What is found, by check; of several findings of one check the first."""
    result = terminal.run("doctor", "--kubeconfig", cluster.kubeconfig, "-o", "json", *words)
    assert result.exit_code in {0, 1}, result.output
    findings = json.loads(result.stdout)["findings"]
    return {one["check"]: one for one in reversed(findings)}


@pytest.mark.usefixtures("registered")
def test_what_works_is_ok(installed: Installed, tmp_path: Path) -> None:
    """The kinds, the registration, the answer, the policy, the shipped scheduler's settings."""
    config = tmp_path / "scheduler.yaml"
    config.write_text(yaml.safe_dump(installed.scheduler_config("127.0.0.1:8888")))
    before = len(installed.cluster.client.items(PODS))
    found = told(installed.cluster, "--scheduler-config", config, "--profile", "sriov-rails")
    works = ("crds", "webhook", "webhook-answers", "certificate", "policy", "scheduler")
    assert [] == [found[check] for check in works if found[check]["verdict"] != "ok"], found
    assert before == len(installed.cluster.client.items(PODS))


@pytest.mark.usefixtures("registered")
def test_what_a_fresh_installation_lacks_is_told(cluster: Cluster) -> None:
    """Networks that a profile names, agents, and a scheduler whose settings are seen."""
    found = told(cluster, "--profile", "sriov-rails")
    assert "there is no NetworkAttachmentDefinition default/rail0" in found["networks"]["detail"]
    assert "without NodeRails" in found["agents"]["detail"]
    assert "unknown" == found["scheduler"]["verdict"]


@pytest.mark.parametrize("registered_", [False, True], ids=["not registered", "nobody listens"])
def test_a_webhook_that_nobody_reaches_fails(installed: Installed, *, registered_: bool) -> None:
    """Once the API server knows of it: the policy refuses the dry run."""
    if registered_:
        installed.register(f"127.0.0.1:{free_port()}", alive=False)
    else:
        installed.unregister()

    def refused() -> bool:
        answer = told(installed.cluster)["webhook-answers"]
        return "the API server could not call it" in answer["detail"]

    try:
        eventually(refused, "the doctor says that the webhook does not answer")
        registration = told(installed.cluster)["webhook"]
    finally:
        installed.unregister()
    assert registered_ == (registration["verdict"] == "ok")
