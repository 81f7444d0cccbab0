"""The variables of NCCL and its neighbours, by name: the table behind every check of a setting.

Sources: NCCL 2.30.7 (env.rst for the sections, src for the grammar) and, for the first releases,
the sources of every release from 2.3.5 to 2.30.7.
"""

from collections.abc import Mapping
from typing import Final

from podrail.nccl import debugging
from podrail.nccl.variable import (
    CIDR,
    FREE,
    GONE,
    PATH,
    SWITCH,
    Group,
    Names,
    Row,
    Variable,
    Who,
    Whole,
    Words,
)

ALWAYS, PLATFORM, OPT_IN, NEVER = Who

_PLUGIN: Final = "without that library NCCL goes on without a plugin"

_SYSTEM: Final[tuple[Row, ...]] = (
    (
        "NCCL_SOCKET_IFNAME",
        "2.3.5",
        Names(16),
        ALWAYS,
        "without a match NCCL stops: Bootstrap : no socket interface found",
    ),
    (
        "NCCL_SOCKET_FAMILY",
        "2.3.5",
        Words(("AF_INET", "AF_INET6")),
        PLATFORM,
        "NCCL ignores other words",
    ),
    ("NCCL_SOCKET_MAGIC", "2.30.7", FREE, OPT_IN, "ranks with different values do not connect"),
    ("NCCL_SOCKET_RETRY_CNT", "2.24.3", Whole(1), OPT_IN, "a peer that starts late is given up"),
    ("NCCL_SOCKET_RETRY_SLEEP_MSEC", "2.24.3", Whole(1), OPT_IN, "a late peer is given up"),
    ("NCCL_SOCKET_POLL_TIMEOUT_MSEC", "2.29.2", Whole(0), OPT_IN, "sockets are polled too seldom"),
    ("NCCL_SOCKET_NTHREADS", "2.4.8", Whole(1, 16), PLATFORM, "TCP is slow, or busies the CPUs"),
    (
        "NCCL_NSOCKS_PERTHREAD",
        "2.4.8",
        Whole(1, 64),
        PLATFORM,
        "times NCCL_SOCKET_NTHREADS it must not exceed 64",
    ),
    (
        "NCCL_CROSS_NIC",
        "2.5.6",
        Whole(0, 2),
        PLATFORM,
        "0 on rails that do not line up loses bandwidth or fails",
    ),
    (
        "NCCL_IB_HCA",
        "2.3.5",
        Names(32),
        PLATFORM,
        "without a match NCCL falls back to TCP and says so only at INFO",
    ),
    (
        "NCCL_IB_TIMEOUT",
        "2.3.5",
        # 4.096 us * 2^n a try, eight tries: 24 already means 8 minutes (env.rst).
        Whole(1, 24),
        PLATFORM,
        "0, or 32 and more, waits for a dead peer for ever, 25 a quarter of an hour",
    ),
    ("NCCL_IB_RETRY_CNT", "2.3.5", Whole(0, 7), OPT_IN, "the field has three bits"),
    (
        "NCCL_IB_GID_INDEX",
        "2.3.5",
        Whole(-1, 255),
        PLATFORM,
        "an empty or foreign entry of the GID table fails with errno 19, 22 or 61, or error 12",
    ),
    (
        "NCCL_IB_ADDR_FAMILY",
        "2.21.5",
        Words(("AF_INET", "AF_INET6")),
        PLATFORM,
        "NCCL ignores other words and looks for AF_INET",
    ),
    (
        "NCCL_IB_ADDR_RANGE",
        "2.21.5",
        CIDR,
        PLATFORM,
        "NCCL ignores what is no range of its address family",
    ),
    (
        "NCCL_IB_ROCE_VERSION_NUM",
        "2.21.5",
        Whole(1, 2),
        PLATFORM,
        "no entry matches, and GID 0 is taken",
    ),
    (
        "NCCL_IB_SL",
        "2.3.5",
        Whole(-1, 15),
        PLATFORM,
        "a level without a virtual lane drops packets: error 12",
    ),
    (
        "NCCL_IB_TC",
        "2.3.5",
        Whole(-1, 255),
        PLATFORM,
        "a wrong class is a lossy queue: silently slow, or error 12",
    ),
    ("NCCL_IB_FIFO_TC", "2.22.3", Whole(-1, 255), PLATFORM, "as NCCL_IB_TC, for control messages"),
    ("NCCL_IB_RETURN_ASYNC_EVENTS", "2.23.4", SWITCH, OPT_IN, "0 hides a port that fails"),
    ("NCCL_OOB_NET_ENABLE", "2.23.4", SWITCH, OPT_IN, "1 needs the fast network at start-up"),
    ("NCCL_OOB_NET_IFNAME", "2.23.4", Names(16), OPT_IN, "without a match NCCL stops"),
    ("NCCL_UID_STAGGER_THRESHOLD", "2.23.4", Whole(1), OPT_IN, "large jobs start slowly"),
    ("NCCL_UID_STAGGER_RATE", "2.23.4", Whole(1), OPT_IN, "large jobs start slowly"),
    ("NCCL_NET", "2.10.3", FREE, OPT_IN, "a name that no network has stops NCCL"),
    (
        "NCCL_NET_PLUGIN",
        "2.11.4",
        FREE,
        OPT_IN,
        "none takes away SHARP, EFA, gIB and ANP; a missing one leaves IB and TCP",
    ),
    ("NCCL_TUNER_PLUGIN", "2.19.1", FREE, OPT_IN, _PLUGIN),
    ("NCCL_PROFILER_PLUGIN", "2.23.4", FREE, OPT_IN, _PLUGIN),
    ("NCCL_ENV_PLUGIN", "2.28.7", FREE, OPT_IN, _PLUGIN),
    ("NCCL_IGNORE_CPU_AFFINITY", "2.4.6", SWITCH, PLATFORM, "threads may leave their NUMA node"),
    ("NCCL_CONF_FILE", "2.23.4", PATH, PLATFORM, "a missing file is ignored"),
    (
        "NCCL_DEBUG",
        "2.3.5",
        Words(("VERSION", "WARN", "INFO", "ABORT", "TRACE"), fold=True),
        ALWAYS,
        "other words print nothing",
    ),
    ("NCCL_DEBUG_FILE", "2.3.5", PATH, OPT_IN, "without %h and %p ranks write over each other"),
    ("NCCL_DEBUG_SUBSYS", "2.3.5", FREE, OPT_IN, "unknown names are ignored"),
    ("NCCL_DEBUG_TIMESTAMP_FORMAT", "2.26.2", FREE, OPT_IN, "log lines are harder to compare"),
    ("NCCL_DEBUG_TIMESTAMP_LEVELS", "2.26.2", FREE, OPT_IN, "log lines are harder to compare"),
    ("NCCL_COLLNET_ENABLE", "2.6.4", SWITCH, OPT_IN, "1 does nothing without a SHARP plugin"),
    ("NCCL_COLLNET_NODE_THRESHOLD", "2.9.9", Whole(1), OPT_IN, "SHARP is used too early or late"),
    ("NCCL_CTA_POLICY", "2.27.3", FREE, OPT_IN, "kernels take more of the GPU, or are slower"),
    (
        "NCCL_NETDEVS_POLICY",
        "2.28.3",
        FREE,
        OPT_IN,
        "what is not AUTO, ALL or MAX:n counts as AUTO",
    ),
    ("NCCL_MULTI_RANK_GPU_ENABLE", "2.30.3", SWITCH, OPT_IN, "1 hides two ranks on one GPU"),
    (
        "NCCL_TOPO_FILE",
        "2.6.4",
        PATH,
        PLATFORM,
        "a missing file is ignored, and so is the hypervisor's own",
    ),
    ("NCCL_TOPO_DUMP_FILE", "2.6.4", PATH, OPT_IN, "a read-only file system makes a warning"),
    ("NCCL_SET_THREAD_NAME", "2.12.7", FREE, OPT_IN, "threads have no names of their own"),
)

_UNLISTED: Final[tuple[Row, ...]] = (
    (
        "NCCL_IB_PKEY",
        "2.8.3",
        Whole(0, 127),
        PLATFORM,
        "it is an index into the port's P_Key table, not the key: errno 22",
    ),
    ("NCCL_IB_MERGE_VFS", "2.18.1", SWITCH, PLATFORM, "functions of one bus count as one NIC"),
    ("NCCL_IB_USE_INLINE", "2.8.3", SWITCH, OPT_IN, "1 fails on NICs without inline data"),
    ("NCCL_IB_SUBNET_AWARE_ROUTING", "2.30.7", SWITCH, OPT_IN, "pairs may cross rails"),
    ("NCCL_IB_DATA_DIRECT", "2.27.3", Whole(0, 2), OPT_IN, "the NIC may take the slower way"),
    ("NCCL_IB_ROUTABLE_FLID_GID_INDEX", "2.22.3", Whole(0, 255), OPT_IN, "no path between subnets"),
    ("NCCL_IB_RESILIENCY_PORT_FAILOVER", "2.29.7", SWITCH, OPT_IN, "a failed port ends the job"),
    ("NCCL_IB_MQP_RETRY_ALL", "2.24.3", SWITCH, OPT_IN, "an error at start-up shows late"),
    ("NCCL_IB_MQP_RETRY_CNT", "2.24.3", Whole(0), OPT_IN, "an error at start-up shows late"),
    (
        "NCCL_NET_MERGE_LEVEL",
        "2.24.3",
        Words(("LOC", "PORT", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")),
        OPT_IN,
        "other words mean LOC: no ports are merged",
    ),
    ("NCCL_NET_FORCE_MERGE", "2.24.3", FREE, OPT_IN, "names that differ between nodes fail"),
    ("NCCL_GDR_FLUSH_DISABLE", "2.3.5", SWITCH, OPT_IN, "1 may read data before it has arrived"),
    ("NCCL_GRAPH_FILE", "2.6.4", PATH, NEVER, "a missing file stops NCCL"),
    ("NCCL_NVLS_CHUNKSIZE", "2.21.5", Whole(1), OPT_IN, "NVLink SHARP is slow"),
    ("NCCL_NCHANNELS_PER_NET_PEER", "2.12.7", Whole(1), OPT_IN, "memory, or too little bandwidth"),
    (
        "NCCL_HOSTID",
        "2.5.6",
        FREE,
        NEVER,
        "one value for all pods makes NCCL take them for one machine",
    ),
    ("NCCL_COMM_ID", "2.3.5", FREE, NEVER, "one address for all jobs makes them meet each other"),
    ("NCCL_IB_GDR_LEVEL", "2.3.5", GONE, NEVER, "NCCL_NET_GDR_LEVEL is its successor"),
    (
        "GLOO_SOCKET_IFNAME",
        "",
        Names(32, prefixes=False),
        ALWAYS,
        "a missing interface fails at start-up",
    ),
    (
        "TP_SOCKET_IFNAME",
        "",
        Names(1, prefixes=False),
        ALWAYS,
        "a missing interface fails at start-up",
    ),
    ("UCX_TLS", "", FREE, OPT_IN, "transports that the pod lacks leave none"),
    ("UCX_NET_DEVICES", "", FREE, OPT_IN, "devices that the pod lacks leave no transport"),
    ("NVSHMEM_HCA_LIST", "", FREE, NEVER, "names differ between pods; it does not read NCCL's"),
    ("NVSHMEM_HCA_PE_MAPPING", "", FREE, NEVER, "names differ between pods"),
    ("NVSHMEM_IB_GID_INDEX", "", Whole(-1, 255), OPT_IN, "as NCCL_IB_GID_INDEX"),
    ("NVSHMEM_IB_TRAFFIC_CLASS", "", Whole(0, 255), PLATFORM, "as NCCL_IB_TC"),
    ("FI_PROVIDER", "", FREE, PLATFORM, "a provider that the pod lacks leaves none"),
    ("OMPI_MCA_btl_tcp_if_include", "", FREE, OPT_IN, "a wrong interface hangs mpirun"),
    ("OMPI_MCA_oob_tcp_if_include", "", FREE, OPT_IN, "a wrong interface hangs mpirun"),
)

TABLE: Final[Mapping[str, Variable]] = {
    name: Variable(name, since, grammar, group, who, effect)
    for group, rows in (
        (Group.SYSTEM, _SYSTEM),
        (Group.DEBUGGING, debugging.ROWS),
        (Group.NONE, _UNLISTED),
    )
    for name, since, grammar, who, effect in rows
}
"""Every known variable by its name."""


def page() -> str:
    """The table as Markdown, for docs/user/nccl.md."""
    head = "| Variable | Since | Values | Section | A profile sets it | A bad value |"
    lines = [head, "|---|---|---|---|---|---|"]
    for name, one in sorted(TABLE.items()):
        cells = (f"`{name}`", one.since, str(one.grammar), one.group, one.who, one.effect)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
