"""Settings out of environment variables."""

from pathlib import Path

import pytest

from podrail_io.environ import Environ, SettingsError


def problems(read: Environ) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read.done()
    return caught.value.problems


@pytest.mark.parametrize("variables", [{}, {"P_A": ""}], ids=["absent", "empty"])
def test_defaults(variables: dict[str, str]) -> None:
    """An absent variable and an empty one both mean the default."""
    read = Environ(variables, "P_")
    found = (read.text("A", "x"), read.integer("A", 3, 1, 9), read.choice("A", "x", ("x", "y")))
    assert ("x", 3, "x") == found
    assert ("::1", 80) == read.address("A", "[::1]:80")
    assert (None, None) == (read.file("A"), read.folder("A"))
    read.done()


def test_given_values(tmp_path: Path) -> None:
    """A variable that is right is read as the type that was asked for."""
    file = tmp_path / "a.pem"
    file.touch()
    read = Environ({"P_N": "9", "P_F": str(file), "P_D": str(tmp_path), "P_C": "y"}, "P_")
    assert (9, file, tmp_path) == (read.integer("N", 3, 1, 9), read.file("F"), read.folder("D"))
    assert read.choice("C", "x", ("x", "y")) == "y"
    read.done()


@pytest.mark.parametrize(
    "text", ["0", "10", "-1", "1.0", "nine", "٣", "9" * 5000, "1_0"], ids=lambda text: text[:8]
)
def test_a_number_that_is_none_or_out_of_range(text: str) -> None:
    """A number is ASCII digits within its bounds; anything else is a problem, never a crash."""
    read = Environ({"P_N": text}, "P_")
    assert read.integer("N", 3, 1, 9) == 3
    (problem,) = problems(read)
    assert problem == f"P_N: expected a whole number from 1 to 9, got {text[:200]!r}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:8443", ("::1", 8443)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_an_address(text: str, expected: tuple[str, int]) -> None:
    """An address is host:port, IPv6 in brackets."""
    assert expected == Environ({"P_A": text}, "P_").address("A", "x:1")


@pytest.mark.parametrize(
    "text",
    ["8443", ":8443", "host", "host:", "host:65536", "host:http", "::1:8443", "[]:1", "[a]:1"],
)
def test_no_address(text: str) -> None:
    """An address without host or port, or an IPv6 address without brackets, is a problem."""
    read = Environ({"P_A": text}, "P_")
    read.address("A", "x:1")
    assert problems(read) == (f"P_A: expected host:port or [IPv6]:port, got {text!r}",)


def test_every_problem_at_once(tmp_path: Path) -> None:
    """The error names each wrong variable, what was expected and what was found."""
    missing = str(tmp_path / "none")
    variables = {"P_C": "z", "P_F": missing, "P_D": missing, "P_N": "x"}
    read = Environ(variables, "P_")
    read.choice("C", "x", ("x", "y"))
    read.file("F")
    read.folder("D")
    read.integer("N", 1, 1, 2)
    expected = (
        "P_C: expected one of x, y, got 'z'",
        f"P_F: expected an existing file, got {missing!r}",
        f"P_D: expected an existing folder, got {missing!r}",
        "P_N: expected a whole number from 1 to 2, got 'x'",
    )
    assert expected == problems(read)
