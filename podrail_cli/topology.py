"""`podrail topology`: one node's GPUs, NICs, rails and distances out of whatever tells of them."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from podrail.errors import MalformedError, Problem
from podrail.evidence import nccl_xml, noderails, rails, rocm, smi, sysfs
from podrail.topology import Gpu, Nic, RailSource, Topology
from podrail_cli import library, output
from podrail_io import files, tree

Document = Mapping[str, Any]


def read(kind: str, value: str) -> Topology:
    """The topology that an option's value leads to, rails numbered.

    Raises:
        MalformedError, FileError: what is there cannot be read as that.
    """
    return rails.numbered(KINDS[kind](value))


def _text(value: str) -> str:
    return sys.stdin.read() if value == "-" else files.text(Path(value))


def _place(value: str) -> str:
    return "standard input" if value == "-" else value


def _smi(value: str) -> Topology:
    return smi.read(_text(value), _place(value))


def _rocm(value: str) -> Topology:
    return rocm.read(_text(value), _place(value))


def _nccl(value: str) -> Topology:
    return nccl_xml.read(_text(value), _place(value))


def _sysfs(value: str) -> Topology:
    """A /sys, a copy of one, or a folder that has one in it."""
    top = Path(value)
    folder = top / "sys" if (top / "sys").is_dir() else top
    found = tree.read(folder, sysfs.PATTERNS)
    if not any(name.startswith("bus/") for name in found.links):
        bare = tree.read(folder, sysfs.BARE)
        found = tree.Tree({**bare.files, **found.files}, {**bare.links, **found.links})
    if not found.files:
        raise _wrong(value, "no PCI devices found; expected a copy of /sys")
    return sysfs.read(found.files, found.links, value)


def _shape(value: str) -> Topology:
    known = library.shapes(None)
    if value not in known:
        told = f"no shape of that name has distances; those are {', '.join(sorted(known))}"
        raise _wrong(value, told)
    return known[value]


def _node_rails(value: str) -> Topology:
    found = [
        noderails.read(one, place) for place, one in files.documents(_text(value), _place(value))
    ]
    if len(found) != 1:
        raise _wrong(_place(value), f"expected one NodeRails, got {len(found)}")
    topology = found[0].topology
    if topology is None:
        raise _wrong(_place(value), "neither spec.override nor status has devices")
    return topology


KINDS: Final[Mapping[str, Callable[[str], Topology]]] = {
    "nvidia_smi": _smi,
    "rocm_smi": _rocm,
    "nccl_xml": _nccl,
    "sysfs": _sysfs,
    "shape": _shape,
    "node_rails": _node_rails,
}
"""What reads each option."""


def _wrong(path: str, message: str) -> MalformedError:
    return MalformedError("topology", [Problem(path, message)])


def document(topology: Topology) -> Document:
    """The topology as `-o json` prints it; null is unknown."""
    return {
        "gpus": [_gpu(at, numa, topology.card(at)) for at, numa in enumerate(topology.gpus)],
        "nics": [_nic(nic) for nic in topology.nics],
        "tiers": [
            None if at in topology.missing else list(row) for at, row in enumerate(topology.tiers)
        ],
        "best": topology.best,
        "judgedBy": topology.judged,
        "groups": [{"gpus": gpus, "nics": nics} for gpus, nics in topology.groups],
        "evidence": topology.evidence,
        "sources": [{"part": part, "evidence": evidence} for part, evidence in topology.sources],
        "confidence": topology.confidence,
        "complete": topology.complete,
        "warnings": list(topology.warnings),
    }


def _gpu(at: int, numa: int | None, card: Gpu) -> Document:
    return {
        "index": at,
        "label": f"GPU{at}",
        "numa": numa,
        "id": card.id or None,
        "pci": card.pci or None,
        "product": card.product or None,
        "healthy": card.healthy,
    }


def _nic(nic: Nic) -> Document:
    return {
        "label": nic.label or nic.name,
        "device": nic.device or None,
        "name": nic.name,
        "rail": nic.rail,
        "railSource": nic.rail_source,
        "role": nic.role,
        "numa": nic.numa,
        "pci": nic.pci or None,
        "netdev": nic.netdev or None,
        "link": nic.link or None,
        "state": nic.state,
        "gbps": nic.gbps,
    }


def text(topology: Topology) -> str:
    """The topology for people: a matrix, then a line for each rail."""
    gpus, nics = len(topology.gpus), len(topology.nics)
    known = f"{'' if topology.complete else 'in'}complete, {topology.confidence} confidence"
    head = f"{gpus} GPUs, {nics} NICs from {topology.evidence}, {known}"
    heads = ["", *(nic.label or nic.name for nic in topology.nics), "NUMA"]
    matrix = [
        [f"GPU{at}", *(tier or "?" for tier in row), _or_unknown(topology.gpus[at])]
        for at, row in enumerate(topology.tiers)
    ]
    lines = [_rail(topology, rail) for rail in topology.rails]
    told = ("RAIL", "NIC", "GPU", "TIER", "NUMA", "GBPS", "STATE", "RAIL BY")
    rails_told = output.table(told, lines) if lines else "no NIC is near a GPU: no rails"
    return "\n\n".join((head, output.table(heads, matrix), rails_told))


def _rail(topology: Topology, rail: int) -> tuple[str, ...]:
    ours = [at for at, nic in enumerate(topology.nics) if nic.rail == rail]
    nics = [topology.nics[at] for at in ours]
    near = sorted({gpu for at in ours for gpu in rails.near(topology, at)})
    tiers = {topology.tier(gpu, rail) or "?" for gpu in near}
    sources = {nic.rail_source for nic in nics}
    return (
        str(rail),
        ",".join(nic.name for nic in nics),
        ",".join(map(str, near)) or "-",
        "/".join(sorted(tiers)) or "-",
        _or_unknown(topology.numa_of(rail)),
        "/".join(sorted({_or_unknown(nic.gbps) for nic in nics})),
        "/".join(sorted({nic.state or "?" for nic in nics})),
        "address (a guess)" if RailSource.PCI in sources else "/".join(map(str, sources)),
    )


def _or_unknown(value: int | None) -> str:
    return "?" if value is None else str(value)
