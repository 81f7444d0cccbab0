"""The networks annotation in Multus's own grammar (multus-cni v4.3, parsePodNetworkAnnotation).

The text is the short form, elements [ns/]name[@interface] joined by commas, unless it holds one of
[ { " anywhere; then it is a JSON array of objects. Each element keeps its place in the text, so a
change splices: what the user wrote stays byte for byte, duplicates and unknown keys included.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn

from podrail.errors import PodError
from podrail.marker import compact
from podrail.multus import selection
from podrail.multus.selection import Fields
from podrail.names import NETWORKS
from podrail.reading import shown

# unicode.IsSpace of Go, which strings.TrimSpace uses; Python's strip() also takes \x1c-\x1f.
_SPACES: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    chr(code) for code in range(0x2000, 0x200B)
)
# Multus lets both parts be empty and finds no such network later.
_LABEL: Final = re.compile(r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)?")
# Fewer spaces than are trimmed: strings.ContainsAny(netIfName, " \t\n\v\f\r/").
_IFNAME: Final = re.compile(r"[^/@ \t\n\v\f\r]*")
_MEMO_LENGTH: Final = 4096
_JSON_SPACES: Final = " \t\n\r"
_IFNAME_LENGTH: Final = 15


@dataclass(frozen=True, slots=True)
class Element:
    """One element: what it names, and where it stands in the text."""

    namespace: str
    name: str
    interface: str
    raw: Fields | None
    start: int
    end: int

    def network(self, pod_namespace: str) -> str:
        """The network as namespace/name; Multus looks in the pod's namespace if none is given.

        Just the name where the pod's namespace is given as empty: networks of the whole cluster.
        """
        namespace = self.namespace or pod_namespace
        return f"{namespace}/{self.name}" if namespace else self.name


@dataclass(frozen=True, slots=True)
class Wanted:
    """An element to write."""

    namespace: str
    name: str
    interface: str
    cni_args: Mapping[str, Any] | None = None

    @property
    def network(self) -> str:
        """The network as namespace/name, or its name if it is one of the whole cluster."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def short(self) -> str:
        """The element in the short form, which has no place for CNI arguments."""
        return f"{self.namespace}/{self.name}@{self.interface}"

    def json(self) -> str:
        """The element as a JSON object."""
        fields: dict[str, Any] = {
            "name": self.name,
            "namespace": self.namespace,
            "interface": self.interface,
        }
        if self.cni_args is not None:
            fields["cni-args"] = self.cni_args
        return compact(fields)

    def equals(self, element: Element, pod_namespace: str) -> bool:
        """True if the element says exactly this."""
        same = (
            element.network(pod_namespace) == self.network and element.interface == self.interface
        )
        if element.raw is None:
            return same and self.cni_args is None
        said = compact({**element.raw, "namespace": self.namespace})
        return same and not element.raw.repeats and said == self.json()


@dataclass(frozen=True, slots=True)
class Networks:
    """The annotation's text and its elements; is_json is None for an absent or empty one."""

    text: str
    elements: tuple[Element, ...]
    is_json: bool | None

    def append(self, wanted: tuple[Wanted, ...]) -> "Networks":
        """The annotation with these elements at its end, in the user's form if it can hold them."""
        if not wanted:
            return self
        if not self.is_json and any(one.cni_args is not None for one in wanted):
            return self._as_json().append(wanted)
        if self.is_json:
            body = self.text.rstrip(_JSON_SPACES)[:-1].rstrip(_JSON_SPACES)
            joint = "," if self.elements else ""
            return parse(body + joint + ",".join(one.json() for one in wanted) + "]")
        texts = [self.text] if self.is_json is False else []
        return parse(",".join([*texts, *(one.short() for one in wanted)]))

    def replace(self, at: Mapping[int, Wanted | None]) -> "Networks":
        """The annotation with other elements at these positions; None takes the element out."""
        if not self.is_json and any(
            one is not None and one.cni_args is not None for one in at.values()
        ):
            return self._as_json().replace(at)
        kept = [
            self._spelled(at[index]) if index in at else self.text[element.start : element.end]
            for index, element in enumerate(self.elements)
        ]
        texts = [text for text in kept if text is not None]
        if self.is_json:
            return parse("[" + ",".join(texts) + "]")
        return parse(",".join(texts))

    def _spelled(self, wanted: Wanted | None) -> str | None:
        if wanted is None:
            return None
        return wanted.json() if self.is_json else wanted.short()

    def _as_json(self) -> "Networks":
        objects = []
        for element in self.elements:
            given = {
                "name": element.name,
                "namespace": element.namespace,
                "interface": element.interface,
            }
            objects.append(
                compact({key: value for key, value in given.items() if value or key == "name"})
            )
        return parse("[" + ",".join(objects) + "]")


def parse(text: str) -> Networks:
    """The annotation's elements as Multus reads them.

    Raises:
        PodError: Multus would refuse the text, or crash on it; the message names the element.
    """
    if not text:
        return Networks("", (), None)
    # The pods of a job carry the same text, and a text is read by several rules.
    return _remembered(text) if len(text) <= _MEMO_LENGTH else _parse(text)


def _parse(text: str) -> Networks:
    if any(sign in text for sign in '[{"'):
        return Networks(text, _json_elements(text), is_json=True)
    elements = []
    start = 0
    for index, part in enumerate(text.split(",")):
        elements.append(_short_element(part, index, start))
        start += len(part) + 1
    return Networks(text, tuple(elements), is_json=False)


_remembered: Final = lru_cache(maxsize=512)(_parse)


def _short_element(part: str, index: int, start: int) -> Element:
    namespace, slash, rest = part.partition("/")
    if not slash:
        namespace, rest = "", part
    name, _, interface = rest.partition("@")
    namespace, name, interface = (piece.strip(_SPACES) for piece in (namespace, name, interface))
    if not (
        _LABEL.fullmatch(namespace) and _LABEL.fullmatch(name) and _IFNAME.fullmatch(interface)
    ):
        expected = "[namespace/]name[@interface], DNS-1123 labels and an interface without / and @"
        _refuse(index, f"expected {expected}, got {shown(part)}")
    if len(interface.encode(errors="surrogatepass")) > _IFNAME_LENGTH:
        _refuse(index, f"interface {shown(interface)} is longer than {_IFNAME_LENGTH} bytes")
    return Element(namespace, name, interface, None, start, start + len(part))


def _json_elements(text: str) -> tuple[Element, ...]:
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        _refuse(
            None, f"expected a JSON array of objects or a list such as ns/a,ns/b; got {shown(text)}"
        )
    elements: list[Element] = []
    at = _skip(text, at + 1)
    closed = text[at : at + 1] == "]"
    while not closed:
        element = _json_element(text, at, len(elements))
        elements.append(element)
        at = _skip(text, element.end)
        sign = text[at : at + 1]
        if sign not in {",", "]"}:
            _refuse(len(elements) - 1, "expected , or ] after the element")
        closed = sign == "]"
        at = at if closed else _skip(text, at + 1)
    if _skip(text, at + 1) != len(text):
        _refuse(None, f"expected nothing after the array, got {shown(text[at + 1 :])}")
    return tuple(elements)


def _json_element(text: str, at: int, index: int) -> Element:
    try:
        raw, end = selection.decode(text, at)
    except (ValueError, RecursionError) as error:
        _refuse(index, f"is not JSON: {str(error) or 'nested too deeply'}")
    if not isinstance(raw, Fields):
        # Multus dereferences a nil pointer on [null].
        _refuse(index, f"expected an object, got {shown(raw)}")
    if said := selection.problem(raw):
        _refuse(index, said)
    namespace, name, interface = selection.names(raw)
    return Element(namespace, name, interface, raw, at, end)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _JSON_SPACES:
        at += 1
    return at


def _refuse(index: int | None, message: str) -> NoReturn:
    place = "" if index is None else f"[{index}]"
    raise PodError("MalformedNetworks", f"metadata.annotations['{NETWORKS}']{place}", message)
