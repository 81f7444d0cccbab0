"""Multus's grammar of the networks annotation, as it was executed (multus-cni v4.3.0: tests/differential)."""

from __future__ import annotations

import json

import pytest

from podrail.errors import PodError
from podrail.multus import networks
from podrail.multus.networks import Wanted

RAIL = Wanted("default", "rail0", "rail0")


def triples(text: str) -> list[tuple[str, str, str]]:
    """What each element names."""
    return [(one.namespace, one.name, one.interface) for one in networks.parse(text).elements]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ns/a@net5", [("ns", "a", "net5")]),
        ("a@IB_0", [("", "a", "IB_0")]),
        ("a@eth0.100", [("", "a", "eth0.100")]),
        (" ns / a @ x ", [("ns", "a", "x")]),
        ("default/rail0 @net5", [("default", "rail0", "net5")]),
        ("a@", [("", "a", "")]),
        ("/a", [("", "a", "")]),
        ("a\n", [("", "a", "")]),
        ("a,", [("", "a", ""), ("", "", "")]),
        (",a", [("", "", ""), ("", "a", "")]),
        ("a,,b", [("", "a", ""), ("", "", ""), ("", "b", "")]),
        ("ns/", [("ns", "", "")]),
        ("   ", [("", "", "")]),
        ("null", [("", "null", "")]),
        ("[]", []),
        ("  []", []),
        ("", []),
        ('[{"name":"a.b"}]', [("", "a.b", "")]),
        ('[{"name":"A.B"}]', [("", "A.B", "")]),
        ('[{"name":""}]', [("", "", "")]),
        ('[{"Name":"a","NAMESPACE":"n"}]', [("n", "a", "")]),
        ('[{"name":"a","name":"b"}]', [("", "b", "")]),
        ('[{"name":"a","what":{"x":1}}]', [("", "a", "")]),
        ('[{"name":"a","interfaceRequest":"x"}]', [("", "a", "x")]),
        ('[{"name":"a","interface":"aninterfaceof20chars"}]', [("", "a", "aninterfaceof20chars")]),
        ("a,a,a", [("", "a", "")] * 3),
        ("a@x\u2003y", [("", "a", "x\u2003y")]),
        ('[{"name":"a","Name":null}]', [("", "a", "")]),
        ('[{"name":"\\ud800"}]', [("", "\ufffd", "")]),
    ],
)
def test_what_multus_accepts_is_read_as_multus_reads_it(
    text: str, expected: list[tuple[str, str, str]]
) -> None:
    """Every spelling that Multus takes yields its elements."""
    assert expected == triples(text)


@pytest.mark.parametrize(
    "text",
    [
        "ns/a/b",
        "a@b@c",
        "a@b/c",
        "a;b",
        "A",
        "a.b",
        "a@interface16chars",
        "a@x y",
        '{"name":"a"}',
        '["a"]',
        '[{"name":"a"},]',
        '[{"name":"a"}] x',
        '[{"name":"a","ips":"1.1.1.1"}]',
        '[{"name":7}]',
        "[null]",
        "a@\u2003" + "\ud800" * 6,
        '[{"name":"a","mac":"x"}]',
        '[{"name":NaN}]',
        '[{"name":"a"',
        '[{"name":"a"} {"name":"b"}]',
        '[{"name":"a","cni-args":[]}]',
        'a"b',
        "[" * 3000,
    ],
)
def test_what_multus_refuses_is_refused_with_the_annotations_path(text: str) -> None:
    """A text that Multus would refuse, or crash on, names the annotation."""
    with pytest.raises(PodError) as caught:
        networks.parse(text)
    assert "k8s.v1.cni.cncf.io/networks" in caught.value.path
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "default/rail0@rail0"),
        ("a@x", "a@x,default/rail0@rail0"),
        ("a,", "a,,default/rail0@rail0"),
        (" ns / a ", " ns / a ,default/rail0@rail0"),
        ("[]", '[{"interface":"rail0","name":"rail0","namespace":"default"}]'),
        (
            '[ {"name" : "a", "x":1e3} ] ',
            '[ {"name" : "a", "x":1e3},{"interface":"rail0","name":"rail0","namespace":"default"}]',
        ),
    ],
)
def test_ours_are_appended_and_the_users_text_stays(text: str, expected: str) -> None:
    """The user's form and spelling are kept to the byte."""
    assert expected == networks.parse(text).append((RAIL,)).text


def test_nothing_to_append_is_no_change() -> None:
    """A text without anything of ours is the user's very own."""
    assert " a ,b" == networks.parse(" a ,b").append(()).text


def test_a_short_text_becomes_json_when_an_element_needs_arguments() -> None:
    """CNI arguments have no short form, so the user's elements are written as objects."""
    wanted = Wanted("default", "multi", "m0", {"nics": 2})
    found = json.loads(networks.parse("ns/a@x,b").append((wanted,)).text)
    assert [
        {"interface": "x", "name": "a", "namespace": "ns"},
        {"name": "b"},
        {"cni-args": {"nics": 2}, "interface": "m0", "name": "multi", "namespace": "default"},
    ] == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u, default/rail0@rail0 ,v", "u,default/rail3@rail3,v"),
        (
            '[{"name":"u","n":1.0},{"name":"rail0"}]',
            '[{"name":"u","n":1.0},{"interface":"rail3","name":"rail3","namespace":"default"}]',
        ),
    ],
)
def test_a_replaced_element_leaves_its_neighbours(text: str, expected: str) -> None:
    """Replacing by position keeps every other element's spelling."""
    assert expected == networks.parse(text).replace({1: Wanted("default", "rail3", "rail3")}).text


@pytest.mark.parametrize(
    ("text", "expected"), [("u,v,w", "u,w"), ('[{"name":"u"},{"name":"v"}]', '[{"name":"u"}]')]
)
def test_an_element_can_be_taken_out(text: str, expected: str) -> None:
    """The others close up, in the user's form."""
    assert expected == networks.parse(text).replace({1: None}).text


def test_an_element_with_cni_arguments_makes_all_of_them_json() -> None:
    """The short form has no place for them."""
    wanted = Wanted("default", "rail3", "rail3", {"vlan": 7})
    elements = json.loads(networks.parse("u@eth1,ns/v").replace({1: wanted}).text)
    assert [{"name": "u", "interface": "eth1"}, json.loads(wanted.json())] == elements


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("default/rail0@rail0", True),
        ("default/rail0@rail1", False),
        ("rail0@rail0", False),
        ('[{"name":"rail0","namespace":"default","interface":"rail0"}]', True),
        ('[{"name":"a","name":"rail0","namespace":"default","interface":"rail0"}]', False),
        (
            '[{"name":"rail0","namespace":"default","interface":"rail0","mac":"02:00:00:00:00:01"}]',
            False,
        ),
    ],
)
def test_an_element_is_ours_if_it_says_exactly_what_we_would(element: str, expected: bool) -> None:
    """More or less than the profile would write is the user's."""
    assert expected == RAIL.equals(networks.parse(element).elements[0], "team")
