"""YAML and JSON files, and the data files of a package, as plain documents with the place of each.

Sizes are bounded. A key given twice is an error: YAML would silently keep the last one. The values
are those of JSON, as kubectl reads them: a date stays a string, !!binary and the like are errors.
"""

import math
from collections.abc import Hashable, Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

MOST_BYTES: Final = 8 * 1024 * 1024
MOST_VALUES: Final = 2_000_000
"""Aliases can make a short text stand for any number of values."""
_JSON_TAGS: Final = tuple(
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map")
)
_SUFFIXES: Final = (".yaml", ".yml", ".json")


class FileError(Exception):
    """A file cannot be read as documents; the message names it, the line and what is wrong."""


class _Loader(yaml.CSafeLoader):
    """The safe loader of libyaml, for values of JSON only, refusing duplicate keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the form PyYAML wants
        first: [
            (tag, pattern)
            for tag, pattern in resolvers
            if tag.rpartition(":")[2] not in {"timestamp", "value"}
        ]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012 - the same
        tag: make
        for tag, make in yaml.CSafeLoader.yaml_constructors.items()
        if tag is None or tag in _JSON_TAGS
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the signature of PyYAML
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is not None and key != "<<" and key in seen:
                problem = f"{key!r} is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return {
            _key(key, node): value for key, value in super().construct_mapping(node, deep).items()
        }


def _key(key: Hashable, node: yaml.MappingNode) -> str:
    # As sigs.k8s.io/yaml v1.6, which kubectl reads with, makes keys of JSON.
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, str | int):
        return str(key)
    problem = f"expected a string as key, got {key!r}"
    raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


class Placed(NamedTuple):
    """A document and where it stands: the file, and its number if the file has several."""

    place: str
    document: Any


def documents(text: str, place: str) -> list[Placed]:
    """The documents in a YAML or JSON text; empty ones are left out.

    Raises:
        FileError: too large, not YAML, or a key given twice.
    """
    if len(text) > MOST_BYTES:
        raise FileError(f"{place}: expected at most {MOST_BYTES} bytes, got more")
    try:
        found = [one for one in yaml.load_all(text, _Loader) if one is not None]
        _check(found)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise FileError(f"{place}{line}: {error.problem or 'not YAML'}") from error
    except RecursionError as error:
        raise FileError(f"{place}: nested too deeply, or an alias inside its own anchor") from error
    except (yaml.YAMLError, ValueError) as error:
        raise FileError(f"{place}: not YAML: {error}") from error
    several = len(found) > 1
    return [
        Placed(f"{place}[{number}]" if several else place, one) for number, one in enumerate(found)
    ]


def _check(found: list[Any]) -> None:
    """Refuse what YAML can say and JSON cannot, and what aliases blow up beyond all measure."""
    for count, value in enumerate(_values(found)):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{value} is no JSON number")
        if count > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES} values")


def _values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _values(inner)


def text(path: Path) -> str:
    """What is in a text file.

    Raises:
        FileError: it cannot be read, is too large or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            # One more than allowed, so that it shows that there is more.
            found = file.read(MOST_BYTES + 1)
        if len(found) > MOST_BYTES:
            raise FileError(f"{path}: expected at most {MOST_BYTES} bytes, got more")
        return found.decode()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: expected UTF-8: {error.reason} at byte {error.start}") from error


def file_documents(path: Path) -> list[Placed]:
    """The documents in a file.

    Raises:
        FileError: as `text` and `documents`.
    """
    return documents(text(path), str(path))


def folder_documents(folder: Path) -> list[Placed]:
    """The documents in every YAML and JSON file of a folder, in the order of their names."""
    return [one for path in _documents_of(folder) for one in file_documents(path)]


def package_documents(package: str, folder: str) -> Iterator[Placed]:
    """The documents among the data files of an installed package, in the order of their names."""
    for path in sorted((resources.files(package) / folder).iterdir(), key=lambda one: one.name):
        if path.name.endswith(_SUFFIXES):
            yield from documents(path.read_text(encoding="utf-8"), path.name)


def with_own(package: str, folder: str, own: Path | None) -> list[Placed]:
    """Those of a package, then those of a folder of the user's if there is one."""
    return [*package_documents(package, folder), *(folder_documents(own) if own else ())]


def signature(folders: Iterable[Path]) -> tuple[tuple[str, int, int, int], ...]:
    """What tells that a file of the folders has changed: name, inode, time and size of each.

    A mounted ConfigMap is replaced by swapping a link, so the files behind links are looked at.
    """
    found = []
    for folder in folders:
        for path in _documents_of(folder):
            status = path.stat()
            found.append((str(path), status.st_ino, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _documents_of(folder: Path) -> list[Path]:
    try:
        return sorted(
            path for path in folder.iterdir() if path.name.endswith(_SUFFIXES) and path.is_file()
        )
    except OSError as error:
        raise FileError(f"{folder}: {error}") from error
