"""Programs whose wall clock jumps when a test says so; what never goes back is left alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("jumped.c")


class Clock:
    """The wall clock of all programs that are started with its environment."""

    def __init__(self, folder: Path) -> None:
        self._library = folder / "jumped.so"
        self._ahead = folder / "ahead"
        self.jump(0)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", self._library, SOURCE], check=True, timeout=60
        )

    @staticmethod
    def missing() -> str:
        """What it cannot be made without; empty if all is there."""
        return "" if shutil.which("cc") else "NOT RUN: no C compiler (cc)"

    @property
    def environ(self) -> Mapping[str, str]:
        """What has a program look at it."""
        return {"LD_PRELOAD": str(self._library), "PODRAIL_TEST_AHEAD": str(self._ahead)}

    def jump(self, seconds: int) -> None:
        """Be so far ahead of the machine's clock from now on, or behind it."""
        text = seconds.to_bytes(8, "little", signed=True)
        if not self._ahead.exists():
            self._ahead.write_bytes(text)
        with self._ahead.open("r+b") as file:
            file.write(text)
