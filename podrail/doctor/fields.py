"""Fields of documents that are not ours to correct: what has another type reads as absent."""

from collections.abc import Iterable, Mapping
from typing import Any

Document = Mapping[str, Any]


def part(document: object, *path: str) -> Document:
    """The object at a path; empty if there is none."""
    found = _at(document, path)
    return found if isinstance(found, Mapping) else {}


def parts(document: object, *path: str) -> tuple[Document, ...]:
    """The objects of the list at a path."""
    found = _at(document, path)
    listed = found if isinstance(found, list) else []
    return tuple(one for one in listed if isinstance(one, Mapping))


def texts(document: object, *path: str) -> tuple[str, ...]:
    """The strings of the list at a path."""
    found = _at(document, path)
    listed = found if isinstance(found, list) else []
    return tuple(one for one in listed if isinstance(one, str))


def text(document: object, *path: str) -> str:
    """The string at a path; empty if there is none."""
    found = _at(document, path)
    return found if isinstance(found, str) else ""


def name(document: object) -> str:
    """The name of an object."""
    return text(document, "metadata", "name")


def place(document: object) -> str:
    """The object as namespace/name."""
    return f"{text(document, 'metadata', 'namespace')}/{name(document)}"


def label(document: object, key: str) -> str:
    """The value of a label; empty if it has none."""
    return text(document, "metadata", "labels", key)


def condition(document: object, kind: str) -> str:
    """The status of a condition, such as True; empty if there is none."""
    found = (one for one in parts(document, "status", "conditions") if one.get("type") == kind)
    return next((text(one, "status") for one in found), "")


def containers(pod: object) -> tuple[Document, ...]:
    """The app containers of a pod."""
    return parts(pod, "spec", "containers")


def words(container: object) -> tuple[str, ...]:
    """The command line of a container, as far as the pod says it."""
    return (*texts(container, "command"), *texts(container, "args"))


def flag(said: Iterable[str], key: str) -> str | None:
    """The value of --key in a command line; None if it is not given, empty if it has no value."""
    listed = list(said)
    for at, word in enumerate(listed):
        bare, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and bare == key:
            following = listed[at + 1] if at + 1 < len(listed) else ""
            return value if equals or following.startswith("-") else following
    return None


def _at(document: object, path: Iterable[str]) -> Any:
    for step in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(step)
    return document
