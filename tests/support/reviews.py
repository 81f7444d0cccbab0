"""AdmissionReviews sent to a webhook that runs, and what the API server counts of its own."""

from __future__ import annotations

import base64
import json
import re
import ssl
import urllib.request
from typing import Any

import admitted
import builders
from controlplane.installed import Installed
from controlplane.plane import Cluster


def send(
    installed: Installed, address: str, pod: dict[str, Any], namespace: str = "default"
) -> dict[str, Any]:
    """The response of the webhook to the creation of a pod."""
    context = ssl.create_default_context(cafile=str(installed.certificates / "ca.crt"))
    request = urllib.request.Request(
        f"https://{address}/mutate",
        builders.review(pod, namespace),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        response: dict[str, Any] = json.loads(answer.read())["response"]
    return response


def operations(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The patch in a response; empty if there is none."""
    found: list[dict[str, Any]] = json.loads(base64.b64decode(response.get("patch", "W10=")))
    return found


def alone(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod after podrail's rules and nobody else's."""
    return dict(admitted.admit(pod).pod)


def called(cluster: Cluster, entry: str) -> int:
    """How often the API server has called an entry of a webhook's registration."""
    return counted(cluster, "webhook_request_total", entry)


def counted(cluster: Cluster, metric: str, entry: str) -> int:
    """A counter of the API server's about an entry (prefix apiserver_admission_)."""
    pattern = rf"^apiserver_admission_{metric}{{(.*)}} (\S+)$"
    found = re.findall(pattern, cluster.client.text("/metrics"), re.MULTILINE)
    return sum(int(float(count)) for labels, count in found if f'name="{entry}"' in labels)
