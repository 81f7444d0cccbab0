"""NetworkPolicies (networking.k8s.io/v1) that select pods with rails.

The pod network's plugin enforces them on its own interface. RDMA passes by the kernel, and further
interfaces belong to other plugins: a policy that isolates a pod leaves its rails open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from podrail.fabric import Profile
from podrail.marker import Reason
from podrail.pod import Pod
from podrail.reading import Reader
from podrail.selector import Selector

CODES: Final = ("PolicyDoesNotCoverRails",)
"""Every code that is found here."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy; selector None if it is beyond what podrail reads, then it selects nothing."""

    namespace: str
    name: str
    selector: Selector | None


def read(document: object) -> Policy:
    """The policy in a document; an absent podSelector selects every pod of the namespace."""
    top = Reader.of(document, "")
    metadata = top.part("metadata")
    found = Selector.read(top.part("spec").part("podSelector"))
    return Policy(
        metadata.text("namespace"), metadata.text("name"), None if top.problems else found
    )


def selecting(policies: Iterable[Policy], labels: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the policies, all of one namespace, that select pods with these labels."""
    return tuple(
        policy.name
        for policy in policies
        if policy.selector is not None and policy.selector.matches(labels)
    )


def warnings(pod: Pod, profile: Profile, policies: Iterable[Policy]) -> tuple[Reason, ...]:
    """A reason if policies of the pod's namespace select it and the profile gives it rails."""
    if not profile.networks and not profile.resources:
        return ()
    names = selecting(policies, pod.labels)
    if not names:
        return ()
    more = f" and {len(names) - 3} more" if names[3:] else ""
    message = (
        f"NetworkPolicy {', '.join(names[:3])}{more} selects this pod, and sees neither RDMA nor "
        "further interfaces: separate tenants in the fabric (VLAN, P_Key, VRF)"
    )
    return (Reason("PolicyDoesNotCoverRails", "metadata.labels", message),)
