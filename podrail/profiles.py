"""The fabric profiles in force, out of documents from several places; a later place wins.

A broken document never takes the place of a good one: the last good one of its place and name
stays. A document that has not changed keeps its Profile, since that is compared by identity.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from podrail import profile
from podrail.errors import MalformedError, Problem
from podrail.fabric import Profile

SHIPPED: Final = ("podrail", "data/profiles")
"""The package and the folder in it that holds the shipped profiles."""
RESOURCES: Final = f"/apis/{profile.API_VERSION}/fabricprofiles"
"""Where an API server has the custom resources."""
MOST_GENERATIONS: Final = 8

Documents = Iterable[tuple[str, object]]
"""Documents, each with the place that messages name."""


@dataclass(frozen=True, slots=True)
class Held:
    """A good document and its profile."""

    document: object
    profile: Profile


@dataclass(frozen=True, slots=True)
class Loaded:
    """The profiles that can be used, and what is wrong with the others, by place."""

    profiles: Mapping[str, Profile]
    problems: tuple[Problem, ...]
    held: Mapping[tuple[int, str], Held] = field(default_factory=dict)
    """What each layer's documents gave, by layer and name."""
    older: Mapping[str, tuple[Profile, ...]] = field(default_factory=dict)
    """Earlier generations of the profiles, the newest first."""

    def at(self, name: str, generation: int) -> Profile | None:
        """A profile as it was in one of its last MOST_GENERATIONS generations.

        Files have no generations of their own: unless metadata.generation says so, all are 1.
        """
        current = self.profiles.get(name)
        if current is None or current.generation == generation:
            return current
        return next((one for one in self.older[name] if one.generation == generation), None)


def load(documents: Documents, earlier: Loaded | None = None) -> Loaded:
    """The profiles in the documents of one place."""
    return layered([documents], earlier)


def layered(layers: Sequence[Documents], earlier: Loaded | None = None) -> Loaded:
    """The profiles in layers of documents, each layer before those that it gives way to the last.

    earlier is what the same layers gave before.
    """
    held: dict[tuple[int, str], Held] = {}
    problems: list[Problem] = []
    for layer, documents in enumerate(layers):
        for place, document in documents:
            key = (layer, _name(document))
            before = None if earlier is None else earlier.held.get(key)
            try:
                held[key] = _read(document, before)
            except MalformedError as error:
                problems += [
                    Problem(f"{place}: {each.path}", each.message) for each in error.problems
                ]
                if before is not None:
                    held.setdefault(key, before)
    found = {name: held[layer, name].profile for layer, name in sorted(held)}
    return Loaded(found, tuple(problems), held, _older(found, earlier))


def resource(document: Mapping[str, Any]) -> dict[str, Any]:
    """What matters of a custom resource: not who wrote it when, nor its status."""
    metadata = document["metadata"]
    return {
        "apiVersion": profile.API_VERSION,
        "kind": profile.KIND,
        "metadata": {"name": metadata["name"], "generation": metadata["generation"]},
        "spec": document.get("spec"),
    }


def _read(document: object, before: Held | None) -> Held:
    if before is not None and before.document == document:
        return before
    return Held(document, profile.read(document))


def _older(
    found: Mapping[str, Profile], earlier: Loaded | None
) -> Mapping[str, tuple[Profile, ...]]:
    """The earlier generations of each profile: one of each number, none of the current one's."""
    older = {}
    for name, current in found.items():
        before = () if earlier is None else earlier.older.get(name, ())
        last = None if earlier is None else earlier.profiles.get(name)
        kept = {one.generation: one for one in reversed((*((last,) if last else ()), *before))}
        kept.pop(current.generation, None)
        older[name] = tuple(reversed(kept.values()))[: MOST_GENERATIONS - 1]
    return older


def _name(document: object) -> str:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
