"""The command podrail-certs."""

import json
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import certificates_api
import commands
import pytest
from certificates_api import LEASE, OURS
from click.testing import CliRunner, Result
from commands import Child

from certs import program, store
from certs.authority import Purpose

DAY = timedelta(days=1)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program.main, [str(one) for one in arguments])


def ago(days: int) -> datetime:
    return datetime.fromtimestamp(time.time(), UTC) - days * DAY


def test_create_says_what_it_wrote(tmp_path: Path) -> None:
    """Create names the folder, the files, the hosts and how long they are valid."""
    result = run("create", "--out", tmp_path, "--host", "a.b.svc", "--host", "127.0.0.1")
    until = store.certificate(tmp_path).not_valid_after_utc
    expected = (
        f"{tmp_path}: wrote ca.crt, ca.key, tls.crt, tls.key; valid until {until:%Y-%m-%d %H:%MZ}\n"
        "hosts: a.b.svc, 127.0.0.1\n"
    )
    assert (0, expected) == (result.exit_code, result.output)


def test_a_good_pair_is_kept(tmp_path: Path) -> None:
    """A second create keeps a pair that can serve, unless it is told to renew."""
    run("create", "--out", tmp_path)
    first = store.certificate(tmp_path)
    assert "kept" in run("create", "--out", tmp_path).output
    assert first == store.certificate(tmp_path)
    run("create", "--out", tmp_path, "--renew")
    assert first != store.certificate(tmp_path)


@pytest.mark.parametrize(("days", "hosts"), [(2, ["a"]), (0, ["b"])], ids=["expired", "other host"])
def test_a_pair_that_cannot_serve_is_made_anew(days: int, hosts: list[str], tmp_path: Path) -> None:
    """An expired pair, or one for other hosts, is issued again and never reused."""
    store.create(tmp_path, ("a",), ago(days), DAY)
    first = store.certificate(tmp_path)
    result = run("create", "--out", tmp_path, *(f"--host={host}" for host in hosts))
    assert "wrote" in result.output
    assert first != store.certificate(tmp_path)
    assert store.problems(tmp_path, hosts, ago(0)) == ()


def test_show(tmp_path: Path) -> None:
    """Show prints hosts, times and fingerprint of a pair that can serve."""
    run("create", "--out", tmp_path, "--host", "a.b.svc")
    result = run("show", tmp_path)
    assert result.exit_code == 0
    keys = [line.partition(":")[0] for line in result.output.splitlines()]
    assert ["hosts", "valid from", "valid until", "sha256"] == keys


def test_show_fails_for_a_pair_that_cannot_serve(tmp_path: Path) -> None:
    """An expired pair and an empty folder end with status 1 and the reason."""
    store.create(tmp_path / "old", ("a",), ago(2), DAY)
    expired, empty = run("show", tmp_path / "old"), run("show", tmp_path)
    assert (1, 1) == (expired.exit_code, empty.exit_code)
    assert "Error: tls.crt is valid from" in expired.output
    assert "No such file" in empty.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--host", "a b"], "expected a DNS name or an IP address, got 'a b'"),
        (["--days", "91"], "91"),
    ],
    ids=["host", "days"],
)
def test_wrong_arguments(arguments: list[str], expected: str, tmp_path: Path) -> None:
    """A wrong argument is an error with its value, and nothing is written."""
    result = run("create", "--out", tmp_path / "tls", *arguments)
    assert result.exit_code != 0
    assert expected in result.output
    assert not (tmp_path / "tls").exists()


def test_a_clients_certificate_is_for_asking(tmp_path: Path) -> None:
    """It is kept when asked for again, and a server's in the same folder is no substitute."""
    arguments: list[str | Path] = ["--out", tmp_path, "--host", "kube-scheduler"]
    run("create", *arguments)
    assert "wrote" in run("create", *arguments, "--client").output
    assert "kept" in run("create", *arguments, "--client").output
    assert store.problems(tmp_path, ("kube-scheduler",), ago(0), Purpose.CLIENT) == ()
    expected = ("tls.crt is for another purpose",)
    assert expected == store.problems(tmp_path, (), ago(0), Purpose.SERVER)


def get(child: Child, path: str) -> tuple[int, str]:
    """Status and body of one call to a running keeper."""
    lines = [json.loads(line) for line in child.errors.splitlines() if '"listening"' in line]
    try:
        with urllib.request.urlopen(f"http://{lines[0]['address']}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def listening(child: Child) -> None:
    child.eventually(lambda: '"listening"' in child.errors, 40)


def test_run_keeps_certificates_and_gives_its_lease_back(tmp_path: Path) -> None:
    """Ready, with metrics; SIGTERM ends it with status 0, and no key is in its log."""
    with certificates_api.serving() as server:
        server.register(*OURS)
        variables = {"PODRAIL_LISTEN": "127.0.0.1:0", "PODRAIL_SERVER": server.url}
        with commands.running(tmp_path / "run", "podrail-certs", "run", **variables) as child:
            listening(child)
            child.eventually(lambda: bool(server.secret("podrail-tls")), 40)
            child.eventually(lambda: get(child, "/readyz")[0] == 200)
            assert '"ok"' in get(child, "/healthz")[1]
            assert "podrail_certs_active 1.0" in get(child, "/metrics")[1]
            assert 0 == child.stop()
            assert "" == server.objects[LEASE]["spec"]["holderIdentity"]
            assert [] == child.left()
            assert not any(word in child.errors for word in ("Traceback", "PRIVATE", "BEGIN"))


def test_a_standby_is_ready_though_nothing_answers(tmp_path: Path) -> None:
    """It is no crash and no alarm: whoever holds the Lease would tell."""
    with certificates_api.serving() as server:
        server.refusing = 503
        variables = {"PODRAIL_LISTEN": "127.0.0.1:0", "PODRAIL_SERVER": server.url}
        with commands.running(tmp_path / "run", "podrail-certs", "run", **variables) as child:
            listening(child)
            assert 200 == get(child, "/readyz")[0]
            assert 0 == child.stop()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "podrail-certs: no cluster around"),
        ({"PODRAIL_METHOD": "magic"}, "podrail-certs: PODRAIL_METHOD: expected one of"),
    ],
)
def test_run_says_what_it_lacks(variables: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """Exit status 1, no traceback."""
    with commands.running(tmp_path / "run", "podrail-certs", "run", **variables) as child:
        assert 1 == child.wait(40)
        assert expected in child.errors
        assert "Traceback" not in child.errors
