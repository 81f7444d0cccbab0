"""`podrail scheduler-config`, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from podrail.schedulerconfig import Target
from podrail_cli.command import main


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["scheduler-config", *words])


@pytest.mark.parametrize("target", ["second", "kubeadm", "rke2", "k3s"])
def test_the_output_is_yaml_with_the_steps_as_comments(target: str) -> None:
    """It can be read, and each document says where it belongs."""
    ran = run("--for", target)
    assert 0 == ran.exit_code, ran.output
    documents = [text for text in ran.output.split("---\n") if text]
    assert all(text.startswith("# ") for text in documents)
    (config, *_) = yaml.safe_load_all(ran.output)
    assert "KubeSchedulerConfiguration" == config["kind"]
    assert 98 >= max(len(line) for line in ran.output.splitlines() if line.startswith("# "))


def test_programs_get_json() -> None:
    """Place, words and document of each part."""
    found = json.loads(run("--for", "kubeadm", "-o", "json").output)["parts"]
    assert [{"place", "told", "document"}] * 2 == [set(one) for one in found]


def test_every_shipped_gpu_is_sent_unless_others_are_named() -> None:
    """The names of all shipped profiles, else the given ones."""

    def sent(*words: str) -> list[str]:
        (config, *_) = yaml.safe_load_all(run("--for", "k3s", *words).output)
        return [one["name"] for one in config["extenders"][0]["managedResources"]]

    assert ["amd.com/gpu", "nvidia.com/gpu"] == sent()
    assert ["a.com/b"] == sent("--gpu", "a.com/b")


def test_an_authority_is_a_file(tmp_path: Path) -> None:
    """Its text goes into the configuration."""
    (tmp_path / "ca.crt").write_text("PEM")
    words = ("--url", "https://10.96.0.9:8888", "--ca", str(tmp_path / "ca.crt"))
    (config, *_) = yaml.safe_load_all(run("--for", Target.OPENSHIFT.value, *words).output)
    assert {"caData": "UEVN"} == config["extenders"][0]["tlsConfig"]


def test_what_must_not_be_is_told_in_words() -> None:
    """Exit status 2, and what to give instead."""
    ran = run("--for", "openshift")
    assert 2 == ran.exit_code
    assert "give a Service with https" in ran.output
