"""Templates that pods name: made where they are missing, and no other is touched."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import builders
import kinds_api
import pytest
from kinds_api import KindsApi

from controller.metrics import Metrics
from controller.templates import PODS, Templates, need
from podrail import names, pod, profiles
from podrail.admission import injection
from podrail.dra import template
from podrail.dra.claim import GROUP, TEMPLATES
from podrail_io.kube import Api
from podrail_io.lease import Lease, Surroundings
from podrail_io.living import Living
from podrail_io.reflector import World

FABRIC = builders.profile_document("own", attachment="Dra")


def eventually(holds: Callable[[], bool], seconds: float = 8) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


class Running:
    """The loop on a server, with its lease and one profile of a file."""

    def __init__(self, server: KindsApi, fabrics: Sequence[Any] = (FABRIC,)) -> None:
        api = Api.connect(server=server.url)
        self.server = server
        world = World(time.monotonic, random.SystemRandom().random)
        around = Surroundings(
            time.monotonic,
            lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            random.SystemRandom().random,
        )
        self.lease = Lease(api, ("home", "podrail-controller"), "me", around)
        self.metrics = Metrics(lambda: True, lambda: 0.0)
        placed = [("file", one) for one in fabrics]
        living = Living(placed, None, profiles.layered)  # type: ignore[arg-type]  # as Placed
        self.fabrics = living
        self.templates = Templates(api, world, self.lease, living, self.metrics)

    def start(self) -> None:
        self.lease.start()
        self.templates.start()

    def stop(self) -> None:
        self.templates.stop()
        self.lease.stop()

    def put_pod(self, name: str, document: dict[str, Any]) -> None:
        self.server.put(f"{PODS}/{name}", document)

    def made(self) -> list[dict[str, Any]]:
        """The templates that were made."""
        place = f"{GROUP}/namespaces/team/resourceclaimtemplates"
        return [one for path, one in self.server.objects.items() if path.startswith(place)]

    def look(self) -> None:
        """Follow the cluster, with the lease, but without the loop."""
        for one in (self.templates.pods, self.templates.there, self.templates.owners):
            one.start()
        assert eventually(lambda: not self.templates.problems())
        self.lease._guarded(self.lease._round)


@pytest.fixture
def running() -> Iterator[Running]:
    with kinds_api.serving() as server:
        found = Running(server)
        yield found
        found.stop()


def claimant(gpus: int = 2, **status: Any) -> dict[str, Any]:
    """An injected pod of namespace team."""
    document = builders.document(
        builders.container(gpus=0), fabric="own", annotations={names.GPUS: str(gpus)}
    )
    fabric = builders.fabric("own", attachment="Dra")
    found = dict(injection.inject(pod.read(document, "team"), fabric).pod.document)
    found["metadata"] = {**found["metadata"], "namespace": "team"}
    return {**found, "status": status}


def test_a_template_is_made_once_for_all_pods_that_name_it(running: Running) -> None:
    """In their namespace, with our labels; a shipped profile owns nothing."""
    for name in ("a", "b"):
        running.put_pod(name, claimant())
    running.start()
    assert eventually(lambda: bool(running.made()))
    running.put_pod("c", claimant(4))
    assert eventually(lambda: len(running.made()) == 2)
    wanted = template.pairs(builders.fabric("own", attachment="Dra"), 2, 0)
    first = running.made()[0]
    assert (wanted.name, "team", wanted.spec) == (
        first["metadata"]["name"],
        first["metadata"]["namespace"],
        first["spec"],
    )
    assert "own" == first["metadata"]["labels"][names.FABRIC]
    assert "ownerReferences" not in first["metadata"]


def test_a_template_goes_with_the_custom_resource_that_it_is_of(running: Running) -> None:
    """Owned by its UID, without a controller and without blocking."""
    document = {**FABRIC, "metadata": {"name": "own", "uid": "u-1"}}
    running.server.put(f"{profiles.RESOURCES}/own", document)
    running.put_pod("a", claimant())
    running.start()
    assert eventually(lambda: bool(running.made()))
    owner = {
        "apiVersion": FABRIC["apiVersion"],
        "kind": "FabricProfile",
        "name": "own",
        "uid": "u-1",
    }
    assert [owner] == running.made()[0]["metadata"]["ownerReferences"]


def test_what_is_there_is_never_touched(running: Running) -> None:
    """Nor is one made that the profile does not know, or that another's pod names."""
    name = claimant()["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
    running.server.put(
        f"{TEMPLATES}/{name}", {"metadata": {"namespace": "team"}, "spec": {"spec": {"mine": True}}}
    )
    unknown = claimant(4)
    unknown["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "podrail-own-4gpu-x"
    for key, document in (("a", claimant()), ("b", unknown)):
        running.put_pod(key, document)
    running.look()
    assert running.templates.round()
    assert [] == running.made()


def test_without_the_lease_nothing_is_made(running: Running) -> None:
    """Whoever holds it makes them."""
    running.put_pod("a", claimant())
    for one in (running.templates.pods, running.templates.there, running.templates.owners):
        one.start()
    assert eventually(lambda: not running.templates.problems())
    assert not running.templates.round()
    assert [] == running.made()


def test_a_server_that_refuses_is_asked_again(running: Running) -> None:
    """An error is counted; the next round makes the template."""
    running.put_pod("a", claimant())
    running.look()
    running.server.refusing = 500
    assert not running.templates.round()
    sample = running.metrics.registry.get_sample_value
    assert 1 == sample("podrail_controller_claim_template_errors_total")
    running.server.refusing = 0
    assert running.templates.round()
    assert 1 == sample("podrail_controller_claim_templates_total")


def test_one_that_another_made_meanwhile_is_as_good(running: Running) -> None:
    """Before its watch has told."""
    running.put_pod("a", claimant())
    running.look()
    name = claimant()["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
    running.server.put(f"{GROUP}/namespaces/team/resourceclaimtemplates/{name}", {"spec": {}})
    assert running.templates.round()
    assert [{}] == [one["spec"] for one in running.made()]


NO_ENTRY = claimant()
NO_ENTRY["spec"] = {**NO_ENTRY["spec"], "resourceClaims": [{"name": "x", "resourceClaimName": "x"}]}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(claimant(phase="Succeeded"), id="ended"),
        pytest.param({"metadata": {"namespace": "team"}, "spec": {}}, id="not-ours"),
        pytest.param(NO_ENTRY, id="other-claims"),
    ],
)
def test_other_pods_need_nothing(document: dict[str, Any]) -> None:
    """One that ended, one without our marker, one that claims something else."""
    assert need(document) is None
