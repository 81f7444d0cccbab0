"""What webhooks add to the dry-run creation of a pod at the real kube-apiserver.

Each webhook is registered for a namespace of its own, so that all of them can be measured side by
side; the pod is the same. The policies are not bound: they would refuse it where podrail is not.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import payloads
import programs
from blocks import Client, Comparison, Effort, Target
from controlplane.installed import DEPLOY, Installed, documents, eventually
from controlplane.plane import TOKEN, Cluster
from programs import Programs

from podrail import names

REQUESTS: Final = {1: 80, 8: 240}
"""By requests in flight."""
THREADS: Final = 64
WEBHOOKS: Final = ("none", "allow", "podrail")
INJECTING: Final = frozenset({"podrail", "storm"})


def measure(
    installed: Installed, started: Programs, client: Client, effort: Effort
) -> dict[str, Any]:
    """A case for each number of connections, and the memory of the webhook with its watch."""
    cluster = installed.cluster
    _unbind_policies(cluster)
    allow = started.stand_in("allow", THREADS, tls=True)
    urls = {"allow": f"https://{allow.address()}/"}
    webhook = started.webhook({"PODRAIL_KUBECONFIG": str(cluster.kubeconfig)})
    urls["podrail"] = f"https://{webhook.address()}/mutate"
    for name in WEBHOOKS:
        prepare(cluster, name, urls.get(name), started.ca.read_bytes())
    bodies = started.body("pod", payloads.creation(payloads.SMALL))
    targets = {name: _target(cluster, name, bodies) for name in WEBHOOKS}
    for name in WEBHOOKS:
        eventually(partial(works, cluster, name), f"pods are created in {space(name)}")
    cases = []
    for connections, requests in REQUESTS.items():
        made = client.compare(targets, connections, effort.requests(requests), effort.rounds)
        cases.append(_case(connections, made))
    return {"cases": cases, "memory": programs.memory(webhook)}


def _unbind_policies(cluster: Cluster) -> None:
    for one in documents(DEPLOY / "webhook" / "policy.yaml"):
        if one["kind"] == "ValidatingAdmissionPolicyBinding":
            root = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
            cluster.client.delete(f"{root}/{one['metadata']['name']}")


def space(name: str) -> str:
    """The namespace of a webhook."""
    return f"bench-{name}"


def prepare(cluster: Cluster, name: str, url: str | None, authority: bytes) -> None:
    """A namespace, and its webhook if it has one: deploy's entry but for where and whom."""
    cluster.client.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space(name)}}
    )
    if url is None:
        return
    (registration,) = documents(DEPLOY / "webhook" / "registration.yaml")
    entry = registration["webhooks"][0]
    entry["clientConfig"] = {"url": url, "caBundle": base64.b64encode(authority).decode()}
    entry["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": space(name)}}
    # A pod that passed by an unreachable webhook would look like a fast one.
    entry["failurePolicy"] = "Fail"
    entry["name"] = f"{name}.podrail.dev"
    registration["metadata"]["name"] = space(name)
    registration["webhooks"] = [entry]
    cluster.client.create(registration)


def works(cluster: Cluster, name: str) -> bool:
    """True once a pod of the namespace is created as the measure means it to be."""
    pod = payloads.written(payloads.SMALL)
    answer = cluster.client.try_create(pod, space(name), dryRun="All")
    annotations: Mapping[str, str] = answer.body.get("metadata", {}).get("annotations", {})
    return answer.status == 201 and (names.INJECTED in annotations) == (name in INJECTING)


def _target(cluster: Cluster, name: str, bodies: Any) -> Target:
    root = f"https://127.0.0.1:{cluster.port}/api/v1/namespaces/{space(name)}/pods"
    authority = cluster.folder / "certs" / "apiserver.crt"
    return Target(f"{root}?dryRun=All", bodies, authority, TOKEN)


def _case(connections: int, made: Comparison) -> dict[str, Any]:
    return {
        "pod": payloads.SMALL.name,
        "in_flight": connections,
        **made.all(),
        "p50_added_ms": {name: made.added(name, "none") for name in ("allow", "podrail")},
        "p50_podrail_over_allow": made.ratio("podrail", "allow"),
    }
