"""The chart, as the real helm renders, checks and installs it; helm is built once, as goprograms has it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import checkout
import goprograms
import pytest
import yaml
from controlplane.binaries import VERSION, NotRun

CHART: Final = checkout.ROOT / "deploy" / "chart" / "podrail"
NAMESPACE: Final = "podrail-system"
RELEASE: Final = "podrail"
HELM: Final = "helm.sh/helm/v4/cmd/helm"
UNITTEST: Final = "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
KUSTOMIZE: Final = "sigs.k8s.io/kustomize/kustomize/v5"
PROMTOOL: Final = "github.com/prometheus/prometheus/cmd/promtool"
KUBERNETES: Final = VERSION
OPERATORS: Final = ("cert-manager.io/v1", "monitoring.coreos.com/v1")
"""What a cluster with everything serves."""
Document = dict[str, Any]
Values = Mapping[str, Any]


@cache
def program(package: str) -> Path:
    """A program of the chart's tests; where it can be neither found nor built, they are not run."""
    folder = checkout.ROOT / "tests" / "deploy"
    environ = dict(os.environ)  # noqa: TID251 - children live in our environment
    try:
        if package == PROMTOOL:
            # Without what Prometheus discovers services with: most of the build, none of the tests.
            return goprograms.built(
                folder / "promtool", package, {**environ, "GOFLAGS": "-tags=remove_all_sd"}
            )
        return goprograms.built(folder / "tools", package, environ)
    except NotRun as missing:
        pytest.skip(str(missing))


def run(
    *arguments: str | Path, values: Values | None = None, status: int = 0, package: str = HELM
) -> str:
    """What helm printed, with errors where it is to fail; values are those that differ."""
    with TemporaryDirectory() as folder:
        command: list[str | Path] = [program(package), *arguments]
        if values is not None:
            given = Path(folder) / "values.yaml"
            given.write_text(json.dumps(values))
            command += ["--values", given]
        homes = {f"HELM_{kind}_HOME": folder for kind in ("CACHE", "CONFIG", "DATA")}
        environ = {**os.environ, **homes}  # noqa: TID251 - children live in our environment
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert status == ran.returncode, ran.stdout + ran.stderr
    return ran.stdout if status == 0 else ran.stdout + ran.stderr


def text(values: Values | None = None, *flags: str, status: int = 0) -> str:
    """The rendered chart, or what was wrong."""
    apis = [part for one in OPERATORS for part in ("--api-versions", one)]
    return run(
        "template", RELEASE, CHART, "--namespace", NAMESPACE, "--kube-version", KUBERNETES, *apis,
        *flags, values=values or {}, status=status,
    )  # fmt: skip


def rendered(values: Values | None = None) -> list[Document]:
    """The objects of the chart, those of `helm test` too."""
    return [one for one in yaml.safe_load_all(text(values)) if one]


def hook(document: Document) -> bool:
    """Whether the object belongs to `helm test`."""
    return "helm.sh/hook" in (document["metadata"].get("annotations") or {})


def named(documents: list[Document], kind: str, name: str) -> Document:
    """The only object of a kind and name."""
    (found,) = (one for one in documents if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


def pods(documents: list[Document]) -> dict[str, Document]:
    """The pods, as the cluster makes them of templates, by kind and name of what makes them."""
    found = {}
    for one in documents:
        template = one if one["kind"] == "Pod" else one.get("spec", {}).get("template")
        if isinstance(template, dict) and "spec" in template:
            name = f"{one['kind']}/{one['metadata']['name']}"
            found[name] = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "pod", **template["metadata"]},
                "spec": template["spec"],
            }
    return found
