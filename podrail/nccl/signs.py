"""What lines of NCCL's log mean, and what to do: one table, the first that matches a line counts.

Texts as in the sources of NCCL 2.18 to 2.30 and aws-ofi-nccl 1.16, and as users quote them; errno
and IBV_WC_* are Linux's (errno-base.h, rdma-core's verbs.h).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final


class Gravity(StrEnum):
    """What the line does to the job."""

    STOPS = "stops"
    """The job ends, or hangs."""
    SLOWS = "slows"
    """It runs, by a slower way than the fabric has."""
    NOTE = "note"
    """Harmless by itself."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Lines that say one thing, under a fixed code."""

    code: str
    gravity: Gravity
    pattern: re.Pattern[str]
    means: str
    remedy: str


def _sign(gravity: Gravity, code: str, pattern: str, *told: str) -> Sign:
    return Sign(code, gravity, re.compile(pattern, re.IGNORECASE), *told)


_stops = partial(_sign, Gravity.STOPS)
_slows = partial(_sign, Gravity.SLOWS)
_note = partial(_sign, Gravity.NOTE)
_QP: Final = r"ibv_modify_qp failed.*"
_WC: Final = r"got completion.*?(?:error |status=)(?:\w+\()?"

SIGNS: Final = (
    _stops(
        "NoSocketInterface",
        r"no socket interface found",
        "No interface that is up has a name that NCCL_SOCKET_IFNAME allows, so ranks cannot meet.",
        "Set NCCL_SOCKET_IFNAME to the pod network's interface, eth0 as a rule, or leave it unset.",
    ),
    _slows(
        "RdmaTurnedOff",
        r"NCCL_IB_DISABLE set (?:by environment )?to [1-9]",
        "RDMA is turned off by a variable.",
        "Remove NCCL_IB_DISABLE, unless the fabric is TCP only.",
    ),
    _slows(
        "NoRdmaDevice",
        r"NET/IB : No device found",
        "NCCL found no RDMA device with an active port that NCCL_IB_HCA allows.",
        "Does the pod have its RDMA resource (podrail explain pod NAME)? Does NCCL_IB_HCA name "
        "devices of this node? Is the port up (podrail topology --node NAME)?",
    ),
    _slows(
        "NoVerbsLibrary",
        r"failed to open libibverbs|libibverbs\.so[^ ]*: cannot open",
        "The image has no libibverbs, so NCCL cannot use RDMA.",
        "Install rdma-core (libibverbs1, ibverbs-providers) in the image.",
    ),
    _slows(
        "NoAddressForRdma",
        r"NET/IB : No IP interface found",
        "RDMA needs an interface with an address to set up connections, and found none.",
        "Set NCCL_SOCKET_IFNAME to the pod network's interface, or leave it unset.",
    ),
    _stops(
        "NoSuchGid",
        _QP + r"(?:errno 19|No such device)",
        "The GID belongs to an interface outside the pod, or the device has no cable.",
        "Leave NCCL_IB_GID_INDEX unset (NCCL 2.26.2 or later), attach the rail's network, and keep "
        "unwired devices out with NCCL_IB_HCA.",
    ),
    _stops(
        "EmptyGid",
        _QP + r"(?:errno 61|No data available)",
        "The entry of the GID table at NCCL_IB_GID_INDEX is empty.",
        "Leave NCCL_IB_GID_INDEX unset, or see show_gids in the pod for the entry of RoCE v2.",
    ),
    _stops(
        "WrongIndex",
        _QP + r"(?:errno 22|Invalid argument)",
        "NCCL_IB_GID_INDEX or NCCL_IB_PKEY is out of range: both are indexes, not values.",
        "Leave them unset, or set the index of the entry.",
    ),
    _stops(
        "NoRoute",
        _QP + r"(?:errno 101|Network is unreachable)|ibv_modify_qp.*Network unreachable",
        "There is no route to the peer's address on this rail, or it is of another family.",
        "Look at the routes of the rail's network, and at NCCL_IB_ADDR_FAMILY.",
    ),
    _stops(
        "PeerUnreachable",
        _WC + r"12\b",
        "The peer did not answer on this rail (IBV_WC_RETRY_EXC_ERR).",
        "Look first whether the peer's process died. Else: equal NCCL_IB_TC and NCCL_IB_SL on all "
        "ranks and switches, GIDs of one kind, MTU, and ARP where rails share a subnet.",
    ),
    _stops(
        "LocalProtection",
        _WC + r"4\b",
        "The NIC was not allowed to read or write the memory (IBV_WC_LOC_PROT_ERR).",
        "Mostly GPUDirect RDMA: look at nvidia_peermem or dma-buf, the IOMMU and ACS on the node; "
        "NCCL_NET_GDR_LEVEL=LOC shows whether that is it.",
    ),
    _note(
        "Flushed",
        _WC + r"5\b",
        "What follows from an earlier error on the same connection (IBV_WC_WR_FLUSH_ERR).",
        "Look at the first error in the log.",
    ),
    _stops(
        "BadCompletion",
        _WC + r"\d+\b",
        "A transfer over RDMA failed.",
        "The number is an ibv_wc_status (rdma-core, verbs.h).",
    ),
    _stops(
        "NoRoceVersion",
        r"ncclIbRoceGetVersionNum",
        "NCCL 2.21 to 2.25 cannot read the kinds of GIDs in a container.",
        "Use NCCL 2.26.2 or later; or set NCCL_IB_GID_INDEX for this pod.",
    ),
    _slows(
        "NotEnoughLockedMemory",
        r"ibv_reg_mr.*Cannot allocate memory|Couldn't allocate MR|ibv_create_\w+.*Cannot allocate",
        "The limit for locked memory is too low for RDMA.",
        "Raise LimitMEMLOCK of the container runtime; IPC_LOCK helps only a root container.",
    ),
    _slows(
        "MixedLinks",
        r"selecting NICs of only one link type",
        "Ethernet and InfiniBand ports are both visible.",
        "Name those of one kind in NCCL_IB_HCA, such as ^mlx5_2 to leave one out.",
    ),
    _stops(
        "SharedMemory",
        r"while creating shared memory segment|Bus error",
        "There is too little shared memory: a container has 64 MiB by default.",
        "Mount an emptyDir of medium Memory at /dev/shm; extras.shmSize of a profile does.",
    ),
    _slows(
        "NoEfa",
        r"NET/OFI.*(?:No eligible providers|failed to initialize|no EFA)",
        "The plugin of EFA found no EFA device.",
        "Does the pod ask for vpc.amazonaws.com/efa? Does the image have EFA's libfabric?",
    ),
    _stops(
        "PeerGone",
        r"connection closed by (?:remote )?peer|Connection reset by peer|socketProgress.*closed",
        "Another rank went away.",
        "Look at the log of the rank that is named: it ended first.",
    ),
    _stops(
        "Refused",
        r"Connection refused|No route to host|connect.*timed out",
        "Ranks cannot reach each other to set up connections.",
        "Is NCCL_SOCKET_IFNAME the pod network's interface on all ranks? Do a NetworkPolicy or a "
        "mesh's sidecar stand between them?",
    ),
    _stops(
        "Hangs",
        r"Watchdog caught collective operation timeout",
        "A collective did not end in time: a rank is missing, or a rail is dead.",
        "Look for the rank that did not get there, and for rails that are down.",
    ),
    _slows(
        "FarFromNic",
        r"GPU Direct RDMA Disabled for GPU",
        "The NIC is too far from the GPU for GPUDirect RDMA, so data goes through host memory.",
        "Give the pod NICs beside its GPUs (podrail explain), or a topology file in a VM. Raising "
        "NCCL_NET_GDR_LEVEL hides it and seldom helps.",
    ),
    _note(
        "NoPlugin",
        r"NET/Plugin.*(?:No plugin found|Could not find|returned 2)",
        "There is no network plugin in the image; NCCL's own transports are used.",
        "Nothing, unless the fabric needs one (EFA, SHARP, gIB).",
    ),
)


def of(text: str) -> Sign | None:
    """What a line says; None for a line that says nothing of this kind."""
    return next((sign for sign in SIGNS if sign.pattern.search(text)), None)
