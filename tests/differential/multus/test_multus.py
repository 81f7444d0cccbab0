"""The networks annotation as Multus itself (v4.3.0, main.go beside this file) reads and attaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import admitted
import builders
import fuzz
import multus
import pytest
import spellings
import strategies
from controlplane.binaries import NotRun
from hypothesis import assume, given
from hypothesis import strategies as st
from multus import Multus

from podrail import names
from podrail.errors import PodError
from podrail.multus import networks
from podrail.multus.networks import Element, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.go

# Every kind of spelling whose outcome differs between Multus, the NAD client and the injector.
TABLE = [
    "ns/a@net5", "a@IB_0", "a@eth0.100", " ns / a @ x ", "default/rail0 @net5", "a@", "/a", "a\n",
    "a,", ",a", "a,,b", "ns/", "   ", "[]", "  []", '[{"name":"a.b"}]', '[{"name":"A.B"}]', '[{"name":""}]',
    '[{"Name":"a"}]', '[{"name":"a","name":"b"}]', '[{"name":"a","x":1}]', "null", "", "ns/a/b", "a@b@c",
    "a@b/c", "a;b", "A", "a.b", "a@interface16chars", "a@x y", '{"name":"a"}', '["a"]', '[{"name":"a"},]',
    '[{"name":"a"}] x', '[{"name":"a","ips":"1.1.1.1"}]', "[null]", '[{"name":"a"},null]',
    '[{"name":"a","infiniband-guid":"0x0011"}]', '[{"name":"a","default-route":["10.0.0.1/24"]}]',
    '[{"name":"a","interface":"aninterfaceof20chars"}]', '[{"name":"a","interfaceRequest":"x"}]',
]  # fmt: skip


@pytest.fixture(scope="module")
def reader() -> Iterator[Multus]:
    yield from _running("read")


@pytest.fixture(scope="module")
def attacher() -> Iterator[Multus]:
    yield from _running("attach")


def _running(command: multus.Command) -> Iterator[Multus]:
    try:
        running = Multus(command)
    except NotRun as missing:
        pytest.skip(str(missing))
    with running:
        yield running


def ours(text: str) -> list[tuple[str, str, str]] | None:
    """What podrail reads; None if it refuses."""
    try:
        return [triple(one) for one in networks.parse(text).elements]
    except PodError:
        return None


def triple(element: Element) -> tuple[str, str, str]:
    return element.namespace, element.name, element.interface


def theirs(reader: Multus, text: str) -> list[tuple[str, str, str]] | None:
    """What Multus reads; None if it refuses, or panics, which podrail refuses."""
    answer = reader.ask(text)
    return None if answer.error else answer.elements


@pytest.mark.parametrize("text", TABLE)
def test_the_table(reader: Multus, text: str) -> None:
    """Every spelling whose outcome is known is read by podrail as by Multus."""
    assert theirs(reader, text) == ours(text)


@fuzz.examples(1000)
@given(text=spellings.TEXTS)
def test_any_text(reader: Multus, text: str) -> None:
    """Podrail accepts just what Multus accepts, with the same elements."""
    assert theirs(reader, text) == ours(text)


def test_a_panic_is_refused(reader: Multus) -> None:
    """Multus crashes on an element that is null; podrail says so before the pod exists."""
    assert (True, None) == (reader.ask("[null]").panic, ours("[null]"))


def test_nesting_is_where_podrail_takes_less(reader: Multus) -> None:
    """A field nested 5,000 levels deep is fine for Go and too deep for Python: it is refused."""
    text = '[{"name":"a","x":' + "[" * 5000 + "]" * 5000 + "}]"
    assert ([("", "a", "")], None) == (theirs(reader, text), ours(text))


WANTED = st.builds(
    Wanted,
    namespace=st.sampled_from(["default", "rails"]),
    name=st.sampled_from(["rail0", "rail-1"]),
    interface=st.sampled_from(["rail0", "IB_0", "eth0.100"]),
    cni_args=st.none() | st.just({"nics": 2}),
)


@fuzz.examples(300)
@given(
    text=st.just("") | spellings.TEXTS | strategies.SHORT | strategies.JSON,
    wanted=st.lists(WANTED, min_size=1, max_size=3),
)
def test_what_is_appended(reader: Multus, text: str, wanted: list[Wanted]) -> None:
    """Multus reads the user's elements as before, and then ours."""
    before = ours(text)
    assume(before is not None)
    after = networks.parse(text).append(tuple(wanted)).text
    added = [(one.namespace, one.name, one.interface) for one in wanted]
    assert [*(before or []), *added] == theirs(reader, after)


@fuzz.examples(300)
@given(text=spellings.TEXTS | strategies.SHORT | strategies.JSON, data=st.data())
def test_what_is_replaced(reader: Multus, text: str, data: st.DataObject) -> None:
    """At their positions Multus reads ours, or nothing, and the user's elsewhere.

    Only where every element has a name: a lone element without one is written as no text at all.
    """
    assume(all(name for _, name, _ in ours(text) or [("", "", "")]))
    present = networks.parse(text)
    places = st.integers(0, len(present.elements) - 1)
    at = data.draw(st.dictionaries(places, st.none() | WANTED, min_size=1, max_size=2))
    expected = [
        (one.namespace, one.name, one.interface)
        for one in (at.get(index, old) for index, old in enumerate(present.elements))
        if one is not None
    ]
    assert expected == theirs(reader, present.replace(at).text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b@x,a", ["net1", "x", "net3"]),
        ("a@net2,b", ["net2", "net2"]),
        ('[{"name":"a","interfaceRequest":"y"},{"name":"b"}]', ["y", "net2"]),
    ],
)
def test_names_of_interfaces(attacher: Multus, text: str, expected: list[str]) -> None:
    """An element without an interface gets net and its place, whatever the others are called."""
    assert expected == attacher.ask(text).interfaces


@fuzz.examples(60)
@given(text=strategies.SHORT | strategies.JSON)
def test_our_interfaces_are_nobody_elses(attacher: Multus, text: str) -> None:
    """Multus gives no name of an element that was added to another network of the pod."""
    pod = builders.document(annotations={names.NETWORKS: text})
    after = admitted.admit(pod)
    made = attacher.ask(after.pod["metadata"]["annotations"][names.NETWORKS])
    assert "" == made.error
    assert after.marker
    added = [one for one in after.marker.networks if one.index >= len(ours(text) or ())]
    assert [one.interface for one in added] == [made.interfaces[one.index] for one in added]
    assert [1] * len(added) == [made.interfaces.count(one.interface) for one in added]
