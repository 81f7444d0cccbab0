"""Protocol buffers as they are on the wire."""

import contextlib

import hypothesis.strategies as st
import pytest
from hypothesis import given

from podrail_io import wire
from podrail_io.wire import WireError


def test_fields_of_every_kind_are_told() -> None:
    """Whole numbers, texts, and both fixed sizes."""
    message = (
        b"\x08\x96\x01" + b"\x12\x02hi" + b"\x1d" + b"\x01\0\0\0" + b"\x21" + b"\x02" + bytes(7)
    )
    expected = [(1, 150), (2, b"hi"), (3, b"\x01\0\0\0"), (4, b"\x02" + bytes(7))]
    assert expected == list(wire.fields(message))


@pytest.mark.parametrize(
    "message", [b"\x08", b"\x12\x05hi", b"\x0b", b"\x08" + b"\xff" * 11, b"\x1d\0"]
)
def test_what_is_cut_off_is_no_message(message: bytes) -> None:
    """So is a group, or a number without an end."""
    with pytest.raises(WireError):
        list(wire.fields(message))


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_an_error(message: bytes) -> None:
    """Nothing else is raised."""
    with contextlib.suppress(WireError):
        assert all(number >= 0 for number, _ in wire.fields(message))


@given(st.integers(1, 2000), st.text(max_size=300))
def test_a_text_reads_as_it_was_written(key: int, value: str) -> None:
    """Whatever its length."""
    assert value == wire.text(wire.encoded(key, value), key)


def test_what_is_not_there_is_empty() -> None:
    """proto3 leaves defaults out."""
    assert ("", 0, ()) == (wire.text(b"", 1), wire.number(b"", 1), wire.texts(b"", 1))
