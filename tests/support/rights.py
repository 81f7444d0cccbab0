"""Who may do what, as lines that can be compared; as a script it writes tests/deploy/golden.

Of a role that is Kubernetes's own only the name is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import checkout
import helm
import yaml

DEPLOY: Final = checkout.ROOT / "deploy"
GOLDEN: Final = checkout.ROOT / "tests" / "deploy" / "golden"
VALUES: Final = checkout.ROOT / "tests" / "deploy" / "values"
CLUSTER: Final = "all namespaces"
Document = dict[str, Any]


def shipped() -> list[Document]:
    """The documents of deploy/ that are kept by hand."""
    paths = sorted(DEPLOY.glob("[cenw]*/*.yaml"))
    return [one for path in paths for one in yaml.safe_load_all(path.read_text()) if one]


def charted(values: Path) -> list[Document]:
    """The documents of the chart with the values of a file."""
    return helm.rendered(yaml.safe_load(values.read_text()))


def lines(documents: Iterable[Document]) -> list[str]:
    """Who, where, what, and which verbs: a line for each rule of each account."""
    every = list(documents)
    roles = {_name(one): one for one in every if one["kind"] in {"ClusterRole", "Role"}}
    found = {
        f"{subject['kind']} {subject['name']}, {where}: {what}"
        for one in every
        if one["kind"] in {"ClusterRoleBinding", "RoleBinding"}
        for subject in one["subjects"]
        for where in [one["metadata"].get("namespace", CLUSTER)]
        for what in _rules(roles, one, where)
    }
    return sorted(found)


def text(documents: Iterable[Document]) -> str:
    """The same as the text of a golden file."""
    return "".join(f"{line}\n" for line in lines(documents))


def _name(document: Document) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return (document["kind"], metadata.get("namespace", ""), metadata["name"])


def _rules(roles: dict[Any, Document], binding: Document, where: str) -> Iterator[str]:
    """The rules of the role that is bound."""
    kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
    role = roles.get((kind, "" if kind == "ClusterRole" else where, name))
    if role is None:
        yield f"{kind} {name} of Kubernetes"
        return
    for rule in role["rules"]:
        verbs = " ".join(sorted(rule["verbs"]))
        named = f" named {' '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
        for group in rule.get("apiGroups", ()):
            for resource in rule["resources"]:
                yield f"{resource}{group and f'.{group}'}{named}: {verbs}"
        for url in rule.get("nonResourceURLs", ()):
            yield f"{url}: {verbs}"


def main() -> None:
    """Write every golden file."""
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / "deploy.txt").write_text(text(shipped()))
    for values in sorted(VALUES.glob("*.yaml")):
        (GOLDEN / f"chart-{values.stem}.txt").write_text(text(charted(values)))


if __name__ == "__main__":
    main()
