"""A kubelet's own words on how it aligns devices."""

import pytest

from podrail.evidence.noderails import Kubelet
from podrail.observation import kubelet

SAID = {
    "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod",
    "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
}
KIND = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}


@pytest.mark.parametrize(
    "document", [SAID | KIND, {"kubeletconfig": SAID}], ids=["file", "configz"]
)
def test_both_forms_are_read(document: object) -> None:
    """The file has a kind; /configz has the object in a field."""
    expected = Kubelet("restricted", "pod", ("prefer-closest-numa-nodes=true",))
    assert expected == kubelet.read(document)


def test_what_is_left_out_is_the_default() -> None:
    """As the kubelet has it."""
    assert Kubelet("none", "container") == kubelet.read(KIND)


@pytest.mark.parametrize(
    "document", [None, [], {}, {"kubeletconfig": 3}, {"kind": "Node"}, {"kubeletconfig": None}]
)
def test_anything_else_is_unknown(document: object) -> None:
    """An error page, another kind."""
    assert None is kubelet.read(document)
