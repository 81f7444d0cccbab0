"""Completion, by a bash on a terminal and as kubectl asks for it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import commands
import pytest
import terminal

SCRIPTS = Path(sys.executable).parent
PROMPT = "ready> "
QUIET = 0.3
PATIENCE = 60.0


class Bash:
    """An interactive bash on a terminal of its own, with the scripts of this environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._terminal, child = pty.openpty()
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=child, stdout=child, stderr=child, env={**environ, "PS1": PROMPT}, start_new_session=True,
        )  # fmt: skip
        os.close(child)

    def until(self, word: str) -> str:
        """What it writes, up to and with a word."""
        seen, end = "", time.monotonic() + PATIENCE
        while word not in seen:
            assert time.monotonic() < end, seen
            if select.select([self._terminal], [], [], QUIET)[0]:
                seen += os.read(self._terminal, 65536).decode("utf-8", "replace")
        return seen

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, keys.encode())

    def stop(self) -> None:
        """Hang up."""
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """What a child sees: this environment's scripts first."""
    path = f"{tmp_path}:{SCRIPTS}:{os.environ['PATH']}"  # noqa: TID251 - a shell needs it
    measured = {key: os.environ[key] for key in commands.COVERAGE if key in os.environ}  # noqa: TID251 - so that what children do is counted
    return {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "INPUTRC": "/dev/null", **measured}


@pytest.fixture
def bash(environ: dict[str, str]) -> Iterator[Bash]:
    """A bash that has read the script that podrail prints for it."""
    shell = Bash(environ)
    shell.until(PROMPT)
    shell.type("source <(podrail completion bash); echo sour''ced\n")
    shell.until("sourced")
    yield shell
    shell.stop()


def test_tab_completes_a_command_an_option_and_a_profile(bash: Bash) -> None:
    """On a real terminal: the rest of the word appears, as if typed."""
    bash.type("podrail decode-\t")
    assert "decode-log" in bash.until("log")
    bash.type("\x15podrail profiles --disc\t")
    bash.until("--discover")
    bash.type("\x15podrail verify ibm\t")
    bash.until("ibm-vela")


def test_two_tabs_list_what_there_is(bash: Bash) -> None:
    """The four EFA profiles."""
    bash.type("podrail profiles eks\t\t\t")
    assert "eks-p4d" in bash.until("eks-p6-b200")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "kubectl"])
def test_each_shell_gets_a_script_of_its_own(shell: str) -> None:
    """All ask the command by the same variable."""
    result = terminal.run("completion", shell)
    assert 0 == result.exit_code
    assert f"_PODRAIL_COMPLETE={shell}_complete" in result.stdout


def test_a_shell_that_is_not_known_is_status_2() -> None:
    """Those that are known are named."""
    result = terminal.run("completion", "tcsh")
    assert (2, True) == (result.exit_code, "'bash', 'zsh', 'fish', 'kubectl'" in result.stderr)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The program that kubectl looks for."""
    path = tmp_path / "kubectl_complete-podrail"
    path.write_text(terminal.run("completion", "kubectl").stdout)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["decode-"], ["decode-log\tSay in plain words what an NCCL log shows.", ":4"]),
        (["profiles", "ibm"], ["ibm-vela\t", ":4"]),
        (["doctor", "--cluster", ""], [":0"]),
        (["nothing", "such"], [":4"]),
        ([], [":4"]),
    ],
    ids=["command", "profile", "file", "unknown", "nothing begun"],
)
def test_kubectl_is_told_words_and_a_directive(
    words: list[str], expected: list[str], plugin: Path, environ: dict[str, str]
) -> None:
    """4: no files beside these; 0: files, as kubectl completes them."""
    done = subprocess.run(
        [plugin, *words], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    assert expected[-1] == lines[-1]
    assert [] == [one for one in expected[:-1] if not any(line.startswith(one.split("\t")[0]) for line in lines)]  # fmt: skip
