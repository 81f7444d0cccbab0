"""Many opted-in pods at once at a real API server; tests/bench/storm.py measures more of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import builders
import pytest
from controlplane.client import Answer
from controlplane.plane import Cluster

from podrail import names

pytestmark = pytest.mark.cluster

PODS = 200
CREATORS = 32


@pytest.mark.usefixtures("registered")
def test_no_pod_of_many_is_left_out(cluster: Cluster, namespace: str) -> None:
    """Of 200 pods, 32 of them at a time, each is created and injected: none met a timeout."""

    def create(number: int) -> Answer:
        # Gated: a scheduler with nowhere to put them would share the processors.
        gates = [{"name": "test.podrail.dev/not-scheduled"}]
        pod = builders.document(name=f"worker-{number}", schedulingGates=gates)
        return cluster.client.try_create(pod, namespace)

    with ThreadPoolExecutor(CREATORS) as pool:
        answers = list(pool.map(create, range(PODS)))
    assert [201] * PODS == [one.status for one in answers]
    marked = [names.INJECTED in one.body["metadata"]["annotations"] for one in answers]
    assert [True] * PODS == marked
