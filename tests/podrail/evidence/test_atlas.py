"""One topology out of all that is said of a node: what counts, what does not, what is shared."""

from __future__ import annotations

from dataclasses import replace

import evidence
import placing
import pytest

from podrail.evidence import atlas, cluster
from podrail.evidence.atlas import Atlas, Found, Said, Unused
from podrail.evidence.noderails import Kubelet, NodeRails
from podrail.topology import Confidence, Evidence, Nic, RailSource, Tier, Topology

ATLAS = Atlas(placing.SHAPES)
LABELS = evidence.node()["metadata"]["labels"]


def agent(name: str = "n1", **fields: object) -> NodeRails:
    """A NodeRails object, read."""
    found = cluster.node_rails(evidence.rails(name, **fields))
    assert isinstance(found, NodeRails)
    return found


def dra(name: str = "n1") -> Topology:
    """ResourceSlices, read."""
    found = cluster.node_slices(evidence.slices(name))[name]
    assert isinstance(found, Topology)
    return found


def known(found: Found) -> Topology:
    """The topology, which must be there."""
    assert found.topology is not None
    return found.topology


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Said(LABELS, agent(), dra()), Evidence.NODERAILS),
        (Said(LABELS, None, dra()), Evidence.DRA),
        (Said(LABELS), Evidence.CATALOG),
    ],
    ids=["agent", "slices", "machine type"],
)
def test_the_best_evidence_counts(said: Said, expected: Evidence) -> None:
    """In the order of design §6; what is absent is said."""
    found = ATLAS.find(said)
    assert expected is known(found).evidence
    assert {one.evidence for one in found.evidence} | {one.evidence for one in found.unused} == {
        Evidence.NODERAILS,
        Evidence.DRA,
        Evidence.CATALOG,
        Evidence.NRT,
    }


def test_nodes_of_which_the_same_is_known_share_one_topology() -> None:
    """Identifiers of GPUs stand beside it, and are put back into a node's own."""
    one, other = (ATLAS.find(Said(LABELS, agent(name))) for name in ("a", "b"))
    assert one.topology is other.topology
    assert ("GPU-a-7", "GPU-b-7") == (one.ids[7], other.ids[7])
    assert one.whole is not None
    assert ("GPU-a-7", "H100", "") == (
        one.whole.card(7).id,
        one.whole.card(7).product,
        known(one).card(7).id,
    )


def test_nodes_that_differ_do_not_share() -> None:
    """A port that is down, a GPU that is ill, another leaf."""
    ill = replace(evidence.seen(), cards=(*evidence.seen().cards[:-1], replace(evidence.seen().card(7), healthy=False)))  # fmt: skip
    said = [Said(LABELS, agent()), Said(LABELS, agent(observed=ill)), Said(LABELS)]
    assert 3 == len({id(ATLAS.find(one).topology) for one in said})


def test_a_shape_is_the_catalogs_own_value() -> None:
    """Nothing else known and rails numbered: there is nothing to make."""
    found = ATLAS.find(Said(LABELS))
    assert placing.SHAPES[evidence.SHAPE] == known(found)
    assert (Confidence.MEDIUM, found.topology) == (known(found).confidence, found.whole)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (Said(), "the node has no label node.kubernetes.io/instance-type"),
        (
            Said({"node.kubernetes.io/instance-type": "m7"}),
            "the catalog has no distances of machine type m7",
        ),
        (Said(rails=NodeRails("n")), "its status has no devices"),
        (Said(rails=Unused(Evidence.NODERAILS, "torn")), "torn"),
        (Said(slices=Unused(Evidence.DRA, "worn")), "worn"),
        (Said(counted=Unused(Evidence.NRT, "gone")), "gone"),
        (Said(slices=replace(dra(), gpus=(), nics=(), tiers=())), "have no GPUs and no RDMA"),
    ],
)
def test_a_node_of_which_nothing_is_known_says_why(said: Said, told: str) -> None:
    """There is no topology, rather than a bad one."""
    found = ATLAS.find(said)
    assert (None, None, ()) == (found.topology, found.basis, found.evidence)
    assert any(told in one.why for one in found.unused), found.unused


def test_what_the_agent_did_not_see_is_not_there() -> None:
    """The catalog's NICs are not put back where a node lost all of its own."""
    bare = replace(evidence.seen(), nics=(), tiers=((),) * 8)
    found = ATLAS.find(Said(LABELS, agent(observed=bare), dra()))
    assert ((), None) == (known(found).nics, found.basis)
    assert {"NodeRails says that the node has no NICs"} == {
        one.why for one in found.unused if one.evidence in {Evidence.CATALOG, Evidence.DRA}
    }


def test_an_override_corrects_what_comes_of_the_rest() -> None:
    """One NIC's number does not take the others theirs, guessed though they are."""
    device = dra().nics[2].device
    admin = Topology("", (), (Nic(device, 9, None, device=device, rail_source=RailSource.OVERRIDE),), (), placing.SHAPES[evidence.SHAPE].judged, Evidence.OVERRIDE)  # fmt: skip
    found = ATLAS.find(Said({}, NodeRails("n", override=admin), dra()))
    assert [(0, "pci"), (1, "pci"), (9, "override"), (3, "pci")] == [
        (nic.rail, nic.rail_source) for nic in known(found).nics
    ]
    assert (Evidence.DRA, {"rail"}) == (known(found).evidence, {nic.role for nic in known(found).nics})  # fmt: skip


def test_leaf_labels_come_before_a_guess() -> None:
    """The catalog's numbers are the order of addresses; CoreWeave's labels say the leaf."""
    shape = placing.SHAPES[evidence.SHAPE]
    ours = [nic.name for nic in shape.nics if nic.rail is not None]
    leaf = {evidence.LEAF.format(name): f"leaf-{len(ours) - at}" for at, name in enumerate(ours)}
    found = known(ATLAS.find(Said({**LABELS, **leaf})))
    assert list(reversed(range(len(ours)))) == [
        nic.rail for nic in found.nics if nic.rail is not None
    ]
    assert {RailSource.LABEL} == {nic.rail_source for nic in found.nics if nic.rail is not None}


def test_leaf_labels_of_other_interfaces_say_nothing() -> None:
    """Then the guess stays."""
    found = ATLAS.find(Said({**LABELS, evidence.LEAF.format("other"): "leaf-1"}))
    assert placing.SHAPES[evidence.SHAPE].rails == known(found).rails


def test_the_kubelets_policy_is_the_agents_else_the_updaters() -> None:
    """Nothing else says it of a node from outside."""
    counted = cluster.node_count(
        evidence.count(topologyManagerPolicy="best-effort", topologyManagerScope="container"),
        evidence.COUNTED,
    )
    by_agent = agent(kubelet=Kubelet("restricted", "pod"))
    said = (Said({}, by_agent, None, counted), Said({}, agent(), None, counted))
    assert [("restricted", "pod"), ("best-effort", "container")] == [
        (ATLAS.find(one).kubelet.policy, ATLAS.find(one).kubelet.scope) for one in said
    ]


def test_a_count_alone_makes_a_topology_of_low_confidence() -> None:
    """The same NUMA node or not; which devices they are is unknown."""
    said = Said(counted=cluster.node_count(evidence.count(), evidence.COUNTED))
    found = ATLAS.find(said)
    assert (Confidence.LOW, {Tier.NODE, Tier.SYS}) == (
        known(found).confidence,
        {tier for row in known(found).tiers for tier in row},
    )
    assert found.basis is found.topology


def test_a_count_of_other_resources_is_not_used() -> None:
    """Their names are those of the profiles."""
    counted = cluster.node_count(evidence.count(), cluster.Resources({"amd.com/gpu"}, ()))
    (_, _, _, unused) = ATLAS.find(Said(counted=counted)).unused
    assert (Evidence.NRT, True) == (unused.evidence, "counts no resource" in unused.why)


def gave(said: Said) -> dict[Evidence, tuple[str, ...]]:
    """What each evidence gave."""
    return dict(atlas.gifts(ATLAS.find(said)))


def test_what_each_evidence_gave_is_told() -> None:
    """Parts come from the best that knows them; one that others know better gave nothing."""
    unsure = replace(evidence.seen(), gpus=(None,) * 8)
    assert {
        Evidence.NODERAILS: ("gpus", "nics", "tiers"),
        Evidence.CATALOG: ("numa",),
    } == gave(Said(LABELS, agent(observed=unsure)))
    assert () == gave(Said(LABELS, agent()))[Evidence.CATALOG]
    assert {Evidence.DRA: ("gpus", "nics", "tiers", "numa")} == gave(Said(slices=dra()))


def test_a_correction_is_a_gift() -> None:
    """Of a rail, and of a NIC's state."""
    nic = evidence.seen().nics[0]
    admin = Topology("", (), (Nic(nic.name, 9, None, device=nic.name, rail_source=RailSource.OVERRIDE, gbps=200),), (), evidence.seen().judged, Evidence.OVERRIDE)  # fmt: skip
    assert ("rails", "nics") == gave(Said(LABELS, agent(override=admin)))[Evidence.OVERRIDE]


def test_nothing_gave_nothing() -> None:
    """Of a node that nobody knows."""
    assert {} == gave(Said())
