"""One kind of machine with all that bears on its fabric: networks, pools, the platform's own."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from podrail.discovery.machines import Machine
from podrail.discovery.pools import Pool
from podrail.discovery.series import Series
from podrail.topology import Confidence

GKE: Final = "networking.gke.io.networks/"
"""The beginning of the resources that count GKE's networks."""
_LIKELY: Final = re.compile(
    r"(?:^|[^a-z])(?:rdma|roce|efa|erdma|hca|vnic|hostdev|sriov|mlnx|rail|ib)", re.IGNORECASE
)
_NOT_NICS: Final = ("nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "habana.ai/", "smarter-")
_FEW: Final = 2
"""A node has at most so many NICs for each GPU; what counts more is no count of NICs."""


@dataclass(frozen=True, slots=True)
class Owned:
    """Whether a resource's devices are shared by all pods, how sure that is, and why."""

    shared: bool
    confidence: Confidence
    because: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What decides how pods get to the fabric of these machines."""

    machine: Machine
    series: tuple[Series, ...]
    pools: tuple[Pool, ...]
    platform_networks: tuple[str, ...]
    """GKE's networks by name."""

    def pool(self, resource: str) -> Pool | None:
        """The pool that an operator's object describes."""
        return next((one for one in self.pools if one.gives(resource)), None)

    def owned(self, resource: str) -> Owned:
        """Whether the devices of a resource are shared."""
        pool, count, gpus = self.pool(resource), self.machine.counts[resource], self.machine.gpus
        if pool is not None:
            word = "shared device plugin" if pool.shared else "SR-IOV device plugin"
            return Owned(pool.shared, Confidence.HIGH, f"a pool of the {word} in {pool.place}")
        if "shared" in resource:
            return Owned(True, Confidence.HIGH, f"{resource} says so itself")
        if self.machine.platform == "coreweave":
            return Owned(True, Confidence.HIGH, f"on CoreWeave {resource} is a flag for all HCAs")
        if count > _FEW * gpus:
            told = f"a node gives {count} of {resource} for {gpus} GPUs, more than it has NICs"
            return Owned(True, Confidence.MEDIUM, told)
        told = f"a node gives {count} of {resource} for {gpus} GPUs"
        question = f"Is {resource} a device of the pod's own, or a token that gives all of them?"
        sure = self.machine.platform == "aks" or count == gpus
        confidence = Confidence.HIGH if self.machine.platform == "aks" else Confidence.MEDIUM
        return Owned(False, confidence if sure else Confidence.LOW, told, "" if sure else question)


def is_fabric(resource: str, known: Iterable[str], pools: Iterable[Pool]) -> bool:
    """True if an extended resource counts NICs, or tokens that give them."""
    if "/" not in resource or resource.startswith(_NOT_NICS):
        return False
    if resource.startswith(GKE):
        # GKE also counts the addresses of each network: rdma-0.IP.
        return not resource.endswith(".IP")
    if resource in known or any(pool.gives(resource) for pool in pools):
        return True
    return bool(_LIKELY.search(resource))
