"""`podrail topology --node`: one node of a cluster, with what each kind of evidence gave."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from podrail.errors import MalformedError, Problem
from podrail.evidence import atlas, cluster
from podrail.evidence.atlas import Atlas, Found
from podrail.topology import Evidence, Judged, Topology
from podrail_cli import library, live, output, topology
from podrail_io import files
from podrail_io.files import Placed
from podrail_io.kube import Api

_NOTHING = Topology("", (), (), (), Judged.PCIE, Evidence.NONE, partial=True)


def dump(path: Path) -> list[Placed]:
    """The documents of a file or of a folder of files."""
    return files.folder_documents(path) if path.is_dir() else files.file_documents(path)


def of_dump(name: str, path: Path) -> Found:
    """What a dump says of a node.

    Raises:
        FileError: it cannot be read.
        MalformedError: nothing in it is about the node.
    """
    documents = (one.document for one in dump(path))
    found = cluster.read(documents, Atlas(library.shapes(None)), library.counted(None))
    if name not in found:
        known = f"; there are {', '.join(sorted(found))}" if found else ""
        raise MalformedError(str(path), [Problem(name, f"no such node{known}")])
    return found[name]


def of_live(name: str, api: Api) -> Found:
    """What a live cluster says of a node.

    Raises:
        KubeError: there is no such node, or no answer.
    """
    said = live.node(api, name, library.counted(None))
    return Atlas(library.shapes(None)).find(said)


def document(name: str, found: Found) -> dict[str, Any]:
    """The node as `-o json` prints it."""
    return {
        "node": name,
        **topology.document(found.whole or _NOTHING),
        "kubelet": {"policy": found.kubelet.policy or None, "scope": found.kubelet.scope or None},
        "gave": [{"evidence": evidence, "parts": parts} for evidence, parts in atlas.gifts(found)],
        "unused": [{"evidence": one.evidence, "why": one.why} for one in found.unused],
    }


def text(name: str, found: Found, drawn: Callable[[Topology], str] = topology.text) -> str:
    """The node for people: its topology, then a line for each kind of evidence."""
    known = found.whole
    told = "nothing is known of its devices" if known is None else drawn(known)
    kubelet = found.kubelet
    policy = f"kubelet: topology manager {kubelet.policy}, scope {kubelet.scope or 'unknown'}"
    evidence = output.table(("EVIDENCE", "GAVE"), list(_rows(found)))
    return "\n\n".join((f"{name}: {told}", *([policy] if kubelet.policy else []), evidence))


def _rows(found: Found) -> Iterator[tuple[str, str]]:
    for evidence, parts in atlas.gifts(found):
        yield evidence, ", ".join(parts) or "nothing: others know better all that it knows"
    for one in found.unused:
        yield one.evidence, f"nothing: {one.why}"
