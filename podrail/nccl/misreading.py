"""Values of the user's own that NCCL, or a neighbour of it, takes for something else.

Only literal values are judged: what valueFrom or $(NAME) brings is not known at admission. Nothing
is changed: the user's value stays, and the finding says what becomes of it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail.nccl import parameter, variables
from podrail.nccl.variable import GONE, LEVEL, MOST, Names, Range, Text, Variable, Whole, Words
from podrail.reading import shown


@dataclass(frozen=True, slots=True)
class Misreading:
    """A variable at its place in the container's env, and what becomes of its value."""

    index: int
    name: str
    message: str


def of(entries: Sequence[Mapping[str, Any]], *, rdma: bool) -> tuple[Misreading, ...]:
    """What will be misread in a container's env; rdma if its fabric is one that NCCL uses by RDMA.

    Of several entries of a name only the last counts, as for the kubelet.
    """
    known: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if entry.get("name") in variables.TABLE:
            known[entry["name"]] = index
    return tuple(
        Misreading(index, name, f"{name}={shown(value)} {message}")
        for name, index in known.items()
        if (value := _literal(entries[index])) is not None
        for message in _messages(variables.TABLE[name], value, rdma=rdma)
    )


def _literal(entry: Mapping[str, Any]) -> str | None:
    """The value that the process will see, if it can be told from here."""
    value = entry.get("value") or ""
    hidden = entry.get("valueFrom") or not isinstance(value, str) or "$(" in value
    return None if hidden else value


def _messages(variable: Variable, value: str, *, rdma: bool) -> Iterator[str]:
    """What becomes of a value, by its grammar and then by what is known of the variable."""
    if not value:
        yield from _of_nothing(variable)
        return
    yield from _of_grammar(variable, value)
    if known := _KNOWN.get(variable.name):
        yield from known(value)
    if rdma and (known := _UNDER_RDMA.get(variable.name)):
        yield from known(value)


def _of_grammar(variable: Variable, value: str) -> Iterator[str]:
    match variable.grammar:
        case Whole() as grammar:
            yield from _of_number(variable, grammar, value)
        case Words() as grammar:
            yield from _of_word(variable, grammar, value)
        case Names() as grammar:
            yield from _of_list(variable, grammar, value)
        case Range() as grammar if not grammar.fits(value):
            yield f"is not {grammar}: {variable.effect}"
        case Text() as grammar if grammar is GONE:
            yield f"is not read by any release since 2.5: {variable.effect}"


_NO_FILE: Final = "and no nccl.conf can set it, since it counts as set"
_NOTHING: Final[Mapping[str, str]] = {
    "NCCL_SOCKET_IFNAME": f"is empty: NCCL chooses an interface itself, {_NO_FILE}",
    "NCCL_IB_HCA": f"is empty: NCCL takes every device, {_NO_FILE}",
    "NCCL_NET": "is empty: no network has that name, so NCCL stops with an error",
    "NCCL_NET_PLUGIN": "is empty: NCCL loads no network plugin, not even libnccl-net.so",
    "NCCL_TOPO_FILE": "is empty: NCCL reads no topology file, not even the hypervisor's",
    "NCCL_GRAPH_FILE": "is empty: NCCL cannot open that file and stops with an error",
    "NCCL_HOSTID": "is empty: NCCL takes all pods for one machine",
    "NCCL_NET_MERGE_LEVEL": "is empty: that means LOC, so no ports are merged",
}


def _of_nothing(variable: Variable) -> Iterator[str]:
    if variable.name in _NOTHING:
        yield _NOTHING[variable.name]
    elif variable.name.startswith("NCCL_") and isinstance(variable.grammar, Whole | Words):
        yield f"is empty: NCCL takes its default, {_NO_FILE}"


# What strtoll and a reader take for the same number.
_PLAIN: Final = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)\s*", re.ASCII)
_OCTAL: Final = re.compile(r"\s*[+-]?0[0-7]+\s*", re.ASCII)
_SAME: Final = re.compile(r"\s*[+-]?0+[0-7]?\s*", re.ASCII)


def _of_number(variable: Variable, grammar: Whole, value: str) -> Iterator[str]:
    # The range has no room for numbers this low, so it tells an overflow.
    read = parameter.integer(value, default=-(2**63))
    if read == -(2**63):
        yield "is too large a number: NCCL takes its default"
    elif _OCTAL.fullmatch(value) and not _SAME.fullmatch(value):
        yield f"is read as {read}: a leading 0 makes it octal"
    elif not (_PLAIN.fullmatch(value) or _OCTAL.fullmatch(value)):
        yield f"is read as {read}: words are 0 and what follows a number is ignored"
    elif not grammar.low <= read <= grammar.high:
        top = "" if grammar.high == MOST else f" to {grammar.high}"
        yield f"is outside the range from {grammar.low}{top}: {variable.effect}"


def _of_word(variable: Variable, grammar: Words, value: str) -> Iterator[str]:
    if grammar.fits(value):
        return
    if grammar is LEVEL and value[0].isdecimal():
        yield "is an old number for a distance, and numbers change: write PIX, PXB, PHB or SYS"
    else:
        yield f"is not {grammar}: {variable.effect}"


_FOREIGN: Final = re.compile(r"[\s\"'^=]")
# mlx5_1 also begins mlx5_10 to mlx5_19; no machine has an mlx5_40, or an mlx5_00.
_OPEN: Final = re.compile(r".*[^0-9][1-3]")


def _of_list(variable: Variable, grammar: Names, value: str) -> Iterator[str]:
    if not grammar.prefixes:
        yield from _of_whole_names(grammar, value)
    elif variable.name == "NCCL_SOCKET_IFNAME" and len(value) == 1:
        # src/misc/socket.cc, ncclFindInterfaces: strlen(env) > 1.
        yield "is one character, which counts as empty: NCCL chooses an interface itself"
    else:
        yield from _of_names(grammar, value)


def _of_names(grammar: Names, value: str) -> Iterator[str]:
    chosen = parameter.interfaces(value, grammar.most)
    if value.startswith("=^"):
        yield "takes ^ for a part of a name, so nothing matches: write ^="
    elif foreign := [one.name for one in chosen.entries if _FOREIGN.search(one.name)]:
        yield f"has the name {shown(foreign[0])}, which nothing has: no blank, quote, ^ or = there"
    elif not chosen.entries:
        yield f"names nothing: {'everything is left out' if chosen.inverted else 'all are taken'}"
    elif any(one.port == 0 for one in chosen.entries):
        yield "has port 0, which no device has: ports count from 1"
    elif not chosen.exact and (
        opened := [o.name for o in chosen.entries if _OPEN.fullmatch(o.name)]
    ):
        also, mark = f"{opened[0]}0 to {opened[0]}9", "^=" if chosen.inverted else "="
        yield f"has a prefix that also matches {also}: write {mark} in front for whole names"
    if value.count(",") >= grammar.most:
        yield f"has more than {grammar.most} names: NCCL ignores the others"


def _of_whole_names(grammar: Names, value: str) -> Iterator[str]:
    if _FOREIGN.search(value):
        yield "is not read as NCCL's lists are: whole names only, without ^, =, quotes or blanks"
    elif value.count(",") >= grammar.most:
        yield f"has more than {grammar.most} name: they are taken for one"


_NETWORKS: Final = frozenset({"ib", "socket"})
# Networks of the plugins of SHARP and UCX, EFA, gIB, TCPXO, TCPX, Spectrum-X.
_PLUGINS: Final = ("ibext", "ucx", "aws libfabric", "gib", "fastrak", "gpudirecttcpx", "spcx")


def _of_net(value: str) -> Iterator[str]:
    name = value.casefold()
    if name not in _NETWORKS and not name.startswith(_PLUGINS):
        yield "is no network of NCCL's own (IB, Socket): without a plugin of that name it stops"


def _of_protocol(value: str) -> Iterator[str]:
    if "ll128" in value.casefold() and not value.startswith("^"):
        yield "forces LL128, which corrupts data on a machine that NCCL does not choose it for"
    else:
        yield "is for debugging: NCCL may not use its other protocols, however slow this is"


def _of_algorithm(_: str) -> Iterator[str]:
    yield "is for debugging: a collective for which none of these works stops with an error"


def _of_graph_file(_: str) -> Iterator[str]:
    yield "stops NCCL where the file is missing, and is wrong on any other type of machine"


def _of_host_id(_: str) -> Iterator[str]:
    yield "is the same for all pods of the job: NCCL takes them for one machine"


def _of_gid_index(value: str) -> Iterator[str]:
    if parameter.integer(value, default=-1) >= 0:
        yield "fixes an index that differs between pods: NCCL finds it by itself since 2.21"


def _of_disabling(value: str) -> Iterator[str]:
    if parameter.integer(value) != 0:
        yield "turns RDMA off: the rails of this pod stay unused"


def _of_net_under_rdma(value: str) -> Iterator[str]:
    if value.casefold() == "socket":
        yield "means TCP: the rails of this pod stay unused"


def _of_level(value: str) -> Iterator[str]:
    if value == "LOC":
        yield "turns GPUDirect RDMA off: every message goes through the CPU's memory"


_DEVICE: Final = re.compile(r"(?:^|,)(mlx5_[0-9]+(?::[0-9]+)?)(?=,|$)")


def _of_ucx_devices(value: str) -> Iterator[str]:
    if found := _DEVICE.search(value):
        yield f"names {found[1]}, but the numbers of devices differ between pods"


Rule = Callable[[str], Iterator[str]]
_KNOWN: Final[Mapping[str, Rule]] = {
    "NCCL_NET": _of_net,
    "NCCL_PROTO": _of_protocol,
    "NCCL_ALGO": _of_algorithm,
    "NCCL_GRAPH_FILE": _of_graph_file,
    "NCCL_HOSTID": _of_host_id,
}
_UNDER_RDMA: Final[Mapping[str, Rule]] = {
    "NCCL_IB_GID_INDEX": _of_gid_index,
    "NCCL_IB_DISABLE": _of_disabling,
    "NCCL_NET": _of_net_under_rdma,
    "NCCL_NET_GDR_LEVEL": _of_level,
    "UCX_NET_DEVICES": _of_ucx_devices,
}
