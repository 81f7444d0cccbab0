"""A job of 3,072 pods created at once at the real kube-apiserver: who was injected, and how fast.

The pods are created for good, by an account of kube-system as kube-controller-manager's are, so that
the API server's own flow control decides how many of them are with the webhook. Nothing schedules them.
"""

from __future__ import annotations

import http.client
import json
import math
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import creation
import payloads
import programs
from blocks import Client, Target
from controlplane.installed import Installed, eventually
from controlplane.plane import TOKEN, Cluster
from programs import Programs

from podrail import names

PODS: Final = 3072
FEW: Final = 512
"""In a quick run."""
IN_FLIGHT: Final = 128
"""Far more than an operator's client has; beyond it two cores are too few for kube-apiserver itself."""
P99_GOAL_SECONDS: Final = 0.1
NAME: Final = "storm"
_METRIC: Final = "apiserver_admission_webhook_admission_duration_seconds_bucket"
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_PAGE: Final = 500


def measure(
    installed: Installed, started: Programs, client: Client, pods: int = PODS
) -> dict[str, Any]:
    """What became of the pods, beside those of the allow-only webhook that creation registered.

    That one says how much of a call's time is kube-apiserver's own, on the cores it shares.
    """
    cluster = installed.cluster
    webhook = started.webhook({"PODRAIL_KUBECONFIG": str(cluster.kubeconfig)})
    url = f"https://{webhook.address()}/mutate"
    creation.prepare(cluster, NAME, url, started.ca.read_bytes())
    eventually(partial(creation.works, cluster, NAME), "pods of the storm are injected")
    bodies, token = started.body(NAME, *(_pod(number) for number in range(pods))), _token(cluster)
    allow = _storm(cluster, client, "allow", _target(cluster, "allow", bodies, token), pods)
    podrail = _storm(cluster, client, NAME, _target(cluster, NAME, bodies, token), pods)
    podrail["uninjected"] = sum(not _injected(pod) for pod in _created(cluster))
    calls = podrail["webhook_calls"]
    calls |= {
        "p99_goal_ms": P99_GOAL_SECONDS * 1000,
        "met": calls["p99_ms"] <= P99_GOAL_SECONDS * 1000,
    }
    shared = {"pods": pods, "in_flight": IN_FLIGHT, "memory": programs.memory(webhook)}
    return {**shared, "allow": allow, "podrail": podrail}


def _storm(
    cluster: Cluster, client: Client, name: str, target: Target, pods: int
) -> dict[str, Any]:
    before = _calls(cluster, name)
    sent = client.send(target, IN_FLIGHT, pods)
    calls = _since(before, _calls(cluster, name))
    return {
        "errors": sent.errors,
        **({"first_error": sent.first} if sent.errors else {}),
        "creation_p50_ms": round(sent.p50, 1),
        "creation_p99_ms": round(sent.p99, 1),
        "pods_per_second": round(sent.rate),
        "webhook_calls": _told(calls),
    }


def _pod(number: int) -> bytes:
    made = payloads.written(payloads.SMALL)
    made["metadata"]["name"] = f"llm-worker-{number}"
    made["spec"]["schedulingGates"] = [{"name": "bench.podrail.dev/not-scheduled"}]
    return json.dumps(made, separators=(",", ":")).encode()


def _target(cluster: Cluster, name: str, bodies: Path, token: str) -> Target:
    root = f"https://127.0.0.1:{cluster.port}/api/v1/namespaces/{creation.space(name)}/pods"
    return Target(root, bodies, cluster.folder / "certs" / "apiserver.crt", token)


def _token(cluster: Cluster) -> str:
    """Of an account that is subject to flow control; the admin's is exempt."""
    metadata = {"name": "storm", "namespace": "kube-system"}
    group = "rbac.authorization.k8s.io"
    cluster.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    cluster.client.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "storm"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        }
    )
    path = "/api/v1/namespaces/kube-system/serviceaccounts/storm/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(cluster.client.call("POST", path, asked).body["status"]["token"])


def _created(cluster: Cluster) -> Iterator[dict[str, Any]]:
    path, query = f"/api/v1/namespaces/{creation.space(NAME)}/pods", {"limit": str(_PAGE)}
    while True:
        page = cluster.client.get(path, **query)
        yield from page["items"]
        if not (more := page["metadata"].get("continue")):
            return
        query = {"limit": str(_PAGE), "continue": more}


def _injected(pod: dict[str, Any]) -> bool:
    return names.INJECTED in pod["metadata"].get("annotations", {})


def _calls(cluster: Cluster, name: str) -> dict[float, int]:
    """How many calls to a webhook took at most so many seconds, as the API server counts."""
    found: dict[float, int] = {}
    for line in _metrics(cluster).splitlines():
        if line.startswith(_METRIC):
            labels, _, value = line.rpartition(" ")
            told = dict(_LABEL.findall(labels))
            if told["name"].startswith(f"{name}."):
                bound = float(told["le"])
                found[bound] = found.get(bound, 0) + int(float(value))
    return found


def _metrics(cluster: Cluster) -> str:
    authority = (cluster.folder / "certs" / "apiserver.crt").read_text()
    context = ssl.create_default_context(cadata=authority)
    with closing(
        http.client.HTTPSConnection("127.0.0.1", cluster.port, context=context)
    ) as connection:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        return connection.getresponse().read().decode()


def _since(before: Mapping[float, int], after: Mapping[float, int]) -> dict[float, int]:
    return {bound: count - before.get(bound, 0) for bound, count in after.items()}


def _told(calls: Mapping[float, int]) -> dict[str, Any]:
    """The histogram, and its quantiles as Prometheus would interpolate them."""
    buckets = sorted(calls.items())
    return {
        "at_most_seconds": {str(bound): count for bound, count in buckets},
        "p50_ms": round(quantile(0.5, buckets) * 1000, 1),
        "p99_ms": round(quantile(0.99, buckets) * 1000, 1),
    }


def quantile(share: float, buckets: Sequence[tuple[float, int]]) -> float:
    """The quantile in seconds, linear within its bucket; the last finite bound if it lies beyond."""
    rank, low, below = share * buckets[-1][1], 0.0, 0
    for bound, count in buckets:
        if bound == math.inf:
            break
        if count >= rank and count > below:
            return low + (bound - low) * (rank - below) / (count - below)
        low, below = bound, count
    return low
