"""`podrail simulate`: a trace under several rules of placement, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import builders
import checkout
import placing
import pytest
import scenes
import terminal
import yaml

from podrail_cli import simulating

EXAMPLES = checkout.ROOT / "examples" / "traces"
ROW = "podrail-aligned:8:2:4"
TRACE = {"jobs": [{"name": "a", "pods": 4, "seconds": 60, "profile": "sriov-rails", "copies": 2}]}
TABLE = """\
                                default, LeastAllocated  podrail  best possible
jobs started                    2 of 2                   2 of 2   2 of 2
pairs of GPU and NIC aligned    100.0%                   100.0%   100.0%
modelled all-reduce bandwidth   100.0%                   100.0%   100.0%
leaf groups, all jobs           6                        4        4
jobs in the fewest leaf groups  0.0%                     100.0%   100.0%
blocks, all jobs                4                        2        2
wait, mean (s)                  0                        0        -
wait, longest (s)               0                        0        -
free GPUs on broken nodes       -                        -        -
pods refused by kubelets        0                        0        0

8 nodes, 0 of them unknown; seed 0
"""


def simulate(*words: str | Path, given: object = TRACE, status: int = 0) -> Any:
    """The call's result."""
    result = terminal.run("simulate", "--shapes", scenes.SHAPES, "--jobs", "-", *words, given=given)
    assert status == result.exit_code, result.output
    return result


def numbers(*words: str | Path, given: object = TRACE) -> dict[str, Any]:
    """What -o json prints."""
    found: dict[str, Any] = json.loads(simulate(*words, "-o", "json", given=given).stdout)
    return found


def test_the_table_compares_the_rules() -> None:
    """With the bounds beside; two jobs whose pods come mixed."""
    assert TABLE == simulate("--nodes", ROW).stdout


def test_json_has_the_same_numbers() -> None:
    """By rules; what is not known is null."""
    found = numbers("--nodes", ROW, "--seed", "3", "--strategy", "MostAllocated")
    assert (3, 8) == (found["seed"], found["nodes"])
    assert ["default, MostAllocated", "podrail", "best possible"] == list(found["rules"])
    best = found["rules"]["best possible"]
    assert (4, None, 1.0) == (best["leafGroups"], best["waitMean"], best["aligned"])


def test_a_seed_gives_the_same_numbers() -> None:
    """Byte for byte."""
    first, second = (simulate("--nodes", ROW, "--seed", "5").stdout for _ in range(2))
    assert first == second


def test_a_cluster_may_be_a_dump(tmp_path: Path) -> None:
    """What its pods have is taken for good; cordoned nodes are left out."""
    busy = placing.injected(builders.shipped()["sriov-rails"], builders.container(gpus=4))
    nodes = [scenes.node("a"), scenes.node("b"), scenes.node("c", unschedulable=True)]
    dump = scenes.listed(tmp_path, *nodes, scenes.bound(busy, "b"))
    jobs = {"jobs": [{"pods": 2, "gpus": 8, "profile": "sriov-rails"}]}
    found = numbers("--cluster", dump, given=jobs)
    assert (2, 0) == (found["nodes"], found["rules"]["podrail"]["started"])


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda path: str(path.name))
def test_the_example_traces_run(path: Path) -> None:
    """On the nodes that they name themselves; the large one on a tenth of them."""
    row = next(word for word in path.read_text().split() if word.startswith("hgx"))
    trace = yaml.safe_load(path.read_text())
    if path.name == "one-large-job.yaml":
        row, trace["jobs"][0]["pods"] = "hgx-h100-8nic:307:32:512", 307
    found = numbers("--nodes", row, given=trace)["rules"]
    jobs = sum(one.get("copies", 1) for one in trace["jobs"])
    assert [jobs, jobs] == [
        found["podrail"]["started"],
        found["default, LeastAllocated"]["started"],
    ]
    assert found["podrail"]["aligned"] >= found["default, LeastAllocated"]["aligned"]
    assert found["podrail"]["leafGroups"] <= found["default, LeastAllocated"]["leafGroups"]


WRONG = [
    ((), TRACE, "expected either --cluster or --nodes"),
    (("--nodes", "x"), TRACE, "expected SHAPE:COUNT"),
    (("--nodes", ROW), {"jobs": [{"profile": "nothing"}]}, "no profile 'nothing'; there are"),
    (("--nodes", ROW), {"jobs": [{"profile": "dra-pairs"}]}, "by claims"),
    (("--nodes", ROW), {}, "jobs: is required"),
]


@pytest.mark.parametrize(("words", "trace", "told"), WRONG, ids=["where", "row", "profile", "dra", "trace"])  # fmt: skip
def test_wrong_input_is_told(words: tuple[str, ...], trace: object, told: str) -> None:
    """Status 2 and no traceback."""
    assert told in simulate(*words, given=trace, status=2).stderr


def test_a_profile_of_a_file_is_for_the_jobs_that_name_none(tmp_path: Path) -> None:
    """And may be named as well."""
    path = tmp_path / "mine.yaml"
    spec = {
        "attachment": "SharedDevice",
        "rails": {"count": 8},
        "networks": [{"name": f"d/n{rail}", "rail": rail} for rail in range(8)],
    }
    path.write_text(yaml.safe_dump(builders.profile_document("mine", **spec)))
    found = numbers("--nodes", ROW, "--profile", path, given={"jobs": [{}, {"profile": "mine"}]})
    assert 2 == found["rules"]["podrail"]["started"]


def test_long_simulations_tell_how_far_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, every two seconds."""
    clock = iter([0.0, 1.0, 2.5, 3.0])
    progress = simulating.Progress(lambda: next(clock))
    for bound in (1, 2, 3):
        progress("podrail", bound, 9)
    assert "podrail: 2 binds for 9 pods\n" == capsys.readouterr().err
