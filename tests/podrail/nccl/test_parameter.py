"""How NCCL reads numbers, lists and conf files."""

import ctypes
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail.nccl import parameter
from podrail.nccl.parameter import Entry, Selection

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.strtoll.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]
LIBC.strtoll.restype = ctypes.c_longlong
DEFAULT = -77


def libc(text: str) -> int:
    """What ncclLoadParam makes of the text: libc's strtoll, and the default after an error."""
    ctypes.set_errno(0)
    number = LIBC.strtoll(text.encode(), None, 0)
    return DEFAULT if not text or ctypes.get_errno() else number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("106", 106),
        ("true", 0),
        ("auto", 0),
        ("010", 8),
        ("0x6a", 106),
        ("0x", 0),
        ("08", 0),
        (" \t-3 and more", -3),
        ("+5", 5),
        ("- 5", 0),
        ("", DEFAULT),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", DEFAULT),
        ("-9223372036854775808", -(2**63)),
        ("-0x8000000000000001", DEFAULT),
        ("9" * 5000, DEFAULT),
        ("0" * 5000 + "7", 7),
    ],
    ids=lambda value: str(value)[:24] or "empty",
)
def test_a_number_is_what_strtoll_reads(text: str, expected: int) -> None:
    """Base 0, nothing but the beginning counts, and an overflow is as if nothing had been set."""
    assert expected == parameter.integer(text, DEFAULT)
    assert expected == libc(text)


@given(
    st.one_of(
        st.text(alphabet=" \t\n+-0123456789abcdefxXtrue.,_'", max_size=24),
        st.integers(-(2**66), 2**66).map(str),
        st.integers(0, 2**66).map(hex),
        st.integers(0, 2**66).map(lambda number: f"0{number:o}"),
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    )
)
def test_every_text_is_read_as_libc_reads_it(text: str) -> None:
    """No text gives another number than the C library does."""
    # Since C23 a leading 0b is binary; NCCL's builds use the older function, as this symbol does.
    assert libc(text) == parameter.integer(text, DEFAULT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mlx5_0", Selection(False, False, (Entry("mlx5_0"),))),
        ("^=eth0,lo", Selection(True, True, (Entry("eth0"), Entry("lo")))),
        ("=^x", Selection(False, True, (Entry("^x"),))),
        ("^^x", Selection(True, False, (Entry("^x"),))),
        ("==x", Selection(False, True, (Entry("=x"),))),
        ("mlx5_0:1:2:3", Selection(False, False, (Entry("mlx5_0", 1, 2, 3),))),
        ("=mlx5_0::0:1", Selection(False, True, (Entry("mlx5_0", -1, 0, 1),))),
        ("mlx5_0:x", Selection(False, False, (Entry("mlx5_0", 0),))),
        ("a, b,,:1,c", Selection(False, False, (Entry("a"), Entry(" b"), Entry("c")))),
        ("x" * 70, Selection(False, False, (Entry("x" * 63),))),
        ("", Selection(False, False, ())),
        ("^", Selection(True, False, ())),
    ],
    ids=lambda value: value[:12] or "empty" if isinstance(value, str) else "",
)
def test_a_list_is_taken_to_pieces(text: str, expected: Selection) -> None:
    """One ^ and then one = in front; blanks stay; entries without a name do not count."""
    assert expected == parameter.interfaces(text)


def test_a_list_has_an_end() -> None:
    """Names beyond the most are ignored: 32 HCAs, 16 interfaces."""
    text = ",".join(f"mlx5_{index}" for index in range(40))
    assert "mlx5_31" == parameter.interfaces(text).entries[-1].name
    assert "mlx5_15" == parameter.interfaces(text, 16).entries[-1].name


@pytest.mark.parametrize(
    ("text", "name", "port", "expected"),
    [
        ("mlx5_1", "mlx5_1", 1, True),
        ("mlx5_1", "mlx5_10", 1, True),
        ("=mlx5_1", "mlx5_10", 1, False),
        ("=mlx5_1", "mlx5_1", 1, True),
        ("^mlx5_1", "mlx5_10", 1, False),
        ("^=mlx5_1", "mlx5_10", 1, True),
        ("mlx5_1:1", "mlx5_1", 2, False),
        ("mlx5_1:2", "mlx5_1", 2, True),
        ("mlx5_1:2", "mlx5_1", -1, True),
        ("mlx5_1:x", "mlx5_1", 1, False),
        ("mlx5_0, mlx5_1", "mlx5_1", 1, False),
        ("=^eth0", "eth0", -1, False),
        ("", "anything", 1, True),
        ("^", "anything", 1, False),
    ],
)
def test_a_list_takes_what_it_matches(text: str, name: str, port: int, expected: bool) -> None:
    """Prefixes unless there is a =, any port unless one is named, all but them after a ^."""
    assert expected is parameter.matches(parameter.interfaces(text), name, port)


def test_a_conf_file_is_read_line_by_line() -> None:
    """Only # in the first column is a comment, nothing is trimmed, the first line of a name wins."""
    text = (
        "# a comment=1\n"
        " # none=2\n"
        "NCCL_DEBUG=WARN\r\n"
        "NCCL_DEBUG=INFO\n"
        "NCCL_SOCKET_IFNAME==ens1f0\n"
        "NCCL_IB_TC = 106\n"
        "export NCCL_IB_SL=1\n"
        "no equals sign\n"
        "=no name\n"
        "NCCL_NET="
    )
    assert {
        " # none": "2",
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "=ens1f0",
        "NCCL_IB_TC ": " 106",
        "export NCCL_IB_SL": "1",
        "NCCL_NET": "",
    } == parameter.file_settings(text)


def test_long_lines_are_cut() -> None:
    """A value ends after 1,023 bytes, and what follows 4,095 bytes is a line of its own."""
    head = "NCCL_X=".ljust(4095, "x")
    found = parameter.file_settings(head + "NCCL_Y=1\n")
    assert {"NCCL_X": "x" * 1023, "NCCL_Y": "1"} == found


def test_bytes_that_are_no_text_stay() -> None:
    """A conf file is bytes: what cannot be decoded comes back as it was."""
    broken = b"NCCL_X=\xff\xc3".decode(errors="surrogateescape")
    assert os.fsencode("\udcff\udcc3") == os.fsencode(parameter.file_settings(broken)["NCCL_X"])


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/data/u"}, "/data/u/.nccl.conf"),
        ({"HOME": "/data/u", "NCCL_CONF_FILE": "/x.conf"}, "/x.conf"),
        ({"HOME": "/data/u", "NCCL_CONF_FILE": ""}, "/data/u/.nccl.conf"),
        ({}, ""),
    ],
    ids=["home", "named", "empty name", "none"],
)
def test_the_users_file_is_named_or_at_home(environ: dict[str, str], expected: str) -> None:
    """NCCL_CONF_FILE replaces ~/.nccl.conf unless it is empty."""
    assert expected == parameter.user_file(environ)


def test_the_environment_wins_then_the_user_then_the_system() -> None:
    """What is set is not set again, and an empty variable is set."""
    environ = {"A": "env", "B": ""}
    found = parameter.effective(environ, "A=user\nB=user\nC=user\n", "C=etc\nD=etc\n")
    assert {"A": "env", "B": "", "C": "user", "D": "etc"} == found
