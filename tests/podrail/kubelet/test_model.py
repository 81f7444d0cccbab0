"""Tables D3, D4 and D5 were measured on the real packages; here they come out of the model."""

from __future__ import annotations

from fractions import Fraction

import kubelets
import pytest

from podrail.kubelet import model
from podrail.kubelet.model import Code, Lasting, Outcome, Outcomes, Refused
from podrail.kubelet.node import (
    Card,
    Container,
    Kind,
    Kubelet,
    Node,
    Policy,
    Request,
    Resource,
    Scope,
)

Chances = dict[tuple[int, ...], Fraction]
ALL = range(8)
LOW = (0, 1, 2, 3)
HIGH = (4, 5, 6, 7)


def granted(node: Node, request: Request) -> Outcomes:
    found = model.outcomes(node, request)
    assert isinstance(found, Outcomes)
    return found


def gpu_sets(node: Node, many: int) -> Chances:
    found = granted(node, kubelets.pod(gpus=many))
    assert found.exact
    assert sum(one.chance for one in found.outcomes) == 1
    return {one.gpus: one.chance for one in found.outcomes}


def evenly(*sets: tuple[int, ...]) -> Chances:
    return dict.fromkeys(sets, Fraction(1, len(sets)))


def within(*halves: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The pairs inside each half."""
    return [(a, b) for half in halves for a in half for b in half if a < b]


def across(few: int) -> list[tuple[int, ...]]:
    """Sets of three of one socket and one of the other, without GPU 0 and 4."""
    low, high = (1, 2, 3), (5, 6, 7)
    return [(*low, one) for one in high] if few else [(one, *high) for one in low]


@pytest.mark.parametrize(
    ("held", "many", "expected"),
    [
        pytest.param((), 1, evenly(*((at,) for at in ALL)), id="all free, 1"),
        pytest.param((), 2, evenly(*within(LOW, HIGH)), id="all free, 2"),
        pytest.param((), 4, evenly(LOW, HIGH), id="all free, 4"),
        pytest.param((), 8, evenly((*LOW, *HIGH)), id="all free, 8"),
        pytest.param((0,), 1, evenly(*((at,) for at in range(1, 8))), id="0 held, 1"),
        pytest.param(
            (0,),
            2,
            dict.fromkeys(within((1, 2, 3)), Fraction(1, 7))
            | dict.fromkeys(within(HIGH), Fraction(2, 21)),
            id="0 held, 2",
        ),
        pytest.param((0,), 4, evenly(HIGH), id="0 held, 4"),
        pytest.param((0, 4), 2, evenly(*within((1, 2, 3), (5, 6, 7))), id="0 and 4 held, 2"),
        pytest.param((0, 4), 4, evenly(*across(0), *across(1)), id="0 and 4 held, 4"),
        pytest.param(
            (1, 2),
            2,
            {(0, 3): Fraction(1, 3)} | dict.fromkeys(within(HIGH), Fraction(1, 9)),
            id="1 and 2 held, 2",
        ),
        pytest.param((1, 2), 4, evenly(HIGH), id="1 and 2 held, 4"),
        pytest.param((0, 1, 4, 5), 2, evenly((2, 3), (6, 7)), id="two held of each, 2"),
        pytest.param((0, 1, 4, 5), 4, evenly((2, 3, 6, 7)), id="two held of each, 4"),
    ],
)
def test_table_d3(held: tuple[int, ...], many: int, expected: Chances) -> None:
    """The GPUs of an 8-GPU NVSwitch node without a topology policy."""
    node = kubelets.node(kubelets.machine(kubelets.gpus()), held)
    assert expected == gpu_sets(node, many)


def test_table_d3_with_pcie_switches() -> None:
    """With two GPUs under each PCIe switch a 2-GPU pod gets a switch's pair."""
    node = kubelets.machine(kubelets.gpus(switch=2)).everything()
    assert evenly((0, 1), (2, 3), (4, 5), (6, 7)) == gpu_sets(node, 2)


@pytest.mark.parametrize(
    ("policy", "switch", "many", "expected"),
    [
        pytest.param(Policy.NONE, 1, 1, (1 / 8, 1 / 8), id="none, 1"),
        pytest.param(Policy.NONE, 1, 2, (1 / 12, 1 / 4), id="none, 2"),
        pytest.param(Policy.NONE, 2, 2, (1 / 4, 1 / 4), id="none, 2, switch pairs"),
        pytest.param(Policy.NONE, 1, 4, (1 / 2, 1 / 2), id="none, 4"),
        pytest.param(Policy.NONE, 1, 8, (1, 1), id="none, 8"),
        pytest.param(Policy.BEST_EFFORT, 1, 1, (1 / 4, 1 / 4), id="steered, 1"),
        pytest.param(Policy.BEST_EFFORT, 1, 2, (1 / 6, 1 / 2), id="steered, 2"),
        pytest.param(Policy.BEST_EFFORT, 2, 2, (1 / 2, 1 / 2), id="steered, 2, switch pairs"),
        pytest.param(Policy.BEST_EFFORT, 1, 4, (1, 1), id="steered, 4"),
        pytest.param(Policy.BEST_EFFORT, 1, 8, (1, 1), id="steered, 8"),
    ],
)
def test_table_d4(policy: Policy, switch: int, many: int, expected: tuple[float, float]) -> None:
    """How likely it is that the first rails are those of the GPUs: all of them, and on the mean."""
    machine = kubelets.machine(kubelets.gpus(switch=switch), *kubelets.rails(), policy=policy)
    found = granted(machine.everything(), kubelets.pod(gpus=many, rails=range(many)))
    whole = sum(one.chance for one in found.outcomes if one.gpus == one.nics)
    mean = sum(one.chance * len({*one.gpus} & {*one.nics}) / many for one in found.outcomes)
    assert expected == pytest.approx((float(whole), float(mean)))


FOUR = kubelets.pod(gpus=4, rails=range(4))
TWO = kubelets.pod(gpus=2, rails=(0, 4))
WHOLE = kubelets.pod(gpus=8, rails=ALL)
POOLED = kubelets.pod(gpus=8, pool=8)
BOTH = dict.fromkeys([Policy.RESTRICTED, Policy.SINGLE_NUMA_NODE], Code.NUMA_DISAGREE)
TOO_WIDE = {Policy.SINGLE_NUMA_NODE: Code.NUMA_TOO_SMALL}


@pytest.mark.parametrize(
    ("request_", "held", "told", "expected"),
    [
        pytest.param(FOUR, (), True, {}, id="4"),
        pytest.param(FOUR, (0,), True, BOTH, id="4, one of them held"),
        pytest.param(TWO, (), True, BOTH, id="2, rails of both sockets"),
        pytest.param(WHOLE, (), True, BOTH | TOO_WIDE, id="8, eight rails"),
        pytest.param(POOLED, (), True, TOO_WIDE, id="8, pooled"),
        pytest.param(WHOLE, (), False, TOO_WIDE, id="8, rails without NUMA"),
        pytest.param(FOUR, (), False, {}, id="4, rails without NUMA"),
    ],
)
def test_table_d5(
    request_: Request, held: tuple[int, ...], *, told: bool, expected: dict[Policy, Code]
) -> None:
    """Which policies refuse rails of their own, a pool, and rails that publish no NUMA node."""
    refused = {}
    for policy in Policy:
        resources = (kubelets.gpus(), *kubelets.rails(told=told), kubelets.pool(told=told))
        machine = kubelets.machine(*resources, policy=policy)
        found = model.outcomes(kubelets.node(machine, held), request_)
        if isinstance(found, Refused):
            refused[policy] = found.code
    assert expected == refused


@pytest.mark.parametrize(
    ("many", "held", "expected"),
    [
        pytest.param(4, (), Outcome(LOW, LOW, Fraction(1)), id="steered by its rails"),
        pytest.param(4, (0,), None, id="one is missing"),
        pytest.param(8, (), Outcome((*LOW, *HIGH), LOW, Fraction(1)), id="whole node"),
    ],
)
def test_best_effort(many: int, held: tuple[int, ...], expected: Outcome | None) -> None:
    """Rails of one NUMA node steer the GPUs to it, as far as there are GPUs."""
    machine = kubelets.machine(kubelets.gpus(), *kubelets.rails(), policy=Policy.BEST_EFFORT)
    found = granted(kubelets.node(machine, held), kubelets.pod(gpus=many, rails=LOW))
    if expected is not None:
        assert (expected,) == found.outcomes
    else:
        assert evenly(*((1, 2, 3, at) for at in HIGH)) == {
            one.gpus: one.chance for one in found.outcomes
        }


@pytest.mark.parametrize(
    ("policy", "request_", "held", "expected"),
    [
        pytest.param(
            Policy.RESTRICTED, WHOLE, (), (Code.NUMA_DISAGREE, Lasting.PERMANENT), id="never"
        ),
        pytest.param(
            Policy.RESTRICTED, FOUR, (0,), (Code.NUMA_DISAGREE, Lasting.TEMPORARY), id="until freed"
        ),
        pytest.param(
            Policy.NONE,
            kubelets.pod(gpus=8),
            (0,),
            (Code.TOO_FEW_DEVICES, Lasting.TEMPORARY),
            id="too few now",
        ),
        pytest.param(
            Policy.NONE,
            kubelets.pod(gpus=9),
            (),
            (Code.TOO_FEW_DEVICES, Lasting.PERMANENT),
            id="too few ever",
        ),
        pytest.param(
            Policy.RESTRICTED,
            kubelets.pod(gpus=9),
            (),
            (Code.TOO_FEW_DEVICES, Lasting.PERMANENT),
            id="too few ever, restricted",
        ),
    ],
)
def test_refusals(
    policy: Policy, request_: Request, held: tuple[int, ...], expected: tuple[Code, Lasting]
) -> None:
    """A refusal is permanent if the node would refuse the pod with everything free as well."""
    machine = kubelets.machine(kubelets.gpus(), *kubelets.rails(), policy=policy)
    found = model.outcomes(kubelets.node(machine, held), request_)
    assert isinstance(found, Refused)
    assert expected == (found.code, found.lasting)
    assert found.message == model.MESSAGES[found.code]


@pytest.mark.parametrize(
    ("policy", "held", "expected"),
    [
        pytest.param(Policy.RESTRICTED, (0, 4), Code.NUMA_FRAGMENTED, id="restricted"),
        pytest.param(Policy.SINGLE_NUMA_NODE, (0, 4), Code.NUMA_FRAGMENTED, id="single"),
    ],
)
def test_one_gpu_taken_on_each_socket(
    policy: Policy, held: tuple[int, ...], expected: Code
) -> None:
    """The case of ci-infra#696: six GPUs are free, yet no socket has four; that passes."""
    node = kubelets.node(kubelets.machine(kubelets.gpus(), policy=policy), held)
    assert Refused(expected, Lasting.TEMPORARY) == model.outcomes(node, kubelets.pod(gpus=4))


def test_reversed_rails() -> None:
    """The kubelet knows no pairs: NICs that lie the other way round get the GPUs of their socket."""
    backwards = tuple(reversed(kubelets.TWO_SOCKETS))
    machine = kubelets.machine(
        kubelets.gpus(), *kubelets.rails(backwards), policy=Policy.BEST_EFFORT
    )
    found = granted(machine.everything(), kubelets.pod(gpus=4, rails=LOW))
    assert (Outcome(HIGH, LOW, Fraction(1)),) == found.outcomes


def test_two_gpus_and_two_nics_under_each_switch() -> None:
    """A100 with 2:2: the GPUs are a switch's pair, the NICs any pair of the pool's."""
    machine = kubelets.machine(
        kubelets.gpus(switch=2), kubelets.pool(), policy=Policy.SINGLE_NUMA_NODE
    )
    found = granted(machine.everything(), kubelets.pod(gpus=2, pool=2))
    assert {(0, 1), (2, 3)} == {one.gpus for one in found.outcomes}
    assert set(within(LOW)) == {one.nics for one in found.outcomes}
    assert {Fraction(1, 12)} == {one.chance for one in found.outcomes}


def test_four_gpus_on_two_sockets_of_their_own() -> None:
    """GB200: a GPU and a NIC per rail are as the NUMA node says, whatever PCIe looks like."""
    numas = (0, 0, 1, 1)
    machine = kubelets.machine(
        kubelets.gpus(numas, nvlinks=18), *kubelets.rails(numas), policy=Policy.RESTRICTED
    )
    found = granted(machine.everything(), kubelets.pod(gpus=2, rails=(2, 3)))
    assert (Outcome((2, 3), (2, 3), Fraction(1)),) == found.outcomes


def test_two_gpus_share_a_nic() -> None:
    """p4d with 2:1: 4 GPUs and the two NICs of their socket come together."""
    nics = kubelets.pool((0, 0, 1, 1))
    machine = kubelets.machine(kubelets.gpus(), nics, policy=Policy.RESTRICTED)
    found = granted(machine.everything(), kubelets.pod(gpus=4, pool=2))
    assert (Outcome(LOW, (0, 1), Fraction(1)),) == found.outcomes


def test_asymmetric_pcie() -> None:
    """koordinator#2646: all NICs on one socket pull the GPUs there, and refuse what is elsewhere."""
    machine = kubelets.machine(
        kubelets.gpus(), kubelets.pool((1, 1, 1, 1)), policy=Policy.RESTRICTED
    )
    request = kubelets.pod(gpus=4, pool=4)
    assert (Outcome(HIGH, LOW, Fraction(1)),) == granted(machine.everything(), request).outcomes
    held = model.outcomes(kubelets.node(machine, (7,)), request)
    assert Refused(Code.NUMA_DISAGREE, Lasting.TEMPORARY) == held


def test_a_shared_pool_gives_all_its_nics() -> None:
    """k8s-rdma-shared-dev-plugin: whichever device it is, every NIC of the pool is opened."""
    nics = kubelets.shared_pool(ALL)
    machine = kubelets.machine(kubelets.gpus(), nics, policy=Policy.RESTRICTED)
    found = granted(machine.everything(), kubelets.pod(gpus=4, pool=1))
    assert (Outcome(LOW, tuple(ALL), Fraction(1)),) == found.outcomes


def test_init_containers_leave_their_devices() -> None:
    """What an init container had comes first in the next container, so nothing new is drawn."""
    machine = kubelets.machine(kubelets.gpus())
    init = kubelets.pod(gpus=4, kind=Kind.INIT)
    found = granted(machine.everything(), (*init, *kubelets.pod(gpus=4)))
    assert {LOW: Fraction(1, 2), HIGH: Fraction(1, 2)} == {
        one.gpus: one.chance for one in found.outcomes
    }


def test_init_containers_leave_too_few() -> None:
    """A container that needs more than was left keeps that and gets the rest as the plugin says."""
    machine = kubelets.machine(kubelets.gpus())
    init = kubelets.pod(gpus=2, kind=Kind.INIT)
    found = granted(machine.everything(), (*init, *kubelets.pod(gpus=4)))
    assert {LOW, HIGH} == {one.gpus for one in found.outcomes}


def test_sidecars_keep_their_devices() -> None:
    """A sidecar's device is its own, and the pod has it as well."""
    machine = kubelets.machine(kubelets.gpus((0, 0, 1, 1)), policy=Policy.RESTRICTED)
    sidecar = kubelets.pod(gpus=2, kind=Kind.SIDECAR)
    found = granted(machine.everything(), (*sidecar, *kubelets.pod(gpus=2)))
    assert (Outcome(LOW, (), Fraction(1)),) == found.outcomes


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        pytest.param(
            Scope.CONTAINER, Outcomes((Outcome((0, 1, 2), (), Fraction(1)),), exact=True), id="c"
        ),
        pytest.param(Scope.POD, Refused(Code.NUMA_TOO_SMALL, Lasting.PERMANENT), id="pod"),
    ],
)
def test_scope(scope: Scope, expected: Refused | Outcomes) -> None:
    """The scope pod wants one affinity for all containers, with what they need at once."""
    machine = kubelets.machine(
        kubelets.gpus((0, 0, 1)), kubelet=Kubelet(Policy.SINGLE_NUMA_NODE, scope)
    )
    request = (*kubelets.pod(gpus=2), *kubelets.pod(gpus=1))
    assert expected == model.outcomes(machine.everything(), request)


def test_what_a_pod_needs_at_once() -> None:
    """Of init containers only the largest counts, sidecars before it and all others add up."""
    machine = kubelets.machine(kubelets.gpus(), kubelet=Kubelet(Policy.SINGLE_NUMA_NODE, Scope.POD))
    one, three = (kubelets.pod(gpus=many, kind=Kind.INIT) for many in (1, 3))
    sidecar = kubelets.pod(gpus=1, kind=Kind.SIDECAR)
    fits = (*one, *sidecar, *three, *kubelets.pod(gpus=3))
    assert isinstance(model.outcomes(machine.everything(), fits), Outcomes)
    assert isinstance(model.outcomes(machine.everything(), (*sidecar, *fits)), Refused)


def test_a_refusal_by_chance() -> None:
    """What an earlier container happens to get may leave a later one without: a share is refused."""
    rail = Resource(kubelets.rail(0), (Card(9, 0),))
    machine = kubelets.machine(kubelets.pool((0, 0, 1, 1)), rail, policy=Policy.RESTRICTED)
    first = Container(((kubelets.POOL, 3),))
    second = Container(((kubelets.POOL, 1), (kubelets.rail(0), 1)))
    found = granted(machine.everything(), (first, second))
    assert (Fraction(1, 2), True) == (found.refused, found.exact)
    assert (Outcome((), (0, 1, 2, 3, 9), Fraction(1, 2)),) == found.outcomes


def test_too_many_outcomes_are_thinned() -> None:
    """No answer has more than a few hundred outcomes; a thinned one says so and adds up to one."""
    machine = kubelets.machine(kubelets.gpus(), kubelets.pool(each=8))
    found = granted(machine.everything(), kubelets.pod(gpus=3, pool=4))
    assert (False, Fraction(1)) == (found.exact, sum(one.chance for one in found.outcomes))
    assert len(found.outcomes) <= 512


def test_unknown_resources_are_left_out() -> None:
    """A limit that no plugin has registered is none of the kubelet's device manager's affairs."""
    machine = kubelets.machine(kubelets.gpus())
    request = (Container((("cpu", 4), (kubelets.GPU, 8))),)
    assert (Outcome(tuple(ALL), (), Fraction(1)),) == granted(
        machine.everything(), request
    ).outcomes
