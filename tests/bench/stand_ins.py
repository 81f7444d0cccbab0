"""Handlers to compare podrail with, on the server that its programs run on, and as prompt.

Run as a script this file serves one of HANDLERS as the JSON in its first argument says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from controlplane.processes import Child
from flask import Flask, Response, request

from podrail_io import logs, prompt, serving

_ANSWER: Final = b'{"nothing":"was decided"}'


@dataclass(frozen=True, slots=True)
class Pair:
    """A served certificate and its key."""

    certfile: Path
    keyfile: Path


def start(handler: str, log: Path, threads: int, pair: Pair | None = None) -> Child:
    """A child that serves the handler on a free port; stopping it is the caller's."""
    cert, key = ("", "") if pair is None else (str(pair.certfile), str(pair.keyfile))
    order = {"handler": handler, "threads": threads, "cert": cert, "key": key}
    return Child([sys.executable, __file__, json.dumps(order)], log, {"PYTHONSAFEPATH": "1"})


def null() -> Flask:
    """POST / reads the body and answers a constant, as little as Flask can do."""
    app = Flask("null", static_folder=None)
    prompt.declare(app, "/")

    @app.post("/")
    def _null() -> Response:
        request.get_data(cache=False)
        return Response(_ANSWER, mimetype="application/json")

    return app


def allow() -> Flask:
    """POST / lets every pod through: the least that a webhook can do."""
    app = Flask("allow", static_folder=None)
    prompt.declare(app, "/")

    @app.post("/")
    def _allow() -> Response:
        uid = json.loads(request.get_data(cache=False))["request"]["uid"]
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": uid, "allowed": True},
        }
        return Response(json.dumps(review).encode(), mimetype="application/json")

    return app


HANDLERS: Final[Mapping[str, Callable[[], Flask]]] = {"null": null, "allow": allow}


def _main(order: Mapping[str, Any]) -> None:
    logs.setup(sys.stderr, "info")
    certfile, keyfile = (Path(order[name]) if order[name] else None for name in ("cert", "key"))
    settings = serving.Serving("127.0.0.1", 0, certfile, keyfile, threads=order["threads"])
    serving.serve(HANDLERS[order["handler"]], settings)


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
