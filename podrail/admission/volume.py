"""Volumes that podrail adds: each under a name that no volume of the user's has."""

from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Any

from podrail.admission.draft import Draft


def name_for(draft: Draft, stem: str, source: Mapping[str, Any]) -> str:
    """The name of the volume with this source, or the first that is free for it.

    The names are tried in one order, so a second pass finds that of the first.
    """
    taken = {volume.get("name"): volume for volume in draft.pod.spec.get("volumes") or ()}
    return next(
        name
        for name in _names(stem)
        if name not in taken or taken[name] == {"name": name, **source}
    )


def added(draft: Draft, name: str, source: Mapping[str, Any]) -> Draft:
    """The draft with the volume, unless it is there."""
    volumes = draft.pod.spec.get("volumes") or ()
    if any(volume.get("name") == name for volume in volumes):
        return draft
    return draft.to(draft.pod.put(("spec", "volumes"), [*volumes, {"name": name, **source}]))


def _names(stem: str) -> Iterator[str]:
    return chain([stem], (f"{stem}-{number}" for number in count(2)))
