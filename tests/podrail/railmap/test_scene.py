"""The map as a whole: who holds what where, and that what stays the same is not made anew."""

from __future__ import annotations

from dataclasses import replace

import audited
import mapped
import placing
import pytest

from podrail.audit.outcome import By
from podrail.evidence.atlas import Atlas
from podrail.railmap import machine, tenant
from podrail.railmap.facts import Agent
from podrail.railmap.machine import Condition, Machine, Use, Voice
from podrail.railmap.scene import Scene
from podrail.topology import State

WHOLE = mapped.scene()


def conditions(one: Machine) -> str:
    """A letter for each rail."""
    return "".join(rail.condition.value[1] for rail in one.rails)


@pytest.mark.parametrize(
    ("node", "rails", "use", "free", "voice"),
    [
        pytest.param("node-0", "eeeeeeee", Use.FULL, 0, Voice.FRESH, id="a whole pod"),
        pytest.param("node-1", "eeeoeeee", Use.FULL, 0, Voice.FRESH, id="a rail down"),
        pytest.param("node-3", "eeeerrrr", Use.FRAGMENTED, 3, Voice.FRESH, id="half a node"),
        pytest.param("node-6", "rrrrrrrr", Use.FREE, 8, Voice.SILENT, id="not heard"),
        pytest.param("node-7", "eeeeeeee", Use.FULL, 0, Voice.NEVER, id="by markers"),
    ],
)
def test_how_a_node_stands(node: str, rails: str, use: Use, free: int, voice: Voice) -> None:
    """f(r)ee, h(e)ld, d(o)wn by rail; its use by GPUs; its agent by its last word."""
    one = WHOLE.machines[node]
    assert (rails, use, free, voice) == (conditions(one), one.use, one.free, one.voice)


def test_a_suspect_rail_is_degraded_and_told_with_its_holder() -> None:
    """Whatever is wrong, who has it is told."""
    rail = WHOLE.machines["node-2"].rails[5]
    assert (Condition.DEGRADED, ("team/train-2",)) == (rail.condition, rail.pods)
    assert "PortDown" == WHOLE.machines["node-1"].rails[3].cause


def test_a_rail_of_two_ports_is_down_only_with_both() -> None:
    """With one of them it is degraded."""
    two = placing.SHAPES["podrail-aligned"]
    first = two.nics[0]
    shape = replace(two, nics=(
        first, replace(first, name="b", state=State.DOWN), replace(two.nics[2], rail=None), *two.nics[3:]
    ))  # fmt: skip
    found = machine.of(
        mapped.known().nodes["node-0"],
        Agent(topology=shape),
        Voice.FRESH,
        (),
        machine.Surroundings(Atlas(placing.SHAPES), mapped.OURS.gpus),
    )
    assert Condition.DEGRADED is found.rails[0].condition
    assert (0, 3, 4, 5, 6, 7) == tuple(rail.number for rail in found.rails)


def test_a_node_without_anything_is_none() -> None:
    """No GPUs, no rails."""
    found = mapped.scene({"nodes": [{"metadata": {"name": "a"}}]}).machines["a"]
    assert (Use.NONE, (), None) == (found.use, found.rails, found.topology)


@pytest.mark.parametrize(
    ("agent", "voice"),
    [
        pytest.param(None, Voice.NEVER, id="no object"),
        pytest.param(Agent(), Voice.NEVER, id="an override alone"),
        pytest.param(Agent(why="x"), Voice.BROKEN, id="unreadable"),
    ],
)
def test_a_node_without_an_agent(agent: Agent | None, voice: Voice) -> None:
    """Has no voice, or one that is not understood."""
    assert voice is machine.voice(agent, 0, 900)


def holders(whole: Scene) -> dict[str, tuple[tuple[int, ...], tuple[int, ...], By | None]]:
    """GPUs, rails and how they are known, by pod."""
    return {key: (one.gpus, one.rails, one.by) for key, one in whole.tenants.items()}


def test_what_a_pod_holds_is_what_its_agent_saw_else_what_was_promised() -> None:
    """A stranger's GPUs are seen too."""
    found = holders(WHOLE)
    half, eight = (0, 1, 2, 3), tuple(range(8))
    assert (half, half, By.DEVICES) == found["team/half-0"]
    assert ((5,), (), By.DEVICES) == found["team/other"]
    assert (eight, eight, By.MARKERS) == found["team/crossed-0"]


def test_without_an_agent_strangers_hold_nothing_known() -> None:
    """Their GPUs are counted all the same."""
    given = mapped.documents()
    found = mapped.scene({**given, "rails": []})
    assert ((), (), None) == holders(found)["team/other"]
    assert 3 == found.machines["node-3"].free


def test_of_a_pod_not_placed_by_podrail_the_admission_tells_the_rails() -> None:
    """Its GPUs are anybody's guess."""
    pod = mapped.worker("train-0", "node-0")
    notes = {k: v for k, v in pod["metadata"]["annotations"].items() if not k.endswith("placement")}
    bare = {**pod, "metadata": {**pod["metadata"], "annotations": notes}}
    found = mapped.scene({"nodes": [mapped.node("node-0")], "pods": [bare]})
    assert ((), tuple(range(8)), By.MARKERS) == holders(found)["team/train-0"]


def test_gpus_that_the_kubelet_may_choose_are_not_told() -> None:
    """The likeliest set is no certainty."""
    pod = mapped.known({"nodes": [], "pods": [mapped.worker("half-0", "node-0", 4)]}).pods["team/half-0"]  # fmt: skip
    assert () == tenant.of(pod, None, None).gpus


def test_what_was_seen_before_a_pod_began_is_not_its_own() -> None:
    """An earlier pod had its name."""
    early = audited.node_rails({"team/x": ([1], [1])}, at="2026-11-30T07:00:00Z", name="node-0")
    given = {
        "nodes": [mapped.node("node-0")],
        "pods": [mapped.stranger("x", "node-0", 1)],
        "rails": [audited.written(early)],
    }
    assert ((), (), None) == holders(mapped.scene(given))["team/x"]


def test_a_pod_that_podrail_does_not_know_as_its_own_is_no_tenant_with_devices() -> None:
    """Without a subject nothing but its counts is known."""
    pod = replace(mapped.known().pods["team/other"], subject=None)
    seen = audited.seen(held={"team/other": ([1], [])})
    assert () == tenant.of(pod, seen, None).gpus


def test_what_did_not_change_is_the_same_object() -> None:
    """A second look costs little; news of a node make that node anew."""
    drafter, given = mapped.drafter(), mapped.known()
    first = drafter.draw(given, mapped.OURS, mapped.NOW)
    nodes = {**given.nodes, "node-0": replace(given.nodes["node-0"], cordoned=True)}
    later = drafter.draw(replace(given, nodes=nodes), mapped.OURS, mapped.NOW + 1)
    same = {name for name in first.machines if first.machines[name] is later.machines[name]}
    assert set(first.machines) - {"node-0"} == same
    assert all(first.tenants[key] is later.tenants[key] for key in first.tenants)


def test_other_rules_make_all_anew() -> None:
    """What counts as a GPU may have changed."""
    drafter, given = mapped.drafter(), mapped.known()
    drafter.draw(given, mapped.OURS, mapped.NOW)
    later = drafter.draw(given, replace(mapped.OURS, gpus=frozenset()), mapped.NOW)
    assert {0} == {one.gpus for one in later.machines.values()}


def test_numbers_in_names_count() -> None:
    """Ten comes after nine, and what is not known last."""
    made = [mapped.node(name) for name in ("n10", "n9")] + [mapped.node("a", "")]
    assert ["n9", "n10", "a"] == list(mapped.scene({"nodes": made}).machines)


def test_jobs_have_their_pods_in_order() -> None:
    """By index."""
    found = {key: [one.pod.key for one in some] for key, some in WHOLE.jobs.items()}
    assert ["team/crossed", "team/half", "team/train"] == list(found)
    assert ["team/train-0", "team/train-1", "team/train-2"] == found["team/train"]
    assert ["team/late-0"] == [one.key for one in WHOLE.waiting]
    assert 5 == len(WHOLE.own)
