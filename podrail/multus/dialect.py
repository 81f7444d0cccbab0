"""The annotations in which platforms name a pod's networks: Multus's, GKE's, Volcengine's.

GKE (container-engine-accelerators, gpu-recipes) and Volcengine (aibrix samples) have a JSON array
of objects of their own instead of Multus's grammar. Here too what the user wrote stays byte for
byte: ours is spliced in before the closing bracket.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Protocol

from podrail import names
from podrail.errors import PodError
from podrail.fabric import Dialect
from podrail.marker import compact
from podrail.multus import networks
from podrail.multus.networks import Element, Wanted
from podrail.reading import shown

_SPACES: Final = " \t\n\r"
GKE_KEY: Final = "networking.gke.io/interfaces"
GKE_DEFAULT_KEY: Final = "networking.gke.io/default-interface"
VOLCENGINE_KEY: Final = "k8s.volcengine.com/pod-networks"


class Listed(Protocol):
    """The networks that an annotation names, in their order."""

    @property
    def text(self) -> str:
        """The annotation's value."""

    @property
    def elements(self) -> tuple[Element, ...]:
        """Its elements."""

    def append(self, wanted: tuple[Wanted, ...]) -> "Listed":
        """With these elements at the end; itself if there are none."""


@dataclass(frozen=True, slots=True)
class Speech:
    """How one platform names networks.

    beside holds annotations that go with the list where the pod has none of them; begun is how a
    list begins that the pod has not got at all; namespaced is True where a name without a
    namespace is one of the pod's namespace; named is True where elements name their interfaces.
    """

    key: str
    parse: Callable[[str], Listed]
    namespaced: bool = False
    named: bool = True
    begun: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)

    def listed(self, annotations: Mapping[str, str]) -> Listed:
        """The networks that a pod with these annotations names.

        Raises:
            PodError: the platform would not understand the annotation.
        """
        return self.parse(annotations.get(self.key, ""))

    def network(self, element: Element, namespace: str) -> str:
        """The network that an element names in a pod of this namespace."""
        return element.network(namespace if self.namespaced else "")

    def equal(self, wanted: Wanted, element: Element, namespace: str) -> bool:
        """True if the element says exactly what is wanted."""
        if self.namespaced:
            return wanted.equals(element, namespace)
        said = (self.network(element, namespace), element.interface)
        return said == (wanted.network, wanted.interface)


@dataclass(frozen=True, slots=True)
class Spelling:
    """An element as a JSON object: how it is read, and how it is written."""

    key: str
    read: Callable[[Mapping[str, Any]], tuple[object, object]]
    write: Callable[[Wanted], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Array:
    """A JSON array of such objects; the text is empty if the pod has none."""

    text: str
    elements: tuple[Element, ...]
    spelling: Spelling

    def append(self, wanted: tuple[Wanted, ...]) -> "Array":
        """The array with these elements at its end."""
        if not wanted:
            return self
        body = self.text.rstrip(_SPACES)[:-1].rstrip(_SPACES) if self.text else "["
        added = ",".join(compact(self.spelling.write(one)) for one in wanted)
        return _array(f"{body}{',' if self.elements else ''}{added}]", self.spelling)


def _array(text: str, spelling: Spelling) -> Array:
    """The elements of an annotation.

    Raises:
        PodError: not a JSON array of objects that name a network each.
    """
    if not text:
        return Array("", (), spelling)
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        _refuse(spelling.key, "", f"is not JSON: {str(error) or 'nested too deeply'}")
    if not isinstance(listed, list):
        _refuse(spelling.key, "", f"expected a JSON array of objects, got {shown(listed)}")
    elements = tuple(_element(spelling, index, raw) for index, raw in enumerate(listed))
    return Array(text, elements, spelling)


def _element(spelling: Spelling, index: int, raw: object) -> Element:
    name, interface = spelling.read(raw) if isinstance(raw, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(interface, str):
        example = compact(spelling.write(Wanted("", "NAME", "eth1")))
        _refuse(spelling.key, f"[{index}]", f"expected an object like {example}, got {shown(raw)}")
    return Element("", name, interface, None, 0, 0)


def _refuse(key: str, place: str, message: str) -> NoReturn:
    raise PodError("MalformedNetworks", f"metadata.annotations['{key}']{place}", message)


def _gke(raw: Mapping[str, Any]) -> tuple[object, object]:
    return raw.get("network"), raw.get("interfaceName")


def _volcengine(raw: Mapping[str, Any]) -> tuple[object, object]:
    conf = raw.get("cniConf")
    return (conf.get("name") if isinstance(conf, dict) else None), ""


_GKE: Final = Spelling(
    GKE_KEY, _gke, lambda one: {"interfaceName": one.interface, "network": one.name}
)
_VOLCENGINE: Final = Spelling(
    VOLCENGINE_KEY, _volcengine, lambda one: {"cniConf": {"name": one.name}}
)

SPEECH: Final[Mapping[Dialect, Speech]] = {
    Dialect.MULTUS: Speech(names.NETWORKS, networks.parse, namespaced=True),
    Dialect.GKE: Speech(
        GKE_KEY,
        lambda text: _array(text, _GKE),
        # GKE wants the pod's own network in the list, and to know which one is the default.
        begun='[{"interfaceName":"eth0","network":"default"}]',
        beside={GKE_DEFAULT_KEY: "eth0"},
    ),
    Dialect.VOLCENGINE: Speech(VOLCENGINE_KEY, lambda text: _array(text, _VOLCENGINE), named=False),
}
"""How each dialect names networks."""
