"""The definitions of the kinds that training operators serve, out of their own Go modules.

A module is pinned by version and by the hash that go.sum would have; Go keeps it in its cache.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from controlplane.binaries import NotRun


@dataclass(frozen=True, slots=True)
class Operator:
    """A Go module, and where the definitions lie in it."""

    module: str
    version: str
    sum: str
    paths: tuple[str, ...]


def _named(pattern: str, *names: str) -> tuple[str, ...]:
    return tuple(pattern.format(name) for name in names)


OPERATORS: Final = (
    Operator(
        "sigs.k8s.io/jobset",
        "v0.10.1",
        "h1:u8QKifNsrWVrlRFe6w2ofYTqFT9ma2DRHxfeB2m9xyU=",
        ("config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",),
    ),
    Operator(
        "sigs.k8s.io/lws",
        "v0.7.0",
        "h1:qWfzX8+UBak+Hq0+m/PuE3uO0mp/3dmm5q/h/7z31A8=",
        ("config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",),
    ),
    Operator(
        "sigs.k8s.io/kueue",
        "v0.17.0",
        "h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I=",
        _named(
            "config/components/crd/bases/kueue.x-k8s.io_{}.yaml",
            "clusterqueues",
            "localqueues",
            "resourceflavors",
        ),
    ),
    Operator(
        "github.com/kubeflow/mpi-operator",
        "v0.6.0",
        "h1:RzzG03oyQIiHe/SH2k19N+Hp4QkxEsG2l9G1T7US+ys=",
        ("manifests/base/kubeflow.org_mpijobs.yaml",),
    ),
    Operator(
        "github.com/kubeflow/training-operator",
        "v1.8.1",
        "h1:mVvoBSCInbMBX0gGSn4+Ihj3ycwoLO1iEAw+0qPhQfc=",
        ("manifests/base/crds/kubeflow.org_pytorchjobs.yaml",),
    ),
    Operator(
        "github.com/kubeflow/trainer/v2",
        "v2.0.0",
        "h1:mnQSR9iPKItxyUR8mq66XsmxqKNVHwr9YYOB7BTU9dU=",
        _named("manifests/base/crds/trainer.kubeflow.org_{}.yaml", "trainingruntimes", "trainjobs"),
    ),
    Operator(
        "github.com/ray-project/kuberay/ray-operator",
        "v1.5.0",
        "h1:KCjCQ7PSsvs9Ke+90CZbbs498nuaIJ/JkXk4vd54EVg=",
        ("config/crd/bases/ray.io_rayclusters.yaml",),
    ),
)


def definitions(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of all operators, without the texts for people.

    Raises:
        NotRun: there is no Go to get them with.
    """
    go = shutil.which("go", path=environ.get("PATH", ""))
    if go is None:
        raise NotRun("NOT RUN: no Go to get the definitions of training operators with")
    modules = [f"{one.module}@{one.version}" for one in OPERATORS]
    command = [go, "mod", "download", "-json", *modules]
    told = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    folders = dict(map(_checked, _values(told.stdout)))
    return [
        _without_texts(yaml.load((folders[one.module] / path).read_text(), yaml.CSafeLoader))
        for one in OPERATORS
        for path in one.paths
    ]


def _values(text: str) -> list[dict[str, str]]:
    """JSON values, one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def _checked(told: Mapping[str, str]) -> tuple[str, Path]:
    """A module and its folder, if it is what was pinned."""
    (pinned,) = (one for one in OPERATORS if one.module == told["Path"])
    assert (pinned.version, pinned.sum) == (told["Version"], told["Sum"])
    return pinned.module, Path(told["Dir"])


def _without_texts(value: Any) -> Any:
    """The value without its descriptions, which are most of it; a field of that name stays."""
    if isinstance(value, list):
        return [_without_texts(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_texts(inner)
        for key, inner in value.items()
        if key != "description" or not isinstance(inner, str)
    }
