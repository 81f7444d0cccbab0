"""The shape catalog: what is known of machine types, by the name their nodes carry as a label.

A shape without distances or rails is listed for its sources and yields no topology: a node of that
type is unknown, which is neutral, never bad.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from podrail.errors import MalformedError, Problem
from podrail.reading import Reader, shown
from podrail.topology import Evidence, Gpu, Judged, Nic, RailSource, Role, Tier, Topology

SHIPPED: Final = ("podrail", "data/shapes")
"""The package and the folder in it that have the shipped machine types."""
MOST_SHAPES: Final = 1000
MOST_GPUS: Final = 64
MOST_DEVICES: Final = 128
MOST_GBPS: Final = 100_000
_TOLD: Final = frozenset(
    ["gpu", "bestTier", "guestView", "sources", "verified", "notes", "portsPerCard", "pciSet"]
)
"""Fields for people: read by nobody here."""
_UNKNOWN: Final = "null"
_ROLES: Final = {
    "rail": Role.RAIL,
    "storage": Role.STORAGE,
    "management": Role.MANAGEMENT,
    "frontend": Role.MANAGEMENT,
}


def read(documents: Iterable[tuple[str, object]]) -> Mapping[str, Topology]:
    """The topologies by shape, out of catalog documents; a later document wins.

    Raises:
        MalformedError: with every problem of every document.
    """
    problems: list[Problem] = []
    found: dict[str, Topology] = {}
    for place, document in documents:
        top = Reader.of(document, place, problems)
        for part in top.parts("shapes", MOST_SHAPES):
            shape = _shape(part)
            if shape.rails and shape.tiers:
                found[shape.shape] = shape
        top.close()
    if problems:
        raise MalformedError("shape catalog", problems)
    return found


def _shape(part: Reader) -> Topology:
    part.required("shape")
    gpus = [_gpu(one) for one in part.parts("gpus", MOST_GPUS)]
    nics = tuple(_nic(one) for one in part.parts("nics", MOST_DEVICES))
    for field in _TOLD:
        part.raw(field)
    topology = Topology(
        shape=part.text("shape", limit=63),
        gpus=tuple(numa for numa, _ in gpus),
        nics=nics,
        tiers=_tiers(part, len(gpus), len(nics)),
        judged=part.choice("judgedBy", Judged.PCIE),
        evidence=Evidence.CATALOG,
        cards=tuple(card for _, card in gpus),
    )
    part.close()
    return topology


def _gpu(part: Reader) -> tuple[int | None, Gpu]:
    found = _numa(part), Gpu(pci=part.text("pci", limit=16))
    part.close()
    return found


def _nic(part: Reader) -> Nic:
    rail = None if part.raw("rail") is None else part.integer("rail", 0, 0, MOST_DEVICES)
    role = part.raw("role")
    if role is not None and not (isinstance(role, str) and role in _ROLES):
        part.wrong("role", f"expected one of {', '.join(_ROLES)}; got {shown(role)}")
    gbps = None if part.raw("gbps") is None else part.integer("gbps", 0, 0, MOST_GBPS)
    nic = Nic(
        name=part.text("name", limit=63),
        rail=rail,
        numa=_numa(part),
        pci=part.text("pci", limit=16),
        # What a shape's number comes from is at best the order of its NICs.
        rail_source=None if rail is None else RailSource.PCI,
        role=_ROLES.get(role) if isinstance(role, str) else None,
        link=part.text("link", limit=63),
        gbps=gbps,
    )
    part.close()
    return nic


def _numa(part: Reader) -> int | None:
    return None if part.raw("numa") is None else part.integer("numa", 0, 0, 1023)


def _tiers(part: Reader, gpus: int, nics: int) -> tuple[tuple[Tier | None, ...], ...]:
    """One row of words for each GPU, a word for each NIC; a row is never shifted or filled."""
    rows = part.items("tiers", MOST_DEVICES)
    if rows and len(rows) != gpus:
        part.wrong("tiers", f"expected a row for each of {gpus} GPUs, got {len(rows)}")
    return tuple(_row(part, index, row, nics) for index, row in enumerate(rows))


def _row(part: Reader, index: int, row: object, nics: int) -> tuple[Tier | None, ...]:
    words = row.split() if isinstance(row, str) else []
    if len(words) != nics or not set(words) <= {*Tier, _UNKNOWN}:
        part.wrong(f"tiers[{index}]", f"expected {nics} of {' '.join(Tier)}, got {shown(row)}")
        return ()
    return tuple(None if word == _UNKNOWN else Tier(word) for word in words)
