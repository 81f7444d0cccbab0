"""The real network-resources-injector (v1.9.0, pinned beside Multus) at the tests' API server."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import multus
from controlplane.binaries import NotRun
from controlplane.installed import Installed, eventually
from controlplane.plane import TOKEN, Cluster
from controlplane.processes import Child, free_port

REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
# It knows its credentials only at the place where a pod has them: this process gets a /run of its own.
HOME = """
mount -t tmpfs none "$(readlink -f /var/run)"
mkdir -p /var/run/secrets/kubernetes.io/serviceaccount
cd /var/run/secrets/kubernetes.io/serviceaccount
printf %s "$1" > token
cp "$2" ca.crt
shift 2
exec "$@"
"""


def start(installed: Installed, *flags: str) -> str:
    """Start it with these flags; the address at which it will listen.

    Raises:
        NotRun: it can be neither found nor built, or cannot have a /run of its own.
    """
    cluster, port = installed.cluster, free_port()
    program, apart = multus.program(multus.INJECTOR), _apart()
    credentials: list[str | Path] = [TOKEN, cluster.folder / "certs" / "apiserver.crt"]
    told = [
        f"-port={port}",
        f"-health-check-port={free_port()}",
        "-bind-address=127.0.0.1",
        f"-tls-cert-file={installed.certificates / 'tls.crt'}",
        f"-tls-private-key-file={installed.certificates / 'tls.key'}",
        # Without client certificates, which kube-apiserver sends only if it is told to.
        "-insecure",
        "-logtostderr",
        *flags,
    ]
    server = {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(cluster.port),
    }
    command = [*apart, "sh", "-ec", HOME, "sh", *credentials, program, *told]
    child = cluster.run(f"network-resources-injector-{port}", command, server)
    child.wait_until(lambda: _serves(child), 30)
    return f"127.0.0.1:{port}"


def _apart() -> list[str]:
    """The command that runs another one with mounts of its own."""
    command = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "-m"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = "NOT RUN: network-resources-injector needs a mount namespace (unshare)"
        raise NotRun(said) from error
    return command


def _serves(child: Child) -> bool:
    return "starting net-attach-def informer" in child.log.read_text(errors="replace")


@contextmanager
def registered(installed: Installed, address: str, name: str, policy: str) -> Iterator[None]:
    """Have the API server call it, in the place that its name gives it."""
    client = installed.cluster.client
    client.create(_registration(installed, address, name, policy))
    try:
        eventually(lambda: _asked(installed.cluster), "the injector is called")
        yield
    finally:
        client.delete(f"{REGISTRATIONS}/{name}")
        eventually(lambda: not _asked(installed.cluster), "the injector is called no more")


def _registration(installed: Installed, address: str, name: str, policy: str) -> dict[str, Any]:
    """As in its deployments/webhook.yaml, but reached by URL."""
    authority = (installed.certificates / "ca.crt").read_bytes()
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "network-resources-injector-config.k8s.io",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "reinvocationPolicy": policy,
                "clientConfig": {
                    "url": f"https://{address}/mutate",
                    "caBundle": base64.b64encode(authority).decode(),
                },
                "rules": [
                    {
                        "operations": ["CREATE"],
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods"],
                    }
                ],
            }
        ],
    }


def _asked(cluster: Cluster) -> bool:
    """Whether a pod that names a network gets its resource."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "probe",
            "annotations": {"k8s.v1.cni.cncf.io/networks": "default/injected0"},
        },
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    answer = cluster.client.try_create(pod, dryRun="All")
    return answer.status == 201 and bool(answer.body["spec"]["containers"][0]["resources"])
