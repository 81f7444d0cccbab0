"""What each distribution's kube-scheduler is told, and what it must never be."""

from __future__ import annotations

import base64
from typing import Any, Final

import pytest

from podrail import schedulerconfig
from podrail.errors import MalformedError
from podrail.schedulerconfig import Part, Target, Terms
from podrail_io import files

DOCUMENTS: Final = [one.document for one in files.package_documents(*schedulerconfig.DOCUMENTS)]
GPUS: Final = ("example.com/gpu",)
RKE2: Final = "/etc/rancher/rke2/podrail-scheduler.yaml"
SAFE: Final = Terms(GPUS, "https://10.96.0.9:8888", "PEM\n")


def parts(target: Target, terms: Terms = SAFE) -> tuple[Part, ...]:
    return schedulerconfig.parts(target, DOCUMENTS, terms)


def problems(target: Target, terms: Terms) -> str:
    with pytest.raises(MalformedError) as caught:
        parts(target, terms)
    return str(caught.value)


def extender(part: Part) -> dict[str, Any]:
    (only,) = part.document["extenders"]
    return dict(only)


@pytest.mark.parametrize("target", Target)
def test_the_file_is_the_shipped_one_with_address_authority_and_gpus(target: Target) -> None:
    """All else is as data/scheduler has it, where the reasons stand."""
    shipped = DOCUMENTS[target in {Target.SECOND, Target.OPENSHIFT}]
    found = extender(parts(target)[0])
    assert SAFE.url == found.pop("urlPrefix")
    assert found.pop("enableHTTPS")
    assert {"caData": base64.b64encode(b"PEM\n").decode()} == found.pop("tlsConfig")
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": False}]
    assert found.pop("managedResources", managed) == managed
    rest = {"urlPrefix", "managedResources"}
    assert {key: one for key, one in shipped["extenders"][0].items() if key not in rest} == found


def test_nothing_is_changed_in_what_is_shipped() -> None:
    """The documents are read once and used by all."""
    before = repr(DOCUMENTS)
    parts(Target.KUBEADM)
    assert before == repr(DOCUMENTS)


def test_beside_the_extender_plain_http_does() -> None:
    """Over loopback nobody listens in, and nobody else is asked."""
    found = extender(parts(Target.SECOND, Terms(GPUS))[0])
    assert ("http://127.0.0.1:8888", False) == (found["urlPrefix"], "tlsConfig" in found)


def test_the_second_scheduler_has_a_lease_of_its_own_and_packs_by_gpus() -> None:
    """Else it would wait for the cluster's own one."""
    (part,) = parts(Target.SECOND)
    lease = part.document["leaderElection"]
    assert ("podrail-scheduler", "podrail-system") == (
        lease["resourceName"],
        lease["resourceNamespace"],
    )
    (fit,) = (
        one["args"]["scoringStrategy"]["resources"]
        for one in part.document["profiles"][0]["pluginConfig"]
        if one["name"] == "NodeResourcesFit"
    )
    assert [{"name": "example.com/gpu", "weight": 1}] == fit


@pytest.mark.parametrize("target", [Target.KUBEADM, Target.RKE2, Target.K3S])
def test_an_existing_scheduler_keeps_its_lease_and_finds_its_api_server(target: Target) -> None:
    """With a file its --kubeconfig is ignored; it answers to podrail's name as well as its own."""
    config = parts(target)[0].document
    assert {"leaderElect": True} == config["leaderElection"]
    assert config["clientConnection"]["kubeconfig"].startswith(("/etc/kubernetes/", "/var/lib/"))
    assert ["default-scheduler", "podrail"] == [one["schedulerName"] for one in config["profiles"]]


def test_kubeadm_has_lists_of_arguments() -> None:
    """The v1beta4 of kubeadm refuses v1beta3's maps; the file is mounted into the static pod."""
    config, cluster = parts(Target.KUBEADM)
    scheduler = cluster.document["scheduler"]
    assert [{"name": "config", "value": config.place}] == scheduler["extraArgs"]
    assert [config.place] == [one["mountPath"] for one in scheduler["extraVolumes"]]


@pytest.mark.parametrize(
    ("target", "wanted", "service"),
    [
        pytest.param(
            Target.RKE2,
            {
                "kube-scheduler-arg": [f"config={RKE2}"],
                "kube-scheduler-extra-mount": [f"{RKE2}:{RKE2}:ro"],
            },
            "rke2-server",
            id="a static pod",
        ),
        pytest.param(
            Target.K3S,
            {"kube-scheduler-arg": ["config=/etc/rancher/k3s/podrail-scheduler.yaml"]},
            "k3s",
            id="a part of the process",
        ),
    ],
)
def test_ranchers_read_a_file_of_arguments(
    target: Target, wanted: dict[str, list[str]], service: str
) -> None:
    """Only the one with static pods mounts the file."""
    _, entries = parts(target)
    assert wanted == entries.document
    assert f"restart {service} on" in entries.told


def test_openshifts_operator_is_given_a_config_map() -> None:
    """Its built-in scheduler takes no extenders."""
    _, scheduler = parts(Target.OPENSHIFT)
    assert "podrail-scheduler" == scheduler.document["spec"]["schedulerConfig"]


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize(
    ("url", "authority", "said"),
    [
        pytest.param("http://10.96.0.9:8888", "PEM", "expected https", id="a bind in the clear"),
        pytest.param("https://10.96.0.9:8888", "", "no certificate is checked", id="no CA"),
        pytest.param("ftp://a", "", "expected http(s)://host:port", id="no such scheme"),
        pytest.param("https://a:1/x", "PEM", "expected http(s)://host:port", id="a path"),
    ],
)
def test_nobody_is_asked_whose_certificate_is_not_checked(
    target: Target, url: str, authority: str, said: str
) -> None:
    """The extender may bind pods; kube-scheduler takes any certificate without a CA."""
    assert said in problems(target, Terms(GPUS, url, authority))


@pytest.mark.parametrize("host", ["podrail.podrail-system.svc", "p.n.svc.cluster.local"])
@pytest.mark.parametrize("target", [Target.KUBEADM, Target.RKE2, Target.K3S])
def test_a_service_has_no_name_on_the_hosts_network(target: Target, host: str) -> None:
    """Those schedulers ask the node's DNS."""
    assert "ClusterIP" in problems(target, Terms(GPUS, f"https://{host}:8888", "PEM"))


def test_in_a_pod_a_service_has_a_name() -> None:
    """OpenShift's operator runs an ordinary pod, without the extender beside it."""
    named = Terms(GPUS, "https://podrail.podrail-system.svc:8888", "PEM")
    assert named.url == extender(parts(Target.OPENSHIFT, named)[0])["urlPrefix"]
    assert "no room for the extender" in problems(Target.OPENSHIFT, Terms(GPUS))
