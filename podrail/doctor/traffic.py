"""What of a fabric's traffic can be told from here: its priority, and who spreads TCP's load.

Switches cannot be asked, and of nodes only what agents tell is known: where that is what matters,
the finding says how to look.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from podrail.doctor import nodes
from podrail.doctor.cluster import Cluster
from podrail.doctor.finding import Finding, Topic, many, some
from podrail.evidence.noderails import Host, NodeRails
from podrail.fabric import Attachment, Profile
from podrail.topology import Role

STEERING: Final = Topic("steering", "Receive steering (RPS, RFS) for TCP")
PRIORITY: Final = Topic("priority", "Training beside storage")
_OWN: Final = frozenset({Attachment.SRIOV_VF, Attachment.HOST_DEVICE})
"""What takes a NIC out of the host's namespace; elsewhere the host's interfaces receive."""
_HOW: Final = (
    "cat /sys/class/net/NIC/queues/rx-*/rps_cpus; where all are 0 and one CPU is at 100 % in "
    "softirq while training runs, set RPS to the CPUs of the NIC's NUMA node, and for RFS "
    "rps_flow_cnt and net.core.rps_sock_flow_entries (Documentation/networking/scaling.rst)."
)
_TC: Final = "NCCL_IB_TC"
_SL: Final = "NCCL_IB_SL"
_DSCP: Final = 2
"""A traffic class is the DSCP shifted by the two bits of ECN (RFC 3168)."""
_INFINIBAND: Final = "InfiniBand"
_NO_CLASS: Final = frozenset({Attachment.EFA, Attachment.DRA})
"""EFA has no traffic class of NCCL's; what a claim gives is not known here."""


def steering(cluster: Cluster) -> Iterator[Finding]:
    """TCP's flows are few and large: without steering one CPU may receive all of a rail."""
    over_tcp = [one for one in cluster.used if not nodes.over_rdma(one)]
    own = [one.name for one in over_tcp if one.attachment in _OWN]
    if own:
        yield STEERING.unknown(
            f"{some(own)} gives pods NICs of their own for TCP, which no agent sees",
            f"In a pod, {_HOW}",
        )
    shared = [one.name for one in over_tcp if one.attachment not in _OWN]
    if not shared:
        return
    told = {
        name: found.host
        for name, found in cluster.rails.items()
        if isinstance(found, NodeRails) and found.host.netdevs
    }
    if told:
        yield from _steered(told, some(shared))
    else:
        yield STEERING.unknown(
            f"{some(shared)} goes over TCP, and no agent tells how its node spreads what it "
            "receives",
            f"On a node, {_HOW}",
        )


def _steered(told: Mapping[str, Host], fabrics: str) -> Iterator[Finding]:
    """By the interfaces that are up; which of them a fabric uses is not known."""
    narrow = [
        f"{name} {one.name}"
        for name, host in told.items()
        for one in host.netdevs
        if one.queues == 1 and not one.rps
    ]
    half = [name for name, host in told.items() if _half(host)]
    if narrow:
        yield STEERING.warn(
            f"{fabrics} goes over TCP, and one CPU receives all that these do, which have one "
            f"queue and no RPS: {some(narrow)}",
            "If they carry the fabric, write the CPUs of the NIC's NUMA node into "
            "/sys/class/net/NIC/queues/rx-0/rps_cpus.",
        )
    if half:
        yield STEERING.warn(
            f"RFS is set by half, and does nothing, on {some(half)}",
            "Set both net.core.rps_sock_flow_entries and rps_flow_cnt of each queue, or neither.",
        )
    if not narrow and not half:
        rfs = sum(any(one.rfs for one in host.netdevs) for host in told.values())
        yield STEERING.ok(
            f"several queues or RPS on {many(len(told), 'node')} whose agents tell it; RFS on {rfs}"
        )


def _half(host: Host) -> bool:
    """True if one of RFS's two settings is there without the other; not if one is not known."""
    flows = any(one.rfs for one in host.netdevs)
    return host.flows is not None and flows != bool(host.flows)


def priority(cluster: Cluster) -> Iterator[Finding]:
    """Training and storage in one priority take each other's buffers, and pause each other."""
    fabrics = [
        one for one in cluster.used if nodes.over_rdma(one) and one.attachment not in _NO_CLASS
    ]
    if not fabrics:
        return
    apart = sum(
        any(nic.role is Role.STORAGE for nic in found.topology.nics)
        for found in cluster.found.values()
        if found.topology is not None
    )
    if apart:
        yield PRIORITY.ok(f"storage has NICs of its own on {many(apart, 'node')}")
        return
    unmarked = [one.name for one in fabrics if not _marks(cluster, one)]
    if unmarked:
        yield PRIORITY.warn(
            f"{some(unmarked)} leaves training in the default priority, and no NIC is known to be "
            "storage's own",
            f"If storage uses the same NICs, give training a class of its own: {_TC} (DSCP x 4) "
            f"for RoCE, {_SL} for InfiniBand, as the switches are set.",
        )
        return
    yield PRIORITY.ok("; ".join(_marks(cluster, one) for one in fabrics) + "; keep storage off it")


def _marks(cluster: Cluster, profile: Profile) -> str:
    """The class of a fabric's traffic, for people; empty for the default one."""
    given = {one.name: one.value for one in profile.settings}
    name = _SL if _infiniband(cluster, profile) else _TC
    value = given.get(name, "0")
    if not value.isdecimal() or int(value) == 0:
        return ""
    dscp = f" (DSCP {int(value) >> _DSCP})" if name == _TC else ""
    return f"{profile.name}: {name}={value}{dscp}"


def _infiniband(cluster: Cluster, profile: Profile) -> bool:
    """By the links of the nodes' NICs; if they are not known, by what the profile sets."""
    links = {
        nic.link
        for found in cluster.found.values()
        if found.topology is not None
        for nic in found.topology.nics
        if nic.link and nic.rail is not None
    }
    if links:
        return links == {_INFINIBAND}
    return _SL in {one.name for one in profile.settings}
