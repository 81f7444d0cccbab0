"""How a kube-scheduler is told to ask the extender, and how each distribution takes such a file.

The documents are those of data/scheduler; here they are fitted to a place. The extender may bind
pods, so it is asked over loopback or over TLS with its CA, never otherwise: kube-scheduler 1.36
with HTTPS and no CA checks nobody's certificate (pkg/scheduler/extender.go, makeTransport).
"""

import base64
import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from podrail.errors import MalformedError, Problem

DOCUMENTS: Final = ("podrail", "data/scheduler")
"""The package and folder of the two documents."""
URL: Final = "http://127.0.0.1:8888"
NAMESPACE: Final = "podrail-system"
_WANTED: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-fA-F:]+]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?"
)
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_OPERATOR: Final = "openshift-secondary-scheduler-operator"
_CONFIG: Final = "podrail-scheduler"
Document = Mapping[str, Any]


class Target(StrEnum):
    """Whose kube-scheduler it is."""

    SECOND = "second"
    KUBEADM = "kubeadm"
    RKE2 = "rke2"
    K3S = "k3s"
    OPENSHIFT = "openshift"


@dataclass(frozen=True, slots=True)
class Terms:
    """Where the extender is, who vouches for it (PEM), and which resources are GPUs."""

    gpus: tuple[str, ...]
    url: str = URL
    authority: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One document, the file or object that it is, and what to do with it."""

    place: str
    told: str
    document: Document


@dataclass(frozen=True, slots=True)
class _Host:
    """Where a distribution keeps what its kube-scheduler reads."""

    config: str
    kubeconfig: str


_HOSTS: Final[Mapping[Target, _Host]] = {
    Target.KUBEADM: _Host(
        "/etc/kubernetes/podrail-scheduler.yaml", "/etc/kubernetes/scheduler.conf"
    ),
    Target.RKE2: _Host(
        "/etc/rancher/rke2/podrail-scheduler.yaml",
        "/var/lib/rancher/rke2/server/cred/scheduler.kubeconfig",
    ),
    Target.K3S: _Host(
        "/etc/rancher/k3s/podrail-scheduler.yaml",
        "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
    ),
}


def parts(target: Target, documents: Sequence[Document], terms: Terms) -> tuple[Part, ...]:
    """What to write where, in this order; documents are the existing scheduler's and the second's.

    Raises:
        MalformedError: the extender cannot, or must not, be asked like this from there.
    """
    found = _problems(target, terms)
    if found:
        raise MalformedError("the extender's address", found)
    existing, second = (_asking(one, terms) for one in documents)
    if target is Target.SECOND:
        lease = {"resourceName": _CONFIG, "resourceNamespace": NAMESPACE}
        return (_second({**second, "leaderElection": {"leaderElect": True, **lease}}),)
    if target is Target.OPENSHIFT:
        return _openshift(second)
    host = _HOSTS[target]
    config = Part(
        host.config,
        "Write it on every node that runs kube-scheduler, readable for root.",
        {
            **existing,
            # With a configuration file kube-scheduler ignores its --kubeconfig (1.36).
            "clientConnection": {"kubeconfig": host.kubeconfig},
            "leaderElection": {"leaderElect": True},
        },
    )
    return (config, _kubeadm(host) if target is Target.KUBEADM else _rancher(target, host))


def _problems(target: Target, terms: Terms) -> list[Problem]:
    found = _WANTED.fullmatch(terms.url)
    if found is None:
        return [Problem("--url", f"expected http(s)://host:port, got {terms.url!r}")]
    problems = []
    near = found["host"] in _LOOPBACK
    secret = found["scheme"] == "https"
    if not near and not secret:
        problems.append(Problem("--url", f"expected https for {found['host']}: it may bind pods"))
    if secret and not terms.authority:
        problems.append(Problem("--ca", "expected with https: else no certificate is checked"))
    if target in _HOSTS and re.search(r"\.svc(\.|$)", found["host"]):
        message = "a kube-scheduler on the host's network asks the host's DNS, which knows no"
        problems.append(Problem("--url", f"{message} Services: give the Service's ClusterIP"))
    if target is Target.OPENSHIFT and near:
        message = "the operator's pod has no room for the extender: give a Service with https"
        problems.append(Problem("--url", f"{message}, or use the chart's scheduler.mode second"))
    return problems


def _asking(document: Document, terms: Terms) -> dict[str, Any]:
    """The document with the extender's address and the names of GPUs."""
    config: dict[str, Any] = copy.deepcopy(dict(document))
    (extender,) = config["extenders"]
    extender["urlPrefix"] = terms.url
    if terms.authority:
        data = base64.b64encode(terms.authority.encode()).decode()
        # In the file itself: a static pod sees no other unless it is mounted, too.
        extender |= {"enableHTTPS": True, "tlsConfig": {"caData": data}}
    if "managedResources" in extender:
        extender["managedResources"] = [
            {"name": name, "ignoredByScheduler": False} for name in terms.gpus
        ]
    for profile in config["profiles"]:
        for plugin in profile.get("pluginConfig", ()):
            if plugin["name"] == "NodeResourcesFit":
                named = [{"name": name, "weight": 1} for name in terms.gpus]
                plugin["args"]["scoringStrategy"]["resources"] = named
    return config


def _second(config: Document) -> Part:
    return Part(
        "the file of kube-scheduler's --config",
        "For a kube-scheduler beside the extender in one pod, of the cluster's minor version; the "
        "chart's scheduler.mode second does all of it.",
        config,
    )


def _kubeadm(host: _Host) -> Part:
    return Part(
        "ClusterConfiguration (kubeadm.k8s.io/v1beta4), merged with yours",
        "Then run on each of these nodes: kubeadm init phase control-plane scheduler --config FILE",
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "ClusterConfiguration",
            "scheduler": {
                # v1beta4 has a list here where v1beta3 had a map.
                "extraArgs": [{"name": "config", "value": host.config}],
                "extraVolumes": [
                    {
                        "name": _CONFIG,
                        "hostPath": host.config,
                        "mountPath": host.config,
                        "readOnly": True,
                        "pathType": "File",
                    }
                ],
            },
        },
    )


def _rancher(target: Target, host: _Host) -> Part:
    entries: dict[str, Any] = {"kube-scheduler-arg": [f"config={host.config}"]}
    if target is Target.RKE2:
        entries["kube-scheduler-extra-mount"] = [f"{host.config}:{host.config}:ro"]
    service = "rke2-server" if target is Target.RKE2 else "k3s"
    return Part(
        f"/etc/rancher/{target}/config.yaml, merged with yours",
        f"Then restart {service} on each of these nodes, one at a time.",
        entries,
    )


def _openshift(config: Document) -> tuple[Part, ...]:
    metadata = {"name": _CONFIG, "namespace": _OPERATOR}
    return (
        Part(
            "the key config.yaml of the ConfigMap podrail-scheduler",
            f"oc -n {_OPERATOR} create configmap {_CONFIG} --from-file=config.yaml",
            config,
        ),
        Part(
            "the SecondaryScheduler, once its operator is installed",
            "IMAGE has /bin/kube-scheduler, in the cluster's minor version.",
            {
                "apiVersion": "operator.openshift.io/v1",
                "kind": "SecondaryScheduler",
                "metadata": {**metadata, "name": "cluster"},
                "spec": {
                    "managementState": "Managed",
                    "schedulerConfig": _CONFIG,
                    "schedulerImage": "IMAGE",
                },
            },
        ),
    )
