"""Whatever a cluster's documents hold: drafts can be read as profiles, and nothing raises."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import builders
import fuzz
import shown
from hypothesis import given
from hypothesis import strategies as st

from podrail import profile

CLUSTERS = [
    [
        *shown.documents(one),
        shown.policy("rail0", "ens1"),
        shown.cluster_policy(sriovDevicePlugin={}),
    ]
    for name, one in sorted(builders.shipped().items())
]
ODD: Any = st.sampled_from(
    [None, "", "8", "100000000000", "-1", "x" * 300, "a.b", "\u65e5", 7, True, [], {}, [{}], ["a"]]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # fmt: skip
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


@fuzz.examples(60)
@given(st.data())
def test_no_document_breaks_the_survey(data: st.DataObject) -> None:
    """A few values of a cluster replaced: each draft is still a profile that the reader takes."""
    documents: list[Any] = copy.deepcopy(data.draw(st.sampled_from(CLUSTERS)))
    for _ in range(data.draw(st.integers(1, 4))):
        found = [path for path in places(documents) if len(path) > 1 and path[-1] != "kind"]
        *way, last = data.draw(st.sampled_from(found))
        holder: Any = documents
        for step in way:
            holder = holder[step]
        holder[last] = copy.deepcopy(data.draw(ODD))
    for draft in shown.survey(*documents).drafts:
        profile.read(draft.document())
