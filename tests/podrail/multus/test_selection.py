"""The object of one network, by the rules of Go's encoding/json and of Multus."""

from __future__ import annotations

from typing import Any

import pytest

from podrail.multus import selection
from podrail.multus.selection import Fields


def read(text: str) -> Fields:
    """The object that a text is."""
    fields: Any = selection.decode(text, 0)[0]
    assert isinstance(fields, Fields)
    return fields


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"ips":["10.0.0.1","10.0.0.1/024","fe80::1/64","::ffff:10.0.0.1/100"],"mac":""}',
        '{"ips":null,"default-route":["10.0.0.1","",null],"bandwidth":null,"portMappings":[null]}',
        '{"default-route":null,"portMappings":null,"cni-args":null}',
        '{"mac":"02:00:00:00:00:01"}',
        '{"mac":"0200.0000.0001","infiniband-guid":"02-00-00-00-00-00-00-01"}',
        '{"mac":"zz","MAC":"02:00:00:00:00:01"}',
        '{"portMappings":[{"hostPort":80,"protocol":"TCP","x":[]}],"bandwidth":{"IngressRate":1}}',
        '{"cni-args":{"a":[1,{"b":1.5,"c":"x"}],"d":true}}',
        '{"x-unknown":1e400,"deviceID":"0000:09:00.1"}',
    ],
)
def test_what_multus_takes(text: str) -> None:
    """Nothing is wrong with it."""
    assert "" == selection.problem(read(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name":7}', "name: expected a string, got 7"),
        ('{"name":"a","Name":7}', "name: expected a string, got 7"),
        ('{"ips":["10.0.0.1/33"]}', "ips: expected IP addresses"),
        ('{"ips":["10.0.0.1/+8"]}', "ips: expected IP addresses"),
        ('{"ips":["fe80::1%eth0"]}', "ips: expected IP addresses"),
        ('{"ips":[null]}', "ips: expected IP addresses"),
        ('{"ips":"10.0.0.1"}', "ips: expected a list of strings"),
        ('{"default-route":["10.0.0.1/24"]}', "default-route: expected a list of IP addresses"),
        ('{"default-route":[1]}', "default-route: expected a list of strings"),
        ('{"mac":"02:00"}', "mac: expected 6, 8 or 20 octets"),
        ('{"mac":"02:00-00:00:00:01"}', "mac: expected 6, 8 or 20 octets"),
        ('{"infiniband-guid":"0x02"}', "infiniband-guid: expected 6, 8 or 20 octets"),
        ('{"portMappings":{}}', "portmappings: expected a list of objects"),
        ('{"portMappings":[7]}', "portmappings: expected an object"),
        ('{"portMappings":[{"hostPort":1.0}]}', "expected a whole number of 64 bits in hostport"),
        ('{"bandwidth":{"egressRate":true}}', "expected a whole number of 64 bits in egressrate"),
        ('{"bandwidth":{"egressRate":9223372036854775808}}', "a whole number of 64 bits"),
        ('{"cni-args":[]}', "cni-args: expected an object"),
        ('{"cni-args":{"a":[1e400]}}', "cni-args: expected numbers that a float64 holds"),
        (f'{{"cni-args":{{"a":{"9" * 5000}}}}}', "expected numbers that a float64 holds"),
    ],
)
def test_what_multus_refuses(text: str, words: str) -> None:
    """The field is named as Multus folds it, with what it should hold."""
    assert words in selection.problem(read(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"name":"a","NAME":null}', ("", "a", "")),
        ('{"name\\u017fpace":"x","NAMESPACE":"n"}', ("n", "", "")),
        # The long s has an ASCII letter as its other case.
        ('{"name\u017fpace":"n"}', ("n", "", "")),
        ('{"interfaceRequest":"old"}', ("", "", "old")),
        ('{"interfaceRequest":"old","interface":"new"}', ("", "", "new")),
        ('{"name":"\\ud800","namespace":"\\ud83d\\ude00"}', ("\U0001f600", "\ufffd", "")),
    ],
)
def test_what_an_object_names(text: str, expected: tuple[str, str, str]) -> None:
    """Namespace, name and interface, as Go reads the keys and the text."""
    assert expected == selection.names(read(text))


def test_an_object_knows_that_a_key_stands_there_twice() -> None:
    """Such an object is never taken for one of ours."""
    assert [True, False] == [read(text).repeats for text in ('{"a":1,"a":1}', '{"a":1,"A":1}')]


@pytest.mark.parametrize("text", ["NaN", '{"a":-Infinity}', "[", '"\n"'])
def test_what_is_no_json(text: str) -> None:
    """Python's own extensions of JSON are refused."""
    with pytest.raises(ValueError, match=r"NaN|Infinity|Expecting|Invalid"):
        selection.decode(text, 0)
