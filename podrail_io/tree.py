"""Part of a folder tree such as /sys as plain mappings: small files by path, links by path.

Files that cannot be read are left out: in sysfs an attribute may answer EINVAL or vanish any time.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from podrail_io.files import FileError

MOST_BYTES: Final = 4096
"""The most that is read of one file; an attribute of sysfs is one page."""
MOST_FILES: Final = 100_000


class Tree(NamedTuple):
    """Texts and links by the path below the folder; what a link means is such a path too."""

    files: dict[str, str]
    links: dict[str, str]


def read(folder: Path, patterns: Iterable[str]) -> Tree:
    """What matches the patterns below a folder; what links lead to outside of it is left out.

    Raises:
        FileError: no such folder, or one with more files than a /sys has.
    """
    if not folder.is_dir():
        raise FileError(f"{folder}: expected a folder")
    tree = Tree({}, {})
    top = folder.resolve()
    for pattern in patterns:
        for path in folder.glob(pattern):
            _add(tree, path.relative_to(folder).as_posix(), path, top)
            if len(tree.files) + len(tree.links) > MOST_FILES:
                raise FileError(f"{folder}: expected at most {MOST_FILES} files")
    return tree


def _add(tree: Tree, name: str, path: Path, top: Path) -> None:
    if path.is_symlink():
        target = _target(path, top)
        if target is not None:
            tree.links[name] = target
    elif path.is_file() and path.resolve().is_relative_to(top):
        text = _text(path)
        if text is not None:
            tree.files[name] = text


def _target(path: Path, top: Path) -> str | None:
    """Where a link leads, below the top; it need not exist, for a copy may lack its target."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # A link to itself; Python 3.13 has another name for it.
        return None
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else None


def _text(path: Path) -> str | None:
    """The first bytes of a file; None if it cannot be read."""
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return None
