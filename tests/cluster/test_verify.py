"""`podrail verify` and `profiles --discover` at a real API server."""

from __future__ import annotations

import json

import builders
import pytest
import terminal
import yaml
from controlplane.plane import Cluster

pytestmark = pytest.mark.cluster
STRICT = "?dryRun=All&fieldValidation=Strict"
COLLECTIONS = {"Service": "/api/v1/namespaces/default/services", "Job": "/apis/batch/v1/namespaces/default/jobs"}  # fmt: skip


@pytest.mark.parametrize("profile", sorted(builders.shipped()))
def test_the_api_server_takes_what_verify_writes(cluster: Cluster, profile: str) -> None:
    """Field by field, without a warning; the MPIJob is the operator's kind."""
    words = ("--nodes", "a,b,c", "--image", "example.invalid/tests")
    written = terminal.run("verify", profile, *words).stdout
    documents = [one for one in yaml.safe_load_all(written) if one["kind"] in COLLECTIONS]
    assert 7 == len(documents)
    for one in documents:
        answer = cluster.client.call("POST", COLLECTIONS[one["kind"]] + STRICT, one)
        assert (201, ()) == (answer.status, answer.warnings), answer.message


def test_the_nodes_of_the_cluster_are_drafted(cluster: Cluster) -> None:
    """Through a kubeconfig, kinds of operators that are not there included."""
    result = terminal.run(
        "profiles", "--discover", "--kubeconfig", cluster.kubeconfig, "-o", "json"
    )
    assert 0 == result.exit_code, result.output
    found = json.loads(result.stdout)
    assert found["drafts"]
    assert {"kind": "SriovNetworkNodePolicy", "count": 0, "unseen": None} in found["sources"]
