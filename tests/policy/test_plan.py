"""The driver of `make test`: what did not run is never taken for a success."""

import os
import subprocess
import sys
from pathlib import Path

import checkout
import pytest

GREEN = "def test_a(): pass\n"
MISSING = "import pytest\ndef test_b(): pytest.skip('NOT RUN: no Go')\n"
BROKEN = "import nothing_of_this_name\n"


@pytest.mark.parametrize(
    ("tests", "continuous", "status", "end"),
    [
        pytest.param(
            GREEN + MISSING,
            False,
            0,
            ["1 passed, 0 failed, 1 skipped", "!!! NOT RUN: no Go"],
            id="missing at home",
        ),
        pytest.param(
            GREEN + MISSING,
            True,
            1,
            [
                "1 passed, 0 failed, 1 skipped",
                "!!! NOT RUN: no Go",
                "!!! with CI set this is a failure",
            ],
            id="missing in CI",
        ),
        pytest.param(BROKEN, False, 1, ["0 passed, 6 failed", "Everything"], id="broken"),
    ],
)
def test_how_a_run_ends(
    tests: str, continuous: bool, status: int, end: list[str], tmp_path: Path
) -> None:
    """The last lines count the tests and name what did not run; in CI that is a failure."""
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_it.py").write_text(tests)
    environ = {name: text for name, text in os.environ.items() if name not in {"CI", "COVERAGE"}}  # noqa: TID251 - a child lives in our environment
    environ |= {"PYTHONPATH": str(checkout.ROOT / "tests" / "support")}
    # Other plugins would only cost time.
    environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environ |= {"CI": "true"} if continuous else {}
    ran = subprocess.run(
        [sys.executable, checkout.ROOT / "tests" / "plan.py", "-c", "pytest.ini", "test_it.py"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in ran.stdout.splitlines() if not line.startswith("in ")]
    assert status == ran.returncode
    assert end == [line[: len(wanted)] for line, wanted in zip(said[-len(end) :], end, strict=True)]
