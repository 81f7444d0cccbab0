"""Service meshes that may intercept NCCL's bootstrap."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail.admission import mesh

ISTIO = {"istio-injection": "enabled"}
AMBIENT = {"istio.io/dataplane-mode": "ambient"}
LINKERD = {"linkerd.io/inject": "enabled"}
SKIPS = {
    "config.linkerd.io/skip-inbound-ports": "25,1024-65535",
    "config.linkerd.io/skip-outbound-ports": "1-65535",
}
NOTHING = {
    "traffic.sidecar.istio.io/includeInboundPorts": "",
    "traffic.sidecar.istio.io/includeOutboundIPRanges": "",
}
PREFIX = "traffic.sidecar.istio.io"


def found(
    namespace: dict[str, str],
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> str:
    """What the warning begins with; empty if there is none."""
    pod = builders.pod(labels=labels, annotations=annotations, **spec)
    reasons = mesh.warnings(pod, namespace)
    return reasons[0].message.partition(" may ")[0] if reasons else ""


@pytest.mark.parametrize(
    ("namespace", "labels", "annotations", "expected"),
    [
        ({}, {}, {}, ""),
        (ISTIO, {}, {}, "Istio"),
        (ISTIO, {"sidecar.istio.io/inject": "false"}, {}, ""),
        (ISTIO, {}, {"sidecar.istio.io/inject": "false"}, ""),
        (ISTIO, {"sidecar.istio.io/inject": "true"}, {"sidecar.istio.io/inject": "false"}, "Istio"),
        ({"istio-injection": "disabled"}, {"sidecar.istio.io/inject": "true"}, {}, ""),
        ({"istio.io/rev": "canary"}, {}, {}, "Istio"),
        ({}, {"sidecar.istio.io/inject": "true"}, {}, "Istio"),
        ({}, {"istio.io/rev": "canary"}, {}, "Istio"),
        (AMBIENT, {}, {}, "Istio ambient"),
        (AMBIENT, {"istio.io/dataplane-mode": "none"}, {}, ""),
        (LINKERD, {}, {}, "Linkerd"),
        (LINKERD, {}, {"linkerd.io/inject": "disabled"}, ""),
        ({}, {}, {"linkerd.io/inject": "ingress"}, "Linkerd"),
    ],
)
def test_a_pod_is_in_the_mesh_that_would_take_it(
    namespace: dict[str, str], labels: dict[str, str], annotations: dict[str, str], expected: str
) -> None:
    """As the meshes' own webhooks choose their pods."""
    assert expected == found(namespace, labels, annotations)


@pytest.mark.parametrize(
    ("namespace", "annotations"),
    [
        (ISTIO, {f"{PREFIX}/excludeInterfaces": "net1, eth0"}),
        (ISTIO, {"sidecar.istio.io/interceptionMode": "NONE"}),
        (ISTIO, NOTHING),
        (LINKERD, SKIPS),
    ],
    ids=["interface", "mode", "nothing-included", "ports"],
)
def test_a_pod_that_keeps_the_mesh_off_is_left_in_peace(
    namespace: dict[str, str], annotations: dict[str, str]
) -> None:
    """NCCL's connections do not pass the proxy then."""
    assert found(namespace)
    assert not found(namespace, annotations=annotations)


@pytest.mark.parametrize(
    ("namespace", "annotations"),
    [
        (ISTIO, {f"{PREFIX}/excludeInterfaces": "net1"}),
        (ISTIO, {f"{PREFIX}/excludeInboundPorts": "22"}),
        (ISTIO, {f"{PREFIX}/includeInboundPorts": ""}),
        (LINKERD, {"config.linkerd.io/skip-inbound-ports": "1-65535"}),
        (LINKERD, {**SKIPS, "config.linkerd.io/skip-outbound-ports": "29500"}),
    ],
)
def test_half_an_exception_is_none(namespace: dict[str, str], annotations: dict[str, str]) -> None:
    """NCCL listens and connects on ports that the kernel picks."""
    assert found(namespace, annotations=annotations)


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_proxy_that_is_there_already_is_a_mesh(kind: str) -> None:
    """As a container or as a native sidecar."""
    proxy = {"name": "istio-proxy", "restartPolicy": "Always"}
    containers = [builders.container(), *([proxy] if kind == "containers" else [])]
    document: dict[str, Any] = {"initContainers": [proxy]} if kind == "initContainers" else {}
    reasons = mesh.warnings(builders.pod(*containers, **document), {})
    assert ["MeshSidecar"] == [reason.code for reason in reasons]


def test_a_pod_on_the_hosts_network_is_in_no_mesh() -> None:
    """Meshes do not inject there."""
    assert "" == found(ISTIO, hostNetwork=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("eth0", "eth0"), ("=net1,net2", "net1"), ("^lo", "eth0"), ("", "eth0")],
)
def test_the_bootstraps_interface_is_the_first_that_is_named(value: str, expected: str) -> None:
    """An exclusion names none."""
    assert expected == mesh.interface_of(value)
