"""NCCL's topology XML: what a platform ships (NCCL_TOPO_FILE) or NCCL dumps (NCCL_TOPO_DUMP_FILE).

Elements and attributes as in NCCL 2.30 (graph/xml.cc, topo.cc). Read with expat and no document
type at all: no entities, so nothing to expand and nothing to fetch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn
from xml.parsers import expat

from podrail.errors import MalformedError, Problem
from podrail.evidence import pci
from podrail.evidence.pci import Place
from podrail.reading import shown
from podrail.topology import Evidence, Gpu, Judged, Nic, RailSource, State, Tier, Topology

WHAT: Final = "NCCL topology"
MOST_ELEMENTS: Final = 20_000
MOST_DEPTH: Final = 32
_GPU_CLASSES: Final = ("0x0300", "0x0302", "0x0380", "0x1200")
_NIC_CLASSES: Final = ("0x0200", "0x0207", "0x0280", "0x0c06")
_AMD_BRIDGES: Final = frozenset({("0x1022", "0x1500")})
"""An AMD GPU is behind two bridges of its own package: MI300X, RCCL's topo_8p_940.xml."""


@dataclass(frozen=True, slots=True)
class _Element:
    tag: str
    line: int
    fields: Mapping[str, str]
    inner: list["_Element"] = field(default_factory=list)

    def all(self, tag: str) -> list["_Element"]:
        """The elements of that name below this one."""
        return [
            one
            for inner in self.inner
            for one in [*([inner] if inner.tag == tag else []), *inner.all(tag)]
        ]


@dataclass(frozen=True, slots=True)
class _Device:
    """A PCI function at the end of a path."""

    element: _Element
    place: Place
    address: str
    switched: bool

    @property
    def is_gpu(self) -> bool:
        return bool(self.element.all("gpu")) or self._class.startswith(_GPU_CLASSES)

    @property
    def is_nic(self) -> bool:
        """By class or content, or below a switch without either: AWS lists only NICs so (p5)."""
        named = self._class.startswith(_NIC_CLASSES) or bool(self.element.all("net"))
        return named or (not self._class and self.switched)

    @property
    def is_unknown(self) -> bool:
        """True if the file does not say what it is; NCCL asks sysfs then."""
        return not (self._class or self.is_gpu or self.is_nic)

    @property
    def _class(self) -> str:
        return self.element.fields.get("class", "").lower()


def read(text: str, place: str) -> Topology:
    """The topology that the XML holds; rails only where NCCL wrote them.

    Raises:
        MalformedError: not XML, a document type, or not NCCL's topology; with the line.
    """
    root = _parse(text, place)
    if root.tag != "system" or len({one.fields.get("host_hash") for one in root.all("cpu")}) > 1:
        _refuse(
            place, root.line, f"expected the <system> of one host, got <{shown(root.tag)[1:-1]}>"
        )
    devices = [found for at, cpu in enumerate(root.inner) for found in _below(cpu, at, place)]
    gpus = sorted((one for one in devices if one.is_gpu), key=_gpu_order)
    cards = sorted((one for one in devices if one.is_nic and not one.is_gpu), key=_order)
    pairs = [(nic, one) for one in cards for nic in _nics(one, place)]
    unknown = [one for one in devices if one.is_unknown]
    assumed = [one for one in cards if "class" not in one.element.fields and not one.element.inner]
    told = [
        *([f"{place}: {len(unknown)} devices have no class and are left out"] if unknown else []),
        *([f"{place}: {len(assumed)} devices have no class, taken for NICs"] if assumed else []),
        *([f"{place}: no GPUs; NCCL takes them from sysfs"] if not gpus else []),
    ]
    return Topology(
        shape="",
        gpus=tuple(one.place.numa for one in gpus),
        nics=tuple(nic for nic, _ in pairs),
        tiers=tuple(tuple(_tier(gpu.place, one.place) for _, one in pairs) for gpu in gpus),
        judged=Judged.NUMA if root.all("c2c") else Judged.PCIE,
        evidence=Evidence.NCCL_XML,
        cards=tuple(Gpu(pci=one.address) for one in gpus),
        partial=bool(unknown) or not gpus,
        warnings=tuple(told),
    )


def _parse(text: str, place: str) -> _Element:
    """The root element, with everything below it."""
    parser = expat.ParserCreate()
    open_elements: list[_Element] = [_Element("", 0, {})]
    count = 0

    def start(tag: str, fields: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS or len(open_elements) > MOST_DEPTH:
            told = f"expected at most {MOST_ELEMENTS} elements, {MOST_DEPTH} deep"
            _refuse(place, parser.CurrentLineNumber, told)
        element = _Element(tag, parser.CurrentLineNumber, fields)
        open_elements[-1].inner.append(element)
        open_elements.append(element)

    def document_type(*_: object) -> None:
        _refuse(place, parser.CurrentLineNumber, "expected no document type (<!DOCTYPE)")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: open_elements.pop()
    parser.StartDoctypeDeclHandler = document_type
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise MalformedError(WHAT, [Problem(f"{place}:{error.lineno}", str(error))]) from error
    return open_elements[0].inner[0]


def _refuse(place: str, line: int, told: str) -> NoReturn:
    raise MalformedError(WHAT, [Problem(f"{place}:{line}", told)])


def _below(cpu: _Element, at: int, place: str) -> list[_Device]:
    """The PCI functions of a CPU, each with its path."""
    text = cpu.fields.get("numaid", "")
    if cpu.tag != "cpu" or not (text.isdecimal() or text == "-1"):
        _refuse(place, cpu.line, f"expected <cpu> with a numaid, got <{cpu.tag}> {shown(text)}")
    numa = int(text) if text != "-1" else None
    found: list[_Device] = []
    todo: list[tuple[_Element, tuple[str, ...], bool]] = [(cpu, (f"cpu{at}",), False)]
    while todo:
        element, path, switched = todo.pop()
        for one in reversed([inner for inner in element.inner if inner.tag == "pci"]):
            address = _address(one, place)
            if any(inner.tag == "pci" for inner in one.inner):
                own = (one.fields.get("vendor"), one.fields.get("device")) in _AMD_BRIDGES
                todo.append((one, path if own else (*path, f"{address}@{one.line}"), True))
            else:
                found.append(_Device(one, Place((*path, address), numa), address, switched))
    return found


def _address(element: _Element, place: str) -> str:
    text = element.fields.get("busid", "")
    address = pci.canonical(text)
    if not address:
        _refuse(place, element.line, f"expected a PCI address as busid, got {shown(text)}")
    return address


def _tier(gpu: Place, nic: Place) -> Tier | None:
    """As for kernel paths, but a CPU of the XML has all its host bridges: NCCL knows no NODE."""
    found = pci.tier(gpu, nic, switched=False)
    return Tier.PHB if found is Tier.NODE else found


def _gpu_order(device: _Device) -> tuple[int, ...]:
    """NCCL's own numbers where it dumped them, else by address."""
    numbers = [
        int(text)
        for one in device.element.all("gpu")
        if (text := one.fields.get("dev", "")).isdecimal()
    ]
    return (*numbers[:1], *pci.order(device.address)) if numbers else pci.order(device.address)


def _order(device: _Device) -> tuple[int, ...]:
    return pci.order(device.address)


def _nics(device: _Device, place: str) -> list[Nic]:
    """A NIC for each port that NCCL found on the card, else one for the card."""
    nets = device.element.all("net")
    if not nets:
        return [Nic(device.address, None, device.place.numa, pci=device.address)]
    return [_net(one, device, place) for one in nets]


def _net(net: _Element, device: _Device, place: str) -> Nic:
    speed, rail = _number(net, "speed", place), _number(net, "rail", place)
    name = net.fields.get("name", "")
    return Nic(
        name=name or device.address,
        rail=rail,
        numa=device.place.numa,
        device=name,
        pci=device.address,
        rail_source=None if rail is None else RailSource.NCCL,
        state=State.UP,
        gbps=None if not speed else max(1, speed // 1000),
    )


def _number(element: _Element, key: str, place: str) -> int | None:
    """A number of the XML; NCCL writes -1 for a rail that it does not know."""
    text = element.fields.get(key, "-1")
    if not text.removeprefix("-").isdecimal() or len(text) > 9:  # noqa: PLR2004 - an int of C
        _refuse(place, element.line, f"{key}: expected a whole number, got {shown(text)}")
    return int(text) if int(text) >= 0 else None
