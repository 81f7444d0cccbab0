"""Values that follow their files."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podrail_io.files import FileError, Placed
from podrail_io.living import LOOK_SECONDS, Living


def values(documents: list[Placed], earlier: list[Any] | None) -> list[Any]:
    """What the documents hold, after whether there was a value before."""
    return [earlier is not None, *(one.document for one in documents)]


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 4 * LOOK_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_without_a_folder() -> None:
    """Without a folder the value is made once, of nothing."""
    living = Living(None, values)
    living.start()
    assert [False] == living.value


def test_a_wrong_start_is_an_error(tmp_path: Path) -> None:
    """Files that cannot be read at the start are not passed over."""
    with pytest.raises(FileError, match="No such file"):
        Living(tmp_path / "none", values)


def test_a_change_is_seen_and_a_bad_one_is_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A new content makes a new value; one that cannot be read keeps the last and is logged once."""
    (tmp_path / "a.yaml").write_text("a: 1")
    living = Living(tmp_path, values)
    assert [False, {"a": 1}] == living.value
    living.start()
    (tmp_path / "a.yaml").write_text("a: 22")
    assert eventually(lambda: living.value == [True, {"a": 22}])
    (tmp_path / "a.yaml").write_text("a: [")
    assert eventually(lambda: "files not reloaded" in caplog.messages)
    assert [True, {"a": 22}] == living.value
