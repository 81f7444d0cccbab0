"""Values of the networks annotation for a comparison with Multus: right, nearly right and wrong."""

from __future__ import annotations

import json

from hypothesis import strategies as st

SPACES = [*[""] * 20, *[" ", "\t", "\n", "\v", "\u2003", "\x85"] * 3, "\x1c", "\ufeff"]
# Right ones are likelier: a text is refused for its first wrong part.
NAMES = [*["a", "b-1", "rail0", "0", "", "a" * 70] * 6, "-a", "a-", "A", "a.b", "a_b", "é"]
INTERFACES = [*["", "net1", "IB_0", "eth0.100", "a" * 15, "x\u2003y", "x\x85y"] * 6, "a" * 16, "é" * 8, "x y", "a/b", "a@b"]  # fmt: skip
RAW = st.text(st.sampled_from('ab0-A._/@,; \t\n[]{}":\\\u2003\x85é'), max_size=12)


@st.composite
def short_texts(draw: st.DrawFn) -> str:
    """The short form, with spaces wherever they may stand."""
    return ",".join(draw(st.lists(_short_elements(), min_size=1, max_size=4)))


@st.composite
def _short_elements(draw: st.DrawFn) -> str:
    def spaced(text: str) -> str:
        before, after = (draw(st.sampled_from(SPACES)) for _ in range(2))
        return before + text + after

    parts = [spaced(draw(st.sampled_from(NAMES)))]
    if draw(st.booleans()):
        parts.insert(0, spaced(draw(st.sampled_from(NAMES))) + "/")
    if draw(st.booleans()):
        parts.append("@" + spaced(draw(st.sampled_from(INTERFACES))))
    return "".join(parts)


ADDRESSES = [
    "10.0.0.1", "10.0.0.1/24", "10.0.0.1/33", "10.0.0.1/024", "010.0.0.1", "10.0.0.1/", "10.0.0", "/24", "",
    "fe80::1", "fe80::1%eth0", "::ffff:10.0.0.1", "::ffff:10.0.0.1/100", "::", "1:2:3:4:5:6:7::", "1::2::3",
    "fe80::1/129", "10.0.0.1/255.255.255.0", "10.0.0.1/+8", "::1.2.3.4", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:1.2.3.4",
    "fe80::1/64/2", "10.0.0.1/٣", "12345::", "::1:2:3:4:5:6:7", "::1:2:3:4:5:6:7:8",
]  # fmt: skip
HARDWARE = [
    "02:00:00:00:00:01", "02-00-00-00-00-01", "02-00:00-00-00-01", "0200.0000.0001", "0200.0000.0000.0001",
    "02:00:00:00:00:00:00:01", ":".join(["0a"] * 20), ".".join(["0aFF"] * 10), "0x02", "02:00", "0200.0000", "",
    "02:00:00:00:00:0g", "02:00:00:00:00:01\n", "٠٢:00:00:00:00:01",
]  # fmt: skip
NUMBERS = ["0", "-0", "7", "1.0", "1e3", str(2**63), str(-(2**63)), "1e400", "9" * 5000]
SCALARS = st.sampled_from([*NUMBERS, "null", "true", '"a"', '""', '"\\ud800"', "[]", "{}", "NaN", "01", '"\n"'])  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda items: f"[{','.join(items)}]")
        | st.lists(inner, max_size=2).map(
            lambda items: "{" + ",".join(f'"k":{item}' for item in items) + "}"
        )
    ),
    max_leaves=4,
)


def _texts(texts: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(texts).map(json.dumps)


def _lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inner | st.just("null"), max_size=3).map(lambda items: f"[{','.join(items)}]")


def _objects(keys: list[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(st.sampled_from(keys), values).map(lambda one: f'"{one[0]}":{one[1]}')
    return st.lists(pair, max_size=3).map(lambda pairs: "{" + ",".join(pairs) + "}")


FIELDS = {
    "name": _texts([*NAMES, "\ud800", "\u0000"]),
    "namespace": _texts(NAMES),
    "interface": _texts(INTERFACES),
    "interfaceRequest": _texts(INTERFACES),
    "mac": _texts(HARDWARE),
    "infiniband-guid": _texts(HARDWARE),
    "ips": _lists(_texts(ADDRESSES)),
    "default-route": _lists(_texts(ADDRESSES)),
    "deviceID": _texts(["0000:09:00.1"]),
    "portMappings": _lists(_objects(["hostPort", "HOSTPORT", "protocol", "x"], SCALARS)),
    "bandwidth": _objects(["ingressRate", "egressburst", "x"], SCALARS),
    "cni-args": _objects(["a", "b"], VALUES),
    "ipam-claim-reference": VALUES,
    "x-unknown": VALUES,
}
# Go decodes a repeated list over the elements of the first one, so that null leaves an old address.
_ONCE = {"ips", "default-route"}


@st.composite
def _pairs(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=4))
    kept = [name for at, name in enumerate(names) if name not in _ONCE or name not in names[:at]]
    pairs = []
    for name in kept:
        key = draw(st.sampled_from([name, name.upper(), name.title(), name.replace("s", "\u017f")]))
        mostly = draw(st.integers(0, 9))
        value = draw(FIELDS[name] if mostly < 8 else st.just("null") if mostly < 9 else VALUES)
        pairs.append(f"{json.dumps(key, ensure_ascii=False)}:{value}")
    return "{" + ",".join(pairs) + "}"


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """The JSON form, with one character taken out or put in now and then."""
    joint = draw(st.sampled_from([",", " , ", "\n,"]))
    text = f"[{joint.join(draw(st.lists(_pairs(), max_size=3)))}]"
    at = draw(st.integers(0, len(text)))
    match draw(st.integers(0, 9)):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + draw(st.sampled_from([*SPACES, ",", "null", "]", '"'])) + text[at:]
        case _:
            return text


TEXTS = RAW | short_texts() | json_texts()
