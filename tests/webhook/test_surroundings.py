"""The caches of what is around a pod, fed by watches."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import builders
import kinds_api
import pytest
from kinds_api import KindsApi

from podrail import names
from podrail.admission import injection
from podrail.dra import claim
from podrail.multus.nad import OPEN
from podrail_io.kube import Api
from podrail_io.reflector import World
from webhook import surroundings
from webhook.surroundings import Surroundings


@pytest.fixture
def server() -> Iterator[KindsApi]:
    with kinds_api.serving() as running:
        yield running


@pytest.fixture
def around(server: KindsApi) -> Iterator[Surroundings]:
    api = Api.connect(None, server.url)
    found = Surroundings(api, World(time.monotonic, random.SystemRandom().random), OPEN)
    server.served.add(surroundings.PODS)
    found.start()
    try:
        yield found
    finally:
        found.stop()


def eventually(holds: Callable[[], Any]) -> bool:
    """Whether it holds within five seconds."""
    end = time.monotonic() + 5
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(holds())


def worker(generation: int, job: str = "llm", **status: str) -> dict[str, Any]:
    """An injected pod of a job, as the API server has it."""
    fabric = builders.fabric("fabric", settings=[{"name": "NCCL_IB_TC", "value": "1"}])
    labels = {"batch.kubernetes.io/job-name": job}
    found = injection.inject(builders.pod(labels=labels), fabric).pod.document
    text = found["metadata"]["annotations"][names.INJECTED]
    marked = text.replace('"generation":1', f'"generation":{generation}')
    metadata = {
        **found["metadata"],
        "namespace": "team",
        "annotations": {names.INJECTED: marked},
    }
    return {**found, "metadata": metadata, "status": status}


def pods(name: str) -> str:
    """The path of a pod as the stand-in server lists it."""
    return f"{surroundings.PODS}/{name}"


def test_a_job_has_the_lowest_generation_of_its_living_pods(
    server: KindsApi, around: Surroundings
) -> None:
    """Pods that end or go no longer count, and a job without pods has none."""

    def generation() -> int | None:
        return around.jobs.generation("fabric", "team/llm")

    assert generation() is None
    server.put(pods("a"), worker(3))
    server.put(pods("b"), worker(5))
    server.put(pods("c"), worker(1, job="other"))
    assert eventually(lambda: generation() == 3)
    assert around.jobs.generation("another", "team/llm") is None
    server.put(pods("a"), worker(3, phase="Succeeded"))
    assert eventually(lambda: generation() == 5)
    server.remove(pods("b"))
    assert eventually(lambda: generation() is None)


@pytest.mark.parametrize(
    "annotations",
    [
        None,
        {},
        {names.INJECTED: "x"},
        {names.INJECTED: '{"v":1,"outcome":"skipped","profile":"p"}'},
    ],
)
def test_a_pod_without_rails_is_of_no_job(annotations: dict[str, str] | None) -> None:
    """Nothing of it is kept."""
    pod = {"metadata": {"namespace": "team", "name": "x", "annotations": annotations}}
    assert surroundings.member(pod) is None


def test_networks_are_not_known_before_they_were_listed(server: KindsApi) -> None:
    """Then nothing is concluded; without Multus there are none."""
    found = Surroundings(
        Api.connect(None, server.url), World(time.monotonic, random.SystemRandom().random), OPEN
    )
    assert found.vicinity("team", {}, {}).nads is None
    found.start()
    assert eventually(lambda: found.vicinity("team", {}, {}).nads == {})
    found.stop()


def test_policies_are_those_of_the_namespace(server: KindsApi, around: Surroundings) -> None:
    """Also after they are deleted."""
    path = f"{surroundings.POLICIES}/lock"
    server.served.add(surroundings.POLICIES)
    server.put(path, {"metadata": {"namespace": "team"}, "spec": {}})
    fresh = Surroundings(
        around.nads._api, World(time.monotonic, random.SystemRandom().random), OPEN
    )
    fresh.start()
    assert eventually(lambda: len(fresh.vicinity("team", {}, {}).policies) == 1)
    assert () == fresh.vicinity("other", {}, {}).policies
    server.remove(path)
    assert eventually(lambda: fresh.vicinity("team", {}, {}).policies == ())
    fresh.stop()


def test_a_claims_classes_are_those_of_its_template_or_of_itself(server: KindsApi) -> None:
    """Alternatives count as well; claims that were made for one pod are nobody else's."""
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "mrdma.google.com"}},
        {"name": "b", "firstAvailable": [{"name": "c", "deviceClassName": "gpu.nvidia.com"}]},
    ]
    spec = {"devices": {"requests": requests}}
    server.put(
        f"{claim.TEMPLATES}/nics",
        {"metadata": {"namespace": "team"}, "spec": {"spec": spec}},
    )
    server.put(f"{claim.CLAIMS}/mine", {"metadata": {"namespace": "team"}, "spec": spec})
    made = {"resource.kubernetes.io/pod-claim-name": "x"}
    server.put(
        f"{claim.CLAIMS}/made",
        {"metadata": {"namespace": "team", "annotations": made}, "spec": spec},
    )
    found = Surroundings(
        Api.connect(None, server.url), World(time.monotonic, random.SystemRandom().random), OPEN
    )
    found.start()
    classes = found.vicinity("team", {}, {}).claim_classes
    expected = frozenset({"mrdma.google.com", "gpu.nvidia.com"})
    assert eventually(lambda: classes("team", {"resourceClaimTemplateName": "nics"}) == expected)
    assert eventually(lambda: classes("team", {"resourceClaimName": "mine"}) == expected)
    assert classes("team", {"resourceClaimName": "made"}) is None
    assert classes("team", {"resourceClaimTemplateName": "no"}) is None
    found.stop()
