"""The parts of the documentation that are made from the code: `python -m reference` writes them.

A page has a line MADE; what is above it is written by people, what follows is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import admitted
import checkout
import yaml
from admitted import Admitted

from podrail.crd import fabric_profile
from podrail.schema import Schema

MADE: Final = "<!-- What follows is made from the code by `make generate`. -->\n"
WORKLOADS: Final = checkout.ROOT / "examples" / "workloads"


def profiles() -> str:
    """The fields of a FabricProfile with what they may hold, and the rules between them."""
    version = fabric_profile.fabric_profiles()["spec"]["versions"][0]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    rows = [(f"`{path}`", form(one), one["description"]) for path, one in fields(spec)]
    rules = sorted(set(messages(spec)))
    listed = "".join(f"- {one}\n" for one in rules)
    return (
        f"## Fields\n\n{table(('Field of spec', 'Holds', 'Meaning'), rows)}\n"
        f"## Rules between fields\n\nThe API server refuses a profile that breaks one.\n\n{listed}"
    )


def fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every described field below a schema with its path, parents first."""
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")
    for name, inner in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        yield place, inner
        yield from fields(inner, place)


def messages(schema: Schema) -> Iterator[str]:
    """What the CEL rules at and below a schema expect."""
    yield from (one["message"] for one in schema.get("x-kubernetes-validations", ()))
    inner = [*schema.get("properties", {}).values(), schema.get("items")]
    for one in filter(None, inner):
        yield from messages(one)


def form(schema: Schema) -> str:
    """What a field may hold, for people."""
    if "enum" in schema:
        text = ", ".join(f"`{one}`" for one in schema["enum"])
    elif schema.get("x-kubernetes-int-or-string"):
        text = "whole number or size"
    else:
        text = _FORMS[schema["type"]](schema)
    return f"{text}; default `{schema['default']}`" if "default" in schema else text


def _number(schema: Schema) -> str:
    return f"{schema['minimum']} to {schema['maximum']}"


def _list(schema: Schema) -> str:
    return f"list, up to {schema['maxItems']}"


def _text(schema: Schema) -> str:
    return f"text, up to {schema['maxLength']}"


def _object(schema: Schema) -> str:
    bound = schema.get("maxProperties")
    return "object" if bound is None else f"map, up to {bound}"


_FORMS: Final[Mapping[str, Callable[[Schema], str]]] = {
    "integer": _number,
    "array": _list,
    "string": _text,
    "object": _object,
    "boolean": lambda _: "`true` or `false`",
}


def examples() -> str:
    """The example workloads, and what the pods of each get."""
    rows = [
        (f"`{path.stem}`", kinds(path), label, outcome)
        for path in sorted(WORKLOADS.glob("*.yaml"))
        for label, outcome in gains(admitted.workloads(path))
    ]
    return table(("File", "Kinds", "Profile", "What a pod gets"), rows)


def kinds(path: Path) -> str:
    """The kinds of the objects in a file, each once."""
    found = [one["kind"] for one in yaml.safe_load_all(path.read_text())]
    return ", ".join(dict.fromkeys(found))


def gains(pods: Sequence[Admitted]) -> list[tuple[str, str]]:
    """What the injected pods of a file get, by profile; pods that get the same are one."""
    found = [one.marker for one in pods if one.outcome == "injected"]
    return list(
        dict.fromkeys(
            (f"`{one.profile}`", "; ".join(_gain(one.networks, one.resources)))
            for one in found
            if one is not None
        )
    )


def _gain(networks: Sequence[Any], resources: Mapping[str, int]) -> Iterator[str]:
    if networks:
        yield f"{len(networks)} network{'s' if len(networks) > 1 else ''}"
    for count in dict.fromkeys(resources.values()):
        first, *more = (name for name, one in resources.items() if one == count)
        yield f"{count} {first}" + (f" and {len(more)} more resources like it" if more else "")
    if not networks and not resources:
        yield "settings only"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("| --- ", "|---") for line in lines)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "docs/user/profiles.md": profiles,
    "docs/user/examples.md": examples,
}


def whole(page: str) -> str:
    """The text that a page should have: its written part as it is, the rest made anew."""
    written = checkout.text(checkout.ROOT / page).partition(MADE)[0]
    return f"{written}{MADE}\n{PAGES[page]()}"


def main() -> None:
    """Write the made part of every page."""
    for page in PAGES:
        text = whole(page)
        (checkout.ROOT / page).write_text(text)


if __name__ == "__main__":
    main()
