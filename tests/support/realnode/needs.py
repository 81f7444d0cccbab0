"""What a real node takes of this machine, and what to install where it lacks something.

Run as a program it prints Debian's packages that are missing, for .ci/run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from controlplane.binaries import NotRun

PROGRAMS: Final = {
    "busybox": "busybox-static",
    "containerd": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "ctr": "containerd",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "runc": "runc",
    "unshare": "util-linux",
}
"""Debian's package of each."""
PLUGINS: Final = ("bridge", "host-device", "host-local", "ipvlan", "loopback", "macvlan")
PLUGINS_PACKAGE: Final = "containernetworking-plugins"
PLACES: Final = (Path("/usr/lib/cni"), Path("/usr/libexec/cni"), Path("/opt/cni/bin"))
"""Where Debian, Fedora and Kubernetes keep CNI plugins."""
PCI: Final = "/sys/bus/pci/devices"
_LINKS: Final = "ip link add p0 type veth peer name p1 && ip link add link p0 name p2 type {}"


def plugins() -> Path | None:
    """The folder that holds every CNI plugin."""
    return next((one for one in PLACES if all((one / name).is_file() for name in PLUGINS)), None)


def packages(path: str) -> tuple[str, ...]:
    """Debian's packages of what is missing on a search path; sorted."""
    found = {package for name, package in PROGRAMS.items() if not shutil.which(name, path=path)}
    if not _static(path):
        found.add(PROGRAMS["busybox"])
    if plugins() is None:
        found.add(PLUGINS_PACKAGE)
    return tuple(sorted(found))


def can_link(kind: str) -> bool:
    """Whether the kernel makes links of a kind, in namespaces of its own."""
    unshared = ["unshare", "--mount", "--pid", "--net", "--fork", "sh", "-c", _LINKS.format(kind)]
    tried = subprocess.run(unshared, capture_output=True, check=False, timeout=60)
    return tried.returncode == 0


def check(path: str, user: int) -> None:
    """Return where a real node can run, given the search path and who runs the tests.

    Raises:
        NotRun: with what is missing.
    """
    if found := next(_missing(path, user), None):
        raise NotRun(f"NOT RUN: the real node: {found}")


def check_here() -> None:
    """The same of this process."""
    check(_path(), os.geteuid())


def _missing(path: str, user: int) -> Iterator[str]:
    if user != 0:
        yield "needs root"
    if absent := packages(path):
        yield f"apt-get install --no-install-recommends {' '.join(absent)}"
    if not Path(PCI).is_dir():
        yield "this machine has no PCI bus to put devices on"
    if not can_link("macvlan"):
        yield "the kernel refuses namespaces, a veth pair or a macvlan"


def _static(path: str) -> bool:
    """Whether busybox runs in an image that holds nothing else; else it names its loader early."""
    found = shutil.which("busybox", path=path)
    return found is not None and b"/ld-" not in Path(found).read_bytes()[:4096]


def _path() -> str:
    return os.environ.get("PATH", "")  # noqa: TID251 - children live in our environment


if __name__ == "__main__":
    print(*packages(_path()))
