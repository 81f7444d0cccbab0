"""What NCCL makes of its settings (NCCL 2.30.7: env.rst and src/misc/param.cc, init of ncclConf).

An integer is read with strtoll, base 0: "true" and "auto" count as 0 and trailing text is ignored,
so a profile with such a value would do the opposite of what its author meant. Lists are not
trimmed. A setting has one carrier: `file` is a generated /etc/nccl.conf, which never beats the
user's own env; `env` is the container's environment, for what is not NCCL's.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

CONF_PATH: Final = "/etc/nccl.conf"
NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,127}")


class Carrier(StrEnum):
    """How a setting reaches the ranks."""

    ENV = "env"
    FILE = "file"


PREFIXES: Final = (
    "NCCL_",
    "RCCL_",
    "UCX_",
    "GLOO_",
    "TP_",
    "FI_",
    "OMPI_MCA_",
    "NVSHMEM_",
    "PRTE_MCA_",
    "HCOLL_",
    "RX_QUEUE_LEN",
    "IB_RX_QUEUE_LEN",
)
"""The families of variables that a profile may set; anything else could hijack a process."""

NEVER: Final = frozenset(
    {"NCCL_PROTO", "NCCL_ALGO", "NCCL_GRAPH_FILE", "NCCL_BUFFSIZE", "NCCL_SHM_DISABLE"}
)
"""Never set by a profile: LL128 on a wrong platform corrupts data, the others hang or crash."""

LISTS: Final = frozenset({"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"})

INTEGERS: Final[dict[str, tuple[int, int]]] = {
    "NCCL_CROSS_NIC": (0, 2),
    "NCCL_CUMEM_ENABLE": (0, 1),
    "NCCL_DMABUF_ENABLE": (0, 1),
    "NCCL_IB_ADAPTIVE_ROUTING": (0, 1),
    "NCCL_IB_DISABLE": (0, 1),
    "NCCL_IB_FIFO_TC": (0, 255),
    "NCCL_IB_GID_INDEX": (-1, 255),
    "NCCL_IB_MERGE_NICS": (0, 1),
    "NCCL_IB_PCI_RELAXED_ORDERING": (0, 2),
    "NCCL_IB_PKEY": (0, 127),
    "NCCL_IB_QPS_PER_CONNECTION": (1, 128),
    "NCCL_IB_RETRY_CNT": (0, 7),
    "NCCL_IB_ROCE_VERSION_NUM": (1, 2),
    "NCCL_IB_SL": (0, 15),
    "NCCL_IB_SPLIT_DATA_ON_QPS": (0, 1),
    "NCCL_IB_TC": (0, 255),
    # 4.096 us * 2^n a try: above 24 a dead peer is noticed after a quarter of an hour or never.
    "NCCL_IB_TIMEOUT": (1, 24),
    "NCCL_IGNORE_CPU_AFFINITY": (0, 1),
    "NCCL_MNNVL_ENABLE": (0, 2),
    "NCCL_NVLS_ENABLE": (0, 2),
}
"""Variables that NCCL reads as integers, with the range that means something."""

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)")
_LIST: Final = re.compile(r"(\^?=?)[A-Za-z0-9_.:-]+(,[A-Za-z0-9_.:-]+){0,31}")
_GDR_LEVELS: Final = frozenset({"LOC", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"})
_LINE: Final = 1000


def is_nccl(name: str) -> bool:
    """True for a variable that /etc/nccl.conf can carry."""
    return name.startswith("NCCL_")


def is_integer(name: str) -> bool:
    """True for a variable that NCCL reads as an integer."""
    return name in INTEGERS


def problems(name: str, values: Sequence[str], carrier: Carrier, *, late: bool) -> Iterator[str]:
    """What is wrong with a setting of a profile, one sentence each."""
    if not name:
        return
    if not name.startswith(PREFIXES):
        yield f"{name} is none of the families that a profile may set: {', '.join(PREFIXES)}"
    if name in NEVER:
        yield f"{name} must never be set by a platform: it corrupts data, hangs or crashes"
    if carrier is Carrier.FILE and not is_nccl(name):
        yield f"{name} needs carrier env: /etc/nccl.conf carries NCCL_ variables only"
    if carrier is Carrier.ENV and late and not (is_integer(name) or name in LISTS):
        # An empty or stale env value is not harmless for the others: NCCL_NET_PLUGIN="" means none.
        lists = " and ".join(sorted(LISTS))
        yield f"{name} cannot be late with carrier env: only integers, {lists} can"
    for value in values:
        yield from _value_problems(name, value)


def _value_problems(name: str, value: str) -> Iterator[str]:
    if not value or not value.isprintable() or len(name) + len(value) + 1 >= _LINE:
        yield f"{name}: expected 1-{_LINE - 2 - len(name)} printable characters"
    elif name in INTEGERS:
        low, high = INTEGERS[name]
        if not _INTEGER.fullmatch(value) or not low <= int(value) <= high:
            expected = f"a whole number from {low} to {high} (NCCL reads words as 0)"
            yield f"{name}: expected {expected}, got {value!r}"
    elif name in LISTS and not _LIST.fullmatch(value):
        expected = "names joined by commas without blanks, after ^ and then ="
        yield f"{name}: expected {expected}, got {value!r}"
    elif name == "NCCL_NET_GDR_LEVEL" and value not in _GDR_LEVELS:
        expected = f"one of {', '.join(sorted(_GDR_LEVELS))} (NCCL ignores others)"
        yield f"{name}: expected {expected}, got {value!r}"


def conf(settings: Sequence[tuple[str, str]]) -> str:
    """The text of an nccl.conf with these settings, a line each."""
    return "".join(f"{name}={value}\n" for name, value in settings)
