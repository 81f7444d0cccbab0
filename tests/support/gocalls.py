"""The Go client of tests/transport, pointed at any server."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import goprograms

MODULE = Path(__file__).resolve().parents[1] / "transport"


@dataclass(frozen=True, slots=True)
class Calls:
    """A client that calls while a test does other things."""

    process: subprocess.Popen[str]

    def report(self, seconds: float) -> dict[str, Any]:
        """What it saw, once it has ended by itself."""
        out, errors = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, errors
        return dict(json.loads(out))

    def stop(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.communicate()


def start(command: str, **flags: object) -> Calls:
    """Start one of its commands; raises NotRun where it cannot be built."""
    program = goprograms.built(MODULE, ".", os.environ)  # noqa: TID251 - the compiler lives in it
    told = [f"-{name.replace('_', '-')}={value}" for name, value in flags.items()]
    pipe = subprocess.PIPE
    return Calls(subprocess.Popen([program, command, *told], stdout=pipe, stderr=pipe, text=True))
