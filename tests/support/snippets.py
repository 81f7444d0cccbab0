"""What deploy/ has for other tools: snippets for Argo CD and Flux, read here; kind's cluster."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import checkout
import goprograms
import pytest
import yaml
from controlplane.binaries import NotRun

ARGOCD: Final = checkout.ROOT / "deploy" / "gitops" / "argocd" / "application.yaml"
FLUX: Final = checkout.ROOT / "deploy" / "gitops" / "flux" / "podrail.yaml"
MODULE: Final = checkout.ROOT / "tests" / "deploy" / "snippets"
STEP: Final = re.compile(r"\.(?P<key>\w+)(?P<each>\[\]\??)?")
Document = dict[str, Any]


def documents(path: Path) -> dict[str, Document]:
    """The documents of a file by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all(path.read_text())}


def application() -> Document:
    """The spec of Argo CD's Application."""
    return dict(documents(ARGOCD)["Application"]["spec"])


def release() -> Document:
    """The spec of Flux's HelmRelease."""
    return dict(documents(FLUX)["HelmRelease"]["spec"])


def unknown(document: Document) -> str:
    """What its own project's types do not know of a document; nothing if they know all of it."""
    try:
        program = goprograms.built(MODULE, ".", os.environ)  # noqa: TID251 - Go reads its environment
    except NotRun as missing:
        pytest.skip(str(missing))
    text = yaml.safe_dump(document)
    ran = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    return ran.stderr


def pointers(expression: str, document: Document) -> list[str]:
    """The JSON pointers of what a path of jq leads to in a document: keys, and [] for each item.

    The last key need not be there.
    """
    steps = list(STEP.finditer(expression))
    assert expression == "".join(step[0] for step in steps), f"{expression}: more than keys and []"
    found: list[tuple[str, Any]] = [("", document)]
    for step in steps:
        found = [
            (f"{at}/{step['key']}{more}", one)
            for at, value in found
            for more, one in _under(value, step["key"], each=bool(step["each"]))
        ]
    return [at for at, _ in found]


def _under(value: Document, key: str, *, each: bool) -> Iterator[tuple[str, Any]]:
    under = value.get(key)
    if each:
        yield from ((f"/{index}", one) for index, one in enumerate(under or ()))
    else:
        yield "", under


def resolve(pointer: str, document: Document) -> Any:
    """What a JSON pointer leads to.

    Raises:
        LookupError: nothing is there.
    """
    found: Any = document
    for part in pointer.split("/")[1:]:
        found = found[int(part) if isinstance(found, list) else part]
    return found
