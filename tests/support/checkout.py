"""The files of this repository, as git sees them, and their functions."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = (
    "certs",
    "controller",
    "extender",
    "nodeagent",
    "podrail",
    "podrail_cli",
    "podrail_io",
    "webhook",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files() -> tuple[Path, ...]:
    """The files that are committed or would be, relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = (Path(name) for name in listed.split("\0") if name)
    return tuple(sorted({name for name in named if (ROOT / name).is_file()}))


def modules(*folders: str) -> tuple[Path, ...]:
    """The Python files in top-level folders."""
    return tuple(one for one in files() if one.suffix == ".py" and one.parts[0] in folders)


def text(path: Path) -> str:
    """What is in a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def functions(path: Path) -> Iterator[Function]:
    """The functions and methods of a module, nested ones too."""
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, Function):
            yield node
