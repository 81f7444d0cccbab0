"""`podrail explain`: what a pod got and why, where it fits best and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import builders
import placing
import pytest
import scenes
import terminal

from podrail.score.weights import WEIGHTS, Part

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "llm"},
    "spec": {
        "parallelism": 4,
        "template": {
            "metadata": {"labels": {"podrail.dev/fabric": "macvlan-rails"}},
            "spec": {"containers": [builders.container(env=[{"name": "NCCL_IB_HCA", "value": "mlx5"}])]},
        },
    },
}  # fmt: skip
TEXT = """\
pod default/llm: injected by profile macvlan-rails into container train
  rails: 0, 1, 2, 3, 4, 5, 6, 7
  networks: default/rail0 as rail0; default/rail1 as rail1; default/rail2 as rail2; default/rail3 as rail3; default/rail4 as rail4; default/rail5 as rail5; default/rail6 as rail6; default/rail7 as rail7
  resources: rdma/hca_shared_devices_a: 1
  settings: GLOO_SOCKET_IFNAME
  chosen late, when it is bound: networks, nccl.conf
  kept as you wrote it: env/NCCL_IB_HCA
  note ImageConfHidden: spec.containers[0].volumeMounts: a file /etc/nccl.conf of the image itself is hidden by the profile's
    what to do (user): Write what the image's file sets into env of the container, if it is needed.

job default/llm: found by rule job; pods: 4, bound: 0

2 of 4 nodes can run it; the best:

a (podrail-aligned, block b, leaf b/r1): 10 of 10, worth 1.000
  100% of the rails' bandwidth, worst pair PIX, rails 0,1,2,3,4,5,6,7, GPUs 0,1,2,3,4,5,6,7; evidence: catalog
  PART       VALUE  WEIGHT  ADDS   WHAT IT SAYS
"""


def cluster(folder: Path) -> Path:
    """An aligned node, an unknown one, a busy one and a small one."""
    free = {"rdma/hca_shared_devices_a": "63"}
    nodes = [
        scenes.node("a", labels=scenes.at("r1")),
        scenes.node("busy", labels=scenes.at("r1")),
        scenes.node("small", gpus=4),
        scenes.node("u", "no such type"),
    ]
    for one in nodes:
        one["status"]["allocatable"].update(free)
    busy = placing.injected(builders.shipped()["macvlan-rails"], builders.container(gpus=2))
    return scenes.listed(folder, *nodes, scenes.bound(busy, "busy"))


def explain(folder: Path, *words: str | Path, given: object = JOB, status: int = 0) -> str:
    """What the command prints."""
    arguments = ("explain", "-f", "-", "--cluster", cluster(folder), "--shapes", scenes.SHAPES)
    result = terminal.run(*arguments, *words, given=given)
    assert status == result.exit_code, result.output
    return result.stdout


def test_the_text_says_what_was_given_and_kept_and_what_to_do(tmp_path: Path) -> None:
    """Then the job and its rule, and the best nodes."""
    assert explain(tmp_path).startswith(TEXT)


def test_each_part_of_the_best_nodes_score_is_a_line(tmp_path: Path) -> None:
    """With its weight and what it says."""
    told = explain(tmp_path).partition("10 of 10")[2].partition("\n\n")[0]
    lines = [line.split() for line in told.splitlines()[3:]]
    assert {"reach", "alignment", "block", "health", "certainty", "quiet"} == {
        line[0] for line in lines
    }
    assert all(str(WEIGHTS[Part(name)]) == weight for name, _, weight, *_ in lines)


def test_the_nearest_misses_all_refusals_and_every_node_come_last(tmp_path: Path) -> None:
    """Each with what would help."""
    told = explain(tmp_path).partition("nearest misses:\n")[2]
    expected = """\
  busy (podrail-aligned, block b, leaf b/r1): nvidia.com/gpu: 8 asked, 6 free
    what would help: It fits once other pods there have ended, or a pod of higher priority preempts.
  small (podrail-aligned): nvidia.com/gpu: 8 asked, 4 free
    what would help: Ask for fewer devices; if the node has more, look at its device plugin.

  REFUSED          NODES  WHY
  devices taken    1      too few nvidia.com/gpu
  too few devices  1      too few nvidia.com/gpu

  EVERY NODE  SCORE  WHY NOT
  a           10
  u           5
  busy        -      nvidia.com/gpu: 8 asked, 6 free
  small       -      nvidia.com/gpu: 8 asked, 4 free
"""
    assert expected == told


def test_json_has_the_same_in_fields(tmp_path: Path) -> None:
    """For programs, and for the page."""
    found = json.loads(explain(tmp_path, "-o", "json"))
    assert [
        "pod", "namespace", "source", "refused", "warnings", "injected", "fate", "nodesKnown",
        "job", "nodes", "best", "misses", "refusals", "absent", "ranked",
    ] == list(found)  # fmt: skip
    assert ["a", "u", "busy", "small"] == [one["node"] for one in found["ranked"]]
    best: dict[str, Any] = found["best"][0]
    assert ("a", 10, 1.0, "PIX", {"total": 4, "fit": 2}) == (
        best["node"],
        best["points"],
        best["expected"],
        best["tier"],
        found["nodes"],
    )
    assert best["worth"] == pytest.approx(sum(part["adds"] for part in best["parts"]), abs=1e-3)
    assert {"devices taken": 1, "too few devices": 1} == {
        one["kind"]: one["nodes"] for one in found["refusals"]
    }


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        (builders.document(fabric=None), "not opted in"),
        (builders.document(builders.container(gpus=0)), "skipped by profile sriov-rails"),
    ],
    ids=["no label", "no GPU"],
)
def test_a_pod_without_rails_says_why(pod: dict[str, Any], told: str, tmp_path: Path) -> None:
    """Status 1, and nothing of nodes."""
    found = explain(tmp_path, given=pod, status=1)
    assert (True, False) == (told in found, "nodes can run it" in found)


def test_what_no_node_offers_is_told_before_the_nodes(tmp_path: Path) -> None:
    """By who asks for it, with the code of the reason."""
    limits = {"nvidia.com/gpu": "8", "x.io/a": "1", "x.io/b": "1"}
    pod = builders.document(builders.container(resources={"limits": limits}))
    found = explain(tmp_path, "--profile", "sriov-pool", given=pod, status=1)
    told = found.partition("can run it\n\n")[2].partition("\n\n")[0]
    ask = "  is the device plugin there, is the name right? [ResourceNotAdvertised]"
    assert [
        "no node offers nvidia.com/rdma-vf (asked for by profile sriov-pool):",
        ask,
        "no node offers x.io/a, x.io/b (asked for by the pod itself):",
        ask,
    ] == told.splitlines()


def test_no_node_is_status_1(tmp_path: Path) -> None:
    """As with rank."""
    found = explain(tmp_path, given=builders.document(builders.container(gpus=16)), status=1)
    assert "0 of 4 nodes can run it" in found
