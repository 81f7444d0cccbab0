"""podrail-webhook as a process: how it starts, serves, warns and ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import re
import ssl
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import builders
import checkout
import commands
import pytest
import served
import yaml
from commands import Child

from podrail import quantity
from webhook import program


class Running:
    """A webhook that listens."""

    def __init__(self, child: Child, trust: Path | None) -> None:
        self.child = child
        child.eventually(lambda: any(one["message"] == "listening" for one in self.records()))
        address = next(str(one["address"]) for one in self.records() if "address" in one)
        self._port = int(address.rpartition(":")[2])
        self._trust = trust

    def records(self) -> list[dict[str, Any]]:
        """Its log; a line that is no JSON fails the test."""
        return [json.loads(line) for line in self.child.errors.splitlines(keepends=True) if line.endswith("\n")]  # fmt: skip

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """Status and document of one call."""
        with closing(self._connection()) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def _connection(self) -> http.client.HTTPConnection:
        if self._trust is None:
            return http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        context = ssl.create_default_context(cafile=str(self._trust))
        return http.client.HTTPSConnection("localhost", self._port, timeout=10, context=context)


@contextmanager
def webhook(folder: Path, trust: Path | None = None, **variables: str | Path) -> Iterator[Running]:
    """A webhook on a free port with these settings."""
    given = {f"PODRAIL_{name}": str(value) for name, value in variables.items()}
    given = {"PODRAIL_LISTEN": "127.0.0.1:0", **given}
    with commands.running(folder / "run", "podrail-webhook", **given) as child:
        yield Running(child, trust)


def test_it_serves_with_tls_and_ends_at_sigterm(tmp_path: Path) -> None:
    """A pod posted over TLS comes back with a patch; SIGTERM ends it with status 0."""
    authority = served.authority(tmp_path)
    pair = authority.leaf("tls")
    with webhook(tmp_path, authority.file, CERT=pair.certfile, KEY=pair.keyfile) as running:
        assert (200, {"status": "ready"}) == running.call("GET", "/readyz")
        status, answer = running.call("POST", "/mutate", builders.review(builders.document()))
        assert (200, True, "JSONPatch") == (
            status,
            answer["response"]["allowed"],
            answer["response"]["patchType"],
        )
        assert 0 == running.child.stop()
        assert [] == running.child.left()


def test_a_wrong_profile_is_left_out_and_logged(tmp_path: Path) -> None:
    """The others are served; the log says what is wrong with it, and where."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    for name, attachment in (("good", "None"), ("bad", "Carrier pigeon")):
        document = builders.profile_document(name, attachment=attachment)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(document))
    with webhook(tmp_path, PROFILES=folder) as running:
        problems = [one["problem"] for one in running.records() if one["message"] == "document not used"]  # fmt: skip
        assert [f"{folder}/bad.yaml: spec.attachment"] == [one[: one.rindex(":")] for one in problems]  # fmt: skip
        good, bad = (
            running.call("POST", "/mutate", builders.review(builders.document(fabric=name)))[1]
            for name in ("good", "bad")
        )
        assert 0 == running.child.stop()
    assert (True, False) == (good["response"]["allowed"], bad["response"]["allowed"])


@pytest.fixture
def _logging() -> Iterator[None]:
    """The root logger as it was, after a program has set it up in this process."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield
    root.handlers[:], root.level = before


@pytest.mark.usefixtures("_logging")
@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"LISTEN": "8443", "THREADS": "0"}, "PODRAIL_LISTEN: .*\nPODRAIL_THREADS: expected"),
        ({"PROFILES": "{folder}"}, r"bad\.yaml:\d+: "),
        ({"KUBECONFIG": "{folder}/bad.yaml"}, r"bad\.yaml"),
    ],
    ids=["settings", "profiles", "kubeconfig"],
)
def test_what_is_wrong_at_the_start_ends_it(
    variables: dict[str, str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python prints the text of a SystemExit without a traceback and ends with status 1."""
    (tmp_path / "bad.yaml").write_text("a: [")
    for key, text in variables.items():
        monkeypatch.setenv(f"PODRAIL_{key}", text.format(folder=tmp_path))
    with pytest.raises(SystemExit, match=f"^podrail-webhook: (.|\n)*{told}"):
        program.main()


MIB = 1024 * 1024
HOSTILE = {
    "deep": b"[" * 8 * MIB,
    "wide": b"[" + b",".join([b'{"":0}'] * MIB) + b"]",
    "a pod of empty containers": builders.review(
        {"metadata": {}, "spec": {"containers": ["@"]}}
    ).replace(b'"@"', b",".join([b"{}"] * 2 * MIB)),
    "one long text": builders.review(builders.document(annotations={"a": "x" * 7 * MIB})),
}


def held(process: int) -> int:
    """The most bytes that a process and its children have held."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        text = status.read_text() if status.exists() else ""
        if str(process) in re.findall(r"^P(?:Pi|i)d:\t(\d+)$", text, re.MULTILINE):
            found += int(re.findall(r"^VmHWM:\s+(\d+) kB$", text, re.MULTILINE)[0]) * 1024
    return found


def send(running: Running, body: bytes) -> None:
    """Have a body read; whoever asks for too much at once is answered late or cut, which is well."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        assert running.call("POST", "/mutate", body)[0] in {200, 400, 429}


def test_hostile_bodies_stay_within_the_charts_memory_limit(tmp_path: Path) -> None:
    """Four at a time of the largest there are, of each kind; then a pod is injected as ever."""
    values = yaml.safe_load((checkout.ROOT / "deploy/chart/podrail/values.yaml").read_text())
    limit = values["webhook"]["resources"]["limits"]["memory"]
    with webhook(tmp_path) as running, ThreadPoolExecutor(4) as pool:
        for body in HOSTILE.values():
            for asked in [pool.submit(send, running, body) for _ in range(4)]:
                asked.result()
        good = running.call("POST", "/mutate", builders.review(builders.document()))[1]
        most = held(running.child.process.pid)
        print(f"{most / MIB:.0f} MiB of {limit}", file=sys.stderr)
        assert 0 < most < quantity.count(limit)
    assert "patch" in good["response"]
