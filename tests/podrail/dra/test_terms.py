"""The claim of a profile: its defaults, and what cannot be."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail.dra import terms
from podrail.errors import MalformedError


def test_the_defaults_are_nvidias_driver_and_dranet_by_pcie_root() -> None:
    """A profile with attachment Dra need say nothing more."""
    claim = builders.fabric(attachment="Dra").claim
    assert claim is not None
    assert ("gpu.nvidia.com", "dranet.net", terms.PCIE_ROOT, ()) == (
        claim.gpu_class,
        claim.nic_class,
        claim.match,
        claim.groups,
    )


def test_another_attachment_has_no_claim() -> None:
    """None stands for every other way to a NIC."""
    assert builders.fabric(attachment="SriovVF").claim is None


GROUP = {"gpuSelector": "a", "nicSelector": "b"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"attachment": "EFA", "claim": {}}, "spec.claim: expected none with attachment EFA"),
        ({"claim": {"match": "pcieRoot"}}, "spec.claim.match: expected a string"),
        ({"claim": {"nicDeviceClass": "A"}}, "spec.claim.nicDeviceClass: expected a string"),
        ({"claim": {"groups": [{"gpuSelector": "a"}]}}, "groups[0].nicSelector: is required"),
        ({"claim": {"gpus": 1}}, "spec.claim.gpus: unknown field"),
        ({"claim": {"groups": [GROUP] * 9}}, "spec.claim.groups: expected at most 8"),
        ({"partial": "SameNuma"}, "spec.partial: expected AllRails or Deny"),
        ({"rails": {"gpus": 17}}, "spec.rails: expected at most 32 GPUs and NICs"),
        (
            {"rails": {"count": 1}, "networks": [{"name": "a/b", "rail": 0}]},
            "spec.networks: expected none with attachment Dra",
        ),
    ],
)
def test_each_problem_is_told_with_its_path(spec: dict[str, Any], expected: str) -> None:
    """With what was expected."""
    with pytest.raises(MalformedError, match="FabricProfile") as caught:
        builders.fabric(**{"attachment": "Dra", **spec})
    assert any(expected in str(problem) for problem in caught.value.problems)
