"""The shipped profile that is most like a draft: its settings and extras are known to be in use."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from podrail.discovery import platform
from podrail.discovery.line import Line
from podrail.doctor import nodes
from podrail.fabric import Attachment, Extras, Profile, Setting
from podrail.names import INSTANCE_TYPE
from podrail.nccl import settings as nccl
from podrail.topology import Confidence

_FAMILIES: Final = frozenset(platform.SIGNS)
_SHM: Final = "64Gi"


def nearest(draft: Profile, word: str, shipped: Iterable[Profile]) -> Profile | None:
    """The profile that asks for the same in the same way; None if there is none.

    word is the draft's platform: a profile of another one is not taken, one of its own is before
    the others; then the one that asks for the same counts, and names the same networks.
    """
    mine = {"", word}
    alike = [one for one in shipped if _is_alike(draft, one) and _family(one.name) in mine]
    return max(alike, key=lambda one: _likeness(draft, one), default=None)


def _is_alike(draft: Profile, other: Profile) -> bool:
    same = (other.attachment, other.dialect, other.gpu_resources)
    if same != (draft.attachment, draft.dialect, draft.gpu_resources):
        return False
    if draft.attachment is Attachment.NONE:
        return other.name == "tcp"
    return _resources(other) == _resources(draft) and bool(other.networks) == bool(draft.networks)


def _resources(one: Profile) -> frozenset[str]:
    return frozenset(each.name for each in one.resources if "/" in each.name)


def _likeness(draft: Profile, other: Profile) -> tuple[bool, bool, int]:
    gpus = draft.rails.gpus
    named = {one.name for one in draft.networks} & {one.name for one in other.networks}
    same = nodes.asked(draft, gpus) == nodes.asked(other, gpus)
    return bool(_family(other.name)), same, len(named)


def _family(name: str) -> str:
    """The platform that a shipped profile is for; empty if it is for any."""
    return next((word for word in _FAMILIES if name == word or name.startswith(f"{word}-")), "")


def lines(kin: Profile, word: str) -> Iterator[Line]:
    """The settings and extras of a shipped profile as lines of a draft."""
    sure = Confidence.HIGH if word and _family(kin.name) == word else Confidence.MEDIUM
    because = f"as in the shipped profile {kin.name}"
    if kin.conf_file != nccl.CONF_PATH:
        yield Line("confFile", kin.conf_file, sure, because)
    for one in kin.settings:
        yield Line("settings", setting(one), sure, because)
    for field, value in _extras(kin.extras):
        yield Line(f"extras.{field}", value, sure, because)


def setting(one: Setting) -> dict[str, Any]:
    """A setting as a FabricProfile document has it."""
    usual = nccl.Carrier.FILE if nccl.is_nccl(one.name) else nccl.Carrier.ENV
    found: dict[str, Any] = {"name": one.name, "value": one.value}
    if one.carrier is not usual:
        found["carrier"] = one.carrier.value
    if one.late:
        found["late"] = [
            {"when": _when(late.label, late.equals), "value": late.value} for late in one.late
        ]
    return found


def _when(label: str, equals: str) -> dict[str, Any]:
    return {"instanceType": equals} if label == INSTANCE_TYPE else {"label": {label: equals}}


def _extras(extras: Extras) -> Iterator[tuple[str, Any]]:
    found = {
        "ipcLock": extras.ipc_lock,
        "shmSize": extras.shm_size,
        "nodeSelector": dict(extras.node_selector),
        "dnsPolicy": extras.dns_policy,
        "schedulerName": extras.scheduler_name,
    }
    yield from ((field, value) for field, value in found.items() if value)


def usual(draft: Profile, labels: Iterable[str]) -> Iterator[Line]:
    """Settings and extras where no shipped profile is like the draft."""
    hint = "the pod network, which every rank has"
    names: dict[str, tuple[str, Confidence, str, str]] = {}
    family = platform.vendors(labels)
    if draft.attachment is not Attachment.HOST_NETWORK and family:
        value = ",".join(platform.DEVICES[vendor] for vendor in family)
        why = f"node feature discovery found vendor {' and '.join(family)}"
        names["NCCL_IB_HCA"] = (value, Confidence.MEDIUM, why, "")
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        names[name] = ("eth0", Confidence.MEDIUM, hint, "")
    for name, (value, sure, why, question) in names.items():
        yield Line("settings", {"name": name, "value": value}, sure, why, question)
    yield Line(
        "extras.ipcLock", True, Confidence.MEDIUM, "RDMA locks memory; only root gains by it"
    )
    yield Line("extras.shmSize", _SHM, Confidence.LOW, "the usual 64 MiB are too little for NCCL")
    yield Line(
        "extras.schedulerName", "podrail", Confidence.HIGH, "the scheduler that is installed"
    )
