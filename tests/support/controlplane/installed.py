"""podrail in a cluster: its programs as child processes, its manifests as deploy/ has them."""

from __future__ import annotations

import base64
import re
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from controlplane.plane import Cluster
from controlplane.processes import Child

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
SHAPES = ROOT / "podrail_cli" / "data" / "shapes"
MANIFESTS = (
    "crds/fabricprofiles.yaml",
    "crds/noderails.yaml",
    "webhook/rbac.yaml",
    "webhook/policy.yaml",
    "extender/rbac.yaml",
    "controller/rbac.yaml",
)
ROLES = ("podrail-webhook", "podrail-extender", "podrail-controller")
NAMESPACE = "podrail-system"
READY_SECONDS = 30
TOKEN_SECONDS = 30 * 86_400


def script(name: str) -> Path:
    """A console script of the environment that runs the tests."""
    return Path(sys.executable).parent / name


def documents(path: Path) -> list[dict[str, Any]]:
    """The documents of a manifest."""
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


class Installed:
    """podrail's programs in one cluster, each with the rights of its role and no more."""

    def __init__(self, cluster: Cluster, profiles: Path | None = None) -> None:
        self.cluster = cluster
        self._profiles = {} if profiles is None else {"PODRAIL_PROFILES": str(profiles)}
        self.certificates = cluster.folder / "tls"
        subprocess.run(
            [script("podrail-certs"), "create", "--out", self.certificates, "--days", "2"],
            check=True,
            capture_output=True,
        )
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        assert cluster.client.try_create(namespace).status in {201, 409}
        for name in MANIFESTS:
            self._apply(DEPLOY / name)
        # A program that asks before looks again after a minute only.
        served = "/apis/podrail.dev/v1alpha1/fabricprofiles"
        eventually(lambda: cluster.client.call("GET", served).status == 200, "profiles are served")
        self._accounts = {name: self._account(name) for name in ROLES}
        self._lend("podrail-controller")

    def webhook(self, **settings: str) -> Child:
        """Start the webhook; it is ready."""
        return self._program(
            "podrail-webhook",
            {
                "PODRAIL_CERT": str(self.certificates / "tls.crt"),
                "PODRAIL_KEY": str(self.certificates / "tls.key"),
                **settings,
            },
        )

    def extender(self, **settings: str) -> Child:
        """Start the extender; it is ready."""
        return self._program("podrail-extender", {"PODRAIL_SHAPES": str(SHAPES), **settings})

    def controller(self, **settings: str) -> Child:
        """Start the controller; it is ready."""
        return self._program("podrail-controller", settings)

    def _program(self, name: str, settings: Mapping[str, str]) -> Child:
        environ = {
            "PODRAIL_LISTEN": "127.0.0.1:0",
            "PODRAIL_KUBECONFIG": str(self._accounts[name]),
            "PYTHONSAFEPATH": "1",
            **self._profiles,
            **settings,
        }
        number = len(list(self.cluster.folder.glob(f"{name}-*.log")))
        child = self.cluster.run(f"{name}-{number}", [script(name)], environ)
        context = None
        if "PODRAIL_CERT" in settings:
            context = ssl.create_default_context(cafile=str(self.certificates / "ca.crt"))
        url = f"http{'s' if context else ''}://{child.address()}/readyz"
        child.wait_until(lambda: _ready(url, context), READY_SECONDS)
        return child

    def _account(self, role: str) -> Path:
        """A kubeconfig with the rights of one of deploy/'s roles.

        Not deploy/'s own account: that of the extender is kube-scheduler's too.
        """
        client, group = self.cluster.client, "rbac.authorization.k8s.io"
        metadata = {"name": f"only-{role}"}
        subject = {"kind": "ServiceAccount", "namespace": "default", **metadata}
        client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        client.create(
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                "subjects": [subject],
            }
        )
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        path = f"/api/v1/namespaces/default/serviceaccounts/only-{role}/token"
        return self.cluster.kubeconfig_of(
            role, client.call("POST", path, asked).body["status"]["token"]
        )

    def _lend(self, role: str) -> None:
        """Give the account of a role what deploy/ gives it in podrail's own namespace."""
        group = "rbac.authorization.k8s.io"
        account = {"kind": "ServiceAccount", "namespace": "default", "name": f"only-{role}"}
        self.cluster.client.create(
            {
                "apiVersion": f"{group}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": f"only-{role}", "namespace": NAMESPACE},
                "roleRef": {"apiGroup": group, "kind": "Role", "name": role},
                "subjects": [account],
            }
        )

    def register(self, address: str, *, by_url: bool = True, alive: bool = True) -> None:
        """Register the webhook as deploy/ does, reached by URL or by the Service of deploy/."""
        (registration,) = documents(DEPLOY / "webhook" / "registration.yaml")
        authority = base64.b64encode((self.certificates / "ca.crt").read_bytes()).decode()
        for webhook in registration["webhooks"]:
            service = {**webhook["clientConfig"]["service"], "port": int(address.split(":")[1])}
            given = {"url": f"https://{address}/mutate"} if by_url else {"service": service}
            webhook["clientConfig"] = {**given, "caBundle": authority}
        self.unregister()
        self.cluster.client.create(registration)
        if alive:
            self._wait_until_called()

    def unregister(self) -> None:
        """Take the registration away."""
        self.cluster.client.delete(
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podrail"
        )

    def _wait_until_called(self) -> None:
        """The API server learns of a registration by a watch of its own."""
        probe = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "probe", "labels": {"podrail.dev/fabric": "tcp"}},
            "spec": {"containers": [{"name": "c", "image": "x"}]},
        }

        def called() -> bool:
            answer = self.cluster.client.try_create(probe, dryRun="All")
            return "podrail.dev/injected" in (answer.body.get("metadata") or {}).get(
                "annotations", {}
            )

        eventually(called, "the webhook is called")

    def _apply(self, path: Path) -> None:
        for one in documents(path):
            answer = self.cluster.client.try_create(one, fieldValidation="Strict")
            assert answer.status in {201, 409}, answer.message

    def scheduler_config(self, address: str) -> dict[str, Any]:
        """The shipped configuration of the second scheduler, with the extender's address."""
        (config,) = documents(DEPLOY / "extender" / "scheduler-second.yaml")
        config["extenders"][0]["urlPrefix"] = f"http://{address}"
        return config


def _ready(url: str, context: ssl.SSLContext | None) -> bool:
    """Whether a program says that it is ready."""
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def metric(extender: Child, name: str) -> float:
    """A counter of the extender; the name with its labels, as in /metrics."""
    with urllib.request.urlopen(f"http://{extender.address()}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return sum(
        float(value) for value in re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    )


def eventually(true: Callable[[], bool], what: str, seconds: float = 20) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)
