"""Completion, by a bash on a terminal and as kubectl asks for it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import commands
import pytest
import terminal

SCRIPTS = Path(sys.executable).parent
QUIET = 0.3
PATIENCE = 60.0
OWN_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""A shell that cannot control its terminal takes itself for a script; fish ends at once."""
SHELLS = {
    "bash": (("bash", "--norc", "--noprofile", "-i"), "source <(podrail completion bash)"),
    "zsh": (
        ("zsh", "-f", "-i"),
        "autoload -Uz compinit; compinit -D -u; source <(podrail completion zsh)",
    ),
    "fish": (("fish", "--no-config", "-i"), "podrail completion fish | source"),
}
"""How each is started without anybody's settings, and what docs/user/completion.md says to type."""
AGAIN = "\x15"
"""The line that was begun is taken back."""


class Shell:
    """An interactive shell on a terminal of its own, with the scripts of this environment."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self._terminal, child = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, *words],
            stdin=child, stdout=child, stderr=child, env=environ, start_new_session=True,
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


def needed(program: str, environ: Mapping[str, str]) -> None:
    """Skip, as not run, where a program is missing."""
    if shutil.which(program, path=environ["PATH"]) is None:
        pytest.skip(f"NOT RUN: completion in {program}: it is missing; apt-get install {program}")


def sourced(name: str, environ: Mapping[str, str]) -> Iterator[Shell]:
    """A shell that has read the script that podrail prints for it."""
    needed(name, environ)
    words, source = SHELLS[name]
    shell = Shell(words, environ)
    try:
        shell.type(f"{source}; echo sour''ced\n")
        shell.until("sourced")
        yield shell
    finally:
        shell.stop()


@pytest.fixture
def bash(environ: dict[str, str]) -> Iterator[Shell]:
    """A bash that completes."""
    yield from sourced("bash", environ)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, environ: dict[str, str]) -> Iterator[Shell]:
    """Each shell in turn."""
    yield from sourced(request.param, environ)


def test_tab_completes_a_command_an_option_and_a_profile(shell: Shell) -> None:
    """On a real terminal: the rest of the word appears, as if typed."""
    shell.type("podrail exp\t")
    shell.until("explain")
    shell.type(f"{AGAIN}podrail profiles --disc\t")
    shell.until("--discover")
    shell.type(f"{AGAIN}podrail verify ibm\t")
    shell.until("ibm-vela")


def test_two_tabs_list_what_there_is(bash: Shell) -> None:
    """The four EFA profiles."""
    bash.type("podrail profiles eks\t\t\t")
    assert "eks-p4d" in bash.until("eks-p6-b200")


def test_fish_tells_whole_descriptions(environ: dict[str, str]) -> None:
    """With their commas."""
    needed("fish", environ)
    asked = f"{SHELLS['fish'][1]}; complete --do-complete 'podrail verify eks-p4'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], env=environ, capture_output=True, text=True, timeout=60, check=True
    )  # fmt: skip
    assert "eks-p4d\tAmazon EKS p4d.24xlarge and p4de.24xlarge, 4 EFA devices\n" == done.stdout


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


@pytest.mark.usefixtures("plugin")
def test_kubectl_itself_completes_a_command(environ: dict[str, str]) -> None:
    """By the program that it looks for, as for its own completion script (kubectl 1.26 or later)."""
    needed("kubectl", environ)
    done = subprocess.run(
        ["kubectl", "__complete", "podrail", "exp"], env=environ, capture_output=True, text=True, timeout=60, check=True
    )  # fmt: skip
    word, directive = done.stdout.splitlines()
    assert ("explain", ":4") == (word.partition("\t")[0], directive)
