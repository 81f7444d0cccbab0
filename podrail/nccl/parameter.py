"""How NCCL reads a value, a list and a conf file (2.30.7, the sources named at each rule).

Nothing is trimmed and nothing is refused: what is no number is 0, and a name with a blank before
it matches no device.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

ANY: Final = -1
"""Any port, rail or plane."""

_STRTOLL: Final = re.compile(
    r"[ \t\n\v\f\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))"
)
_ATOI: Final = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_LOW: Final = -(2**63)
_HIGH: Final = 2**63 - 1
_DIGITS: Final = 19
# struct netIf (src/include/utils.h), setEnvFile (src/misc/param.cc): less the closing zero.
_NAME: Final = 63
_VALUE: Final = 1023
_LINE: Final = 4095


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a list, and the port, rail and plane it is limited to."""

    name: str
    port: int = ANY
    rail: int = ANY
    plane: int = ANY


@dataclass(frozen=True, slots=True)
class Selection:
    """A list as NCCL understands it: the entries or all others, as whole names or as prefixes."""

    inverted: bool
    exact: bool
    entries: tuple[Entry, ...]


def integer(text: str, default: int = 0) -> int:
    """The number that is read: strtoll with base 0, the default for nothing and for overflow.

    src/misc/param.cc, ncclLoadParam. With glibc a text without a number is 0 and no error.
    """
    found = _STRTOLL.match(text)
    if not found:
        return 0 if text else default
    sign, hexadecimal, octal, decimal = found.groups()
    if decimal and len(decimal) > _DIGITS:
        return default
    number = int(decimal) if decimal else int(hexadecimal or octal, 16 if hexadecimal else 8)
    number = -number if sign == "-" else number
    return number if _LOW <= number <= _HIGH else default


def interfaces(text: str, most: int = 32) -> Selection:
    """The list in NCCL_IB_HCA (32 entries at most), NCCL_SOCKET_IFNAME or NCCL_OOB_NET_IFNAME (16).

    One ^ and then one = in front; an entry is name[:port[:rail[:plane]]], the last two since
    2.30.7; entries without a name do not count (src/misc/utils.cc, parseStringList).
    """
    inverted = text.startswith("^")
    bare = text.removeprefix("^")
    parts = bare.removeprefix("=").split(",")
    entries = [_entry(part) for part in parts if part and not part.startswith(":")]
    return Selection(inverted, bare.startswith("="), tuple(entries[:most]))


def _entry(text: str) -> Entry:
    name, *limits = text.split(":")
    port, rail, plane = (_atoi(limit) for limit in [*limits, "", "", ""][:3])
    return Entry(name[:_NAME], port, rail, plane)


def _atoi(text: str) -> int:
    found = _ATOI.match(text)
    return (int(found[1][:_DIGITS]) if found else 0) if text else ANY


def matches(selection: Selection, name: str, port: int = ANY) -> bool:
    """True if NCCL takes the interface, or the port of the device.

    A list without entries matches everything, so ^ alone takes nothing (src/misc/utils.cc,
    matchIfList).
    """
    listed = not selection.entries or any(
        (name == one.name if selection.exact else name.startswith(one.name))
        and (ANY in {port, one.port} or port == one.port)
        for one in selection.entries
    )
    return listed != selection.inverted


def file_settings(text: str) -> Mapping[str, str]:
    """What a conf file sets: the first line of a name wins.

    A line is a comment only if # is its first character, and only since 2.26.2; a value ends after
    1,023 bytes and a line after 4,095 (src/misc/param.cc, setEnvFile).
    """
    found: dict[str, str] = {}
    for line in _lines(text.encode(errors="surrogateescape")):
        name, equals, value = line.partition(b"=")
        if equals and name and not line.startswith(b"#"):
            found.setdefault(_text(name[:_VALUE]), _text(value[:_VALUE]))
    return found


def _lines(text: bytes) -> Iterator[bytes]:
    for line in text.split(b"\n"):
        for start in range(0, len(line), _LINE):
            yield line[start : start + _LINE].partition(b"\0")[0].removesuffix(b"\r")


def _text(found: bytes) -> str:
    return found.decode(errors="surrogateescape")


def user_file(environ: Mapping[str, str]) -> str:
    """The path of the conf file that is read before /etc/nccl.conf; empty if there is none.

    NCCL_CONF_FILE, unless empty, replaces ~/.nccl.conf (since 2.23.4).
    """
    home = environ.get("HOME")
    return environ.get("NCCL_CONF_FILE") or ("" if home is None else f"{home}/.nccl.conf")


def effective(environ: Mapping[str, str], user: str, system: str) -> Mapping[str, str]:
    """The settings in force: the environment, then the user's conf file, then /etc/nccl.conf.

    An empty variable of the environment counts as set: no file can change it.
    """
    return {**file_settings(system), **file_settings(user), **environ}
