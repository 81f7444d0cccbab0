"""What each view of the map holds, and that JSON says the same."""

from __future__ import annotations

import json
from dataclasses import replace

import builders
import mapped
import pytest

from podrail.audit.outcome import Code, Finding, Outcome, Report
from podrail.doctor.finding import Verdict
from podrail.gang.jobsize import Owner
from podrail.railmap import fleet, health, job, node, paging, pending, plain, spots
from podrail.railmap.fleet import Query, Show
from podrail.railmap.health import Around, Certificate
from podrail.railmap.pending import Refusal
from podrail.snapshot import Snapshot

WHOLE = mapped.scene()
OVERVIEW = fleet.overview(WHOLE)
DAY = 86_400.0
GPUS = ("nvidia.com/gpu",)


def snapshot() -> Snapshot:
    """The scene as the score has it."""
    return spots.Plotter().plot(WHOLE, GPUS)


def asked(**query: object) -> list[str]:
    """The nodes that a query finds."""
    found = fleet.of(WHOLE, OVERVIEW, Query(**query))  # type: ignore[arg-type]  # fields of a query
    return [line.name for group in found.groups for line in group.nodes]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        pytest.param({}, [0, 1, 2, 3, 4, 5, 6, 7, 8], id="all, those without a place last"),
        pytest.param({"block": "b1"}, [5, 6, 7], id="a block"),
        pytest.param({"block": fleet.UNKNOWN}, [8], id="no block"),
        pytest.param({"leaf": "b0/r1"}, [3, 4], id="a leaf"),
        pytest.param({"name": "-4"}, [4], id="a part of a name"),
        pytest.param({"show": Show.FREE}, [4, 5, 6, 8], id="free"),
        pytest.param({"show": Show.FRAGMENTED}, [3], id="fragmented"),
        pytest.param({"show": Show.FULL}, [0, 1, 2, 7], id="full"),
        pytest.param({"show": Show.DOWN}, [1, 4], id="a rail down"),
        pytest.param({"show": Show.DEGRADED}, [2], id="a rail degraded"),
        pytest.param({"show": Show.SILENT}, [6], id="not heard"),
    ],
)
def test_the_fleet_is_what_was_asked_for(query: dict[str, object], numbers: list[int]) -> None:
    """Blocks, leaves, names and kinds narrow it."""
    assert [f"node-{number}" for number in numbers] == asked(**query)


def test_the_sums_are_of_the_whole_fleet() -> None:
    """Whatever the question."""
    found = fleet.of(WHOLE, OVERVIEW, Query(block="b1"))
    assert {"free": 4, "fragmented": 1, "full": 4, "no GPUs": 0} == found.sum.use
    assert {"free": 35, "held": 34, "degraded": 1, "down": 2} == found.sum.rails
    assert ["b0", "b1", ""] == [one.name for one in found.blocks]
    assert [2, 2, 1] == [one.leaves for one in found.blocks]


@pytest.mark.parametrize(
    ("page", "expected"),
    [(0, (1, [0, 1])), (2, (2, [2, 3])), (3, (3, [4])), (99, (3, [4]))],
    ids=["before the first", "second", "last", "after the last"],
)
def test_a_page_is_a_part(page: int, expected: tuple[int, list[int]]) -> None:
    """The nearest that there is; three in all."""
    found, part = paging.cut(range(5), page, 2)
    assert (expected, 3) == ((found.page, [*part]), found.pages)
    assert (1, 1) == (paging.cut([], 1)[0].page, paging.cut([], 1)[0].pages)


def test_a_node_tells_who_holds_what() -> None:
    """GPUs, NICs and pods of half a node and a stranger."""
    found = node.of(WHOLE.machines["node-3"])
    half, other = ("team/half-0",), ("team/other",)
    assert [half] * 4 + [(), other, (), ()] == [one.pods for one in found.gpus]
    assert [half] * 4 + [()] * 4 == [one.pods for one in found.nics]
    assert ["RailsAligned", ""] == [one.outcome for one in found.pods]
    assert ["up"] * 8 == [one.state for one in found.nics]


def test_a_node_pairs_each_gpu_with_its_best_nic() -> None:
    """With their distance, below their switch."""
    found = node.of(WHOLE.machines["node-3"])
    assert [(gpu, gpu, "PIX") for gpu in range(8)] == [(p.gpu, p.nic, p.tier) for p in found.pairs]
    assert 8 == len(found.switches)
    crossed = node.of(WHOLE.machines["node-7"])
    assert {"SYS"} == {pair.tier for pair in crossed.pairs}


def test_a_node_tells_what_its_agent_said() -> None:
    """Troubles, and when it was heard."""
    found = node.of(WHOLE.machines["node-1"]).host
    assert (["PortDown"], True) == ([one.code for one in found.troubles], bool(found.observed_at))


def test_of_an_unknown_node_nothing_is_told() -> None:
    """No devices, no agent; a NodeRails that cannot be read says why."""
    bare = mapped.scene({
        "nodes": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}],
        "rails": [{"metadata": {"name": "b"}, "status": {"gpus": 7}}],
    }).machines  # fmt: skip
    found = node.of(bare["a"])
    assert ((), (), (), (), ()) == (
        found.gpus, found.nics, found.tiers, found.pairs, found.switches,
    )  # fmt: skip
    assert "status.gpus" in node.of(bare["b"]).host.problem


def test_a_node_without_rails_has_no_pairs() -> None:
    """And distances that nobody knows are empty."""
    machine = WHOLE.machines["node-7"]
    topology = machine.topology
    assert topology is not None
    nics = tuple(replace(nic, rail=None) for nic in topology.nics)
    tiers = tuple((None,) * len(nics) for _ in topology.gpus)
    found = node.of(replace(machine, topology=replace(topology, nics=nics, tiers=tiers)))
    assert ((), {""}) == (found.pairs, {tier for row in found.tiers for tier in row})
    unknown = node.of(replace(machine, topology=replace(topology, tiers=tiers)))
    assert {""} == {pair.tier for pair in unknown.pairs}


def test_a_job_compares_what_was_expected_with_what_was_observed() -> None:
    """By pod and in the mean."""
    found = job.of("team/train", WHOLE)
    outcomes = ["RailsAligned", "RailsDegraded", "RailsDegraded"]
    assert outcomes == [one.outcome for one in found.ranks]
    assert (1.0, True) == (found.expected, 0.9 < (found.observed or 0) < 1)
    assert (1, 1, 1.0, 2) == (
        found.brief.leaves, found.brief.blocks, found.brief.same_rails, found.brief.degraded,
    )  # fmt: skip
    assert {"b0/r0": 3} == found.leaves
    assert dict.fromkeys(range(8), 3) == found.rails


def test_pods_with_other_rails_cross() -> None:
    """Two of three pods have the same ones: one pair in three."""
    tenants = WHOLE.jobs["team/train"]
    mixed = (*tenants[:2], replace(tenants[2], rails=(0, 1)))
    found = job.of("team/train", replace(WHOLE, jobs={"team/train": mixed}))
    assert [True, True, False] == [one.common for one in found.ranks]
    assert 1 / 3 == found.brief.same_rails


def test_what_a_pod_got_may_be_unknown() -> None:
    """Every reason has a sentence; a job of one pod has no pairs."""
    found = job.of("team/crossed", WHOLE)
    assert [job.UNSEEN[Code.NO_NODE_RAILS]] == [one.told for one in found.ranks]
    assert (None, None) == (found.brief.same_rails, found.observed)


def test_a_pod_without_a_report_or_a_node_on_the_map_is_still_told() -> None:
    """Its node is gone, its kubelet has said nothing."""
    tenants = WHOLE.jobs["team/train"]
    lost = replace(tenants[0], report=None, by=None, pod=replace(
        tenants[0].pod, node="gone", job=None, subject=None))  # fmt: skip
    found = job.of("j", replace(WHOLE, jobs={"j": (lost,)}))
    rank = found.ranks[0]
    assert ("", "", "", None, None) == (
        rank.leaf, rank.outcome, rank.told, rank.expected, rank.index,
    )  # fmt: skip
    assert ("", None) == (found.brief.rule, found.brief.size)


def test_codes_of_unknown_outcomes_have_sentences() -> None:
    """Those that podrail.audit gives to what nobody could have seen."""
    report = Report(Outcome.UNKNOWN, "x", "n", (Finding(Code.NOT_LOOKED),))
    tenants = tuple(replace(one, report=report) for one in WHOLE.jobs["team/train"])
    found = job.of("j", replace(WHOLE, jobs={"j": tenants}))
    assert {job.UNSEEN[Code.NOT_LOOKED]} == {one.told for one in found.ranks}


def test_all_jobs_are_listed() -> None:
    """In the order of their names."""
    found = job.every(WHOLE)
    assert ["team/crossed", "team/half", "team/train"] == [one.key for one in found.jobs]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("", [], id="not tried"),
        pytest.param("gated", [("gated", 0)], id="other words"),
        pytest.param(
            mapped.WORDS,
            [
                ("node(s) were unschedulable", 1),
                ("podrail: a rail that the pod was given is down", 2),
                ("Insufficient nvidia.com/gpu", 6),
            ],
            id="kube-scheduler's",
        ),
        pytest.param("0/1 nodes are available: 1 a, b.", [("a, b", 1)], id="a comma in a reason"),
    ],
)
def test_the_scheduler_s_words_are_reasons_with_counts(
    words: str, expected: list[tuple[str, int]]
) -> None:
    """What it says of preemption is left out."""
    assert [Refusal(*one) for one in expected] == [*pending.refusals(words)]


def test_reasons_of_all_pods_are_counted() -> None:
    """By pods, with the most nodes; a pod that nobody has tried has none."""
    (pod,) = WHOLE.waiting
    more = replace(WHOLE, waiting=(pod, replace(pod, words="0/9 nodes are available: 9 Insufficient nvidia.com/gpu."), replace(pod, words="", subject=None, job=None)))  # fmt: skip
    found = pending.of(more)
    first = found.reasons[0]
    assert ("Insufficient nvidia.com/gpu", 2, 9) == (first.reason, first.pods, first.nodes)
    assert (1, 3) == (found.unscheduled, found.paging.total)
    assert ("", "") == (found.pods[2].profile, found.pods[2].job)


def test_the_nearest_misses_of_a_pod_are_those_of_explain() -> None:
    """What fits, what does not and what would help."""
    (pod,) = WHOLE.waiting
    found = pending.asked(pod, spots.explained(pod, snapshot(), GPUS, builders.shipped()))
    assert ({"node-6", "node-8"}, 2) == ({one.node for one in found.fits}, found.able)
    assert ("node-3", "devices taken", 5) == (
        found.misses[0].node, found.misses[0].kind, found.misses[0].lacking,
    )  # fmt: skip
    assert 7 == sum(one.nodes for one in found.tallies)


def test_what_no_node_offers_is_told_of_a_pod_that_waits() -> None:
    """As explain tells it."""
    made = mapped.node("a")
    made["status"]["allocatable"] = {}
    scene = mapped.scene({"nodes": [made], "pods": [mapped.worker("late-0")]})
    (pod,) = scene.waiting
    there = spots.Plotter().plot(scene, GPUS)
    found = pending.asked(pod, spots.explained(pod, there, GPUS, builders.shipped()))
    assert ("nvidia.com/gpu" in found.absent, "not offered") == (True, found.tallies[0].kind)


def test_a_pod_that_cannot_be_explained_is_told_without_nodes() -> None:
    """Its marker says that it got no rails, or there is none."""
    (pod,) = WHOLE.waiting
    bare = replace(pod, document={"metadata": {}, "spec": {}})
    assert spots.explained(bare, snapshot(), GPUS, {}) is None
    found = pending.asked(bare, None)
    assert (0, ()) == (found.able, found.misses)


def test_a_fit_on_a_node_of_which_nothing_is_known_has_no_distance() -> None:
    """Nor a worth."""
    made = mapped.node("a", shape="of-nobody")
    scene = mapped.scene({"nodes": [made], "pods": [mapped.worker("late-0")]})
    (pod,) = scene.waiting
    there = spots.Plotter().plot(scene, GPUS)
    found = pending.asked(pod, spots.explained(pod, there, GPUS, builders.shipped()))
    assert [("a", None, "")] == [(one.node, one.worth, one.tier) for one in found.fits]


def test_a_spot_is_made_anew_only_with_its_machine() -> None:
    """And jobs on nodes that are gone claim nothing."""
    plotter = spots.Plotter()
    first = plotter.plot(WHOLE, GPUS)
    gone = replace(WHOLE, machines={"node-3": WHOLE.machines["node-3"]})
    later = plotter.plot(gone, GPUS)
    assert later.spots[0] in first.spots
    assert (0, 1) == (later.siblings.crew("team/train").pods, later.siblings.crew("team/half").pods)
    assert later.lookup(an_owner()) is None


def an_owner() -> Owner:
    """An object that would know the size of a job."""
    return Owner("Job.batch", "team", "train")


def test_a_tenant_without_a_job_has_no_index() -> None:
    """It counts among the job's pods all the same."""
    tenants = WHOLE.jobs["team/half"]
    bare = replace(tenants[0], pod=replace(tenants[0].pod, job=None))
    found = spots.Plotter().plot(replace(WHOLE, jobs={"team/half": (bare,)}), GPUS)
    assert 1 == found.siblings.crew("team/half").pods


def verdicts(around: Around, whole: object = WHOLE) -> dict[str, list[Verdict]]:
    """The verdicts by check."""
    found: dict[str, list[Verdict]] = {}
    for one in health.of(whole, around).findings:  # type: ignore[arg-type]  # a scene
        found.setdefault(one.check, []).append(one.verdict)
    return found


def test_health_is_told_by_what_can_be_seen() -> None:
    """Agents, programs, views."""
    found = verdicts(Around(1, active=True))
    assert [Verdict.WARN, Verdict.WARN] == found["agents"]
    assert [Verdict.WARN] == found["program.webhook"]
    assert [Verdict.OK] == found["program.extender"]
    assert [Verdict.FAIL] == found["program.certs"]
    assert [Verdict.UNKNOWN] == found["program.nodeagent"]
    assert ([Verdict.OK], [Verdict.OK]) == (found["map"], found["lease"])
    assert "profiles" not in found
    assert Verdict.FAIL is health.of(WHOLE, Around(1, active=True)).verdict


@pytest.mark.parametrize(
    ("ends", "problem", "verdict"),
    [
        pytest.param(20, "", Verdict.OK, id="good"),
        pytest.param(2, "", Verdict.WARN, id="late"),
        pytest.param(-1, "", Verdict.FAIL, id="ended"),
        pytest.param(0, "nobody is there", Verdict.FAIL, id="none"),
    ],
)
def test_a_certificate_is_judged_by_what_is_left(ends: int, problem: str, verdict: Verdict) -> None:
    """As podrail doctor does: a fifth of its life."""
    end = mapped.NOW + ends * DAY
    one = Certificate("x", mapped.NOW - 10 * DAY, end, problem)
    assert [verdict] == verdicts(Around(1, active=True, certificates=(one,)))["certificate"]


def test_an_old_view_is_a_failure() -> None:
    """And who does not hold the lease looks on; profiles that are not ready are told."""
    found = verdicts(Around(999, active=False, ready={"True": 2, "False": 1}))
    assert ([Verdict.FAIL], [Verdict.OK]) == (found["map"], found["lease"])
    assert [Verdict.WARN] == found["profiles"]
    assert [Verdict.OK] == verdicts(Around(1, active=True, ready={"True": 2}))["profiles"]


def test_a_cluster_without_gpus_has_no_agents_to_miss() -> None:
    """And one whose agents are all heard is well."""
    bare = mapped.scene({"nodes": []})
    assert [Verdict.UNKNOWN] == verdicts(Around(1, active=True), bare)["agents"]
    fresh = replace(WHOLE, machines={"node-0": WHOLE.machines["node-0"]}, own=())
    assert [Verdict.OK] == verdicts(Around(1, active=True), fresh)["agents"]
    assert Verdict.UNKNOWN is health.of(fresh, Around(1, active=True)).verdict


def test_with_nothing_to_say_all_is_well() -> None:
    """The worst of no findings."""
    own = tuple(replace(one, ready=True) for one in WHOLE.own)
    agent = replace(own[0], key="a", component="nodeagent")
    fresh = replace(WHOLE, machines={"node-0": WHOLE.machines["node-0"]}, own=(*own, agent))
    assert Verdict.OK is health.of(fresh, Around(1, active=True)).verdict


def test_every_view_is_json() -> None:
    """In camelCase, with words for what has a name."""
    (pod,) = WHOLE.waiting
    explained = spots.explained(pod, snapshot(), GPUS, builders.shipped())
    views = {
        "fleet": fleet.of(WHOLE, OVERVIEW, Query()),
        "node": node.of(WHOLE.machines["node-1"]),
        "job": job.of("team/train", WHOLE),
        "pending": pending.of(WHOLE),
        "asked": pending.asked(pod, explained),
        "health": health.of(WHOLE, Around(1, active=True)),
    }
    found = json.loads(json.dumps(plain.document(views)))
    assert "observedAt" in found["node"]["host"]
    assert 0.9792 == found["job"]["observed"]
    assert "fail" == found["health"]["verdict"]
