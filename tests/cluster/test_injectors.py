"""Podrail beside the real network-resources-injector: every pod gets each device just once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import injector
import pytest
import yaml
from builders import document, profile_document
from controlplane.binaries import NotRun
from controlplane.installed import Installed
from controlplane.plane import Cluster

from podrail import names

pytestmark = pytest.mark.cluster

RESOURCE = "example.com/vf"
# Webhook configurations are called in the order of their names; ours is podrail.
BEFORE, AFTER = "network-resources-injector-config", "z-network-resources-injector-config"
ONCE, AGAIN = "Never", "IfNeeded"
DEFAULT, HONOR = "default", "honor-resources"


@pytest.fixture(scope="module")
def beside(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a webhook with a profile for each of the two who can write the requests."""
    folder = tmp_path_factory.mktemp("profiles")
    for requester in ("Podrail", "Injector"):
        profile = profile_document(
            requester.lower(),
            attachment="SriovVF",
            rails={"count": 2},
            networks=[{"name": f"default/injected{rail}", "rail": rail} for rail in range(2)],
            resources=[{"name": RESOURCE, "count": {"per": "Rail"}}],
            requestedBy=requester,
        )
        (folder / f"{requester}.yaml").write_text(yaml.safe_dump(profile))
    return installed.webhook(PODRAIL_PROFILES=str(folder)).address()


@pytest.fixture(scope="module")
def addresses(installed: Installed, cluster: Cluster) -> dict[str, str]:
    """The injector in its default mode and with --honor-resources, both with our networks."""
    for rail in range(2):
        cluster.client.create(
            {
                "apiVersion": "k8s.cni.cncf.io/v1",
                "kind": "NetworkAttachmentDefinition",
                "metadata": {
                    "name": f"injected{rail}",
                    "annotations": {"k8s.v1.cni.cncf.io/resourceName": RESOURCE},
                },
                "spec": {"config": '{"cniVersion":"1.0.0","type":"sriov"}'},
            }
        )
    try:
        return {
            DEFAULT: injector.start(installed),
            HONOR: injector.start(installed, "-honor-resources"),
        }
    except NotRun as missing:
        pytest.skip(str(missing))


@dataclass(frozen=True)
class Case:
    """Who writes the requests, how the injector is set up and registered, the devices that come out."""

    requester: str
    mode: str
    name: str
    policy: str
    devices: str | None

    def __str__(self) -> str:
        place = "first" if self.name == BEFORE else "last"
        return f"{self.requester}-{self.mode}-{place}-{self.policy}"


CASES = (
    Case("injector", DEFAULT, AFTER, ONCE, "2"),
    Case("injector", DEFAULT, AFTER, AGAIN, "2"),
    Case("injector", DEFAULT, BEFORE, AGAIN, "2"),
    Case("injector", HONOR, AFTER, ONCE, "2"),
    Case("injector", HONOR, AFTER, AGAIN, "2"),
    Case("injector", HONOR, BEFORE, AGAIN, "2"),
    Case("podrail", DEFAULT, AFTER, ONCE, "2"),
    Case("podrail", DEFAULT, AFTER, AGAIN, "2"),
    Case("podrail", DEFAULT, BEFORE, ONCE, "2"),
    Case("podrail", DEFAULT, BEFORE, AGAIN, "2"),
    Case("podrail", HONOR, BEFORE, ONCE, "2"),
)
WARNED = (
    # Both count, so the pod asks for devices that it has no networks for.
    Case("podrail", HONOR, AFTER, ONCE, "4"),
    Case("podrail", HONOR, BEFORE, AGAIN, "4"),
    # An injector that comes first, as by its own name, and is not asked again never sees our networks.
    Case("injector", DEFAULT, BEFORE, ONCE, None),
    Case("injector", HONOR, BEFORE, ONCE, None),
)


@pytest.fixture
def create(
    installed: Installed, beside: str, addresses: dict[str, str], namespace: str
) -> Callable[[Case], dict[str, Any]]:
    """Creates a pod with both webhooks at work."""

    def created(case: Case) -> dict[str, Any]:
        installed.register(beside)
        try:
            with injector.registered(installed, addresses[case.mode], case.name, case.policy):
                pod = document(fabric=case.requester)
                return installed.cluster.client.create(pod, namespace, dryRun="All")
        finally:
            installed.unregister()

    return created


def devices(pod: dict[str, Any]) -> tuple[str | None, str | None]:
    """The devices in the limits and in the requests of a pod that podrail has injected."""
    assert names.INJECTED in pod["metadata"]["annotations"]
    resources = pod["spec"]["containers"][0]["resources"]
    return resources["limits"].get(RESOURCE), resources["requests"].get(RESOURCE)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_networks_are_two_devices(case: Case, create: Callable[[Case], dict[str, Any]]) -> None:
    """Whoever counts, in whichever order the two webhooks are called."""
    assert (case.devices, case.devices) == devices(create(case))


@pytest.mark.parametrize("case", WARNED, ids=str)
def test_what_the_documentation_warns_of(
    case: Case, create: Callable[[Case], dict[str, Any]]
) -> None:
    """The setups in which the two do not go together come out as docs say: twice, or not at all."""
    assert (case.devices, case.devices) == devices(create(case))
