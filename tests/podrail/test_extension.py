"""The wire of scheduler extenders."""

from __future__ import annotations

import json

import pytest
from fuzz import examples
from hypothesis import example, given
from hypothesis import strategies as st

from podrail import extension, pod
from podrail.errors import PodError, RequestError
from podrail.extension import Arguments, Bind, Ranking
from podrail.placement import Misfit

POD = {"metadata": {"name": "p"}, "spec": {}}


def body(**fields: object) -> bytes:
    """ExtenderArgs."""
    return json.dumps({"Pod": POD, **fields}).encode()


def ranked(*scores: int) -> Ranking:
    """A ranking of nodes that are of one kind each."""
    return Ranking(range(len(scores)), dict(enumerate(scores)))


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


MARK = b',"Nodes":null,"NodeNames":["'
PIECES = st.sampled_from(
    [
        *(b'{"Pod":{"metadata":{},"spec":{}}', MARK, b'"]}', b'","', b"node-1.b", b"{", b"}"),
        *(b'"', b",", b"[", b"]", b"\\", b"\\u0041", b" ", b"A", b"\xc3\xa9", b"\xff", b"null"),
        *(b',"x":{"y":1', b',"x":"', b',"NodeNames":["c"]', b',"Nodes":{"items":[]}'),
    ]
)
WHOLE = st.lists(PIECES, max_size=4).map(
    lambda inner: b'{"Pod":{"metadata":{},"spec":{}}' + MARK + b"".join(inner) + b'"]}'
)


def plainly(content: bytes) -> tuple[object, object] | None:
    """The pod and the names as a parser of the whole body has them; None if they are none."""
    try:
        top = json.loads(content.decode())
        pod.read(top["Pod"], "")
        names = top["NodeNames"]
        if names is None:
            names = [one["metadata"]["name"] for one in top["Nodes"]["items"]]
        told = isinstance(names, list) and all(isinstance(name, str) for name in names)
        parts = {"metadata", "spec"} <= top["Pod"].keys()
    except (ValueError, KeyError, TypeError, PodError):
        return None
    return (top["Pod"], names) if told and parts else None


@given(st.lists(PIECES, max_size=9).map(b"".join) | WHOLE)
@examples(800)
@example(b'{"Pod":{"metadata":{},"spec":{}}' + MARK + b"]}")
@example(b'{"Pod":{"metadata":{},"spec":{}},"x":{"y":1' + MARK + b'a"]}}')
@example(b'{"Pod":{"metadata":{},"spec":{}},"x":"' + MARK + b'a"]}')
@example(b"{" + MARK + b'a"]}')
@example(b'{"Pod":{"metadata":{},"spec":{}}' + MARK + b'a"b,c"d"]}')
def test_names_that_are_cut_out_of_a_body_are_those_that_a_parser_finds(content: bytes) -> None:
    """Whatever the body is: what kube-scheduler sends, nearly that, or no JSON at all."""
    try:
        found = extension.arguments(content)
    except RequestError:
        assert plainly(content) is None
    else:
        assert plainly(content) == (found.pod, found.nodes)
        told = json.loads(extension.filtered(found, {}, {}))["NodeNames"]
        assert found.nodes == told


def test_the_same_body_is_the_same_question() -> None:
    """kube-scheduler sends to prioritize what it sent to filter; a huge body is not held on to."""
    content = json.dumps({"Pod": POD, "Nodes": None, "NodeNames": ["a"]}, separators=(",", ":"))
    first = extension.arguments(content.encode())
    assert (["a"], b"a") == (first.nodes, first.listed)
    assert first is extension.arguments(content.encode())
    huge = (content + " " * extension.KEPT_BYTES).encode()
    assert extension.arguments(huge) is not extension.arguments(huge)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["as Go", "spaced"])
@pytest.mark.parametrize("refused", [set(), {"a"}, {"a", "b", "c"}], ids=["none", "some", "all"])
def test_answers_are_the_same_however_the_names_were_read(
    refused: set[str], separators: tuple[str, str]
) -> None:
    """In the order in which they came."""
    document = {"Pod": POD, "Nodes": None, "NodeNames": ["c", "a", "b"]}
    asked = extension.arguments(json.dumps(document, separators=separators).encode())
    reasons = dict.fromkeys(sorted(refused), "why")
    answer = json.loads(extension.filtered(asked, reasons, {}))
    assert [name for name in "cab" if name not in refused] == answer["NodeNames"]
    assert (reasons, {}) == (answer["FailedAndUnresolvableNodes"], answer["FailedNodes"])
    assert [
        {"Host": name, "Score": score} for name, score in zip("cab", (7, 0, 10), strict=True)
    ] == (json.loads(extension.priorities(asked, ranked(7, 0, 10))))


def test_a_pod_of_the_wrong_form_is_refused_with_its_path() -> None:
    """The API server never sends one."""
    content = {"Pod": {"metadata": {}, "spec": {"containers": 5}}, "NodeNames": ["a"]}
    with pytest.raises(RequestError, match=r"^Pod\.spec\.containers: "):
        extension.arguments(json.dumps(content).encode())


def test_more_names_than_any_cluster_has_are_refused() -> None:
    """However plain they are."""
    nodes = ["a"] * (extension.MOST_NODES + 1)
    content = json.dumps({"Pod": POD, "Nodes": None, "NodeNames": nodes}, separators=(",", ":"))
    with pytest.raises(RequestError, match="NodeNames"):
        extension.arguments(content.encode())


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
    assert b'[{"Host":"a","Score":7}]' == extension.priorities(Arguments({}, ["a"]), ranked(7))
    assert b'{"Error":""}' == extension.bound()


@pytest.mark.parametrize("odd", ['a"},{"Host":"b\n\u00e9', "\u00e9", "a\\", "", '","', "n-1"])
@pytest.mark.parametrize("ascii", [True, False])
def test_a_name_that_is_no_name_stays_one_string(odd: str, ascii: bool) -> None:  # noqa: A002 - as json has it
    """Whatever the scheduler calls its nodes comes back as it was, however it was written."""
    content = json.dumps({"Pod": POD, "NodeNames": [odd, "b"]}, ensure_ascii=ascii)
    asked = extension.arguments(content.replace(", ", ",").encode())
    scores = json.loads(extension.priorities(asked, ranked(1, 0)))
    assert [{"Host": odd, "Score": 1}, {"Host": "b", "Score": 0}] == scores
    assert [odd, "b"] == json.loads(extension.filtered(asked, {}, {}))["NodeNames"]


def test_without_a_node_both_answers_are_empty_lists() -> None:
    """A reply without NodeNames would mean no node at all, and say nothing."""
    asked = extension.arguments(body(NodeNames=[]))
    assert b"[]" == extension.priorities(asked, ranked())
    assert [] == json.loads(extension.filtered(asked, {}, {}))["NodeNames"]


@pytest.mark.parametrize("key", ["PodName", "PodNamespace", "PodUID", "Node"])
@pytest.mark.parametrize("wrong", [None, "", 5, "a/b", "../x", "A b", "x" * 254, "a?b=c"], ids=str)
def test_a_bind_that_could_leave_its_path_is_refused(key: str, wrong: object) -> None:
    """The names go into a URL."""
    names = {"PodName": "p", "PodNamespace": "team", "PodUID": "u", "Node": "n", key: wrong}
    with pytest.raises(RequestError, match=key):
        extension.bind(json.dumps(names).encode())
