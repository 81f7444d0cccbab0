"""One object of the networks annotation, as Multus's Go program reads it.

The fields are those of NetworkSelectionElement (multus-cni v4.3.0, pkg/types/types.go), read by the
rules of encoding/json: keys match whatever their case, null leaves a text as it was, a repeated key
is read each time, an unknown one is skipped. Addresses are judged as by parsePodNetworkAnnotation.
"""

import ipaddress
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from podrail.reading import shown

_HEX: Final = "[0-9A-Fa-f]"
# net.ParseMAC: 6, 8 or 20 octets in pairs with : or -, or in fours with a dot.
_ADDRESS: Final = re.compile(
    rf"{_HEX}{{2}}(?:([:-]){_HEX}{{2}}(?:\1{_HEX}{{2}}){{4}}"
    rf"|([:-]){_HEX}{{2}}(?:\2{_HEX}{{2}}){{6}}"
    rf"|([:-]){_HEX}{{2}}(?:\3{_HEX}{{2}}){{18}})"
    rf"|{_HEX}{{4}}(?:(?:\.{_HEX}{{4}}){{2}}|(?:\.{_HEX}{{4}}){{3}}|(?:\.{_HEX}{{4}}){{9}})"
)
# encoding/json puts U+FFFD in the place of half a surrogate pair.
_HALVES: Final = re.compile("[\ud800-\udfff]")
# The largest float64 has 309 digits; Python makes an int of up to 4,300.
_MOST_DIGITS: Final = 308


class Fields(dict[str, Any]):
    """A JSON object that remembers its repeated keys."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self.pairs: Final = tuple(pairs)
        super().__init__(self.pairs)

    @property
    def repeats(self) -> bool:
        """True if a key stands there twice."""
        return len(self) != len(self.pairs)


def decode(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins there, objects as Fields, and where it ends.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested more deeply than Python reads, about a thousand levels.
    """
    return _DECODER.raw_decode(text, at)


def problem(fields: Fields) -> str:
    """What Multus refuses the object for; empty if it takes it."""
    for key, value in fields.pairs:
        kind = _KINDS.get(_folded(key))
        expected = kind(value) if kind else ""
        if expected:
            return f"{_folded(key)}: expected {expected}, got {shown(value)}"
    read = _last(fields)
    for key in ("mac", "infiniband-guid"):
        if read.get(key) and not _ADDRESS.fullmatch(read[key]):
            return f"{key}: expected 6, 8 or 20 octets such as 02:00:00:00:00:01"
    if not all(_is_address_or_network(one or "") for one in read.get("ips") or ()):
        return "ips: expected IP addresses, with or without a prefix length"
    return ""


def names(fields: Fields) -> tuple[str, str, str]:
    """The namespace, name and interface; each is empty if it is not given."""
    read = _last(fields)
    interface = read.get("interface") or read.get("interfacerequest") or ""
    found = (read.get("namespace") or "", read.get("name") or "", interface)
    namespace, name, interface = (_HALVES.sub("\ufffd", one) for one in found)
    return namespace, name, interface


def _last(fields: Fields) -> Mapping[str, Any]:
    """The value of each key in the end: the last one, but null changes no text."""
    read: dict[str, Any] = {}
    for key, value in fields.pairs:
        folded = _folded(key)
        if value is not None or _KINDS.get(folded) is not _text:
            read[folded] = value
    return read


def _folded(key: str) -> str:
    # Go folds the long s and the Kelvin sign too; lower() does not know the long s.
    return key.lower().replace("\u017f", "s")


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, str) else "a string"


def _number(value: object) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    return "" if value is None or whole else "a whole number of 64 bits"


def _texts(value: object) -> str:
    good = value is None or (isinstance(value, list) and not any(_text(one) for one in value))
    return "" if good else "a list of strings"


def _routes(value: object) -> str:
    if _texts(value):
        return _texts(value)
    listed = value if isinstance(value, list) else []
    return "" if all(_is_address(one) for one in listed if one) else "a list of IP addresses"


def _arguments(value: object) -> str:
    if value is not None and not isinstance(value, dict):
        return "an object"
    return "" if _finite(value) else "numbers that a float64 holds"


def _finite(value: object) -> bool:
    if isinstance(value, float | int):
        return math.isfinite(value)
    inner = [one for _, one in value.pairs] if isinstance(value, Fields) else value
    return not isinstance(inner, list) or all(_finite(one) for one in inner)


def _object(kinds: Mapping[str, Callable[[object], str]], value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, Fields):
        return "an object"
    for key, inner in value.pairs:
        kind = kinds.get(_folded(key))
        if kind and kind(inner):
            return f"{kind(inner)} in {_folded(key)}"
    return ""


def _mappings(value: object) -> str:
    if value is not None and not isinstance(value, list):
        return "a list of objects"
    return next((said for one in value or () if (said := _object(_MAPPING, one))), "")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    # net.ParseIP takes no zone.
    return "%" not in text


def _is_address_or_network(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not _is_address(address):
        return False
    if not slash:
        return True
    bits = 128 if ":" in address else 32
    return re.fullmatch("0*[0-9]{1,3}", length) is not None and int(length) <= bits


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=Fields, parse_int=_whole, parse_constant=_no_constant
)
_MAPPING: Final = {
    "hostport": _number, "containerport": _number, "protocol": _text, "hostip": _text,
}  # fmt: skip
_BANDWIDTH: Final = dict.fromkeys(
    ("ingressrate", "ingressburst", "egressrate", "egressburst"), _number
)
_KINDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "name": _text, "namespace": _text, "mac": _text, "infiniband-guid": _text, "interface": _text,
    "interfacerequest": _text, "deviceid": _text, "ips": _texts, "portmappings": _mappings,
    "bandwidth": partial(_object, _BANDWIDTH), "cni-args": _arguments, "default-route": _routes,
}  # fmt: skip
