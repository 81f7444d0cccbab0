"""What a person at a terminal sees and a pipe does not, and what every help says."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import checkout
import commands
import pytest
import terminal

from podrail_cli import command

PODRAIL = Path(sys.executable).parent / "podrail"
POOL = checkout.ROOT / "examples/clusters/pool.yaml"
POD = checkout.ROOT / "examples/workloads/pod.yaml"
RANK = ("rank", "-f", POD, "--cluster", POOL)
COLOUR = "\x1b[3"


def on_a_terminal(*words: str | Path, **environ: str) -> str:
    """All that the command writes to a terminal."""
    kept = {key: os.environ[key] for key in commands.COVERAGE if key in os.environ}  # noqa: TID251 - so that what children do is counted
    end, child = pty.openpty()
    process = subprocess.Popen(
        [PODRAIL, *words], stdin=child, stdout=child, stderr=child, env={**kept, **environ}
    )
    os.close(child)
    seen = b""
    try:
        while part := os.read(end, 65536):
            seen += part
    except OSError:
        # Linux answers EIO once nobody has the other end (pty(7)).
        process.wait(commands.STOP_SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(end)
    return seen.decode()


@pytest.mark.parametrize(
    ("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)], ids=["colours", "NO_COLOR"]
)
def test_colours_are_for_terminals_and_can_be_turned_off(
    environ: dict[str, str], coloured: bool
) -> None:
    """NO_COLOR with any value (no-color.org); the words stay."""
    words = ("doctor", "--cluster", POOL)
    seen = on_a_terminal(*words, **environ)
    assert (coloured, True) == (COLOUR in seen, "what to do" in seen)
    assert COLOUR not in terminal.run(*words).output


def test_a_person_is_told_what_takes_a_while() -> None:
    """On standard error, and only on a terminal."""
    seen = on_a_terminal(*RANK)
    assert f"reading {POOL} ...\r\njudging 3 nodes ...\r\n" in seen
    assert "..." not in terminal.run(*RANK).stderr


@pytest.mark.parametrize("name", sorted(command.main.commands))
def test_every_help_has_an_example(name: str) -> None:
    """And what the exit status says, where it can be another than 0 and 2."""
    shown = terminal.run(name, "--help").stdout
    assert "\n  Example" in shown
    assert "Exit status: 0" in shown or name in {"completion", "demo", "simulate"}
