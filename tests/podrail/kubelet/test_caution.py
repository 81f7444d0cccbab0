from __future__ import annotations

import kubelets
import pytest

from podrail.kubelet import caution
from podrail.kubelet.node import Kubelet, Machine, Policy

NPS2 = (0, 0, 1, 1, 2, 2, 3, 3)
WHOLE = kubelets.pod(gpus=8, rails=range(8))


def nps2(policy: Policy, minor: int) -> Machine:
    return kubelets.machine(
        kubelets.gpus(NPS2), *kubelets.rails(NPS2), numas=4, kubelet=Kubelet(policy, minor=minor)
    )


@pytest.mark.parametrize(
    ("minor", "expected"),
    [pytest.param(35, 16_777_216, id="1.35"), pytest.param(36, 1, id="1.36")],
)
def test_permutations(minor: int, expected: int) -> None:
    """Eight rails and a whole node of four NUMA nodes: 16.8 million up to 1.35, one since."""
    assert expected == caution.permutations(nps2(Policy.BEST_EFFORT, minor), WHOLE[0])


@pytest.mark.parametrize(
    ("policy", "minor", "expected"),
    [
        pytest.param(Policy.NONE, 35, [], id="none"),
        pytest.param(Policy.BEST_EFFORT, 35, ["16,777,216"], id="slow"),
        pytest.param(Policy.BEST_EFFORT, 36, [], id="fast since 1.36"),
        pytest.param(Policy.RESTRICTED, 35, ["16,777,216"], id="slow refusal"),
        pytest.param(Policy.SINGLE_NUMA_NODE, 35, [], id="single is fast"),
    ],
)
def test_a_slow_merge_is_told(policy: Policy, minor: int, expected: list[str]) -> None:
    """With how many permutations there are, and what helps."""
    found = caution.warnings(nps2(policy, minor), WHOLE)
    assert expected == [one.message.split()[4] for one in found]
    assert all(one.remedy for one in found)


@pytest.mark.parametrize(
    ("policy", "most", "expected"),
    [
        pytest.param(Policy.BEST_EFFORT, 8, [True], id="too many"),
        pytest.param(Policy.BEST_EFFORT, 12, [], id="allowed"),
        pytest.param(Policy.NONE, 8, [], id="none"),
    ],
)
def test_many_numa_nodes(policy: Policy, most: int, expected: list[bool]) -> None:
    """A kubelet with a topology policy does not start on more NUMA nodes than it is allowed."""
    machine = kubelets.machine(
        kubelets.pool(told=False), numas=12, kubelet=Kubelet(policy, most_numas=most)
    )
    found = caution.warnings(machine, kubelets.pod(gpus=0, pool=1))
    assert expected == ["does not start on 12 NUMA nodes" in one.message for one in found]
