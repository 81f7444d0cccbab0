"""Requests as bytes with something wrong in the head, the body or both; the same for a seed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from podrail import document

Path = tuple[str | int, ...]

ODD: Final[tuple[Any, ...]] = (
    *(None, True, -1, 0, 10**400, 1.5, float("nan"), float("-inf")),
    *("", "0", "-8", "8e99", "\ud800", "\x00", "é" * 300, "[", "[{}]", "a,,b", "x" * 3000),
    *([], [None], [[]], ["x"], [{"name": "x"}] * 3, [[[[[]]]]]),
    *({}, {"": ""}, {"name": 5}, {"nvidia.com/gpu": "3"}),
)
FIELDS: Final = (
    *(b"Content-Length: 0", b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 9, 9"),
    *(b"Content-Length:", b"Content-Length : 3", b"Content-Length: 99999999999999999999"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: x", b"Transfer-Encoding: identity"),
    *(b"Content-Type: text/plain", b"Content-Type: \xff", b"Content-Encoding: gzip", b"Host: b"),
    *(b"Connection: close", b"Connection: upgrade", b"Upgrade: h2c", b"Expect: 100-continue"),
    *(b"Expect: wonders", b"X-Forwarded-Proto: https", b"X-Forwarded-For: \x00", b": nothing"),
    *(b"Traceparent: 00-0-0-0", b"Traceparent: \x80", b"Cookie: =;=;", b"Range: bytes=0-"),
    *(b" folded", b"No-Colon", b"Sp ace: x", b"X: a\rb", b"X: a\nb", b"X: " + b"y" * 9000),
    *(b"Authorization: Basic !!", b'If-Match: "', b"Accept: */*;q=nan", b"Date: yesterday"),
)  # fmt: skip
LINES: Final = (
    *(b"GET %s HTTP/1.1", b"post %s HTTP/1.1", b"HEAD %s HTTP/1.1", b"OPTIONS * HTTP/1.1"),
    *(b"CONNECT x:1 HTTP/1.1", b"PUT %s HTTP/1.1", b"PRI * HTTP/2.0", b"POST %s HTTP/1.0"),
    *(b"POST %s HTTP/9.9", b"POST %s", b"POST  %s  HTTP/1.1", b"POST http://b%s HTTP/1.1"),
    *(b"POST %s/../metrics HTTP/1.1", b"POST //x%s HTTP/1.1", b"POST %s?a=%%ff HTTP/1.1"),
    *(b"POST %s#x HTTP/1.1", b"POST /%%00 HTTP/1.1", b"POST http://[%s HTTP/1.1", b"", b"\x16\x03"),
)


@dataclass(frozen=True, slots=True)
class Noise:
    """A source of them; the good documents are those that it spoils, by path."""

    chance: Random
    good: Mapping[str, Sequence[Any]]

    def requests(self, count: int) -> Iterator[bytes]:
        """So many requests."""
        for _ in range(count):
            path = self.chance.choice(list(self.good))
            yield self._request(path, self._body(self.chance.choice(self.good[path])))

    def _request(self, path: str, body: bytes) -> bytes:
        line = b"POST %s HTTP/1.1"
        fields = [b"Host: a", b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
        if self._one_in(8):
            line = self.chance.choice(LINES)
        if self._one_in(12):
            fields.pop(self.chance.randrange(len(fields)))
        for _ in range(self.chance.choice((0, 0, 0, 0, 1, 2))):
            fields.insert(self.chance.randrange(len(fields) + 1), self.chance.choice(FIELDS))
        line = line % path.encode() if b"%s" in line else line
        head = b"\r\n".join([line, *fields]) + b"\r\n\r\n"
        return (self._spoiled(head) if self._one_in(10) else head) + body

    def _body(self, good: Any) -> bytes:
        if self._one_in(10):
            return self.chance.randbytes(self.chance.randrange(64))
        if self._one_in(5):
            return self._spoiled(json.dumps(good).encode())
        changed = good
        for _ in range(self.chance.randrange(4)):
            path = self.chance.choice(_paths(changed))
            changed = document.put(changed, path, self.chance.choice(ODD))
        return json.dumps(changed).encode()

    def _spoiled(self, whole: bytes) -> bytes:
        """The bytes with a stretch of them cut out, doubled or replaced."""
        start = self.chance.randrange(len(whole) + 1)
        end = self.chance.randrange(start, min(len(whole), start + 40) + 1)
        put = (b"", 2 * whole[start:end], self.chance.randbytes(end - start))
        return whole[:start] + self.chance.choice(put) + whole[end:]

    def _one_in(self, many: int) -> bool:
        return not self.chance.randrange(many)


def _paths(value: object, path: Path = ()) -> list[Path]:
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    else:
        inside = []
    return [path, *(one for step, inner in inside for one in _paths(inner, (*path, step)))]
