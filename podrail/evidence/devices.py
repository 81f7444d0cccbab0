"""GPUs, NICs and distances as NodeRails writes them (design §11), to and from a topology.

An empty or null field is unknown. A NIC is told by its HCA, its interface or its PCI address.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from podrail.evidence import pci
from podrail.reading import Reader, shown
from podrail.topology import (
    Evidence,
    Gpu,
    Judged,
    Nic,
    RailSource,
    Role,
    State,
    Tier,
    Topology,
)

MOST_GPUS: Final = 64
MOST_NICS: Final = 192
MOST_NUMA: Final = 1023
MOST_RAIL: Final = 127
MOST_GBPS: Final = 100_000


def read(part: Reader, evidence: Evidence) -> Topology | None:
    """The devices and distances among an object's fields; None if it has no devices."""
    cards = [_gpu(one) for one in part.parts("gpus", MOST_GPUS)]
    nics = tuple(_nic(one, evidence) for one in part.parts("nics", MOST_NICS))
    judged = part.choice("judgedBy", Judged.PCIE)
    tiers = _tiers(part, len(cards), len(nics))
    if not cards and not nics:
        return None
    return Topology(
        shape="",
        gpus=tuple(numa for numa, _ in cards),
        nics=nics,
        tiers=tiers or ((None,) * len(nics),) * len(cards),
        judged=judged,
        evidence=evidence,
        cards=tuple(card for _, card in cards),
    )


def _gpu(part: Reader) -> tuple[int | None, Gpu]:
    """A GPU; its index is its place in the list, so a list that says otherwise is wrong."""
    at = int(match[1]) if (match := re.search(r"\[(\d+)\]$", part.path)) else 0
    if part.integer("index", at, 0, MOST_GPUS) != at:
        part.wrong("index", f"expected {at}, the place in the list, got {shown(part.raw('index'))}")
    card = Gpu(
        id=part.text("id", limit=128),
        pci=pci.canonical(part.text("pci", pattern=pci.ADDRESS, limit=16)),
        product=part.text("product", limit=128),
        healthy=part.truth("healthy", default=True),
    )
    numa = _number(part, "numa", MOST_NUMA)
    part.close()
    return numa, card


def _number(part: Reader, key: str, most: int) -> int | None:
    return None if part.raw(key) is None else part.integer(key, 0, 0, most)


def _nic(part: Reader, evidence: Evidence) -> Nic:
    hca, netdev = part.text("hca", limit=64), part.text("netdev", limit=64)
    address = pci.canonical(part.text("pci", pattern=pci.ADDRESS, limit=16))
    rail = _number(part, "rail", MOST_RAIL)
    said = RailSource.OVERRIDE if evidence is Evidence.OVERRIDE else RailSource.PCI
    source = part.choice("railSource", said)
    if not (hca or netdev or address):
        part.wrong("hca", "expected hca, netdev or pci, so that the NIC can be told")
    nic = Nic(
        name=hca or netdev or address,
        rail=rail,
        numa=_number(part, "numa", MOST_NUMA),
        device=hca,
        pci=address,
        netdev=netdev,
        rail_source=None if rail is None else source,
        role=None if part.raw("role") is None else part.choice("role", Role.RAIL),
        link=part.text("linkLayer", limit=32),
        state=None if part.raw("state") is None else part.choice("state", State.SUSPECT),
        gbps=_number(part, "gbps", MOST_GBPS),
        resource=part.text("resource"),
    )
    part.close()
    return nic


def _tiers(part: Reader, gpus: int, nics: int) -> tuple[tuple[Tier | None, ...], ...]:
    """A row for each GPU, a word or null for each NIC; a row is never shifted or filled."""
    rows = part.choice_lists("tiers", Tier, MOST_GPUS, MOST_NICS)
    if rows and len(rows) != gpus:
        part.wrong("tiers", f"expected a row for each of {gpus} GPUs, got {len(rows)}")
    for at, row in enumerate(rows):
        if len(row) != nics:
            part.wrong(f"tiers[{at}]", f"expected a word for each of {nics} NICs, got {len(row)}")
    return rows


def document(topology: Topology) -> dict[str, Any]:
    """The fields gpus, nics, tiers of a topology."""
    gpus = [
        said({"index": at, "id": card.id, "pci": card.pci, "numa": numa, "product": card.product})
        | {"healthy": card.healthy}
        for at, numa in enumerate(topology.gpus)
        for card in [topology.card(at)]
    ]
    judged = {} if topology.judged is Judged.PCIE else {"judgedBy": topology.judged.value}
    tiers = [[None if tier is None else tier.value for tier in row] for row in topology.tiers]
    return {"gpus": gpus, "nics": [_listed(one) for one in topology.nics], "tiers": tiers, **judged}


def _listed(nic: Nic) -> dict[str, Any]:
    return said(
        {
            "rail": nic.rail,
            "railSource": nic.rail_source,
            "role": nic.role,
            "hca": nic.device or ("" if nic.netdev or nic.pci else nic.name),
            "netdev": nic.netdev,
            "pci": nic.pci,
            "numa": nic.numa,
            "linkLayer": nic.link,
            "state": nic.state,
            "gbps": nic.gbps,
            "resource": nic.resource,
        }
    )


def said(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something, enumerations as their words."""
    return {
        key: value.value if isinstance(value, StrEnum) else value
        for key, value in values.items()
        if value is not None and value not in ("", [])
    }
