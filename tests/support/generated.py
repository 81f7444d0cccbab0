"""The files of deploy/ that are made from the code; run as a script it writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from podrail.crd import fabric_profile, node_rails

ROOT: Final = Path(__file__).resolve().parents[2]
HEADER: Final = "# Made by `make generate` out of podrail/; edits here are lost.\n"
DOCUMENTS: Final[dict[str, dict[str, Any]]] = {
    "deploy/crds/fabricprofiles.yaml": fabric_profile.fabric_profiles(),
    "deploy/crds/noderails.yaml": node_rails.node_rails(),
}


class _Dumper(yaml.SafeDumper):
    """Writes a value in full wherever it stands: kubectl reads aliases, people do not."""

    def ignore_aliases(self, data: object) -> bool:
        return data is not None


def text(document: dict[str, Any]) -> str:
    """A document as its file has it."""
    return HEADER + yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=100)


def main() -> None:
    """Write every file."""
    for name, document in DOCUMENTS.items():
        (ROOT / name).write_text(text(document))


if __name__ == "__main__":
    main()
