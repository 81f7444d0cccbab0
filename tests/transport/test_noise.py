"""Noise at webhook and extender, from bytes to bytes: 5,000 requests each, 100,000 in `make fuzz`."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any

import builders
import commands
import fuzz
import pytest
import staging
from gunicorn.config import Config
from noise import Noise

from podrail.admission.decision import Directory
from podrail_io import exchange, prompt
from podrail_io.connection import Connection, HeadTooLongError
from podrail_io.exchange import Exchange, RefusedError
from webhook import app
from webhook.metrics import Metrics

TIMES = 5000 * fuzz.TIMES
OVER_SOCKETS = 500 * fuzz.TIMES
MOST_ERROR_BYTES = 1000
REFUSED_BY_US = {501, 503, 429}
"""A coding that nobody knows (RFC 9112, 6.1), and overload; any other 5xx is a fault."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")

POD = builders.document(
    builders.container(
        limits={"nvidia.com/rail0": "1"},
        env=[{"name": "NCCL_DEBUG", "value": "WARN"}],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
        securityContext={"capabilities": {"add": ["IPC_LOCK"]}},
    ),
    annotations={"k8s.v1.cni.cncf.io/networks": "team/other@eth1"},
    volumes=[{"name": "data", "emptyDir": {}}],
)
PLACED = staging.injected(staging.halves(), gpus=8)
ARGUMENTS = {"Pod": PLACED, "Nodes": None, "NodeNames": ["a", "b", "c"]}
BIND = {"PodName": "worker-0", "PodNamespace": "team", "PodUID": staging.UID, "Node": "a"}
WEBHOOK: dict[str, list[Any]] = {"/mutate": [json.loads(builders.review(POD))]}
EXTENDER: dict[str, list[Any]] = {
    "/filter": [ARGUMENTS],
    "/prioritize": [ARGUMENTS],
    "/bind": [BIND],
}


@dataclass(frozen=True, slots=True)
class Program:
    """An application with the server's own reader before it, and what it counts as its own faults."""

    exchange: Exchange
    good: Mapping[str, Sequence[Any]]
    faults: Callable[[], float]

    def answer(self, content: bytes) -> bytes | None:
        """What the server sends; None where it waits for more."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            connection = Connection(ours, None, None)
            try:
                if not connection.add(content):
                    return None
                call = self.exchange.read(connection.take(), ("127.0.0.1", 1), ("127.0.0.1", 2), ())
            except HeadTooLongError:
                return exchange.refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            except RefusedError as error:
                return exchange.refusal(error.status)
        return self.exchange.answer(call, last=False).content


def webhook() -> Program:
    """The webhook with the shipped profiles."""
    metrics = Metrics(None)
    found = Directory(builders.shipped(), lambda _: {})
    made = app.create(lambda: found, list, metrics)

    def faults() -> float:
        told = {"result": "failed", "reason": ""}
        return metrics.registry.get_sample_value("podrail_admission_requests_total", told) or 0

    return Program(Exchange(made, Config(), prompt.paths_of(made)), WEBHOOK, faults)


def extender() -> Program:
    """An extender that knows three nodes, and the pod that is to be bound."""
    stage = staging.Stage(staging.halves())
    stage.sees_nodes(a="good", b="bad", c="small")
    stage.sees_pod(PLACED)
    made = stage.client.application

    def faults() -> float:
        verbs = ("filter", "prioritize", "bind")
        return sum(stage.count("extender_requests_total", verb=verb, result="failed") for verb in verbs)  # fmt: skip

    return Program(Exchange(made, Config(), prompt.paths_of(made)), EXTENDER, faults)


PROGRAMS = {"webhook": webhook, "extender": extender}


def wrong(answer: bytes) -> bool:
    """Whether an answer is a fault of ours, or an error that is no short JSON."""
    status = int(answer.split(maxsplit=2)[1])
    if status < 400:
        return False
    head, _, body = answer.partition(b"\r\n\r\n")
    is_json = not body or {"error"} == json.loads(body).keys()
    whole = b"Content-Length" in head and is_json and len(body) < MOST_ERROR_BYTES
    return not whole or (status >= 500 and status not in REFUSED_BY_US)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_noise_is_answered_with_a_fault(name: str) -> None:
    """Whatever the bytes: an answer, a refusal in short JSON, or patience; the next call is good."""
    program, seen = PROGRAMS[name](), Counter[int]()
    for request in Noise(Random(7), program.good).requests(TIMES):
        answer = program.answer(request)
        if answer is None:
            seen[0] += 1
            continue
        assert not wrong(answer), (request, answer)
        seen[int(answer.split(maxsplit=2)[1])] += 1
    assert 0 == program.faults()
    # Noise that never gets past the first check would show nothing.
    assert {200, 400, 411, 415, 501} <= seen.keys()
    assert min(seen[200], seen[400]) > TIMES / 10


@dataclass(frozen=True, slots=True)
class Running:
    """A program at a port of this machine."""

    child: commands.Child
    port: int

    def send(self, content: bytes) -> bytes:
        """All that comes back until the program ends the connection, of which we end our half."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as sock:
            sock.sendall(content)
            sock.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: sock.recv(65536), b"")).removeprefix(CONTINUE)

    def records(self) -> list[dict[str, Any]]:
        """What it has logged."""
        return [json.loads(line) for line in self.child.errors.splitlines()]


@contextlib.contextmanager
def running(folder: Path, name: str) -> Iterator[Running]:
    """The program, plainly; the extender's API server refuses to be spoken to."""
    with closing(socket.socket()) as refusing:
        refusing.bind(("127.0.0.1", 0))
        given = {"PODRAIL_LISTEN": "127.0.0.1:0"}
        if name == "extender":
            given["PODRAIL_SERVER"] = f"http://127.0.0.1:{refusing.getsockname()[1]}"
        with commands.running(folder, f"podrail-{name}", **given) as child:
            child.eventually(lambda: '"listening"' in child.errors)
            address = next(
                one["address"] for one in Running(child, 0).records() if "address" in one
            )
            yield Running(child, int(address.rpartition(":")[2]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_noise_disturbs_a_program(name: str, tmp_path: Path) -> None:
    """Over sockets: the same answers or none where more is waited for, no traceback, and it goes on."""
    program = PROGRAMS[name]()
    with running(tmp_path, name) as there:
        for request in Noise(Random(11), program.good).requests(OVER_SOCKETS):
            answer = there.send(request)
            assert (program.answer(request) is None) == (not answer), (request, answer)
            statuses = {int(one) for one in STATUS.findall(answer)}
            assert {one for one in statuses if one >= 500} <= REFUSED_BY_US, (request, answer)
        path, (good, *_) = next(iter(program.good.items()))
        body = json.dumps(good).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        last = there.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert last.startswith(b"HTTP/1.1 200 ")
        assert [] == [one for one in there.records() if "traceback" in one]
