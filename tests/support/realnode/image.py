"""Images for a node that reaches no registry, as `docker save` writes them: the pods' is busybox alone."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAME: Final = "localhost/podrail-train:1"
APPLETS: Final = ("cat", "env", "ip", "ls", "nc", "sh", "sleep", "touch")
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def archive(path: Path, busybox: Path) -> None:
    """Write the image's archive; what it runs by itself is a long sleep."""
    files = {"bin/busybox": busybox.read_bytes(), "etc/hostname": b"\n"}
    config = {"Entrypoint": ["/bin/sleep", "infinity"], "Env": ["PATH=/bin"]}
    write(path, NAME, config, files, APPLETS)


def write(
    path: Path,
    name: str,
    runs: Mapping[str, object],
    files: Mapping[str, bytes],
    applets: tuple[str, ...] = (),
) -> None:
    """Write an archive of one layer; runs is the part of the configuration that says how it runs."""
    layer = _tar(files, applets)
    config = {
        "architecture": _ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": runs,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    parts = {
        "layer.tar": layer,
        "config.json": json.dumps(config).encode(),
        "manifest.json": json.dumps(manifest).encode(),
    }
    path.write_bytes(_tar(parts))


def _tar(files: Mapping[str, bytes], applets: tuple[str, ...] = ()) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
        for name in applets:
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    return whole.getvalue()
