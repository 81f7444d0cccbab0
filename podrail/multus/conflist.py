"""A CNI configuration as a NAD holds it: its plugins in order, their addresses, routes and MTU.

A configuration that a plugin would refuse is a value with problems, never an exception. Keys are
read whatever their case, as encoding/json of Go does. No configuration at all means that a file on
the node has it (network-attachment-definition-client, GetCNIConfig): then nothing is known.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from podrail.errors import Problem
from podrail.multus import address
from podrail.multus.address import Pool
from podrail.reading import Reader, shown

SRIOV: Final = frozenset({"sriov", "ib-sriov"})
"""Plugins that move a VF into the pod; they get it from the device plugin, through Multus."""
_HOST_DEVICE: Final = "host-device"
_NAMES_A_DEVICE: Final = ("device", "hwaddr", "kernelpath", "pcibusid", "deviceid")
"""Keys of host-device and sriov-cni by which a configuration names one device itself."""
_CHECKED: Final = SRIOV | {
    *("bridge", "host-device", "ipoib", "ipvlan", "macvlan", "ptp", "rdma"),
    *("route-override", "sbr", "tuning", "vlan"),
}
"""Plugins whose fields are known here; other plugins may give the same keys other types."""
_DEFAULTS: Final = frozenset({"0.0.0.0/0", "::/0"})
_MAIN_TABLE: Final = 254
"""RT_TABLE_MAIN (linux/rtnetlink.h)."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin of the chain, with the fields that bear on rails; 0 and "" are not given."""

    type: str
    ipam: str
    pools: tuple[Pool, ...]
    mtu: int
    master: str
    device: str
    sysctl: Mapping[str, str]
    default_route: bool
    flushes_routes: bool
    isolates_rdma: bool


@dataclass(frozen=True, slots=True)
class Conflist:
    """The chain of plugins; empty without a problem if a file on the node has it."""

    name: str = ""
    plugins: tuple[Plugin, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The plugins in order."""
        return tuple(plugin.type for plugin in self.plugins)

    @property
    def ipam(self) -> str:
        """Who gives addresses; empty if nobody does."""
        return next((plugin.ipam for plugin in self.plugins if plugin.ipam), "")

    @property
    def pools(self) -> tuple[Pool, ...]:
        """What addresses are taken from: an interface takes one of each pool."""
        return tuple(pool for plugin in self.plugins for pool in plugin.pools)

    @property
    def mtu(self) -> int:
        """The interface's MTU, the last plugin's that sets one; 0 if it is the device's own."""
        return next((plugin.mtu for plugin in reversed(self.plugins) if plugin.mtu), 0)

    @property
    def needs_device(self) -> bool:
        """True if the interface is a device that Multus must be given by a device plugin."""
        return any(
            (plugin.type in SRIOV or plugin.type == _HOST_DEVICE) and not plugin.device
            for plugin in self.plugins
        )

    @property
    def isolates_rdma(self) -> bool:
        """True if the RDMA device moves into the pod too (rdma-cni, or ib-sriov-cni itself)."""
        return any(plugin.type == "rdma" or plugin.isolates_rdma for plugin in self.plugins)

    @property
    def default_route(self) -> bool:
        """True if a default route comes into the main table, where the pod network's one is.

        sbr moves the interface's routes into a table of their own; route-override drops them.
        """
        moved = any(plugin.type == "sbr" or plugin.flushes_routes for plugin in self.plugins)
        return not moved and any(plugin.default_route for plugin in self.plugins)

    @property
    def answers_for_itself(self) -> bool:
        """True if the interface answers and sends ARP for its own address only, or has sbr.

        arp_filter alone does not do: it needs source routing (Linux, ip-sysctl.rst).
        """
        own = self._sysctl("arp_announce") in {"1", "2"} and self._sysctl("arp_ignore") in {
            "1",
            "2",
        }
        return own or "sbr" in self.types

    def _sysctl(self, name: str) -> str:
        found = ""
        for plugin in self.plugins:
            for key, value in plugin.sysctl.items():
                # tuning takes net.ipv4.conf.IFNAME.x and net/ipv4/conf/IFNAME/x.
                if key.replace("/", ".").rpartition(".")[2] == name:
                    found = value.strip()
        return found


def read(config: object, path: str) -> Conflist:
    """The configuration in the text of spec.config; path is where it stands in its document."""
    if config is None or config == "":
        return Conflist()
    if not isinstance(config, str):
        return _unread(path, f"expected JSON in a string, got {shown(config)}")
    try:
        document = json.loads(config, object_pairs_hook=_folded, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return _unread(path, f"is not JSON: {str(error) or 'nested too deeply'}")
    top = Reader.of(document, path)
    # Multus takes it for a single plugin if it has a type (multus-cni v4.3, LoadDelegateNetConf).
    parts = [top] if top.text("type") else top.parts("plugins", 32)
    if not parts:
        top.wrong("plugins", "expected plugins, or the type of a single one")
    plugins = tuple(_plugin(part) for part in parts)
    return Conflist(top.text("name"), plugins, tuple(top.problems))


def _unread(path: str, message: str) -> Conflist:
    return Conflist(problems=(Problem(path, message),))


def _folded(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key.lower(): value for key, value in pairs}


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _plugin(part: Reader) -> Plugin:
    part.required("type")
    kind = part.text("type")
    if kind not in _CHECKED:
        part = Reader.of(part.fields, part.path)
    ipam = part.part("ipam")
    given = next((part.text(key) for key in _NAMES_A_DEVICE if part.raw(key) is not None), "")
    return Plugin(
        type=kind,
        ipam=ipam.text("type"),
        pools=address.pools(ipam),
        mtu=part.integer("mtu", 0, 0, 65_535),
        master=part.text("master"),
        device=given,
        sysctl=part.mapping("sysctl", 64),
        default_route=part.truth("isdefaultgateway")
        or any(_is_default(route) for route in ipam.parts("routes", 256)),
        flushes_routes=part.truth("flushroutes"),
        isolates_rdma=part.truth("rdmaisolation"),
    )


def _is_default(route: Reader) -> bool:
    table = route.integer("table", _MAIN_TABLE, 0, 2**32 - 1)
    return route.text("dst") in _DEFAULTS and table in {0, _MAIN_TABLE}
