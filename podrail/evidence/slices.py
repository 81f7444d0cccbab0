"""DRA ResourceSlices (resource.k8s.io v1, v1beta2, v1beta1) of the GPU driver and of dranet.

Equal pcieRoot means the same switch only where roots differ among the GPUs; it never tells PIX from
PXB, hence GROUP. The GPU driver says no NUMA node: a NIC on the same root tells it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail.evidence import pci
from podrail.reading import Reader
from podrail.topology import Evidence, Gpu, Judged, Nic, State, Tier, Topology

MOST_SLICES: Final = 512
MOST_DEVICES: Final = 1024
GPU_DRIVER: Final = "gpu.nvidia.com"
NIC_DRIVER: Final = "dra.net"
_STANDARD: Final = "resource.kubernetes.io/"
_COHERENT: Final = "ATS"
"""addressingMode of GPUs on C2C (GB200, GB300), read in live slices of driver 580."""
_KINDS: Final = ("string", "int", "bool", "version")


@dataclass(frozen=True, slots=True)
class _Device:
    """A device's attributes, without the driver's own domain in their names."""

    name: str
    attributes: Mapping[str, Any]

    def text(self, key: str) -> str:
        """A string attribute; empty if there is none."""
        value = self.attributes.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        """A whole number that is not negative."""
        value = self.attributes.get(key)
        return value if type(value) is int and value >= 0 else None

    @property
    def root(self) -> str:
        """The host bridge, such as pci0000:10."""
        return self.text(f"{_STANDARD}pcieRoot")


@dataclass(frozen=True, slots=True)
class _Slice:
    node: str
    driver: str
    pool: str
    generation: int
    expected: int
    devices: tuple[_Device, ...]


def read(documents: Iterable[tuple[str, object]]) -> Mapping[str, Topology]:
    """The topology of each node that slices or lists of slices are about; the rest is passed over.

    Raises:
        MalformedError: with every problem of every document.
    """
    whole = Reader({}, "", [])
    found: list[_Slice] = []
    for place, document in documents:
        top = Reader.of(document, place, whole.problems)
        kind = top.text("kind")
        parts = top.parts("items", MOST_SLICES) if kind.endswith("List") else [top]
        found += [_slice(part) for part in parts if part.text("kind") == "ResourceSlice"]
    whole.finish("ResourceSlices")
    nodes = sorted({one.node for one in found if one.node})
    return {node: _topology([one for one in found if one.node == node]) for node in nodes}


def _slice(part: Reader) -> _Slice:
    spec = part.part("spec")
    driver, pool = spec.text("driver"), spec.part("pool")
    # A slice belongs to its node also where nodeSelector or allNodes stand for nodeName.
    owners = part.part("metadata").parts("ownerReferences", 64)
    owner = next((one.text("name") for one in owners if one.text("kind") == "Node"), "")
    return _Slice(
        node=spec.text("nodeName") or owner,
        driver=driver,
        pool=pool.text("name"),
        generation=pool.integer("generation", 0, 0, 2**53),
        expected=pool.integer("resourceSliceCount", 1, 0, MOST_SLICES),
        devices=tuple(_device(one, driver) for one in spec.parts("devices", MOST_DEVICES)),
    )


def _device(part: Reader, driver: str) -> _Device:
    """A device of v1, or of v1beta1, which nests it under basic."""
    holder = part.part("basic") if part.raw("basic") is not None else part
    fields = holder.part("attributes").fields
    values = {
        key.removeprefix(f"{driver}/"): next((one[kind] for kind in _KINDS if kind in one), None)
        for key, one in fields.items()
        if isinstance(one, Mapping)
    }
    return _Device(part.text("name"), values)


def _topology(slices: Sequence[_Slice]) -> Topology:
    """One node's; of each pool only the newest generation counts."""
    pools: dict[tuple[str, str], list[_Slice]] = {}
    for one in sorted(slices, key=lambda one: -one.generation):
        of_pool = pools.setdefault((one.driver, one.pool), [])
        if not of_pool or of_pool[0].generation == one.generation:
            of_pool.append(one)
    short = sum(len(of_pool) < max(one.expected for one in of_pool) for of_pool in pools.values())
    devices = {
        driver: [
            each
            for key, of_pool in pools.items()
            if key[0] == driver
            for one in of_pool
            for each in one.devices
        ]
        for driver in (GPU_DRIVER, NIC_DRIVER)
    }
    gpus = sorted(filter(_is_gpu, devices[GPU_DRIVER]), key=_by_address)
    nics = sorted(filter(_is_nic, devices[NIC_DRIVER]), key=_by_address)
    numa_of = _numas(nics)
    several = len({gpu.root for gpu in gpus if gpu.root}) > 1
    coherent = any(gpu.text("addressingMode") == _COHERENT for gpu in gpus)
    return Topology(
        shape="",
        gpus=tuple(numa_of.get(gpu.root) for gpu in gpus),
        nics=tuple(_nic(nic) for nic in nics),
        tiers=tuple(
            tuple(_tier(gpu, nic, numa_of, several=several) for nic in nics) for gpu in gpus
        ),
        judged=Judged.NUMA if coherent else Judged.PCIE,
        evidence=Evidence.DRA,
        cards=tuple(_card(gpu) for gpu in gpus),
        partial=bool(short) or not gpus or not nics,
        warnings=(f"{short} pools lack slices of their generation",) if short else (),
    )


def _is_gpu(device: _Device) -> bool:
    """A whole GPU: the driver lists MIG devices and vfio functions beside them."""
    return device.text("type") == "gpu"


def _is_nic(device: _Device) -> bool:
    """An RDMA device that is no VF of this host; on AWS the ENA of the same root has no RDMA."""
    attributes = device.attributes
    return attributes.get("rdma") is True and attributes.get("isSriovVf") is not True


def _address(device: _Device) -> str:
    return pci.canonical(device.text("pciAddress") or device.text(f"{_STANDARD}pciBusID"))


def _by_address(device: _Device) -> tuple[int, ...]:
    return pci.order(_address(device))


def _numas(nics: Iterable[_Device]) -> Mapping[str, int]:
    """The NUMA node of each host bridge whose NICs agree on it."""
    found: dict[str, set[int | None]] = {}
    for nic in nics:
        found.setdefault(nic.root, set()).add(nic.number("numaNode"))
    return {
        root: numa
        for root, (numa, *others) in found.items()
        if root and numa is not None and not others
    }


def _card(gpu: _Device) -> Gpu:
    return Gpu(gpu.text("uuid"), _address(gpu), gpu.text("productName"))


def _nic(nic: _Device) -> Nic:
    device, netdev = nic.text("rdmaDevice"), nic.text("ifName")
    state = {"up": State.UP, "down": State.DOWN}.get(nic.text("state"))
    return Nic(
        name=device or netdev or nic.name,
        rail=None,
        numa=nic.number("numaNode"),
        label=nic.name,
        device=device,
        pci=_address(nic),
        netdev=netdev,
        link="EFA" if "EFA" in nic.text("pciDevice") else "",
        state=state,
    )


def _tier(gpu: _Device, nic: _Device, numa_of: Mapping[str, int], *, several: bool) -> Tier | None:
    if gpu.root and gpu.root == nic.root:
        return Tier.GROUP if several else None
    here, there = numa_of.get(gpu.root), nic.number("numaNode")
    if here is None or there is None:
        return None
    return Tier.NODE if here == there else Tier.SYS
