"""The wire of scheduler extenders."""

from __future__ import annotations

import json

import pytest

from podrail import extension
from podrail.errors import RequestError
from podrail.extension import Arguments, Bind
from podrail.placement import Misfit

POD = {"metadata": {"name": "p"}, "spec": {}}


def body(**fields: object) -> bytes:
    """ExtenderArgs."""
    return json.dumps({"Pod": POD, **fields}).encode()


def test_names_are_read_in_either_form() -> None:
    """NodeNames, or whole nodes of a scheduler that is not told to send names only."""
    nodes = {"items": [{"metadata": {"name": "a"}}]}
    assert ["a", "b"] == extension.arguments(body(NodeNames=["a", "b"], Nodes=None)).nodes
    assert ["a"] == extension.arguments(body(NodeNames=None, Nodes=nodes)).nodes


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        body(),
        body(NodeNames="a"),
        body(NodeNames=["a", 1]),
        body(Nodes={"items": [{}]}),
        body(Nodes={"items": ["x"]}),
        b'{"Pod":[],"NodeNames":[]}',
        b'{"Pod":{"metadata":1,"spec":{}},"NodeNames":[]}',
        b'{"Pod":{"metadata":{}},"NodeNames":[]}',
    ],
)
def test_what_are_no_arguments_is_a_request_error(content: bytes) -> None:
    """Answered with a 4xx."""
    with pytest.raises(RequestError):
        extension.arguments(content)


def test_a_bind_is_read_and_its_names_are_names() -> None:
    """They go into a URL."""
    asked = {"PodName": "p-0", "PodNamespace": "team", "PodUID": "0a-1", "Node": "n.1"}
    assert Bind("p-0", "team", "0a-1", "n.1") == extension.bind(json.dumps(asked).encode())
    for key in asked:
        for wrong in ("", "../x", "a/b", 5, None):
            with pytest.raises(RequestError, match=key):
                extension.bind(json.dumps({**asked, key: wrong}).encode())


def test_answers_have_gos_names_and_integer_scores() -> None:
    """7.0 would make kube-scheduler drop the reply."""
    asked = Arguments({}, ["a", "b", "c"])
    answer = extension.filtered(asked, {"b": Misfit.NO_RAILS}, {"c": Misfit.RAILS_HELD})
    filtered = json.loads(answer)
    assert {
        "NodeNames": ["a"],
        "FailedNodes": {"c": "podrail: other pods hold the rails that the pod would get"},
        "FailedAndUnresolvableNodes": {"b": "podrail: the node lacks rails that the pod was given"},
        "Error": "",
    } == filtered
    assert b'[{"Host":"a","Score":7}]' == extension.priorities(Arguments({}, ["a"]), [7])
    assert b'{"Error":""}' == extension.bound()


@pytest.mark.parametrize("odd", ['a"},{"Host":"b\n\u00e9', "\u00e9", "a\\", "", '","', "n-1"])
@pytest.mark.parametrize("ascii", [True, False])
def test_a_name_that_is_no_name_stays_one_string(odd: str, ascii: bool) -> None:  # noqa: A002 - as json has it
    """Whatever the scheduler calls its nodes comes back as it was, however it was written."""
    content = json.dumps({"Pod": POD, "NodeNames": [odd, "b"]}, ensure_ascii=ascii)
    asked = extension.arguments(content.replace(", ", ",").encode())
    scores = json.loads(extension.priorities(asked, [1, 0]))
    assert [{"Host": odd, "Score": 1}, {"Host": "b", "Score": 0}] == scores
    assert [odd, "b"] == json.loads(extension.filtered(asked, {}, {}))["NodeNames"]


def test_without_a_node_both_answers_are_empty_lists() -> None:
    """A reply without NodeNames would mean no node at all, and say nothing."""
    asked = extension.arguments(body(NodeNames=[]))
    assert b"[]" == extension.priorities(asked, [])
    assert [] == json.loads(extension.filtered(asked, {}, {}))["NodeNames"]


@pytest.mark.parametrize("key", ["PodName", "PodNamespace", "PodUID", "Node"])
@pytest.mark.parametrize("wrong", [None, "", 5, "a/b", "../x", "A b", "x" * 254, "a?b=c"], ids=str)
def test_a_bind_that_could_leave_its_path_is_refused(key: str, wrong: object) -> None:
    """The names go into a URL."""
    names = {"PodName": "p", "PodNamespace": "team", "PodUID": "u", "Node": "n", key: wrong}
    with pytest.raises(RequestError, match=key):
        extension.bind(json.dumps(names).encode())
