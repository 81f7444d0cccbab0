"""The wire format of protocol buffers, as far as reading small messages takes (proto3).

Generated code would tie this distribution to one protobuf runtime, for nine messages.
"""

from collections.abc import Iterator
from typing import Final

_VARINT: Final = 0
_FIXED64: Final = 1
_TEXT: Final = 2
_FIXED32: Final = 5
_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_MOST_SHIFT: Final = 63

Value = int | bytes


class WireError(Exception):
    """The bytes are no message."""


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """The number and value of each field, in order; whole numbers unsigned.

    Raises:
        WireError: cut off, or of a wire type that proto3 does not have.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _varint(message, at)
            yield key >> 3, number
            continue
        if kind == _TEXT:
            size, at = _varint(message, at)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise WireError(f"wire type {kind} at byte {at}")
        if at + size > len(message):
            raise WireError(f"cut off at byte {len(message)}, expected {at + size}")
        yield key >> 3, message[at : at + size]
        at += size


def texts(message: bytes, number: int) -> tuple[str, ...]:
    """The values of a repeated string; what is not UTF-8 is replaced."""
    return tuple(one.decode(errors="replace") for one in parts(message, number))


def text(message: bytes, number: int) -> str:
    """A string; empty if it is not there, the last if it is there twice."""
    return next(iter(texts(message, number)[::-1]), "")


def parts(message: bytes, number: int) -> tuple[bytes, ...]:
    """The messages or strings of a field, which may be repeated."""
    return tuple(
        value for key, value in fields(message) if key == number and isinstance(value, bytes)
    )


def number(message: bytes, key: int) -> int:
    """A whole number, 0 if it is not there: proto3 leaves that out."""
    found = [value for one, value in fields(message) if one == key and isinstance(value, int)]
    return found[-1] if found else 0


def encoded(key: int, value: str) -> bytes:
    """A string field."""
    content = value.encode()
    return _number(key << 3 | _TEXT) + _number(len(content)) + content


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _varint(message: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        if at >= len(message) or shift > _MOST_SHIFT:
            raise WireError(f"no whole number at byte {at}")
        byte = message[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the top bit says that there is more
            return found, at
