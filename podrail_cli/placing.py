"""Where the first pod of a file goes: the pod after admission, the nodes, and the command rank."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from podrail import dump, explanation, placement, snapshot
from podrail.doctor.finding import many
from podrail.evidence import cluster as evidence
from podrail.evidence.atlas import Atlas
from podrail.evidence.cluster import Resources
from podrail.explanation import Explanation
from podrail.fabric import Profile
from podrail.gang import jobsize
from podrail_cli import given, inject, library, node, output, rank
from podrail_cli.given import InputError, telling
from podrail_cli.inject import Entry
from podrail_cli.rank import Ranked

Document = Mapping[str, Any]
CLUSTER = click.option(
    "--cluster",
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="File or folder with nodes and pods, as kubectl get -o json writes them.",
)
LABELS: Final = {
    "Job.batch": "batch.kubernetes.io/job-name",
    "JobSet.jobset.x-k8s.io": "jobset.sigs.k8s.io/jobset-name",
    "kubeflow.org": "training.kubeflow.org/job-name",
    "RayCluster.ray.io": "ray.io/cluster",
    "Job.batch.volcano.sh": "volcano.sh/job-name",
}
"""The label by which controllers mark the pods that they make of a template."""


@dataclass(frozen=True, slots=True)
class Question:
    """A pod after admission by the shipped profiles, and the document that it is in."""

    entry: Entry
    pod: Document
    owner: Document
    """A Job or the like, which knows how many pods there are; empty for none."""


@dataclass(frozen=True, slots=True)
class Scenery:
    """A cluster's documents, what its profiles are, and where it comes from, for messages."""

    documents: Sequence[object]
    profiles: Mapping[str, Profile]
    shapes: Path | None
    where: str

    @property
    def counted(self) -> Resources:
        """The names under which GPUs and NICs are counted."""
        return library.devices(self.profiles.values())


def asked(path: str, profile: str | None, namespace: str) -> Question:
    """The question about the first pod in a file."""
    documents = [one.document for one in given.read(path)]
    found = [
        (template, each) for each in documents for template in inject.templates(each, namespace)
    ]
    if not found:
        raise given.without_pods(path, documents)
    template, whole = found[0]
    stand_in = None if profile is None else given.named(profile)
    entry = inject.entry(template, library.shipped().profiles, stand_in)
    owner = _owner(whole, template.namespace)
    return Question(entry, owned(entry.pod, entry.template.namespace, owner), owner)


def _owner(whole: Document, namespace: str) -> Document:
    """The document with its namespace if it is an object that makes pods, else an empty one."""
    metadata = whole.get("metadata")
    if not isinstance(metadata, dict) or jobsize.owner(whole).kind not in jobsize.KINDS:
        return {}
    return {**whole, "metadata": {**metadata, "namespace": namespace}}


def owned(pod: Document, namespace: str, owner: Document) -> Document:
    """The pod with the namespace and the job's label that it will have once its owner makes it."""
    metadata = {"namespace": namespace, **(pod.get("metadata") or {})}
    key = LABELS.get(jobsize.owner(owner).kind)
    if key is not None:
        name = str(owner["metadata"].get("name", ""))
        metadata["labels"] = {key: name, **(metadata.get("labels") or {})}
    return {**pod, "metadata": metadata}


def dumped(path: Path, profile: str | None, shapes: Path | None) -> Scenery:
    """The cluster in a file or folder, with the shipped profiles and one more."""
    own = () if profile is None else (given.named(profile),)
    profiles = {**library.shipped().profiles, **{one.name: one for one in own}}
    with telling():
        output.progress(f"reading {path}")
        return Scenery([one.document for one in node.dump(path)], profiles, shapes, str(path))


def answer(pod: Document, more: Iterable[Document], scenery: Scenery) -> Explanation | None:
    """Every node for the pod; None if it has no rails. More is what tells of its job's size.

    Raises:
        InputError: the cluster cannot be read, or has no nodes.
    """
    counted = scenery.counted
    wish = placement.wish(pod, tuple(counted.gpus))
    if wish is None:
        return None
    with telling():
        whole = dump.read([*scenery.documents, *more])
        found = evidence.read(scenery.documents, Atlas(library.shapes(scenery.shapes)), counted)
        if not whole.nodes:
            raise InputError(
                f"{scenery.where}: no nodes found; kubectl get nodes,pods -A -o json writes them"
            )
        for why in rank.broken(found):
            click.echo(why, err=True)
        output.progress(f"judging {many(len(whole.nodes), 'node')}")
        metadata = pod["metadata"]
        apart = (metadata["namespace"], str(metadata.get("name", "")))
        world = snapshot.take(whole, found, counted.gpus, apart)
        return explanation.explain(pod, wish, scenery.profiles.get(wish.marker.profile), world)


def listed(ranked: Sequence[Ranked]) -> list[dict[str, Any]]:
    """The nodes as `-o json` prints them."""
    return [one.document() for one in ranked]


_EXAMPLES: Final = """\b
Examples:
  kubectl get nodes,pods,noderails,jobs -A -o json > cluster.json
  podrail rank -f job.yaml --cluster cluster.json

Exit status: 0 some node can run it, 1 none can or it has no rails, 2 wrong input."""


@click.command("rank", epilog=_EXAMPLES)
@given.FILE
@given.PROFILE
@given.NAMESPACE
@given.SHAPES
@CLUSTER
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table")
def rank_command(path: str, cluster: Path, shapes: Path | None, form: str, **said: Any) -> None:
    """Rank the nodes of a cluster for the first pod in a file, best first."""
    question = asked(path, **said)
    for warning in question.entry.warnings:
        click.echo(warning, err=True)
    scenery = dumped(cluster, said["profile"], shapes)
    explained = answer(question.pod, [question.owner], scenery)
    if explained is None:
        sys.exit(1)
    ranked = rank.rank(explained)
    click.echo(rank.table(ranked) if form == "table" else output.as_json({"nodes": listed(ranked)}))
    sys.exit(int(not explained.best))
