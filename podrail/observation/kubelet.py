"""How a kubelet aligns devices: the three TopologyManager fields of a KubeletConfiguration.

What the configuration leaves out has the kubelet's default (kubelet.config.k8s.io/v1beta1, 1.36).
"""

from collections.abc import Mapping
from typing import Any, Final

from podrail.evidence.noderails import Kubelet

_POLICY: Final = "none"
_SCOPE: Final = "container"


def read(document: object) -> Kubelet | None:
    """The settings in a KubeletConfiguration or an answer of /configz; None if it is neither."""
    if not isinstance(document, Mapping):
        return None
    found: object = document.get("kubeletconfig", document)
    if not isinstance(found, Mapping) or not _is_configuration(document, found):
        return None
    options = found.get("topologyManagerPolicyOptions") or {}
    listed = (
        sorted(f"{key}={value}" for key, value in options.items())
        if isinstance(options, Mapping)
        else []
    )
    return Kubelet(
        policy=_text(found.get("topologyManagerPolicy"), _POLICY),
        scope=_text(found.get("topologyManagerScope"), _SCOPE),
        options=tuple(listed[:16]),
    )


def _is_configuration(document: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    return found is not document or document.get("kind") == "KubeletConfiguration"


def _text(value: object, default: str) -> str:
    return value[:64] if isinstance(value, str) and value else default
