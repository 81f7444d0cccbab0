"""Service meshes that may take the TCP connections of NCCL's bootstrap out of a pod's hands.

NCCL finds its peers over plain TCP on ports that the kernel picks; a proxy in between refuses them
(strict mTLS) or carries a TCP fabric's whole traffic. Who is in a mesh is read as the selectors of
its own webhook read it: Istio's with revisions (istio/istio 1.30), Linkerd's proxy-injector.
"""

import re
from collections.abc import Mapping
from typing import Final

from podrail.marker import Reason
from podrail.pod import Pod

CODES: Final = ("MeshSidecar",)
"""Every code that is found here."""

Marks = Mapping[str, str]
_PROXIES: Final[Mapping[str, str]] = {
    "istio-proxy": "Istio",
    "linkerd-proxy": "Linkerd",
    "kuma-sidecar": "Kuma",
    "consul-dataplane": "Consul",
}
"""Containers that take over a pod's connections, and the mesh that adds them."""
_INJECT: Final = "sidecar.istio.io/inject"
_REVISION: Final = "istio.io/rev"
_DATAPLANE: Final = "istio.io/dataplane-mode"
_LINKERD: Final = "linkerd.io/inject"
_INJECTS: Final = frozenset({"enabled", "ingress"})
_EPHEMERAL: Final = (32_768, 60_999)
"""Linux's default net.ipv4.ip_local_port_range, in which NCCL's ports are."""
_RANGE: Final = re.compile(r"\b([0-9]{1,5}) *- *([0-9]{1,5})\b")
_LEAVE_OUT: Final[Mapping[str, str]] = {
    "Istio": "the pod label sidecar.istio.io/inject: 'false'",
    "Istio ambient": "the pod label istio.io/dataplane-mode: none",
    "Linkerd": "the pod annotation linkerd.io/inject: disabled",
}


def warnings(pod: Pod, namespace: Marks, interface: str = "eth0") -> tuple[Reason, ...]:
    """A reason if a mesh may intercept what the pod sends and receives on the interface.

    namespace is its labels, and its annotations where they are known: Linkerd looks at those.
    """
    mesh = "" if pod.spec.get("hostNetwork") is True else _mesh(pod, namespace)
    if not mesh or _spared(mesh, pod.annotations, interface):
        return ()
    out = _LEAVE_OUT.get(mesh, "its own opt-out label")
    message = (
        f"{mesh} may intercept the TCP connections by which NCCL's ranks find each other: leave "
        f"the pod out of the mesh with {out}, or keep the mesh off {interface}"
    )
    return (Reason("MeshSidecar", "metadata", message),)


def interface_of(value: str) -> str:
    """The interface that a value of NCCL_SOCKET_IFNAME names first; eth0 if it names none."""
    named = value.removeprefix("=").partition(",")[0]
    return "eth0" if not named or named.startswith("^") else named


def _mesh(pod: Pod, namespace: Marks) -> str:
    """The mesh that the pod is in; empty if it is in none."""
    for container in pod.running:
        mesh = _PROXIES.get(container.get("name") or "")
        if mesh:
            return mesh
    linkerd = pod.annotations.get(_LINKERD, namespace.get(_LINKERD, ""))
    if linkerd in _INJECTS:
        return "Linkerd"
    if _istio(pod, namespace):
        return "Istio"
    mode = pod.labels.get(_DATAPLANE, namespace.get(_DATAPLANE, ""))
    return "Istio ambient" if mode == "ambient" else ""


def _istio(pod: Pod, namespace: Marks) -> bool:
    """True if one of Istio's webhooks takes the pod and injects: the label beats the annotation."""
    wish = pod.labels.get(_INJECT, pod.annotations.get(_INJECT, ""))
    injection = namespace.get("istio-injection")
    if wish == "false":
        return False
    if injection is not None:
        return injection == "enabled"
    return _REVISION in namespace or pod.labels.get(_INJECT) == "true" or _REVISION in pod.labels


def _spared(mesh: str, annotations: Marks, interface: str) -> bool:
    """True if annotations keep the mesh off NCCL's connections."""
    if mesh == "Linkerd":
        return all(
            _covers(annotations.get(f"config.linkerd.io/skip-{way}-ports", ""))
            for way in ("inbound", "outbound")
        )
    if mesh != "Istio":
        return False
    left_out = annotations.get("traffic.sidecar.istio.io/excludeInterfaces", "").split(",")
    nothing = (
        annotations.get("traffic.sidecar.istio.io/includeInboundPorts"),
        annotations.get("traffic.sidecar.istio.io/includeOutboundIPRanges"),
    )
    return (
        annotations.get("sidecar.istio.io/interceptionMode") == "NONE"
        or interface in {name.strip() for name in left_out}
        or nothing == ("", "")
    )


def _covers(ports: str) -> bool:
    """True if one range of a list such as 25,1024-65535 has every ephemeral port."""
    ranges = [(int(low), int(high)) for low, high in _RANGE.findall(ports)]
    return any(low <= _EPHEMERAL[0] and _EPHEMERAL[1] <= high for low, high in ranges)
