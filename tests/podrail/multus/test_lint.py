"""What is told about the networks of a profile, and about those of a pod."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import builders
import checkout
import nads
import pytest
import yaml

from podrail.admission import injection, mesh, netpolicy
from podrail.multus import lint
from podrail.multus.nad import OPEN, Isolation
from podrail.names import NETWORKS

VF = "nvidia.com/rdma-vf"
ISOLATED = Isolation(enforced=True)
OF_ARTICLE = {
    "attachment": "SriovVF",
    "rails": {"count": 2, "gpus": 8},
    "networks": [{"name": "default/ib", "interface": "ib", "repeat": 2, "resource": VF}],
    "resources": [{"name": VF}],
}
TWO_RAILS = {
    "attachment": "SharedDevice",
    "rails": {"count": 2, "gpus": 8},
    "networks": [{"name": "default/rail0", "rail": 0}, {"name": "default/rail1", "rail": 1}],
    "resources": [{"name": "rdma/hca", "count": {"per": "Pod"}}],
}
HCA = {"rdma__hca": 63}


@dataclass(frozen=True)
class Case:
    """A profile among definitions and nodes."""

    spec: dict[str, Any]
    definitions: list[Any]
    nodes: list[Any] = field(default_factory=lambda: nads.nodes(4, **HCA))
    isolation: Isolation = OPEN
    placed: bool = True

    def told(self) -> list[str]:
        """The reasons as lines."""
        profile = builders.fabric(**self.spec)
        around = (nads.made(*self.definitions), self.nodes, self.isolation)
        found = lint.check(profile, *around, placed=self.placed)
        return [f"{one.code} {one.path}: {one.message}" for one in found]


def vf(*more: dict[str, Any], ipam: Any, resource: str = VF) -> Any:
    """The definition of the article's VFs."""
    return nads.document("ib", nads.chain({"type": "sriov", "ipam": ipam}, *more), resource)


def vfs(count: int) -> list[Any]:
    """Two nodes with that many VFs."""
    return nads.nodes(2, **{"nvidia.com__rdma-vf": count})


IN_ORDER = [{"type": "rdma"}, {"type": "sbr"}]
CASES = {
    "in order": Case(TWO_RAILS, [nads.rail(0), nads.rail(1)]),
    "pooled in order": Case(
        OF_ARTICLE,
        [vf(nads.TUNED, *IN_ORDER, ipam={"type": "nv-ipam", "poolName": "p"})],
        vfs(16),
    ),
    "the article's": Case(
        OF_ARTICLE,
        [vf(ipam=nads.host_local("10.56.217.0/24", routes=[{"dst": "0.0.0.0/0"}]))],
        vfs(16),
    ),
    "missing": Case(TWO_RAILS, [nads.rail(0)]),
    "unreachable": Case(
        {**TWO_RAILS, "networks": [{"name": "rails/a", "rail": 0}]},
        [nads.document("a", namespace="rails")],
        isolation=ISOLATED,
    ),
    "malformed": Case(
        TWO_RAILS, [nads.rail(0), nads.document("rail1", '{"plugins": [{"mtu": 9000}]}')]
    ),
    "another resource": Case(
        OF_ARTICLE, [vf(*IN_ORDER, ipam={}, resource="intel.com/vf")], vfs(16)
    ),
    "rails crossed": Case(
        {**TWO_RAILS, "resources": [{"name": "a.b/r0", "rail": 0}, {"name": "a.b/r1", "rail": 1}]},
        [nads.rail(0, resource="a.b/r1"), nads.rail(1, resource="a.b/r1")],
        nads.nodes(2, **{"a.b__r0": 1, "a.b__r1": 1}),
    ),
    "not advertised": Case(TWO_RAILS, [nads.rail(0), nads.rail(1)], nads.nodes(4)),
    "too small": Case(
        TWO_RAILS, [nads.rail(0, ipam=nads.whereabouts("10.0.0.0/27")), nads.rail(1)]
    ),
    "mtu": Case(TWO_RAILS, [nads.rail(0, mtu=9000), nads.rail(1, mtu=1500)]),
    "overlay": Case(
        {"settings": [{"name": "NCCL_IB_DISABLE", "value": "1"}]},
        [],
        nads.nodes(3, annotations={"flannel.alpha.coreos.com/backend-type": "vxlan"}),
    ),
    "placed": Case({"extras": {"schedulerName": "podrail"}}, []),
    "not placed": Case({"extras": {"schedulerName": "podrail"}}, [], placed=False),
}
GOLDEN = yaml.safe_load(checkout.text(checkout.ROOT / "tests/data/lint.yaml"))


@pytest.mark.parametrize("name", CASES)
def test_a_profile_is_told_what_is_wrong_with_its_networks(name: str) -> None:
    """Golden lines: the object, what was found, what to do."""
    assert GOLDEN[name] == CASES[name].told()


def test_every_code_has_a_golden_line() -> None:
    """No code is without an example, and no example has another code."""
    told = {line.partition(" ")[0] for lines in GOLDEN.values() for line in lines}
    assert set(lint.CODES) == told


def test_the_users_page_tells_every_code() -> None:
    """The table of docs/user/nad-lint.md has the codes of these modules, each once."""
    page = checkout.text(checkout.ROOT / "docs/user/nad-lint.md")
    told = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted((*lint.CODES, *netpolicy.CODES, *mesh.CODES)) == told


def test_a_definition_that_is_listed_twice_is_told_once() -> None:
    """What is wrong with it alone is not said for each listing."""
    networks = [{"name": "default/rail0", "rail": 0}, {"name": "default/rail0", "rail": 1}]
    case = Case({**TWO_RAILS, "networks": networks}, [nads.document("rail0", "{")])
    assert 1 == len(case.told())


def test_the_networks_of_a_platform_are_no_definitions() -> None:
    """A network without a namespace is looked for nowhere."""
    spec = {"dialect": "GKE", "networks": [{"name": "rdma-0", "rail": 0}]}
    assert [] == Case({**TWO_RAILS, **spec, "resources": []}, [], []).told()


def test_the_injector_asks_for_what_the_definition_names() -> None:
    """With it the profile lists no resource."""
    spec = {**OF_ARTICLE, "requestedBy": "Injector", "resources": [], "networks": []}
    spec["networks"] = [{"name": "default/ib", "interface": "ib", "repeat": 2}]
    assert [] == Case(spec, [vf({"type": "rdma"}, {"type": "sbr"}, ipam={})], []).told()


def attached(text: str, namespace: str = "team", **annotations: str) -> Any:
    """A pod with this text in its networks annotation, without a marker."""
    return builders.pod(namespace=namespace, annotations={NETWORKS: text, **annotations})


KNOWN = nads.made(
    nads.rail(0),
    nads.document("mine", nads.chain({"type": "macvlan"}), namespace="team"),
    nads.document("theirs", namespace="other"),
    nads.document("vf", nads.chain({"type": "sriov"}), "a.b/vf"),
    nads.document("bare", nads.chain({"type": "sriov"})),
)


@pytest.mark.parametrize(
    ("text", "isolation", "expected"),
    [
        ("default/rail0@rail0,mine", ISOLATED, []),
        ("rail0", OPEN, ["NadMissing[0]: there is no NetworkAttachmentDefinition team/rail0"]),
        ("mine,other/theirs", OPEN, []),
        ("mine,other/theirs", ISOLATED, ["NadUnreachable[1]: Multus isolates namespaces"]),
        ("default/vf", OPEN, ["ResourceMismatch[0]: default/vf takes a device of a.b/vf, which"]),
        ("default/bare", OPEN, ["ResourceMismatch[0]: default/bare has no annotation"]),
    ],
)
def test_a_pod_is_told_which_of_its_networks_will_not_come(
    text: str, isolation: Isolation, expected: list[str]
) -> None:
    """A name without a namespace is one of the pod's namespace."""
    found = lint.warnings(attached(text), builders.fabric(), KNOWN, isolation)
    told = [f"{one.code}{one.path[-3:]}: {one.message}" for one in found]
    assert len(expected) == len(told)
    assert all(line.startswith(start) for line, start in zip(told, expected, strict=True))


def test_a_default_network_is_one_of_multus_namespace() -> None:
    """And isolation does not cover it (multus-cni v4.3)."""
    key = "v1.multus-cni.io/default-network"
    pod = builders.pod(annotations={key: "calico"})
    assert "kube-system/calico" in lint.warnings(pod, builders.fabric(), {})[0].message
    known = nads.made(nads.document("calico", namespace="kube-system"))
    assert () == lint.warnings(pod, builders.fabric(), known, ISOLATED)


def test_an_injected_pod_has_the_devices_of_its_networks() -> None:
    """What podrail asks for is what the definitions name."""
    profile = builders.shipped()["sriov-rails"]
    known = nads.made(*(nads.rail(k, resource=f"nvidia.com/rail{k}") for k in range(8)))
    pod = injection.inject(builders.pod(), profile).pod
    assert () == lint.warnings(pod, profile, known, ISOLATED)
    assert 8 == len(lint.warnings(pod, profile, {}, ISOLATED))


def test_under_the_injector_a_device_may_be_asked_for_later() -> None:
    """Its webhook may come after podrail's."""
    profile = builders.fabric(requestedBy="Injector")
    assert () == lint.warnings(attached("default/vf"), profile, KNOWN)
    assert 1 == len(lint.warnings(attached("default/bare"), profile, KNOWN))


def test_the_annotation_of_another_platform_is_not_looked_at() -> None:
    """Multus is not there."""
    assert () == lint.warnings(attached("nowhere"), builders.fabric(dialect="GKE"), {})
