"""What a profile may set of NCCL and its neighbours, and how it reaches the ranks.

NCCL reads "true" and "auto" as 0 and trims no list, so a profile with such a value would do the
opposite of what its author meant. A setting has one carrier: `file` is a generated
/etc/nccl.conf, which never beats the user's own env; `env` is the container's environment, for
what is not NCCL's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from podrail.nccl import variables
from podrail.nccl.variable import Group, Variable, Who, Whole

CONF_PATH: Final = "/etc/nccl.conf"
# Open MPI and PRRTE use small letters: OMPI_MCA_btl_tcp_if_include.
NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_]{0,127}")


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
    "SHARP_",
    "RX_QUEUE_LEN",
    "IB_RX_QUEUE_LEN",
)
"""The families of variables that a profile may set; anything else could hijack a process."""

LISTS: Final = frozenset({"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"})
"""Lists for which an empty value means the default."""

_LINE: Final = 1000


def is_nccl(name: str) -> bool:
    """True for a variable that /etc/nccl.conf can carry."""
    return name.startswith("NCCL_")


def is_integer(name: str) -> bool:
    """True for a variable that NCCL reads as an integer."""
    known = variables.TABLE.get(name)
    return known is not None and isinstance(known.grammar, Whole)


def problems(name: str, values: Sequence[str], carrier: Carrier, *, late: bool) -> Iterator[str]:
    """What is wrong with a setting of a profile, one sentence each."""
    if not name:
        return
    known = variables.TABLE.get(name)
    if not name.startswith(PREFIXES):
        yield f"{name} is none of the families that a profile may set: {', '.join(PREFIXES)}"
    if known and known.who is Who.NEVER:
        yield f"{name} must never be set by a platform: {known.effect}"
    if carrier is Carrier.FILE and not is_nccl(name):
        yield f"{name} needs carrier env: /etc/nccl.conf carries NCCL_ variables only"
    if carrier is Carrier.ENV and late and not (is_integer(name) or name in LISTS):
        # An empty or stale env value is not harmless for the others: NCCL_NET_PLUGIN="" means none.
        lists = " and ".join(sorted(LISTS))
        yield f"{name} cannot be late with carrier env: only integers, {lists} can"
    for value in values:
        yield from _value_problems(name, value, known)


def _value_problems(name: str, value: str, known: Variable | None) -> Iterator[str]:
    if not value or not value.isprintable() or len(name) + len(value) + 1 >= _LINE:
        yield f"{name}: expected 1-{_LINE - 2 - len(name)} printable characters"
    elif known and not known.grammar.fits(value):
        hint = " (NCCL reads words as 0)" if is_integer(name) else ""
        yield f"{name}: expected {known.grammar}{hint}, got {value!r}"


def remarks(names: Iterable[str]) -> tuple[str, ...]:
    """What the author of a profile should know about the variables it sets, one sentence each."""
    known = [variables.TABLE[name] for name in names if name in variables.TABLE]
    return tuple(
        f"{one.name} is for debugging, says NCCL's manual, and not to be kept: {one.effect}"
        for one in known
        if one.group is Group.DEBUGGING
    )


def conf(settings: Sequence[tuple[str, str]]) -> str:
    """The text of an nccl.conf with these settings, a line each."""
    return "".join(f"{name}={value}\n" for name, value in settings)
