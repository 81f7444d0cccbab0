"""A node's CNI: Multus over a bridge, the plugins, and the recorder that stands before some."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import multus

from realnode import needs

PACKAGE: Final = "gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus"
RECORDER: Final = "recorder"
VERSION: Final = "0.4.0"


def bridge(name: str, subnet: str) -> dict[str, Any]:
    """A network of pods on a bridge of the node."""
    ipam = {"type": "host-local", "subnet": subnet}
    return {"cniVersion": VERSION, "name": name, "type": "bridge", "bridge": name, "ipam": ipam}


def install(folder: Path, kubeconfig: Path) -> tuple[Path, Path]:
    """The folders of plugins and of configuration, made in the node's folder.

    Raises:
        NotRun: there is no Go to build Multus with.
    """
    binaries, conf = folder / "cni", folder / "net.d"
    binaries.mkdir()
    conf.mkdir()
    kept = needs.plugins()
    assert kept is not None
    for name in needs.PLUGINS:
        shutil.copy(kept / name, binaries / name)
    shutil.copy(multus.program(PACKAGE), binaries / "multus")
    source = Path(__file__).with_name("recorder.py").read_text()
    recorder = binaries / RECORDER
    recorder.write_text(f"#!{sys.executable} -IS\n{source}")
    recorder.chmod(0o755)
    # Multus looks a default network up in its own namespace, kube-system.
    first = {"cniVersion": VERSION, "name": "multus", "type": "multus", "confDir": str(conf),
             "binDir": str(binaries), "kubeconfig": str(kubeconfig), "cniDir": str(folder / "multus"),
             "logFile": str(folder / "multus.log"), "logLevel": "verbose",
             "delegates": [bridge("pods", "10.88.0.0/16")]}  # fmt: skip
    (conf / "00-multus.conf").write_text(json.dumps(first))
    return binaries, conf


def recorded(folder: Path) -> list[Mapping[str, str]]:
    """What the recorder was asked to add: pod, interface, device."""
    return [json.loads(one.read_text()) for one in folder.glob("*.json")]
