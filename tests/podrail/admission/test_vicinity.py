"""What is around a pod: the Pod Security Standard of its namespace, and its claims."""

from __future__ import annotations

import builders
import pytest

from podrail.admission import injection
from podrail.admission.demand import Skip, of
from podrail.admission.vicinity import PSA_ENFORCE, Vicinity

LOCKED = builders.fabric(extras={"ipcLock": True})
CLAIM = {"name": "nics", "resourceClaimTemplateName": "all-nics"}


@pytest.mark.parametrize(
    ("level", "allowed"),
    [(None, True), ("privileged", True), ("baseline", False), ("restricted", False)],
)
def test_a_capability_is_added_only_where_the_namespace_lets_the_pod_have_it(
    level: str | None, allowed: bool
) -> None:
    """Else Pod Security would refuse the pod for what we added; the warning says what to do."""
    labels = {PSA_ENFORCE: level} if level else {}
    found = injection.inject(builders.pod(), LOCKED, Vicinity(labels))
    codes = {reason.code for reason in found.marker.reasons}
    assert allowed == ("securityContext" in found.pod.containers[0])
    assert allowed == ("IpcLockForbidden" not in codes)


@pytest.mark.parametrize(
    ("classes", "skipped"),
    [
        (None, False),
        ({"gpu.nvidia.com"}, False),
        ({"compute-domain-default-channel.nvidia.com"}, False),
        ({"mrdma.google.com"}, True),
        ({"dra.net"}, True),
        ({"erdma.alibaba.dra.net"}, True),
        ({"gpu.nvidia.com", "rdma-nic"}, True),
    ],
    ids=str,
)
def test_a_pod_that_claims_nics_is_left_alone(classes: set[str] | None, skipped: bool) -> None:
    """By the classes of its claims; claims of which nothing is known say nothing."""
    known = None if classes is None else frozenset(classes)
    vicinity = Vicinity(claim_classes=lambda _namespace, _claim: known)
    found = of(builders.pod(resourceClaims=[CLAIM]), builders.fabric(), vicinity)
    assert skipped == (isinstance(found, Skip) and found.reason.code == "DraNetworks")
