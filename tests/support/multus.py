"""Multus itself, for questions about the networks annotation (tests/differential/multus)."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import goprograms

MODULE = Path(__file__).resolve().parents[1] / "differential" / "multus"
Command = Literal["read", "attach"]
INJECTOR = "github.com/k8snetworkplumbingwg/network-resources-injector/cmd/webhook"


def program(package: str = ".") -> Path:
    """The program of a package of Multus's module, built if need be.

    Raises:
        NotRun: it is not there and there is no Go.
    """
    return goprograms.built(MODULE, package, os.environ)  # noqa: TID251 - Go reads its environment


@dataclass(frozen=True, slots=True)
class Answer:
    """What Multus makes of one value; a refusal and a panic have no elements and no interfaces."""

    elements: list[tuple[str, str, str]]
    interfaces: list[str]
    error: str
    panic: bool


class Multus(AbstractContextManager["Multus"]):
    """A running program that answers value after value."""

    def __init__(self, command: Command) -> None:
        self._process = subprocess.Popen(
            [program(), command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, value: str) -> Answer:
        """The answer for a value of the annotation."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        elements = [
            (one["namespace"], one["name"], one["interface"]) for one in said["elements"] or ()
        ]
        return Answer(elements, said["interfaces"] or [], said["error"], said["panic"])
