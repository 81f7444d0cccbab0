"""Every right that podrail asks for, against a list that somebody has read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
import rights

from podrail import binding, names

VALUES: Final = sorted(rights.VALUES.glob("*.yaml"))
LISTS: Final = sorted(rights.GOLDEN.glob("*.txt"))
KEY: Final = re.compile(r"'([a-z0-9.-]+/[a-zA-Z.-]+)'")


def granted(path: Path, what: str) -> set[str]:
    """Who has a right whose line contains these words."""
    return {line.partition(",")[0] for line in path.read_text().splitlines() if what in line}


def test_deploy_asks_for_what_was_read_and_no_more() -> None:
    """Whoever adds a right writes the list with tests/support/rights.py, and says why."""
    assert (rights.GOLDEN / "deploy.txt").read_text() == rights.text(rights.shipped())


@pytest.mark.go
@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_the_chart_asks_for_what_was_read_and_no_more(values: Path) -> None:
    """With values of every kind."""
    golden = rights.GOLDEN / f"chart-{values.stem}.txt"
    assert golden.read_text() == rights.text(rights.charted(values))


def test_there_is_a_list_for_each_way_to_install() -> None:
    """And none of a way that there is no more."""
    assert ["deploy", *(f"chart-{one.stem}" for one in VALUES)] == [
        one.stem for one in sorted(LISTS, key=lambda one: (one.stem != "deploy", one))
    ]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_who_may_bind_and_who_may_write(path: Path) -> None:
    """Bindings and nominations are the extender's, one annotation of pods is the controller's."""
    extender = set() if path.stem == "chart-none" else {"ServiceAccount podrail-extender"}
    assert extender == granted(path, ": pods/binding: create")
    assert extender == granted(path, ": pods/status:")
    assert {"ServiceAccount podrail-controller"} == granted(path, ": pods: patch")
    # `helm test` asks whether it could create one, and has the right only while it runs.
    assert {"ServiceAccount podrail-test"} >= granted(path, ": pods: create")
    assert set() == granted(path, ": pods: delete")


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_what_nobody_may(path: Path) -> None:
    """Everything, other people's rights, Secrets of the cluster or a list of them, exec, nodes/proxy."""
    text = path.read_text()
    for word in (
        "*",
        "impersonate",
        "escalate",
        "serviceaccounts/token",
        "pods/exec",
        "nodes/proxy",
    ):
        assert word not in text
    secrets = [line for line in text.splitlines() if " secrets" in line]
    assert [] == [line for line in secrets if rights.CLUSTER in line or "list" in line]
    assert {"ServiceAccount podrail-certs"} >= granted(path, " secrets")


def test_a_policy_knows_the_annotations_of_a_binding() -> None:
    """The families that podrail.binding writes, and the marker: what else comes with a bind is refused."""
    (policy,) = (
        one
        for one in rights.shipped()
        if one["kind"] == "ValidatingAdmissionPolicy"
        and one["metadata"]["name"] == "podrail-binding"
    )
    _, own = policy["spec"]["validations"]
    written = {names.PLACEMENT, names.NCCL_CONF, names.NETWORKS, names.ENV_PREFIX}
    assert written == set(KEY.findall(own["expression"]))
    named = re.findall(r"names\.([A-Z_]+)", Path(binding.__file__).read_text())
    assert written == {key for one in named if isinstance(key := getattr(names, one), str)}
