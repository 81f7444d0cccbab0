"""What claims ask for, and what a node is worth to them."""

from __future__ import annotations

from typing import Any

import builders
import pytest
from placing import ALIGNED, CROSSED, injected

from podrail.dra import template, worth
from podrail.dra.worth import Asked
from podrail.topology import Topology

GPUS = ("nvidia.com/gpu",)


def request(name: str, device_class: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": device_class, **fields}}


GPU, NIC = request("g", "gpu.nvidia.com", count=2), request("n", "dranet.net", count=2)
MATCH = {"matchAttribute": "resource.kubernetes.io/pcieRoot"}


def claiming(*requests: dict[str, Any], constraints: Any = (), gpus: int = 0) -> Asked | None:
    """What a pod with one such claim asks for."""
    document = builders.document(
        builders.container(gpus=gpus), resourceClaims=[{"name": "x", "resourceClaimName": "x"}]
    )
    spec = {"devices": {"requests": list(requests), "constraints": list(constraints)}}
    return worth.of(document, lambda _entry: spec, GPUS)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (claiming(GPU, NIC), Asked(2, 2, bound=False)),
        (claiming(GPU, NIC, constraints=[MATCH]), Asked(2, 2, bound=True)),
        (claiming(GPU, NIC, constraints=[{**MATCH, "requests": ["g", "n/a"]}]), Asked(2, 2, bound=True)),
        (claiming(GPU, NIC, constraints=[{**MATCH, "requests": ["n"]}]), Asked(2, 2, bound=False)),
        (claiming(NIC, gpus=8), Asked(8, 2, bound=False)),
        (claiming(NIC, constraints=[MATCH], gpus=8), Asked(8, 2, bound=False)),
        (claiming(request("n", "mrdma.google.com", allocationMode="All"), gpus=1), Asked(1, 32, bound=False)),
        (claiming({"name": "n", "firstAvailable": [{"name": "a", "deviceClassName": "rdma"}]}), Asked(0, 1, bound=False)),
        (claiming(NIC, request("s", "storage.example.com"), gpus=1), Asked(1, 2, bound=False)),
        (claiming(GPU, NIC, constraints=[{"distinctAttribute": "x"}]), Asked(2, 2, bound=False)),
        (claiming(GPU), None),
    ],
    ids=str,
)  # fmt: skip
def test_requests_are_counted_by_the_names_of_their_classes(
    asked: Asked | None, expected: Asked | None
) -> None:
    """A NIC is bound if an attribute has to be a claimed GPU's too."""
    assert expected == asked


def test_a_claim_that_is_not_known_says_nothing() -> None:
    """Then the pod is scored as any other that podrail knows nothing of."""
    document = builders.document(resourceClaims=[{"name": "x", "resourceClaimName": "x"}])
    assert worth.of(document, lambda _entry: None, GPUS) is None
    assert worth.of({}, lambda _entry: None, GPUS) is None


def test_limits_that_are_no_counts_are_none() -> None:
    """The API server refuses them; the score need not."""
    train = builders.container(gpus=0, limits={"nvidia.com/gpu": "some"})
    document = builders.document(train, resourceClaims=[{"name": "x", "resourceClaimName": "x"}])
    asked = worth.of(document, lambda _entry: {"devices": {"requests": [NIC]}}, GPUS)
    assert Asked(0, 2, bound=False) == asked


@pytest.mark.parametrize("name", ["dra-pairs", "dra-gb200"])
def test_our_own_pairs_are_bound_by_attribute_or_by_group(name: str) -> None:
    """As the marker says: the claim of a template of ours."""
    profile = builders.shipped()[name]
    pod = injected(profile, builders.container(gpus=0), annotations={"podrail.dev/gpus": "2"})
    found = template.every(profile)

    def spec_of(entry: Any) -> Any:
        return found[entry["resourceClaimTemplateName"]].spec["spec"]

    asked = worth.of(pod, spec_of, GPUS)
    assert asked is not None
    assert (2, True) == (asked.gpus, asked.bound)


@pytest.mark.parametrize(
    ("topology", "asked", "expected"),
    [
        pytest.param(ALIGNED, Asked(2, 2, bound=True), 1.0, id="pairs"),
        pytest.param(ALIGNED, Asked(8, 8, bound=False), 1.0, id="whole-node"),
        pytest.param(ALIGNED, Asked(2, 0, bound=False), 0.0, id="no-nics"),
        pytest.param(ALIGNED, Asked(0, 2, bound=False), None, id="no-gpus"),
        pytest.param(CROSSED, Asked(2, 2, bound=True), 0.0, id="no-pair-can-match"),
        pytest.param(CROSSED, Asked(8, 8, bound=False), 0.2, id="crossed"),
    ],
)
def test_a_node_is_worth_its_pairs_or_what_chance_gives(
    topology: Topology, asked: Asked, expected: float | None
) -> None:
    """Bound NICs are as good as the best pairs; of others the allocator takes the first."""
    assert expected == worth.value(topology, asked)


def test_unbound_nics_are_worth_less_on_the_same_node() -> None:
    """Two GPUs anywhere, with the first two NICs."""
    loose = worth.value(ALIGNED, Asked(2, 2, bound=False))
    assert loose is not None
    assert 0.2 < loose < 1.0
