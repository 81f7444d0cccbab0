"""The part of a FabricProfile that says how GPUs and NICs are claimed together (attachment Dra)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from podrail.dra.template import MOST_DEVICES, nics_of
from podrail.errors import Problem
from podrail.fabric import Attachment, Claim, Group, Partial, Profile
from podrail.reading import Reader

PCIE_ROOT: Final = "resource.kubernetes.io/pcieRoot"
"""Published by the GPU drivers and by dranet (k8s.io/dynamic-resource-allocation 0.36)."""
MOST_GROUPS: Final = 16
SENTENCES: Final[Mapping[str, str]] = {
    "claim": "With attachment Dra: how GPUs and NICs are claimed together.",
    "claim.gpuDeviceClass": "The DeviceClass of the GPUs; absent: gpu.nvidia.com.",
    "claim.gpuSelector": "A CEL expression that the GPUs match; absent: any.",
    "claim.nicDeviceClass": "The DeviceClass of the NICs; absent: dranet.net.",
    "claim.nicSelector": "A CEL expression that the NICs match; absent: any.",
    "claim.match": "The attribute that a GPU and its NICs share; absent: that of the PCIe root, or"
    " none with groups.",
    "claim.groups": "The NUMA nodes, where no attribute can be shared (GB200).",
    "claim.groups[].gpuSelector": "A CEL expression that the GPUs of the NUMA node match.",
    "claim.groups[].nicSelector": "A CEL expression that the NICs of the NUMA node match.",
}
"""What the custom resource says of each field below spec."""
RULES: Final = (
    (
        "!has(self.claim) || self.attachment == 'Dra'",
        "expected no claim with an attachment other than Dra",
        ".claim",
    ),
    (
        "self.attachment != 'Dra' || self.?partial.orValue('AllRails') in ['AllRails', 'Deny']",
        "expected partial AllRails or Deny with attachment Dra",
        ".partial",
    ),
)
"""What the API server refuses early: CEL about the spec, the message, the field."""
_EXPRESSION: Final = 1000
_LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_CLASS: Final = re.compile(rf"{_LABEL}([.]{_LABEL})*")
_ATTRIBUTE: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?/[A-Za-z_][A-Za-z0-9_]{0,31}")


def read(part: Reader, attachment: Attachment) -> Claim | None:
    """The claim of a profile; None if its attachment is another."""
    groups = tuple(_group(one) for one in part.parts("groups", MOST_GROUPS))
    claim = Claim(
        gpu_class=part.text("gpuDeviceClass", "gpu.nvidia.com", _CLASS),
        gpu_selector=part.text("gpuSelector", limit=_EXPRESSION),
        nic_class=part.text("nicDeviceClass", "dranet.net", _CLASS),
        nic_selector=part.text("nicSelector", limit=_EXPRESSION),
        match=part.text("match", "" if groups else PCIE_ROOT, _ATTRIBUTE),
        groups=groups,
    )
    part.close()
    return claim if attachment is Attachment.DRA else None


def _group(part: Reader) -> Group:
    for key in ("gpuSelector", "nicSelector"):
        part.required(key)
    group = Group(
        part.text("gpuSelector", limit=_EXPRESSION), part.text("nicSelector", limit=_EXPRESSION)
    )
    part.close()
    return group


def problems(profile: Profile) -> Iterator[Problem]:
    """What a profile that claims its devices cannot say besides; paths below spec."""
    if profile.claim is None:
        return
    if profile.networks:
        yield Problem("networks", "expected none with attachment Dra: the claim brings the NICs")
    if profile.partial not in {Partial.ALL_RAILS, Partial.DENY}:
        message = "expected AllRails or Deny: the scheduler chooses the rails of a claim"
        yield Problem("partial", message)
    devices = profile.rails.gpus + nics_of(profile)
    if devices > MOST_DEVICES:
        message = f"expected at most {MOST_DEVICES} GPUs and NICs of a node with attachment Dra"
        yield Problem("rails", f"{message}, got {devices}")
    if len(profile.claim.groups) > profile.rails.gpus:
        yield Problem("claim.groups", f"expected at most {profile.rails.gpus}, one for each GPU")
