"""The templates of a profile: bundles of GPUs and NICs, and names that follow what they ask for."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail.dra import template
from podrail.fabric import Profile

PCIE = "resource.kubernetes.io/pcieRoot"


def fabric(count: int = 8, gpus: int = 8, **claim: Any) -> Profile:
    return builders.fabric(attachment="Dra", rails={"count": count, "gpus": gpus}, claim=claim)


def bundles(profile: Profile, gpus: int, start: int = 0) -> list[tuple[int, int]]:
    """The GPUs and NICs of each bundle."""
    devices = template.pairs(profile, gpus, start).spec["spec"]["devices"]
    counts = [one["exactly"]["count"] for one in devices["requests"]]
    return list(zip(counts[::2], counts[1::2], strict=True))


def test_a_pair_is_two_requests_and_what_binds_them() -> None:
    """As resource.k8s.io/v1 has it, with the values that the API server would add."""
    found = template.pairs(fabric(nicSelector="device.attributes"), 1, 0)
    common = {"allocationMode": "ExactCount", "count": 1}
    selectors = [{"cel": {"expression": "device.attributes"}}]
    nic = {"deviceClassName": "dranet.net", "selectors": selectors, **common}
    assert {
        "requests": [
            {"name": "gpu-0", "exactly": {"deviceClassName": "gpu.nvidia.com", **common}},
            {"name": "nic-0", "exactly": nic},
        ],
        "constraints": [{"requests": ["gpu-0", "nic-0"], "matchAttribute": PCIE}],
    } == found.spec["spec"]["devices"]
    assert {"gpu.nvidia.com": 1, "dranet.net": 1} == found.devices


@pytest.mark.parametrize(
    ("count", "all_gpus", "gpus", "expected"),
    [
        pytest.param(8, 8, 3, [(1, 1)] * 3, id="one-to-one"),
        pytest.param(0, 8, 2, [(1, 1)] * 2, id="rails-not-counted"),
        pytest.param(4, 8, 8, [(2, 1)] * 4, id="p4d"),
        pytest.param(4, 8, 3, [(2, 1), (1, 1)], id="p4d-odd"),
        pytest.param(8, 4, 2, [(1, 2)] * 2, id="gb200"),
    ],
)
def test_a_bundle_is_what_the_machine_has_for_each_other(
    count: int, all_gpus: int, gpus: int, expected: list[tuple[int, int]]
) -> None:
    """The smallest share of a node that holds whole GPUs and whole NICs; the last may be smaller."""
    assert expected == bundles(fabric(count, all_gpus), gpus)


@pytest.mark.parametrize(
    ("gpus", "start", "expected"),
    [(1, 0, "a"), (2, 1, "bb"), (3, 1, "bba"), (4, 0, "aabb")],
)
def test_groups_are_filled_one_after_the_other(gpus: int, start: int, expected: str) -> None:
    """Beginning with the pod's own; they stand in for an attribute."""
    groups = [{"gpuSelector": one, "nicSelector": one} for one in "ab"]
    devices = template.pairs(fabric(8, 4, groups=groups), gpus, start).spec["spec"]["devices"]
    chosen = [one["exactly"]["selectors"][-1]["cel"]["expression"] for one in devices["requests"]]
    assert [one for one in expected for _ in range(2)] == chosen
    assert "constraints" not in devices


def test_a_name_follows_what_is_asked_for() -> None:
    """The same for the same content; another selector is another template."""
    one, same, other = fabric(), fabric(), fabric(nicSelector="x")
    names = [template.pairs(each, 4, 0).name for each in (one, same, other)]
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("podrail-fabric-4gpu-") for name in names)


def test_every_template_is_known_by_its_name() -> None:
    """One for each number of GPUs and first group, and that of the NICs alone."""
    groups = [{"gpuSelector": one, "nicSelector": one} for one in "ab"]
    profile = fabric(8, 4, groups=groups)
    found = template.every(profile)
    assert 4 * 2 + 1 == len(found)
    assert found[template.nics(profile).name].devices == {"dranet.net": 8}
    assert {} == template.every(builders.fabric())
