"""What the agent's eyes see: whole trees now and then, a few files every moment.

A whole look takes hundreds of files; a glance only those that change when a port goes down, a VF
goes or a GPU falls off the bus. Nothing that a tree says is an error: what cannot be read is not
there.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from podrail.evidence.noderails import Netdev
from podrail.observation import acs, counters, host, steering
from podrail.observation.host import Trees
from podrail.observation.memory import Seen
from podrail.observation.steering import Queue
from podrail.topology import Nic
from podrail_io import ethtool, tree
from podrail_io.files import FileError

_FIRST_BYTES: Final = 4
_CONFIG_BYTES: Final = 4096
_TEXT_BYTES: Final = 64
Glance = tuple[bytes | None, ...]


class Sight:
    """A host's /sys and /proc, wherever they are mounted."""

    def __init__(self, sys: Path, proc: Path) -> None:
        self._sys = sys
        self._proc = proc
        self._watched: tuple[tuple[str, int], ...] = ()

    def look(self) -> Trees:
        """Both trees, as far as they are of use."""
        seen, known = _tree(self._sys, host.SYS), _tree(self._proc, host.PROC)
        named = (self._netdev(name) for name in steering.netdevs(seen.files, seen.links))
        return Trees(seen.files, seen.links, known.files, tuple(one for one in named if one))

    def watch(self, seen: Seen) -> None:
        """Have the next glances be about these devices."""
        present = ((self._sys / one, size) for one, size in _telling(seen))
        self._watched = tuple((str(one), size) for one, size in present if one.exists())

    def glance(self) -> Glance:
        """A value that differs from an earlier one if something has happened to the devices."""
        lists = (
            self._sys / "class/infiniband",
            self._sys / "bus/pci/devices",
            self._proc / "driver/nvidia/gpus",
        )
        texts = (_bytes(one, size) for one, size in self._watched)
        return (*(_names(one) for one in lists), *texts)

    def dead(self, addresses: Iterable[str]) -> frozenset[str]:
        """Those that no longer answer on the bus."""
        configs = ((one, self._config(one, _FIRST_BYTES)) for one in addresses)
        return frozenset(one for one, config in configs if acs.lost(config))

    def redirected(self, trees: Trees, seen: Seen) -> frozenset[str]:
        """The bridges above GPUs and NICs whose ACS sends peer traffic up to the CPU."""
        topology = seen.topology
        addresses = [card.pci for card in topology.cards] + [nic.pci for nic in topology.nics]
        paths = (trees.links.get(f"bus/pci/devices/{one}", "") for one in addresses)
        bridges = {part for path in paths for part in path.split("/")[:-1] if part.count(":") == 2}  # noqa: PLR2004 - an address has two colons
        return frozenset(one for one in bridges if acs.redirects(self._config(one, _CONFIG_BYTES)))

    def counters(self, nic: Nic) -> dict[str, int]:
        """The counters of a NIC that podrail knows, all of its ports together."""
        found: dict[str, int] = {}
        ports = self._sys / "class/infiniband" / nic.device / "ports"
        for port in _names(ports).decode().split():
            for folder in counters.FOLDERS:
                place = ports / port / folder
                present = set(_names(place).decode().split())
                for name in sorted(present & counters.NAMES):
                    text = (_bytes(place / name, _TEXT_BYTES) or b"").strip()
                    if text.isdigit():
                        found[name] = found.get(name, 0) + int(text)
        if nic.netdev:
            shown = ethtool.statistics(nic.netdev)
            found |= {name: shown[name] for name in counters.NAMES & shown.keys()}
        return found

    def _netdev(self, name: str) -> Netdev | None:
        """An interface that is not down; None where its queues are not to be seen."""
        folder = self._sys / "class/net" / name
        if (_bytes(folder / "operstate", _TEXT_BYTES) or b"").strip() == b"down":
            return None
        queues = _names(folder / "queues").decode().split()
        own = (folder / "queues" / one for one in queues if one.startswith("rx-"))
        return steering.read(name, (Queue(*_texts(one)) for one in own))

    def _config(self, address: str, size: int) -> bytes:
        return _bytes(self._sys / "bus/pci/devices" / address / "config", size) or b""


def _texts(queue: Path) -> tuple[str, str]:
    """What a receive queue's two files say."""
    cpus, flows = (_bytes(queue / name, _CONFIG_BYTES) for name in ("rps_cpus", "rps_flow_cnt"))
    return (cpus or b"").decode(errors="replace"), (flows or b"").decode(errors="replace")


def _telling(seen: Seen) -> Iterator[tuple[str, int]]:
    """The files that tell what becomes of the devices, and how many bytes of each."""
    for nic in seen.topology.nics:
        for port in (1, 2):
            yield f"class/infiniband/{nic.device}/ports/{port}/state", _TEXT_BYTES
            yield f"class/infiniband/{nic.device}/ports/{port}/rate", _TEXT_BYTES
        yield f"bus/pci/devices/{nic.pci}/sriov_numvfs", _TEXT_BYTES
    addresses = [nic.pci for nic in seen.topology.nics] + [one.pci for one in seen.topology.cards]
    for address in addresses:
        # No more: the status register behind it changes for other reasons.
        yield f"bus/pci/devices/{address}/config", _FIRST_BYTES


def _tree(folder: Path, patterns: Iterable[str]) -> tree.Tree:
    try:
        return tree.read(folder, patterns)
    except (FileError, OSError):
        return tree.Tree({}, {})


def _names(folder: Path) -> bytes:
    try:
        return " ".join(sorted(one.name for one in os.scandir(folder))).encode(errors="replace")
    except OSError:
        return b""


def _bytes(path: Path | str, size: int) -> bytes | None:
    """The first bytes of a file; None if it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(file, size)
    except OSError:
        return None
    finally:
        os.close(file)
