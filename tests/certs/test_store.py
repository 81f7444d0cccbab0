"""Certificates in a folder."""

import stat
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs import authority, store

NOW = datetime.fromtimestamp(int(time.time()), UTC)
DAY = timedelta(days=1)


def test_only_the_owner_reads_the_keys(tmp_path: Path) -> None:
    """Keys are 0600, certificates may be read by all, and nothing else lies there."""
    folder = tmp_path / "new" / "tls"
    store.create(folder, ("a",), NOW, DAY)
    expected = {"ca.crt": 0o644, "tls.crt": 0o644, "ca.key": 0o600, "tls.key": 0o600}
    assert expected == {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()}


def test_files_are_replaced_not_rewritten(tmp_path: Path) -> None:
    """A reader that has a file open keeps reading the old one whole."""
    store.create(tmp_path, ("a",), NOW, DAY)
    with (tmp_path / store.CERTIFICATE).open("rb") as old:
        first = (tmp_path / store.CERTIFICATE).read_bytes()
        store.create(tmp_path, ("a",), NOW, DAY)
        assert first == old.read()
    assert first != (tmp_path / store.CERTIFICATE).read_bytes()


def test_what_was_made_has_no_problem(tmp_path: Path) -> None:
    """A new pair can serve the hosts it was made for, until its last second."""
    store.create(tmp_path, ("a", "127.0.0.1"), NOW, DAY)
    assert store.problems(tmp_path, ("127.0.0.1", "a"), NOW) == ()
    assert store.problems(tmp_path, ("a",), NOW + DAY - timedelta(seconds=1)) == ()


@pytest.mark.parametrize(
    ("spoil", "now", "expected"),
    [
        pytest.param(lambda _: None, NOW + DAY, "tls.crt is valid from", id="expired"),
        pytest.param(lambda _: None, NOW - DAY, "ca.crt is valid from", id="not yet valid"),
        pytest.param(lambda folder: (folder / "tls.key").unlink(), NOW, "No such", id="no key"),
        pytest.param(
            lambda folder: (folder / "tls.crt").write_text("x"), NOW, "Unable to load", id="not PEM"
        ),
        pytest.param(
            lambda folder: (folder / "tls.key").write_bytes((folder / "ca.key").read_bytes()),
            NOW,
            "tls.key is not the key of tls.crt",
            id="another key",
        ),
        pytest.param(
            lambda folder: (folder / "ca.crt").write_bytes(
                authority.authority(NOW, DAY).certificate_pem
            ),
            NOW,
            "tls.crt is not signed by ca.crt",
            id="another CA",
        ),
    ],
)
def test_a_pair_that_cannot_serve(
    spoil: Callable[[Path], object], now: datetime, expected: str, tmp_path: Path
) -> None:
    """Whatever is wrong with the files is said."""
    store.create(tmp_path, ("a",), NOW, DAY)
    spoil(tmp_path)
    assert expected in store.problems(tmp_path, ("a",), now)[0]


def test_a_host_that_is_not_covered(tmp_path: Path) -> None:
    """A pair made for other hosts is named with the hosts it lacks."""
    store.create(tmp_path, ("a",), NOW, DAY)
    assert store.problems(tmp_path, ("a", "b"), NOW) == ("tls.crt is not for b",)
