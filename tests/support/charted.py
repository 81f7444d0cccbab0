"""What is made out of the chart: the table of its README, and deploy/kustomize. As a script it writes both.

The kustomize base is the chart as it renders without values; an overlay is what other values change,
as whole objects, so that `kustomize build` and `helm template` give the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import checkout
import helm
import yaml

README: Final = helm.CHART / "README.md"
KUSTOMIZE: Final = checkout.ROOT / "deploy" / "kustomize"
OVERLAYS: Final[dict[str, helm.Values]] = {
    "cert-manager": {"certificates": {"method": "cert-manager"}},
    "extend-existing": {"scheduler": {"mode": "extend-existing"}},
    "monitoring": {"monitoring": {"monitors": True, "rules": True, "dashboard": True}},
}
"""Each with the values of the chart that it stands for."""
HEAD: Final = """# The podrail chart

One podrail a cluster: see docs/user/install.md for the way there and docs/user/scheduler.md for the
choice of the scheduler. Values are checked by `values.schema.json`; one that nobody reads is refused.

| value | default | what it is |
|---|---|---|
"""
HEADER: Final = "# Made out of deploy/chart by tests/support/charted.py; edits here are lost.\n"
ENTRY: Final = re.compile(r"^(?P<indent> *)(?P<name>[A-Za-z]+):(?P<value>.*)$")


def readme() -> str:
    """The README, a line for each value that has a comment."""
    rows = [f"| `{path}` | {default} | {told} |\n" for path, default, told in _described()]
    return HEAD + "".join(rows)


def _described() -> Iterator[tuple[str, str, str]]:
    """Path, default and description of each value that a comment beginning with -- is above."""
    values = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    path: list[str] = []
    told: list[str] = []
    for line in (helm.CHART / "values.yaml").read_text().splitlines():
        bare = line.strip()
        if bare.startswith("# -- "):
            told = [bare.removeprefix("# -- ")]
        elif bare.startswith("# ") and told:
            told.append(bare.removeprefix("# "))
        elif found := ENTRY.match(line):
            path[len(found["indent"]) // 2 :] = [found["name"]]
            if told:
                yield ".".join(path), f"`{json.dumps(_at(values, path))}`", " ".join(told)
            told = []


def _at(values: Any, path: list[str]) -> Any:
    for name in path:
        values = values[name]
    return values


def kustomize() -> dict[Path, str]:
    """The files of deploy/kustomize by their paths in it."""
    base = _objects({})
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": helm.NAMESPACE}}
    files = {
        Path("base/kustomization.yaml"): _kustomization(resources=["podrail.yaml"]),
        Path("base/podrail.yaml"): _text([namespace, *base.values()]),
    }
    for name, values in OVERLAYS.items():
        for path, text in _overlay(base, _objects(values)).items():
            files[Path("overlays") / name / path] = text
    return files


def objects(values: helm.Values) -> list[helm.Document]:
    """What kustomize installs for the values of the chart: all but `helm test`, nothing of Helm."""
    return list(_objects(values).values())


def _objects(values: helm.Values) -> dict[tuple[str, ...], helm.Document]:
    found = [one for one in helm.rendered(values) if not helm.hook(one)]
    for one in found:
        for metadata in (one["metadata"], one.get("spec", {}).get("template", {}).get("metadata")):
            for label in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
                ((metadata or {}).get("labels") or {}).pop(label, None)
    return {_key(one): one for one in found}


def _key(document: helm.Document) -> tuple[str, ...]:
    metadata = document["metadata"]
    return (document["kind"], metadata.get("namespace", ""), metadata["name"])


def _overlay(
    base: dict[tuple[str, ...], helm.Document], wanted: dict[tuple[str, ...], helm.Document]
) -> dict[str, str]:
    new = [one for key, one in wanted.items() if key not in base]
    changed = [
        {
            "target": _target(one),
            "patch": yaml.safe_dump(
                [
                    {"op": "replace", "path": f"/{field}", "value": one[field]}
                    for field in one
                    if base[key][field] != one[field]
                ],
                sort_keys=False,
                width=100,
            ),
        }
        for key, one in wanted.items()
        if base.get(key, one) != one
    ]
    gone = [
        {"patch": yaml.safe_dump({**_named(one), "$patch": "delete"}, sort_keys=False)}
        for key, one in base.items()
        if key not in wanted
    ]
    listed = {"resources.yaml": _text(new)} if new else {}
    resources = ["../../base", *listed]
    return {
        "kustomization.yaml": _kustomization(resources=resources, patches=[*changed, *gone]),
        **listed,
    }


def _named(document: helm.Document) -> helm.Document:
    """The document's kind and name, and nothing else."""
    metadata = document["metadata"]
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "metadata": {name: metadata[name] for name in ("name", "namespace") if name in metadata},
    }


def _target(document: helm.Document) -> dict[str, str]:
    return {"kind": document["kind"], **_named(document)["metadata"]}


def _kustomization(**fields: list[Any]) -> str:
    kind = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return _text([{**kind, **{name: one for name, one in fields.items() if one}}])


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def _text(documents: list[helm.Document]) -> str:
    return HEADER + yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=100)


def main() -> None:
    """Write every file."""
    README.write_text(readme())
    for path, text in kustomize().items():
        (KUSTOMIZE / path).parent.mkdir(parents=True, exist_ok=True)
        (KUSTOMIZE / path).write_text(text)


if __name__ == "__main__":
    main()
