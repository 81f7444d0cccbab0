"""The evidence of what nodes are, as watches bring it: Nodes, NodeRails, slices, counts."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from extender import node as nodes
from extender.node import Node, Standing
from podrail.evidence import cluster, noderails
from podrail.evidence.atlas import Atlas, Said, Unused
from podrail.evidence.cluster import Resources
from podrail.evidence.noderails import NodeRails
from podrail.evidence.nrt import Reported
from podrail.locality import Place
from podrail.topology import Topology
from podrail_io.kube import Api
from podrail_io.reflector import Change, Reflector, World

Document = dict[str, Any]
NODES: Final = "/api/v1/nodes"
RAILS: Final = f"/apis/{noderails.API_VERSION}/noderails"
SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
COUNTS: Final = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"


@dataclass(frozen=True, slots=True)
class Slice:
    """A ResourceSlice and the node that it is about."""

    node: str
    document: Mapping[str, Any]


class Survey:
    """What is known of each node apart from its pods; changed is told the node's name."""

    def __init__(
        self,
        api: Api,
        shapes: Mapping[str, Topology],
        world: World,
        counted: Callable[[], Resources],
        changed: Callable[[str], None],
    ) -> None:
        self._atlas = Atlas(shapes)
        self._told = changed
        self._places: dict[Place, Place] = {}
        self._slices: dict[str, dict[str, Slice]] = defaultdict(dict)

        def count(document: Document) -> Reported | Unused:
            return cluster.node_count(document, counted())

        self.nodes: Reflector[Node] = Reflector(api, NODES, nodes.kept, world, self._changed)
        self.rails: Reflector[NodeRails | Unused] = Reflector(
            api, RAILS, _rails, world, self._changed
        )
        self.slices: Reflector[Slice] = Reflector(api, SLICES, _slice, world, self._sliced)
        self.counts: Reflector[Reported | Unused] = Reflector(
            api, COUNTS, count, world, self._changed
        )

    def start(self) -> None:
        """Begin to follow them."""
        for watch in (self.nodes, self.rails, self.slices, self.counts):
            watch.start()

    def standing(self, name: str) -> Standing | None:
        """The node as all evidence has it; None if there is no such Node."""
        node = self.nodes.get(name)
        if node is None:
            return None
        rails = self.rails.get(name)
        said = Said(node.labels, rails, self._of_slices(name), self.counts.get(name))
        found = self._atlas.find(said)
        seen = rails if isinstance(rails, NodeRails) else None
        return nodes.standing(node, found, seen, self._placed)

    def _placed(self, place: Place) -> Place:
        """The one object for equal places, by which they can be counted fast."""
        return self._places.setdefault(place, place)

    def _of_slices(self, name: str) -> Topology | Unused | None:
        slices = self._slices.get(name)
        if not slices:
            return None
        documents = [{"kind": cluster.SLICE, **one.document} for one in tuple(slices.values())]
        return cluster.node_slices(documents).get(name)

    def _changed(self, change: Change[Any]) -> None:
        self._told(change.key.rpartition("/")[2])

    def _sliced(self, change: Change[Slice]) -> None:
        """A driver's slices count together, and one may come to be about another node."""
        for one in (change.before, change.after):
            if one is not None:
                self._slices[one.node].pop(change.key, None)
        if change.after is not None:
            self._slices[change.after.node][change.key] = change.after
        for one in (change.before, change.after):
            if one is not None:
                self._told(one.node)


def _rails(document: Document) -> NodeRails | Unused:
    """What a NodeRails says; when that was seen changes nothing."""
    found = cluster.node_rails(
        {"kind": noderails.KIND, "apiVersion": noderails.API_VERSION} | document
    )
    return found if isinstance(found, Unused) else replace(found, observed_at="")


def _slice(document: Document) -> Slice | None:
    node = cluster.slice_node(document)
    if not node:
        return None
    metadata = {key: document["metadata"].get(key) for key in ("name", "ownerReferences")}
    return Slice(node, {"metadata": metadata, "spec": document.get("spec")})
