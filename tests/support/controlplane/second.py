"""A second mutating webhook at the tests' API server: it changes pods as a test's function says."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import jsonpatch

from controlplane.installed import Installed, eventually

REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
BEFORE, AFTER = "a-second", "z-second"
"""Configurations are called in the order of their names; ours is podrail."""

Change = Callable[[dict[str, Any]], dict[str, Any]]


class _Handler(BaseHTTPRequestHandler):
    """One review a connection: nothing is left open for a test to trip over."""

    change: Change

    def do_POST(self) -> None:
        """Answer with what the function makes of the pod."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        before = review["request"]["object"]
        operations = jsonpatch.make_patch(before, self.change(before)).to_string().encode()
        response = {
            "uid": review["request"]["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(operations).decode(),
        }
        body = json.dumps({**review, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Nothing is told."""


@contextmanager
def serving(installed: Installed, change: Change) -> Iterator[str]:
    """The address of a server that answers reviews, with podrail's own certificate."""
    handler = type("Handler", (_Handler,), {"change": staticmethod(change)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates = installed.certificates
    context.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    # The handshake is for the connection's own thread.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


PODS: Final = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE"],
}


@contextmanager
def registered(
    installed: Installed, address: str, name: str, selects: dict[str, str]
) -> Iterator[None]:
    """Have the API server call it for pods with these labels, and again after others' changes.

    The first of the labels is on the pod by which is seen whether it is called.
    """
    client = installed.cluster.client
    authority = (installed.certificates / "ca.crt").read_bytes()
    entry = {
        "name": "second.example.com",
        "clientConfig": {
            "url": f"https://{address}/",
            "caBundle": base64.b64encode(authority).decode(),
        },
        "rules": [PODS],
        "objectSelector": {"matchLabels": selects},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "reinvocationPolicy": "IfNeeded",
    }
    client.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [entry],
        }
    )
    try:
        eventually(lambda: _called(installed, selects), f"{name} is called")
        yield
    finally:
        client.delete(f"{REGISTRATIONS}/{name}")


def _called(installed: Installed, labels: dict[str, str]) -> bool:
    """Whether a pod is changed that nobody else changes."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    made = installed.cluster.client.create(pod, dryRun="All")
    return bool(made["metadata"].get("annotations"))
