"""The pools of NICs that the operators' own objects describe.

SriovNetworkNodePolicy (sriovnetwork.openshift.io/v1) and NicClusterPolicy (mellanox.com/v1alpha1),
whose device plugins' configurations are JSON in a string. What cannot be read is left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail.doctor import fields
from podrail.doctor.fields import Document

POLICY: Final = "SriovNetworkNodePolicy"
CLUSTER_POLICY: Final = "NicClusterPolicy"
_SHARED_PREFIX: Final = "rdma"
"""What k8s-rdma-shared-dev-plugin puts before its names unless resourcePrefix says otherwise."""
_SRIOV_PREFIX: Final = "intel.com"
"""The same of sriov-network-device-plugin (v3.9)."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A resource as an operator's object describes it; what it does not say is None or empty."""

    place: str
    """The object, as kind and name."""
    prefix: str
    """Empty if the object does not say it: then it is the operator's own setting."""
    name: str
    shared: bool
    rdma: bool | None = None
    link: str = ""
    """"eth" or "ib"."""
    vendor: str = ""
    """The PCI vendor, four hexadecimal digits."""
    ports: tuple[str, ...] = ()
    """The physical functions by name."""

    def gives(self, resource: str) -> bool:
        """True if a node's resource is this pool's."""
        prefix, _, name = resource.partition("/")
        return name == self.name and self.prefix in {"", prefix}


def read(documents: Mapping[str, tuple[Document, ...]]) -> tuple[Pool, ...]:
    """Every pool that the documents of both kinds describe."""
    found = [_policy(one) for one in documents.get(POLICY, ())]
    for one in documents.get(CLUSTER_POLICY, ()):
        found += _cluster_policy(one)
    return tuple(one for one in found if one.name)


def _policy(document: Document) -> Pool:
    spec, selector = fields.part(document, "spec"), fields.part(document, "spec", "nicSelector")
    rdma = spec.get("isRdma")
    return Pool(
        place=f"{POLICY} {fields.name(document)}",
        prefix="",
        name=fields.text(spec, "resourceName"),
        shared=False,
        rdma=rdma if isinstance(rdma, bool) else None,
        link=_link(fields.text(spec, "linkType")),
        vendor=fields.text(selector, "vendor"),
        # A name may choose a range of VFs: ens1f0#0-7.
        ports=tuple(one.partition("#")[0] for one in fields.texts(selector, "pfNames")),
    )


def _cluster_policy(document: Document) -> Iterator[Pool]:
    place = f"{CLUSTER_POLICY} {fields.name(document)}"
    shared = fields.text(document, "spec", "rdmaSharedDevicePlugin", "config")
    for entry in fields.parts(_json(shared), "configList"):
        yield _entry(place, entry, _SHARED_PREFIX, shared=True)
    plugin = fields.text(document, "spec", "sriovDevicePlugin", "config")
    for entry in fields.parts(_json(plugin), "resourceList"):
        yield _entry(place, entry, _SRIOV_PREFIX, shared=False)


def _entry(place: str, entry: Document, prefix: str, *, shared: bool) -> Pool:
    selectors = entry.get("selectors")
    # Since v3.6 the SR-IOV plugin also takes a list of selectors.
    listed = fields.parts(entry, "selectors") if isinstance(selectors, list) else (selectors,)
    rdma = {one.get("isRdma") for one in listed if isinstance(one, Mapping)}
    return Pool(
        place=place,
        prefix=fields.text(entry, "resourcePrefix") or prefix,
        name=fields.text(entry, "resourceName"),
        shared=shared,
        rdma=True if shared or True in rdma else None,
        link=_link(_first(listed, "linkTypes")),
        vendor=_first(listed, "vendors"),
        ports=tuple(name for one in listed for name in fields.texts(one, "ifNames")),
    )


def _first(selectors: Iterable[object], key: str) -> str:
    return next((text for one in selectors for text in fields.texts(one, key)), "")


def _link(word: str) -> str:
    """The kind of link out of eth, ETH, ether, ib, IB, infiniband."""
    return {"e": "eth", "i": "ib"}.get(word[:1].lower(), "")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
