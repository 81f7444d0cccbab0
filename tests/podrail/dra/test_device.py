"""What a device class hands out is told by its name."""

from __future__ import annotations

import pytest

from podrail.dra import device


@pytest.mark.parametrize(
    ("name", "nic", "gpu"),
    [
        ("dranet.net", True, False),
        ("mrdma.google.com", True, False),
        ("erdma.alibaba.dra.net", True, False),
        ("gpu.nvidia.com", False, True),
        ("gpu.amd.com", False, True),
        ("mig.nvidia.com", False, False),
        ("storage.example.com", False, False),
    ],
)
def test_a_class_is_of_nics_of_gpus_or_of_neither(name: str, nic: bool, gpu: bool) -> None:
    """By a whole word of its name."""
    found = device.NIC.fullmatch(name), device.GPU.fullmatch(name)
    assert (nic, gpu) == (found[0] is not None, found[1] is not None)
