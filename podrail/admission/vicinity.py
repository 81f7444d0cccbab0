"""What is around a pod and bears on its injection: its namespace, and what the caches know there.

Lookups answer from memory, never by a call; None means that nothing is known, and then nothing is
concluded. The command, which has no cluster, injects with NOWHERE.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from podrail.admission.netpolicy import Policy
from podrail.multus.nad import OPEN, Isolation, Nad

Labels = Mapping[str, str]
PSA_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
"""Label of a namespace: the Pod Security Standard that its pods must keep."""
_GRANTS_ALL: Final = frozenset({"", "privileged"})


@dataclass(frozen=True, slots=True)
class Vicinity:
    """The surroundings of one pod."""

    labels: Labels = field(default_factory=dict)
    """Of the pod's namespace."""
    annotations: Labels = field(default_factory=dict)
    """Of the pod's namespace."""
    nads: Mapping[str, Nad] | None = None
    """Every NetworkAttachmentDefinition by namespace/name."""
    isolation: Isolation = OPEN
    """Whether Multus keeps namespaces apart."""
    policies: Sequence[Policy] = ()
    """The NetworkPolicies of the pod's namespace."""
    claim_classes: Callable[[str, Mapping[str, Any]], frozenset[str] | None] = (
        lambda _namespace, _claim: None
    )
    """The device classes that an entry of spec.resourceClaims asks for."""

    @property
    def standard(self) -> str:
        """The Pod Security Standard that forbids more than the rails need; empty if none does.

        Baseline's list of capabilities has no IPC_LOCK (Pod Security Standards, Kubernetes 1.36).
        """
        level = self.labels.get(PSA_ENFORCE, "")
        return "" if level in _GRANTS_ALL else level


NOWHERE: Final = Vicinity()
