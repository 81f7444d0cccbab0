"""The topology of each node out of a cluster's documents, all at once as in a dump.

They are nodes, NodeRails, ResourceSlices and NodeResourceTopologies; each is also read alone, as
watches bring them. A document that cannot be read is evidence that is not used, and no more.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail.errors import MalformedError
from podrail.evidence import noderails, nrt, slices
from podrail.evidence.atlas import Atlas, Found, Said, Unused
from podrail.evidence.noderails import NodeRails
from podrail.evidence.nrt import Reported
from podrail.topology import Evidence, Topology

NODE: Final = "Node"
SLICE: Final = "ResourceSlice"
COUNT: Final = "NodeResourceTopology"
KINDS: Final = (NODE, noderails.KIND, SLICE, COUNT)
"""The kinds of document that tell of nodes."""


@dataclass(frozen=True, slots=True)
class Resources:
    """The extended resources that are GPUs, and those that are NICs, where devices are counted."""

    gpus: Collection[str]
    nics: Collection[str]


def node_rails(document: object) -> NodeRails | Unused:
    """What a NodeRails object says of the node of its name."""
    try:
        return noderails.read(document, f"{noderails.KIND} {name(document)}")
    except MalformedError as error:
        return _broken(Evidence.NODERAILS, error)


def node_slices(documents: Iterable[object]) -> Mapping[str, Topology | Unused]:
    """What ResourceSlices say, by node; of a node with one that cannot be read nothing counts.

    A driver's slices count together, so a change in one asks for all slices of its node.
    """
    of: dict[str, list[tuple[str, object]]] = defaultdict(list)
    for one in documents:
        of[slice_node(one)].append((f"{SLICE} {name(one)}", one))
    found: dict[str, Topology | Unused] = {}
    for node, ours in of.items():
        try:
            found.update(slices.read(ours))
        except MalformedError as error:
            found[node] = _broken(Evidence.DRA, error)
    return found


def slice_node(document: object) -> str:
    """The node that a ResourceSlice is about; empty if it is about no single one."""
    node = _part(document, "spec").get("nodeName")
    if isinstance(node, str) and node:
        return node
    owners = _part(document, "metadata").get("ownerReferences")
    listed = owners if isinstance(owners, list) else []
    named = (_part({"owner": one}, "owner") for one in listed)
    names = (one.get("name") for one in named if one.get("kind") == NODE)
    return next((text for text in names if isinstance(text, str)), "")


def node_count(document: object, counted: Resources) -> Reported | Unused:
    """What a NodeResourceTopology says of the node of its name."""
    place = f"{COUNT} {name(document)}"
    try:
        return nrt.read(document, counted.gpus, counted.nics, place)
    except MalformedError as error:
        return _broken(Evidence.NRT, error)


def labels(document: object) -> Mapping[str, str]:
    """The labels of an object, as far as they are text."""
    found = _part(_part(document, "metadata"), "labels")
    return {key: text for key, text in found.items() if isinstance(text, str)}


def name(document: object) -> str:
    """The name of an object; empty if it has none."""
    found = _part(document, "metadata").get("name")
    return found if isinstance(found, str) else ""


def read(documents: Iterable[object], atlas: Atlas, counted: Resources) -> Mapping[str, Found]:
    """What is known of each node that a document or list of documents is about."""
    kinds: dict[str, list[object]] = {kind: [] for kind in KINDS}
    for kind, one in flat(documents):
        if kind in kinds:
            kinds[kind].append(one)
    of_labels = {name(one): labels(one) for one in kinds[NODE]}
    of_rails = {name(one): node_rails(one) for one in kinds[noderails.KIND]}
    of_slices = node_slices(kinds[SLICE])
    of_count = {name(one): node_count(one, counted) for one in kinds[COUNT]}
    nodes = dict.fromkeys((*of_labels, *of_rails, *of_slices, *of_count))
    nodes.pop("", None)
    return {
        node: atlas.find(
            Said(
                of_labels.get(node, {}),
                of_rails.get(node),
                of_slices.get(node),
                of_count.get(node),
            )
        )
        for node in nodes
    }


def flat(documents: Iterable[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each document's kind and the document, those in lists too; what has no kind is left out.

    The items of an API server's list of nodes or slices have no kind of their own.
    """
    for whole in documents:
        if not isinstance(whole, Mapping):
            continue
        items, listed = whole.get("items"), str(whole.get("kind", ""))
        for one in items if isinstance(items, list) else [whole]:
            if isinstance(one, Mapping):
                document = {"kind": listed.removesuffix("List"), **one}
                yield str(document["kind"]), document


def _part(document: object, key: str) -> Mapping[str, Any]:
    found = document.get(key) if isinstance(document, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _broken(evidence: Evidence, error: MalformedError) -> Unused:
    first, *others = error.problems
    more = f" (and {len(others)} more problems)" if others else ""
    return Unused(evidence, f"{first}{more}", broken=True)
