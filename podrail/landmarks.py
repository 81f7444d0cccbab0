"""The label keys by which clouds and racks say where a node is: a table, shipped and extensible.

It knows keys and which level each one names; what a node's labels come to is locality's affair.
Keys as the clouds write them, and topograph v0.1.0 and v1.1.0, Soperator and GFD.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from podrail.reading import LABEL_KEY, LABEL_VALUE, Reader

MOST_FAMILIES: Final = 32
MOST_KEYS: Final = 16
KEY: Final = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Family:
    """The keys of one provider; of several keys for a level the first that a node has counts.

    A ladder is for providers that number their tiers: its keys stand closest first, and the ones
    that a node has are its leaf, block and fabric, whatever their numbers.
    """

    name: str
    leaf: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    fabric: tuple[str, ...] = ()
    ladder: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Landmarks:
    """All keys: families, best known first; zones and NVLink domains belong to no family."""

    families: tuple[Family, ...]
    zone: tuple[str, ...]
    domain: tuple[str, ...]
    unknown: frozenset[str]
    """Values, in lower case, that only say that nothing is known."""


_TOPOGRAPH: Final = "network.topology.nvidia.com"
_AWS: Final = "topology.k8s.aws"
_GCE: Final = "cloud.google.com"
_OCI: Final = "oci.oraclecloud.com"
_COREWEAVE: Final = ("backend.coreweave.cloud", "ib.coreweave.cloud")
_NEBIUS: Final = "topology.nebius.com"

SHIPPED: Final = Landmarks(
    families=(
        Family("topograph", ladder=tuple(f"fabric.topograph.run/tier-{n}" for n in range(6))),
        # Until v0.1 topograph called the leaf switch block and the core datacenter.
        Family(
            "topograph-old",
            leaf=(f"{_TOPOGRAPH}/leaf", f"{_TOPOGRAPH}/block"),
            block=(f"{_TOPOGRAPH}/spine",),
            fabric=(f"{_TOPOGRAPH}/core", f"{_TOPOGRAPH}/datacenter"),
        ),
        # The highest number is the closest; most types have three layers, some four.
        Family("aws", ladder=tuple(f"{_AWS}/network-node-layer-{n}" for n in (4, 3, 2, 1))),
        Family(
            "gke",
            leaf=(f"{_GCE}/gce-topology-subblock",),
            block=(f"{_GCE}/gce-topology-block", f"{_GCE}/gke-placement-group"),
        ),
        Family(
            "oci",
            leaf=(f"{_OCI}/rdma.local_block_id",),
            block=(f"{_OCI}/rdma.network_block_id", f"{_OCI}/host.network_block_id"),
            fabric=(f"{_OCI}/rdma.hpc_island_id",),
        ),
        Family(
            "coreweave",
            leaf=tuple(f"{prefix}/leafgroup" for prefix in _COREWEAVE),
            block=tuple(f"{prefix}/superpod" for prefix in _COREWEAVE),
            fabric=tuple(f"{prefix}/fabric" for prefix in _COREWEAVE),
        ),
        Family(
            "nebius",
            leaf=(f"{_NEBIUS}/tier-1",),
            block=(f"{_NEBIUS}/tier-2",),
            fabric=(f"{_NEBIUS}/gpu-cluster-id",),
        ),
        # A pool is one scale set, and no InfiniBand leads out of its placement group.
        Family("azure", fabric=("kubernetes.azure.com/agentpool", "agentpool")),
        Family(
            "rack",
            leaf=(
                "topology.kubernetes.io/rack",
                "cloud.provider.com/topology-rack",
                "topology.rook.io/rack",
                "node.coreweave.cloud/rack",
                f"{_OCI}/host.rack_id",
                "rack",
            ),
            block=("topology.kubernetes.io/block", "cloud.provider.com/topology-block"),
        ),
    ),
    zone=("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    domain=(
        "nvidia.com/gpu.clique",
        "accelerator.topograph.run/domain",
        f"{_TOPOGRAPH}/accelerator",
        "ds.coreweave.com/nvlink.domain",
        f"{_AWS}/ultraserver-id",
        f"{_OCI}/host.gpu_memory_fabric_id",
        f"{_NEBIUS}/nvl-instance-group-id",
    ),
    unknown=frozenset({"no-imds-data", "unknown", "undefined", "none", "null", "n/a"}),
)


def read(document: object) -> Landmarks:
    """The landmarks of a document; its keys come before the shipped ones.

    With "shipped: false" there are no others.

    Raises:
        MalformedError: with every problem of the document.
    """
    top = Reader.of(document, "")
    after = SHIPPED if top.truth("shipped", default=True) else Landmarks((), (), (), frozenset())
    found = Landmarks(
        families=(
            *(_family(part) for part in top.parts("families", MOST_FAMILIES)),
            *after.families,
        ),
        zone=(*_keys(top, "zone"), *after.zone),
        domain=(*_keys(top, "domain"), *after.domain),
        unknown=after.unknown.union(
            text.lower() for text in top.texts("unknown", MOST_KEYS, size=LABEL_VALUE)
        ),
    )
    top.close()
    top.finish("landmarks")
    return found


def _family(part: Reader) -> Family:
    part.required("name")
    found = Family(
        part.text("name", limit=LABEL_VALUE),
        *(_keys(part, level) for level in ("leaf", "block", "fabric", "ladder")),
    )
    named = found.leaf or found.block or found.fabric
    if bool(named) == bool(found.ladder):
        part.wrong("ladder", "expected either a ladder or keys of leaf, block or fabric")
    part.close()
    return found


def _keys(part: Reader, field: str) -> tuple[str, ...]:
    return part.texts(field, MOST_KEYS, KEY, LABEL_KEY)


def table() -> str:
    """The shipped keys as a table in Markdown, for docs/user/locality.md."""
    lines = ["| Family | Level | Label keys, the first that a node has |", "|---|---|---|"]
    for name, level, keys in _rows(SHIPPED):
        lines.append(f"| {name} | {level} | {', '.join(f'`{key}`' for key in keys)} |")
    return "\n".join(lines) + "\n"


def _rows(landmarks: Landmarks) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for family in landmarks.families:
        levels = (
            ("leaf", family.leaf),
            ("block", family.block),
            ("fabric", family.fabric),
            ("leaf, block, fabric in turn", family.ladder),
        )
        yield from ((family.name, level, keys) for level, keys in levels if keys)
    yield ("any", "zone", landmarks.zone)
    yield ("any", "NVLink domain", landmarks.domain)
