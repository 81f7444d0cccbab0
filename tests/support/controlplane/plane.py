"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler of one cluster, on free ports."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from controlplane import binaries
from controlplane.client import Client
from controlplane.processes import Child, free_port

TOKEN = "admin-of-a-cluster-that-lives-in-a-test"
SERVICE_RANGE = "10.96.0.0/16"
AUDITED = "audited"
"""The namespace whose pods' creations are told in full in the audit log."""
CONTROLLERS = ("serviceaccount-controller", "serviceaccount-token-controller", "job-controller",
               "namespace-controller", "garbage-collector-controller", "root-ca-certificate-publisher-controller",
               "validatingadmissionpolicy-status-controller", "resourcequota-controller",
               "resourceclaim-controller")  # fmt: skip


class Cluster:
    """A running control plane; use as a context manager.

    Its folder with the logs is kept if the block fails, or if somebody sets `keep`.
    """

    def __init__(self) -> None:
        self._programs = binaries.ready(os.environ)  # noqa: TID251 - children live in our environment
        self.folder = Path(tempfile.mkdtemp(prefix="podrail-cluster-"))
        self.keep = False
        self._children: list[Child] = []
        self.port = free_port()
        self.kubeconfig = self.folder / "kubeconfig"

    @property
    def scheduler_program(self) -> Path:
        """The kube-scheduler of the cluster's own version."""
        return self._programs["kube-scheduler"]

    def __enter__(self) -> Cluster:
        try:
            self._start()
        except BaseException:
            self.stop(keep=True)
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.stop(keep=self.keep or kind not in {None, KeyboardInterrupt})

    def stop(self, *, keep: bool) -> None:
        """End everything, the store last."""
        for child in reversed(self._children):
            child.stop()
        if keep:
            print(f"control plane: logs are kept in {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(
        self, name: str, command: list[str | Path], environ: Mapping[str, str] | None = None
    ) -> Child:
        """Start a program that ends with the cluster."""
        child = Child(command, self.folder / f"{name}.log", environ)
        self._children.append(child)
        return child

    def scheduler(
        self, name: str, config: Mapping[str, Any], kubeconfig: Path | None = None
    ) -> Child:
        """Start a kube-scheduler with a KubeSchedulerConfiguration, the admin unless another is given.

        It elects nobody unless told to.
        """
        path = self.folder / f"{name}.yaml"
        whole = {"leaderElection": {"leaderElect": False}, **config,
                 "clientConnection": {"kubeconfig": str(kubeconfig or self.kubeconfig), "qps": 500, "burst": 500}}  # fmt: skip
        path.write_text(yaml.safe_dump(whole))
        port = free_port()
        child = self.run(name, [self.scheduler_program, "--config", path, "--secure-port", str(port),
                                "--cert-dir", self.folder / f"{name}-certs", "-v", "2"])  # fmt: skip
        child.wait_until(lambda: "Serving securely" in child.log.read_text(errors="replace"), 30)
        return child

    def audit(self) -> list[dict[str, Any]]:
        """The audit events so far; each was written before its request was answered."""
        lines = (self.folder / "audit.log").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def kubeconfig_of(self, name: str, token: str) -> Path:
        """A kubeconfig file for whom the token is."""
        path = self.folder / f"{name}.kubeconfig"
        self._write_kubeconfig(path, token)
        return path

    def _write_kubeconfig(self, path: Path, token: str) -> None:
        authority = self.folder / "certs" / "apiserver.crt"
        path.write_text(yaml.safe_dump(_kubeconfig(self.port, str(authority), token)))

    def _start(self) -> None:
        self._write_keys()
        (self.folder / "audit.yaml").write_text(yaml.safe_dump(_audit_policy()))
        etcd, peer = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        self.run("etcd", [
            self._programs["etcd"], "--data-dir", self.folder / "etcd", "--unsafe-no-fsync",
            "--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}", "--log-level", "warn",
        ])  # fmt: skip
        server = self.run("kube-apiserver", [
            self._programs["kube-apiserver"], "--etcd-servers", etcd, "--bind-address", "127.0.0.1",
            "--secure-port", str(self.port), "--cert-dir", self.folder / "certs",
            "--service-account-key-file", self.folder / "sa.key",
            "--service-account-signing-key-file", self.folder / "sa.key",
            "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-cluster-ip-range", SERVICE_RANGE, "--token-auth-file", self.folder / "tokens.csv",
            "--authorization-mode", "RBAC", "--allow-privileged=true",
            "--audit-policy-file", self.folder / "audit.yaml", "--audit-log-path", self.folder / "audit.log",
            # Nobody would take the taint off a node that has no kubelet.
            "--disable-admission-plugins", "TaintNodesByCondition",
        ])  # fmt: skip
        server.wait_until(self._answers, 60)
        self.run("kube-controller-manager", [
            self._programs["kube-controller-manager"], "--kubeconfig", self.kubeconfig, "--leader-elect=false",
            "--controllers", ",".join(CONTROLLERS), "--use-service-account-credentials=false",
            "--service-account-private-key-file", self.folder / "sa.key", "--secure-port", str(free_port()),
            "--cert-dir", self.folder / "kcm-certs", "--kube-api-qps", "500", "--kube-api-burst", "500",
            "--root-ca-file", self.folder / "certs" / "apiserver.crt",
        ])  # fmt: skip
        self.scheduler(
            "kube-scheduler",
            {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"},
        )
        server.wait_until(self._has_service_account, 60)

    def _write_keys(self) -> None:
        key = rsa.generate_private_key(65537, 2048)
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
                                serialization.NoEncryption())  # fmt: skip
        (self.folder / "sa.key").write_bytes(pem)
        (self.folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')

    def _answers(self) -> bool:
        """True once the API server is ready; it writes its own certificate at its start."""
        certificate = self.folder / "certs" / "apiserver.crt"
        if not certificate.is_file():
            return False
        if not self.kubeconfig.is_file():
            self._write_kubeconfig(self.kubeconfig, TOKEN)
        try:
            self.client = Client("127.0.0.1", self.port, certificate.read_text(), TOKEN)
            return self.client.call("GET", "/readyz").status == 200
        except OSError:
            return False

    def _has_service_account(self) -> bool:
        return (
            self.client.call("GET", "/api/v1/namespaces/default/serviceaccounts/default").status
            == 200
        )


def _audit_policy() -> dict[str, Any]:
    """At level Request patches are told, too; elsewhere nothing is, so that nothing is slower."""
    pods = {"level": "Request", "verbs": ["create"], "namespaces": [AUDITED],
            "resources": [{"group": "", "resources": ["pods"]}]}  # fmt: skip
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [pods, {"level": "None"}],
    }


def _kubeconfig(port: int, authority: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "podrail",
        "clusters": [
            {
                "name": "podrail",
                "cluster": {
                    "server": f"https://127.0.0.1:{port}",
                    "certificate-authority": authority,
                },
            }
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "podrail", "context": {"cluster": "podrail", "user": "user"}}],
    }
