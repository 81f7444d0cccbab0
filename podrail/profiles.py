"""Several fabric profiles by name, out of documents from several places; the later place wins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from podrail import profile
from podrail.errors import MalformedError, Problem
from podrail.fabric import Profile


@dataclass(frozen=True, slots=True)
class Loaded:
    """The profiles that can be used, and what is wrong with the others, by place."""

    profiles: Mapping[str, Profile]
    problems: tuple[Problem, ...]


def load(
    documents: Iterable[tuple[str, object]], earlier: Mapping[str, Profile] | None = None
) -> Loaded:
    """The profiles in the documents, each with the place it comes from.

    A document that is no profile never replaces an earlier good profile of the same name.
    """
    found: dict[str, Profile] = {}
    problems: list[Problem] = []
    for place, document in documents:
        try:
            one = profile.read(document)
            found[one.name] = one
        except MalformedError as error:
            problems += [Problem(f"{place}: {each.path}", each.message) for each in error.problems]
            name = _name(document)
            if earlier and name in earlier:
                found.setdefault(name, earlier[name])
    return Loaded(found, tuple(problems))


def _name(document: object) -> str:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
