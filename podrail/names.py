"""Every key that users and other programs meet: labels, annotations, limits of their values."""

from typing import Final

GROUP: Final = "podrail.dev"

FABRIC: Final = f"{GROUP}/fabric"
"""Label of a pod or namespace: the name of a fabric profile, or OPT_OUT."""
OPT_OUT: Final = "none"

CONTAINER: Final = f"{GROUP}/container"
"""Annotation of a pod, the user's: the container that gets the rails."""
RAILS: Final = f"{GROUP}/rails"
"""Annotation of a pod, the user's: the rails it wants, as in "0,1,2,3"."""
GPUS: Final = f"{GROUP}/gpus"
"""Annotation of a pod, the user's: how many GPUs it claims under a profile with Dra."""
USERS: Final = frozenset({FABRIC, CONTAINER, RAILS, GPUS})
"""The keys under podrail.dev that belong to the user; all others are podrail's."""

INJECTED: Final = f"{GROUP}/injected"
"""Annotation: the admission marker, what was injected and why (compact JSON)."""
PLACEMENT: Final = f"{GROUP}/placement"
"""Annotation: where the pod was put and why (compact JSON), written with the Binding."""
OBSERVED: Final = f"{GROUP}/observed"
"""Annotation: what the pod really got, against its placement (compact JSON); the controller's."""
NCCL_CONF: Final = f"{GROUP}/nccl.conf"
"""Annotation: the text of the generated /etc/nccl.conf; late binding may replace it."""
ENV_PREFIX: Final = f"{GROUP}/env."
"""Annotation prefix: podrail.dev/env.<NAME> holds the value of a late-bound variable."""

NETWORKS: Final = "k8s.v1.cni.cncf.io/networks"
"""Annotation read by Multus: the pod's further networks."""
MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of a mirror pod: the kubelet's copy of a static pod, which nobody may change."""
GPU_PRODUCT: Final = "nvidia.com/gpu.product"
"""Node label of GPU feature discovery: the kind of GPU."""
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
"""Node label: the machine type, by which the shape catalog is looked up."""

FREE_RAILS: Final = f"{GROUP}/free-rails"
"""Annotation of a Node: 16 hex digits that change when devices of its rails come free or go."""
HEALTH_PREFIX: Final = f"{GROUP}/health."
"""Annotation prefix of a Node: podrail.dev/health.<system> has the marks of one health system."""

FORMAT_VERSION: Final = 1
"""The "v" of both markers."""
MARKER_BYTES: Final = 8 * 1024
"""The most that one marker may take (design §11)."""
BINDING_BYTES: Final = 32 * 1024
"""The most annotation bytes that one Binding may carry (design §6)."""
