"""The agent on files of a machine, a real gRPC socket and an API server; time is the test's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import agents
import pytest
from agents import Stage
from kubelet_socket import Given, Pod
from prometheus_client.parser import text_string_to_metric_families

from nodeagent import agent, writer
from podrail.evidence import noderails
from podrail.topology import Topology

FIRST = agents.gpus(1)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A node with eight GPUs and eight NICs, two VFs each."""
    with agents.stage(tmp_path, vfs=2) as found:
        yield found


def states(stage: Stage) -> str:
    """The first letter of each NIC's state, as written."""
    return "".join(nic.get("state", "?")[0] for nic in stage.status["nics"])


def codes(stage: Stage) -> list[str]:
    """The troubles, as written."""
    return [one["code"] for one in stage.status.get("troubles", ())]


def test_the_first_round_writes_an_object_that_reads_well(stage: Stage) -> None:
    """Made where there is none; and the node's hash."""
    stage.after(1)
    found = noderails.read(
        {
            key: stage.api.objects[agents.OBJECT][key]
            for key in ("apiVersion", "kind", "metadata", "spec", "status")
        }
    )
    assert found.observed is not None
    assert (8, 8, "T1001") == (
        len(found.observed.gpus),
        len(found.observed.rails),
        found.observed_at,
    )
    assert "uuuuuuuu" == states(stage)
    assert stage.free is not None
    assert 16 == len(stage.free)
    assert [] == list(stage.agent.problems())


def test_how_interfaces_spread_what_they_receive_is_written(stage: Stage) -> None:
    """Of those that are up and whose queues can be seen; a VF's are the pod's."""
    stage.machine.receives("rail0", ("00000000,00000000", "0"), ("00000000,0000ff00", "4096"))
    stage.machine.receives("rail1", ("0", "0"), state="down")
    stage.machine.flows(32768)
    stage.after(1)
    host = stage.status["host"]
    assert ([{"name": "rail0", "queues": 2, "rps": 1, "rfs": 1}], 32768) == (
        host["netdevs"],
        host["rpsSockFlowEntries"],
    )


def test_nothing_new_is_not_written(stage: Stage) -> None:
    """Only a heartbeat, after minutes."""
    stage.after(1)
    writes = len(stage.api.writes)
    for _ in range(20):
        stage.after(2)
    assert writes == len(stage.api.writes)
    stage.after(writer.HEARTBEAT_SECONDS)
    assert writes + 1 == len(stage.api.writes)


def test_a_port_that_goes_down_is_written_within_seconds(stage: Stage) -> None:
    """And one that comes up again; the hash changes both times."""
    stage.after(1)
    before = stage.free
    stage.machine.port(3, state="1: DOWN")
    stage.after(agent.GLANCE_SECONDS)
    assert ("uuuduuuu", ["PortDown"]) == (states(stage), codes(stage))
    stage.after(writer.FREE_SECONDS)
    assert before != stage.free
    stage.machine.port(3, state="4: ACTIVE")
    stage.after(agent.GLANCE_SECONDS)
    assert ("uuuuuuuu", []) == (states(stage), codes(stage))
    stage.after(writer.FREE_SECONDS)
    assert before == stage.free


def test_a_gpu_that_falls_off_the_bus_is_written_within_seconds(stage: Stage) -> None:
    """Its configuration reads as all ones."""
    stage.after(1)
    (stage.machine.function(stage.machine.gpus[5]) / "config").write_bytes(b"\xff" * 64)
    stage.after(agent.GLANCE_SECONDS)
    assert ["GpuLost"] == codes(stage)
    assert [at != 5 for at in range(8)] == [one["healthy"] for one in stage.status["gpus"]]


def test_a_vf_that_is_gone_is_written_within_seconds(stage: Stage) -> None:
    """The rail is suspect."""
    stage.after(1)
    folder = stage.machine.function(stage.machine.nics[2])
    (folder / "virtfn1").unlink()
    stage.machine.unplug(f"{stage.machine.nics[2][:-1]}2")
    stage.after(agent.GLANCE_SECONDS)
    assert ("uusuuuuu", ["VfGone"]) == (states(stage), codes(stage))


def test_allocations_are_those_of_the_kubelet(stage: Stage) -> None:
    """A device that is taken changes the hash, not more often than allowed."""
    stage.after(1)
    before = stage.free
    vf = Given("example.com/rail1", (f"{stage.machine.nics[1][:-1]}1",), (0,))
    stage.kubelet.pods = [Pod("p", (FIRST, vf))]
    stage.after(agent.USAGE_SECONDS)
    held = [(one["resource"], one["pod"]) for one in stage.status["allocations"]]
    assert [("example.com/rail1", "p"), ("nvidia.com/gpu", "p")] == held
    assert "example.com/rail1" == stage.status["nics"][1]["resource"]
    assert before != stage.free
    taken = stage.free
    stage.kubelet.pods = []
    stage.after(writer.FREE_SECONDS - 1)
    assert taken == stage.free
    stage.after(1)
    stage.after(agent.USAGE_SECONDS)
    assert before == stage.free


def test_a_kubelet_that_does_not_answer_changes_nothing(stage: Stage, tmp_path: Path) -> None:
    """What it said last holds; it is counted."""
    stage.kubelet.pods = [Pod("p", (FIRST,))]
    stage.after(1)
    (tmp_path / "kubelet.sock").unlink()
    stage.after(agent.USAGE_SECONDS)
    assert 1 == len(stage.status["allocations"])
    assert "podrail_nodeagent_kubelet_errors_total 1.0" in stage.metrics.text()


def test_counters_make_a_rail_suspect_and_are_shown(stage: Stage) -> None:
    """Retransmits over the limit."""
    stage.machine.count(4, local_ack_timeout_err=0, np_cnp_sent=5)
    stage.after(1)
    stage.machine.count(4, local_ack_timeout_err=100_000, np_cnp_sent=7)
    stage.after(agent.COUNT_SECONDS)
    assert ("uuuusuuu", ["Retransmits"]) == (states(stage), codes(stage))
    told = {
        (sample.labels["device"], sample.labels["group"]): sample.value
        for family in text_string_to_metric_families(stage.metrics.text())
        if "port_events" in family.name
        for sample in family.samples
    }
    assert (100_000, 7) == (told["mlx5_4", "retransmits"], told["mlx5_4", "congestion"])


def test_marks_of_other_systems_hold_until_they_run_out(stage: Stage) -> None:
    """One beside it that is wrong harms nothing."""
    until = "2026-11-30T11:00:00Z"
    notes = {
        "podrail.dev/health.nvsentinel": f'[{{"rail": 6, "state": "down", "until": "{until}"}}]',
        "podrail.dev/health.other": "what?",
    }
    stage.node.value = {"metadata": {"annotations": notes}}
    stage.after(1)
    assert ("uuuuuudu", ["MarkedDown"]) == (states(stage), codes(stage))
    stage.after(3600)
    assert "uuuuuuuu" == states(stage)


def test_an_agent_that_begins_anew_remembers_the_boot(stage: Stage) -> None:
    """A NIC that was lost meanwhile keeps its rail; after a boot it never was."""
    stage.after(1)
    stage.machine.unplug(stage.machine.nics[2])
    stage.restart()
    stage.after(1)
    assert ("uuduuuuu", ["NicLost"]) == (states(stage), codes(stage))
    stage.machine.boot("another")
    stage.restart()
    stage.after(1)
    assert ("uuuuuuu", []) == (states(stage), codes(stage))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "kind: KubeletConfiguration\ntopologyManagerPolicy: restricted\n",
            ("restricted", "container"),
        ),
        ("kind: KubeletConfiguration\n", ("none", "container")),
        ("", ("single-numa-node", "container")),
        ("]", ("single-numa-node", "container")),
    ],
    ids=["file", "defaults", "empty", "broken"],
)
def test_the_kubelets_policy_is_from_its_file_or_configz(
    stage: Stage, tmp_path: Path, text: str, expected: tuple[str, str]
) -> None:
    """/configz only where the file says nothing."""
    (tmp_path / "config.yaml").write_text(text)
    found = {"kubeletconfig": {"topologyManagerPolicy": "single-numa-node"}}
    stage.api.objects["/api/v1/nodes/n1/proxy/configz"] = found
    kubelet = stage.after(1)["kubelet"]
    assert expected == (kubelet["policy"], kubelet["scope"])


def test_an_unknown_policy_is_said_to_be_unknown(stage: Stage) -> None:
    """No file is mounted, and /configz is not allowed."""
    assert {"policy": "", "scope": "", "options": []} == stage.after(1)["kubelet"]


def test_an_api_server_that_says_no_is_asked_again_later(stage: Stage) -> None:
    """Not in every round; what was seen meanwhile is written then."""
    stage.api.refusing = 503
    for _ in range(10):
        stage.after(2)
    assert ["NodeRails is not written"] == list(stage.agent.problems())
    stage.api.refusing = 0
    stage.after(20)
    stage.after(2)
    assert "uuuuuuuu" == states(stage)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        pytest.param(replace(agents.SHAPE, nics=(), tiers=((),) * 8), "NoNics", id="no NICs"),
        pytest.param(replace(agents.SHAPE, gpus=(), tiers=()), "NoGpus", id="no GPUs"),
    ],
)
def test_a_node_without_rails_is_idle_and_says_why(
    shape: Topology, reason: str, tmp_path: Path
) -> None:
    """Nothing is written, and the agent is ready."""
    with agents.stage(tmp_path, shape) as stage:
        stage.after(1)
        assert [] == stage.api.writes
        assert [] == list(stage.agent.problems())
        assert f'podrail_nodeagent_idle{{reason="{reason}"}} 1.0' in stage.metrics.text()


def test_an_object_of_a_node_that_lost_its_nics_says_so(stage: Stage) -> None:
    """After a boot without their driver, what was written before must not stand."""
    stage.after(1)
    for address in stage.machine.nics:
        stage.machine.unplug(address)
    stage.machine.boot("another")
    stage.restart()
    status = stage.after(1)
    assert (["NoNics"], None) == (codes(stage), status.get("nics"))


def test_trees_that_say_nonsense_end_nothing(stage: Stage) -> None:
    """Whatever is in a file, the agent goes on."""
    stage.after(1)
    for path in [*stage.machine.sys.rglob("numa_node"), *stage.machine.sys.rglob("rate")]:
        path.write_bytes(b"\xff\xfe" * 40)
    for path in stage.machine.proc.rglob("information"):
        path.write_text("Model\n::\n")
    stage.machine.port(0, state="")
    stage.after(agent.LOOK_SECONDS)
    assert 8 == len(stage.status["nics"])
    assert "podrail_nodeagent_faults_total 0.0" in stage.metrics.text()
