"""The image of podrail: built once for a state of its sources, unpacked, and run by a containerd.

Run as a program it prints Debian's packages that are missing for that, for .ci/run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import checkout
from controlplane.binaries import NotRun
from controlplane.processes import Child
from realnode.spaces import Spaces

ARCHITECTURES: Final = ("amd64", "arm64")
HERE: Final = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
OTHER: Final = next(one for one in ARCHITECTURES if one != HERE)
EMULATOR: Final = {"amd64": "qemu-x86_64-static", "arm64": "qemu-aarch64-static"}[OTHER]
KEPT_SECONDS: Final = 86_400
"""How long images of other sources are kept."""
NAME: Final = "localhost/podrail:0.1.0"
PROGRAMS: Final = {
    "buildah": "buildah",
    "containerd": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "ctr": "containerd",
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "nsenter": "util-linux",
    EMULATOR: "qemu-user-static",
    "runc": "runc",
}
"""Debian's package of each."""
SOURCES: Final = (*checkout.PACKAGES, "deploy/images", "requirements/runtime.txt", "pyproject.toml")
_ASK: Final = (
    "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=5).status, end='')"
)
_SOCKET: Final = "/run/containerd/containerd.sock"
_CONFIG: Final = """
version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{socket}"
"""


@dataclass(frozen=True)
class Image:
    """What `deploy/images/build` wrote."""

    folder: Path

    @property
    def archive(self) -> Path:
        """The OCI archive for all architectures."""
        return next(self.folder.glob("podrail-image-*.tar"))

    @cached_property
    def configs(self) -> Mapping[str, Any]:
        """By architecture, the image's configuration, with the digests of its layers."""
        with tarfile.open(self.archive) as tar:
            (top,) = _read(tar, "index.json")["manifests"]
            found = {}
            for one in _blob(tar, top["digest"])["manifests"]:
                manifest = _blob(tar, one["digest"])
                layers = [layer["digest"] for layer in manifest["layers"]]
                config = _blob(tar, manifest["config"]["digest"])
                found[one["platform"]["architecture"]] = {**config, "layers": layers}
        return found

    def size(self, digest: str) -> int:
        """The bytes of a layer as a node pulls it."""
        with tarfile.open(self.archive) as tar:
            return tar.getmember(f"./blobs/{digest.replace(':', '/')}").size

    def bill(self, architecture: str) -> Any:
        """The bill of materials."""
        (path,) = self.folder.glob(f"*-{architecture}.cdx.json")
        return json.loads(path.read_text())

    def unpack(self, architecture: str, folder: Path) -> None:
        """Write the image's root file system, with owners and modes."""
        with tarfile.open(self.archive) as tar:
            for digest in self.configs[architecture]["layers"]:
                packed = tar.extractfile(f"./blobs/{digest.replace(':', '/')}")
                assert packed is not None
                command = ["tar", "-C", str(folder), "-xzpf", "-"]
                subprocess.run(command, input=packed.read(), check=True)


def packages(path: str) -> tuple[str, ...]:
    """Debian's packages of what is missing on a search path; sorted."""
    return tuple(sorted({of for name, of in PROGRAMS.items() if not shutil.which(name, path=path)}))


def built(environ: Mapping[str, str]) -> Image:
    """The image of this checkout, from the user's cache folder or built into it; or PODRAIL_IMAGE's.

    Raises:
        NotRun: with what is missing here.
    """
    if os.geteuid() != 0:
        raise NotRun("NOT RUN: the image: needs root")
    if missing := packages(environ.get("PATH", "")):
        packed = " ".join(missing)
        raise NotRun(f"NOT RUN: the image: apt-get install --no-install-recommends {packed}")
    if given := environ.get("PODRAIL_IMAGE"):
        return Image(Path(given).absolute())
    home = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podrail"
    home.mkdir(parents=True, exist_ok=True)
    folder = home / f"image-{_digest()}"
    with (home / "image-of-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _build(folder, environ)
    return Image(folder)


def _build(folder: Path, environ: Mapping[str, str]) -> None:
    print("building the image once, two minutes or more", file=sys.stderr, flush=True)
    for old in folder.parent.glob("image-" + "?" * 16):
        if time.time() - old.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(old)
    aside = folder.with_suffix(".new")
    command = [str(checkout.ROOT / "deploy" / "images" / "build"), *ARCHITECTURES]
    variables = {**environ, "PYTHON": sys.executable, "OUT": str(aside)}
    subprocess.run(command, env=variables, check=True)
    aside.rename(folder)


class Runtime:
    """A containerd with the image, in namespaces of its own."""

    def __init__(self, folder: Path, image: Image) -> None:
        self.spaces = Spaces(folder, {})
        config = folder / "containerd.toml"
        config.write_text(_CONFIG.format(root=folder / "containerd", socket=_SOCKET))
        try:
            child = self.spaces.start("containerd", "containerd", "--config", config)
            child.wait_until((folder / _SOCKET[1:]).is_socket, 30)
            self.spaces.run(
                *_CTR, "images", "import", "--all-platforms", "--no-unpack", image.archive
            )
        except BaseException:
            self.stop()
            raise

    def start(self, name: str, command: tuple[str, ...], **settings: str) -> Child:
        """Start a command in a container, as the image's user, its root read-only."""
        return self.spaces.start(name, *self._command(name, command, HERE, settings))

    def run(self, name: str, *command: str, architecture: str = HERE) -> str:
        """What a command prints that ends by itself.

        Raises:
            RuntimeError: with its words, if it fails.
        """
        return self.spaces.run(*self._command(name, command, architecture, {}))

    def end(self, name: str) -> None:
        """Send a container SIGTERM, as the kubelet does."""
        self.spaces.run(*_CTR, "tasks", "kill", "--signal", "SIGTERM", name)

    def running(self, name: str) -> bool:
        """Whether a container's process is there."""
        return name in self.spaces.run(*_CTR, "tasks", "ls", "--quiet").split()

    def proc(self, name: str, file: str) -> str:
        """What /proc says of a container's first process."""
        rows = (line.split() for line in self.spaces.run(*_CTR, "tasks", "ls").splitlines())
        pid = next(row[1] for row in rows if row[0] == name)
        return self.spaces.run("cat", f"/proc/{pid}/{file}")

    def healthy(self, address: str) -> bool:
        """Whether /healthz answers with 200 there; only inside is the address the container's."""
        try:
            return self.spaces.run(sys.executable, "-c", _ASK, f"http://{address}/healthz") == "200"
        except RuntimeError:
            return False

    def stop(self) -> None:
        """End everything."""
        self.spaces.stop()

    @staticmethod
    def _command(
        name: str, command: tuple[str, ...], architecture: str, settings: Mapping[str, str]
    ) -> tuple[str, ...]:
        emulated = architecture != HERE
        emulator = f"type=bind,src={shutil.which(EMULATOR)},dst=/tmp/emulator,options=rbind:ro"
        return (
            *(*_CTR, "run", "--rm", "--read-only", "--net-host", "--snapshotter", "native"),
            *("--platform", f"linux/{architecture}"),
            *(part for one in settings.items() for part in ("--env", "=".join(one))),
            *(("--mount", emulator) if emulated else ()),
            *(NAME, name, *(("/tmp/emulator",) if emulated else ()), *command),
        )


_CTR: Final = ("ctr", "--address", _SOCKET)


def _digest() -> str:
    """What the image is made of; Debian's packages are those of the day it was built."""
    digest = hashlib.sha256()
    for path in checkout.files():
        if any(path.is_relative_to(one) for one in SOURCES):
            digest.update(f"{path}\0".encode() + (checkout.ROOT / path).read_bytes())
    return digest.hexdigest()[:16]


def _blob(tar: tarfile.TarFile, digest: str) -> Any:
    return _read(tar, f"blobs/{digest.replace(':', '/')}")


def _read(tar: tarfile.TarFile, name: str) -> Any:
    file = tar.extractfile(f"./{name}")
    assert file is not None
    return json.load(file)


if __name__ == "__main__":
    print(*packages(os.environ.get("PATH", "")))  # noqa: TID251 - children live in our environment
