"""What the admins of a cluster lay for a fabric on the real node: device plugins and networks.

The devices' addresses are those of a machine's fake trees; behind a network is a veth pair for each
rail, which stands for the NIC, or for the VF if a recorder chooses it by the device's address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import nads
from deviceplugins import Plugin, kinds
from machines import UUID, Machine

from podrail.topology import Topology
from realnode import cni, needs
from realnode.spaces import Spaces

VFS: Final = 2
DRIVER: Final = "mlx5_core"


@dataclass(frozen=True, slots=True)
class Hardware:
    """A node's GPUs and NICs: what its trees show, and where a recorder writes."""

    machine: Machine
    shape: Topology
    records: Path

    @property
    def rails(self) -> tuple[int, ...]:
        """The rail of each NIC."""
        return tuple(nic.rail for nic in self.shape.nics if nic.rail is not None)

    def functions(self, number: int) -> dict[str, int | None]:
        """One function of each NIC, with its NUMA node: 0 is the NIC, from 1 on its VFs."""
        pairs = zip(self.machine.nics, self.shape.nics, strict=True)
        return {f"{address[:-1]}{number}": nic.numa for address, nic in pairs}

    def rail(self, device: str) -> int:
        """The rail of a function."""
        return self.rails[self.machine.nics.index(f"{device[:-1]}0")]


@dataclass(frozen=True, slots=True)
class Laid:
    """The device plugins of a fabric beside the GPUs', and its NetworkAttachmentDefinitions."""

    plugins: tuple[Plugin, ...] = ()
    networks: tuple[dict[str, Any], ...] = ()


def gpus(hardware: Hardware) -> Plugin:
    """The plugin of the node's GPUs."""
    return kinds.gpus({UUID.format(at): numa for at, numa in enumerate(hardware.shape.gpus)})


def cable(spaces: Spaces, rails: Iterable[int]) -> None:
    """Lay a veth pair for each rail, and another to be moved into a pod."""
    pairs = [f"{name}{rail}" for rail in rails for name in ("rail", "port")]
    lines = [f"link add {one} type veth peer name {one}p" for one in pairs]
    lines += [f"link set {one}{end} up" for one in pairs for end in ("", "p")]
    spaces.run("ip", "-batch", "-", said="\n".join(lines))


def bus(folder: Path, machine: Machine) -> Path:
    """A folder for /sys/bus/pci/devices in which each NIC has an interface to be moved."""
    for at, address in enumerate(machine.nics):
        (folder / address / "net" / f"port{at}").mkdir(parents=True)
        (folder / address / "driver").symlink_to(folder / DRIVER)
    (folder / DRIVER).mkdir()
    return folder


def _macvlan(hardware: Hardware) -> Laid:
    return Laid(_SHARED, _links("rail", "macvlan", hardware))


def _ipvlan(hardware: Hardware) -> Laid:
    kind = "ipvlan" if needs.can_link("ipvlan") else "macvlan"
    return Laid(_SHARED, _links("ipvlan", kind, hardware))


def _by_rail(hardware: Hardware) -> Laid:
    found = tuple(kinds.by_rail("nvidia.com/rail", _each_rails(hardware)))
    networks = tuple(
        nads.document(
            f"rail{rail}",
            _recorded(hardware, _link("macvlan", rail)),
            resource=f"nvidia.com/rail{rail}",
        )
        for rail in hardware.rails
    )
    return Laid(found, networks)


def _each_rails(hardware: Hardware) -> list[dict[str, int | None]]:
    virtual = {
        device: numa for at in range(1, VFS + 1) for device, numa in hardware.functions(at).items()
    }
    return [
        {device: numa for device, numa in virtual.items() if hardware.rail(device) == rail}
        for rail in sorted(hardware.rails)
    ]


def _pool(hardware: Hardware) -> Laid:
    masters = {device: f"rail{hardware.rail(device)}" for device in hardware.functions(1)}
    delegate = {**_link("macvlan", 0), "ipam": nads.host_local("10.101.0.0/16")}
    config = _recorded(hardware, delegate, masters)
    pool = kinds.virtual("nvidia.com/rdma-vf", hardware.functions(1))
    return Laid((pool,), (nads.document("rdma-vf", config, "nvidia.com/rdma-vf"),))


def _host_device(hardware: Hardware) -> Laid:
    delegate = {"type": "host-device", "ipam": nads.host_local("10.102.0.0/16")}
    network = nads.document("hostdev-net", _recorded(hardware, delegate), "nvidia.com/hostdev")
    return Laid((kinds.virtual("nvidia.com/hostdev", hardware.functions(0)),), (network,))


def _nothing(_hardware: Hardware) -> Laid:
    return Laid()


_SHARED: Final = (kinds.shared("rdma/hca_shared_devices_a", 64),)
FABRICS: Final[Mapping[str, Callable[[Hardware], Laid]]] = {
    "macvlan-rails": _macvlan,
    "macvlan-halves": _macvlan,
    "ipvlan-rails": _ipvlan,
    "sriov-rails": _by_rail,
    "sriov-pool": _pool,
    "host-device": _host_device,
    "oke-host": _nothing,
    "tcp": _nothing,
}
"""What a profile's name takes."""


def _links(name: str, kind: str, hardware: Hardware) -> tuple[dict[str, Any], ...]:
    return tuple(
        nads.document(f"{name}{rail}", json.dumps(_link(kind, rail))) for rail in hardware.rails
    )


def _link(kind: str, rail: int) -> dict[str, Any]:
    master = {"master": f"rail{rail}", "ipam": nads.host_local(f"10.100.{rail}.0/24")}
    return {"cniVersion": cni.VERSION, "name": f"link{rail}", "type": kind, **master}


def _recorded(
    hardware: Hardware, delegate: Mapping[str, Any], masters: Mapping[str, str] | None = None
) -> str:
    inner = {"delegate": delegate, "masters": masters or {}, "records": str(hardware.records)}
    name = {"cniVersion": cni.VERSION, "name": str(delegate.get("name", delegate["type"]))}
    return json.dumps({**name, "type": cni.RECORDER, **inner})
