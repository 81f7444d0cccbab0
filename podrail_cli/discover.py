"""`podrail profiles --discover`: FabricProfiles drafted from what a cluster shows, as YAML.

Every line says how sure it is; what a person has to answer stands above it as a question.
"""

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import yaml

from podrail.discovery import pools, survey
from podrail.discovery.draft import LISTS, Discovery, Draft
from podrail.discovery.line import Line
from podrail.doctor.cluster import Cluster
from podrail.evidence import cluster as evidence
from podrail.evidence.atlas import Atlas
from podrail.multus import nad
from podrail_cli import census, doctor_sight, library, live, output
from podrail_cli.doctor_sight import Wish
from podrail_cli.given import InputError, telling
from podrail_io.kube import Api, StatusError

PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    pools.POLICY: ("/apis/sriovnetwork.openshift.io/v1/sriovnetworknodepolicies",),
    pools.CLUSTER_POLICY: ("/apis/mellanox.com/v1alpha1/nicclusterpolicies",),
    survey.GKE_NETWORK: ("/apis/networking.gke.io/v1/networks",),
    survey.NAD: (nad.DEFINITIONS,),
}
"""Where the operators' own kinds are listed."""
DUMP: Final = (
    "kubectl get nodes,noderails,fabricprofiles,net-attach-def,sriovnetworknodepolicies,"
    "nicclusterpolicies,resourceslices -A -o json > cluster.json"
)
EXAMPLES: Final = f"""\b
Examples:
  podrail profiles sriov-rails > my-fabric.yaml
  podrail profiles --discover > drafts.yaml
  podrail profiles --discover --cluster cluster.json

\b
A file for --cluster:
  {DUMP}

Exit status: 0 printed, 1 there is nothing to draft, 2 wrong input or no answer."""
_PLACED: Final = (*evidence.KINDS, survey.OWN)
_WIDTH: Final = 100


def show(
    name: str | None, form: str, cluster: Path | None, kubeconfig: str | None, server: str
) -> NoReturn:
    """Print the drafts; exit status 1 if there is nothing to draft."""
    if name is not None:
        raise InputError(f"--discover drafts profiles of its own; {name} is a shipped one")
    with telling():
        output.progress("reading the cluster")
        found = of_live(live.connect(kubeconfig, server)) if cluster is None else of_files(cluster)
    click.echo(output.as_json(found.document()) if form == "json" else text(found))
    sys.exit(int(not found.drafts))


def of_files(path: Path) -> Discovery:
    """What the files of `kubectl get -o json` show.

    Raises:
        FileError: they cannot be read.
    """
    return _surveyed(doctor_sight.of_files(path, Wish()))


def of_live(api: Api) -> Discovery:
    """What a live cluster shows; nothing is changed there.

    Raises:
        UnreachableError: it does not answer.
    """
    taken = census.take(api, _PLACED)
    documents, unseen = dict(taken.documents), dict(taken.unseen)
    for kind, paths in PATHS.items():
        try:
            documents[kind] = census.listed(api, kind, paths)
        except StatusError as error:
            unseen[kind] = f"{kind} may not be listed: {error}"
    fabrics = library.shipped().profiles
    counted = library.devices(fabrics.values())
    told = [one for kind in evidence.KINDS for one in documents.get(kind, ())]
    found = evidence.read(told, Atlas(library.shapes(None)), counted)
    seen = frozenset(documents)
    return _surveyed(Cluster(documents, seen, fabrics, unseen=unseen, found=found))


def _surveyed(cluster: Cluster) -> Discovery:
    return survey.survey(cluster, library.shipped().profiles.values())


def text(found: Discovery) -> str:
    """The drafts as YAML documents, after what was looked at."""
    return "\n".join([*_head(found), *(line for one in found.drafts for line in _document(one))])


def _head(found: Discovery) -> Iterator[str]:
    yield from _comment("Drafted by podrail profiles --discover. Read every line, then apply it.")
    counts = [f"{one.count} {one.kind}" for one in found.sources if not one.unseen]
    yield from _comment(f"Sources: {', '.join(counts) or 'none'}")
    for one in found.sources:
        if one.unseen:
            yield from _comment(f"Not seen: {one.unseen}")
    for remark in found.remarks:
        yield from _comment(f"Remark: {remark}")


def _document(draft: Draft) -> Iterator[str]:
    yield "---"
    yield from _comment(f"For {draft.machines}")
    for question in draft.questions:
        yield from _comment(f"QUESTION: {question}")
    document = draft.document()
    yield f"apiVersion: {document['apiVersion']}"
    yield f"kind: {document['kind']}"
    yield "metadata:"
    yield f"  name: {_flow(draft.name)}"
    yield "spec:"
    parts: dict[str, list[Line]] = defaultdict(list)
    for line in draft.ordered:
        parts[line.part].append(line)
    for part, lines in parts.items():
        yield from _part(part, lines)


def _part(part: str, lines: list[Line]) -> Iterator[str]:
    listed = part in LISTS
    if not listed and "." not in lines[0].field:
        (line,) = lines
        yield from _said(line, "  ")
        yield f"  {part}: {_flow(line.value)}  # {line.confidence}: {_plain(line.because)}"
        return
    yield f"  {part}:"
    told = ""
    for line in lines:
        yield from _said(line, "  " if listed else "    ")
        start = "  - " if listed else f"    {line.field.partition('.')[2]}: "
        # What was just said of the line before is not said again.
        because = "" if line.because == told else f": {_plain(line.because)}"
        told = line.because
        yield f"{start}{_flow(line.value)}  # {line.confidence}{because}"


def _said(line: Line, indent: str) -> Iterator[str]:
    if line.question:
        yield from _comment(f"QUESTION: {line.question}", indent)


def _comment(told: str, indent: str = "") -> Iterator[str]:
    for number, part in enumerate(textwrap.wrap(_plain(told), _WIDTH - len(indent) - 4)):
        yield f"{indent}# {'  ' if number else ''}{part}"


def _plain(told: str) -> str:
    """The text on one line: names out of a cluster's documents may hold anything."""
    return "".join(one if one.isprintable() else " " for one in told)


def _flow(value: Any) -> str:
    """A value as YAML of one line."""
    written = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6
    )
    return written.removesuffix("\n").removesuffix("\n...")
