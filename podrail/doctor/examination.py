"""All checks in order: what everything else stands on comes first."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from podrail.doctor import (
    admission,
    neighbours,
    networks,
    nodes,
    placement,
    traffic,
    trust,
)
from podrail.doctor.cluster import Cluster
from podrail.doctor.finding import Finding, Verdict

CHECKS: Final[tuple[Callable[[Cluster], Iterator[Finding]], ...]] = (
    admission.crds,
    admission.webhook,
    admission.answers,
    trust.certificate,
    admission.policy,
    placement.scheduler,
    networks.profiles,
    networks.networks,
    networks.resources,
    networks.isolation,
    nodes.agents,
    nodes.kubelet,
    nodes.memlock,
    neighbours.injectors,
    neighbours.quotas,
    placement.pods,
    placement.strangers,
    traffic.steering,
    traffic.priority,
)


def examine(cluster: Cluster) -> tuple[Finding, ...]:
    """Every finding, in the order of the checks; a check with nothing to look at is left out."""
    return tuple(finding for check in CHECKS for finding in check(cluster))


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings as `-o json` prints them."""
    counts = Counter(one.verdict for one in findings)
    return {
        "findings": [
            {
                "check": one.check,
                "verdict": one.verdict.value,
                "title": one.title,
                "detail": one.detail,
                "remedy": one.remedy,
            }
            for one in findings
        ],
        "summary": {verdict.value: counts[verdict] for verdict in Verdict},
    }
