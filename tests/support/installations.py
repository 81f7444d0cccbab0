"""A cluster in which podrail is installed as deploy/ says and all is well, to break piece by piece."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import builders
import checkout
import evidence
import nads
import placing
import scenes
import yaml

from podrail.doctor.cluster import Certificate, Cluster, Parsed, Probe
from podrail.doctor.finding import Finding
from podrail.evidence import cluster as known
from podrail.evidence.atlas import Atlas
from podrail.evidence.cluster import Resources
from podrail.evidence.noderails import Host, Kubelet

Document = dict[str, Any]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SEEN = "2026-11-30T11:58:00Z"
CONFIG = "podrail-system/podrail-scheduler"
FABRIC = "macvlan-rails"
LABELS = {"app.kubernetes.io/name": "podrail"}
GPUS = {"nvidia.com/gpu": "8", "rdma/hca_shared_devices_a": "63"}


def manifest(path: str) -> list[Document]:
    """The documents of a file of deploy/."""
    return copy.deepcopy(_manifest(path))


@cache
def _manifest(path: str) -> list[Document]:
    text = (checkout.ROOT / "deploy" / path).read_text()
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def crds() -> list[Document]:
    """Both kinds, established."""
    found = [*manifest("crds/fabricprofiles.yaml"), *manifest("crds/noderails.yaml")]
    status = {"conditions": [{"type": "Established", "status": "True"}]}
    return [{**one, "status": status} for one in found]


def registration(**entry: Any) -> Document:
    """The webhook's registration, with a CA; fields of both entries may be changed."""
    (found,) = manifest("webhook/registration.yaml")
    for one in found["webhooks"]:
        one["clientConfig"] = {**one["clientConfig"], "caBundle": "Q0E="}
        one.update(entry)
    return found


def program(component: str, name: str = "", **spec: Any) -> Document:
    """A ready pod of podrail's."""
    return {
        "kind": "Pod",
        "metadata": {
            "namespace": "podrail-system",
            "name": name or f"podrail-{component}-0",
            "labels": {**LABELS, "app.kubernetes.io/component": component},
        },
        "spec": {"containers": [{"name": component, "image": "podrail"}], **spec},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def scheduler(*words: str, key: str = "config.yaml", **mount: Any) -> Document:
    """The pod of a kube-scheduler that reads its configuration out of a ConfigMap."""
    mounted = {"name": "config", "mountPath": "/etc/podrail", **mount}
    container = {
        "name": "kube-scheduler",
        "image": "registry.invalid/kube-scheduler:v1.36.3",
        "command": ["kube-scheduler", *(words or (f"--config=/etc/podrail/{key}",))],
        "volumeMounts": [mounted],
    }
    volumes = [{"name": "config", "configMap": {"name": "podrail-scheduler"}}]
    return program("extender", containers=[container], volumes=volumes)


def config(name: str = "second", **changes: Any) -> Document:
    """The shipped configuration of a kube-scheduler; changes are of the extender's entry."""
    (found,) = manifest(f"extender/scheduler-{name}.yaml")
    found["extenders"][0].update(changes)
    return found


def node(name: str = "n1", **fields: Any) -> Document:
    """A node of eight GPUs."""
    found = scenes.node(name, evidence.SHAPE, **fields)
    found["status"]["allocatable"] = dict(GPUS)
    return found


def rails(name: str = "n1", **fields: Any) -> Document:
    """What its agent says."""
    given = {
        "observed_at": SEEN,
        "kubelet": Kubelet("best-effort", "container"),
        "host": Host(memlock="unlimited"),
        **fields,
    }
    return evidence.rails(name, **given)


def documents() -> list[Document]:
    """All that is there."""
    return [
        *crds(),
        registration(),
        *manifest("webhook/policy.yaml"),
        program("webhook"),
        scheduler(),
        node(),
        rails(),
        *(nads.rail(number) for number in range(8)),
        {"kind": "Namespace", "metadata": {"name": "team", "labels": {"podrail.dev/fabric": FABRIC}}},
        {"kind": "ResourceQuota", "metadata": {"namespace": "team", "name": "q"}, "spec": {"hard": {}}},
    ]  # fmt: skip


def parsed(found: Mapping[str, Any], place: str = CONFIG, key: str = "config.yaml") -> Parsed:
    """What a ConfigMap holds."""
    return Parsed(place, key, found)


@cache
def atlas() -> Atlas:
    """The shapes of the tests."""
    return Atlas(placing.SHAPES)


def of(found: Iterable[Mapping[str, Any]], **fields: Any) -> Cluster:
    """The cluster of these documents."""
    kinds: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in found:
        kinds[one["kind"]].append(one)
    given = {
        "seen": frozenset(kinds),
        "profiles": builders.shipped(),
        "now": NOW,
        "found": known.read(
            [one for some in kinds.values() for one in some],
            atlas(),
            Resources(("nvidia.com/gpu",), {"nvidia.com/rdma-vf"}),
        ),
        "parsed": (
            parsed(config()),
            parsed({"namespaceIsolation": False}, "kube-system/multus", "daemon-config.json"),
        ),
        "probe": Probe(injected=True),
        "certificates": (
            Certificate("the CA in caBundle", NOW, datetime(2036, 11, 30, tzinfo=UTC), True),
            Certificate("Secret a/tls", NOW, datetime(2027, 2, 28, tzinfo=UTC), False, True),
        ),
        **fields,
    }
    return Cluster({kind: tuple(some) for kind, some in kinds.items()}, **given)


def cluster(*more: Mapping[str, Any], without: Iterable[str] = (), **fields: Any) -> Cluster:
    """The cluster that is well, without some kinds, and with more documents in their place."""
    left = [one for one in documents() if one["kind"] not in {*without}]
    return of([*left, *more], **fields)


def told(check: Callable[[Cluster], Iterable[Finding]], found: Cluster) -> list[str]:
    """What a check finds, a line each: the verdict and the detail."""
    return [f"{one.verdict}: {one.detail}" for one in check(found)]
