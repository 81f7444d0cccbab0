"""Access Control Services in a bridge's configuration space."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from podrail.observation import acs


def space(control: int, *, at: int = 0x148) -> bytes:
    """A space whose second extended capability, or first, is ACS with this control register."""
    found = bytearray(4096)
    if at != 0x100:
        found[0x100:0x104] = (at << 20 | 1 << 16 | 0x0001).to_bytes(4, "little")
    found[at : at + 4] = (1 << 16 | 0x000D).to_bytes(4, "little")
    found[at + 6 : at + 8] = control.to_bytes(2, "little")
    return bytes(found)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(space(0b0001_1101), True, id="on"),
        pytest.param(space(0b0001_0001), False, id="off"),
        pytest.param(space(0b0000_1000, at=0x100), True, id="first"),
        pytest.param(bytes(4096), False, id="none"),
        pytest.param(space(0b0001_1101)[:64], None, id="unprivileged"),
        pytest.param((0x100 << 20 | 1).to_bytes(4, "little").rjust(0x104, b"\0") + bytes(99), None, id="loop"),
    ],
)  # fmt: skip
def test_redirection_is_read_where_it_can_be(config: bytes, expected: bool | None) -> None:
    """Source validation alone sends nothing anywhere; what is cut off, or a ring, is unknown."""
    assert expected is acs.redirects(config)


@given(st.binary(max_size=600))
def test_any_bytes_are_answered(config: bytes) -> None:
    """No space makes it raise."""
    assert acs.redirects(config) in {True, False, None}


def test_all_ones_are_nobody() -> None:
    """A device that fell off the bus; one that cannot be read is not known to have."""
    assert (True, False, False) == (acs.lost(b"\xff" * 4), acs.lost(b"\xde\x10"), acs.lost(b""))
