"""The subcommands about where pods go: rank and explain."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from podrail import account, dump, explanation, jobsize, marker, names, placement, snapshot
from podrail.evidence import cluster as evidence
from podrail.evidence.atlas import Atlas
from podrail.explanation import Explanation
from podrail_cli import explain, given, inject, library, node, output, rank
from podrail_cli.given import InputError, telling
from podrail_cli.inject import Entry

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
    """A pod after admission, and the cluster that it is to be placed in."""

    entry: Entry
    pod: Mapping[str, Any]
    owner: Mapping[str, Any]
    """The document that the pod is in, such as a Job; it knows how many there are."""
    profile: str | None
    cluster: Path
    shapes: Path | None

    def answer(self) -> Explanation | None:
        """Every node for the pod; None if it has no rails.

        Raises:
            InputError: the cluster cannot be read, or has no nodes.
        """
        stand_in = None if self.profile is None else given.named(self.profile)
        gpu_resources = library.gpu_resources(stand_in)
        wish = placement.wish(self.pod, gpu_resources)
        if wish is None:
            return None
        profiles = {**library.shipped().profiles, **({stand_in.name: stand_in} if stand_in else {})}
        with telling():
            documents = [one.document for one in node.dump(self.cluster)]
            whole = dump.read([*documents, self.owner])
            atlas = Atlas(library.shapes(self.shapes))
            found = evidence.read(documents, atlas, library.counted(stand_in))
            if not whole.nodes:
                raise InputError(
                    f"{self.cluster}: no nodes found; kubectl get nodes,pods -A -o json writes them"
                )
            for why in rank.broken(found):
                click.echo(why, err=True)
            metadata = self.pod["metadata"]
            apart = (metadata["namespace"], str(metadata.get("name", "")))
            world = snapshot.take(whole, found, gpu_resources, apart)
            return explanation.explain(self.pod, wish, profiles.get(wish.marker.profile), world)


def _asked(
    path: str, profile: str | None, namespace: str, cluster: Path, shapes: Path | None
) -> Question:
    """The question about the first pod in a file."""
    found = [
        (template, each.document)
        for each in given.read(path)
        for template in inject.templates(each.document, namespace)
    ]
    if not found:
        raise InputError(f"{path}: no pod template found")
    template, whole = found[0]
    stand_in = None if profile is None else given.named(profile)
    entry = inject.entry(template, library.shipped().profiles, stand_in)
    owner = _owner(whole, template.namespace)
    return Question(entry, _owned(entry, owner), owner, profile, cluster, shapes)


def _owner(whole: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
    """The document with its namespace if it is an object that makes pods, else an empty one."""
    metadata = whole.get("metadata")
    if not isinstance(metadata, dict) or jobsize.owner(whole).kind not in jobsize.KINDS:
        return {}
    return {**whole, "metadata": {**metadata, "namespace": namespace}}


def _owned(entry: Entry, owner: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod with the namespace and the job's label that it will have once its owner makes it."""
    metadata = {"namespace": entry.template.namespace, **(entry.pod.get("metadata") or {})}
    key = LABELS.get(jobsize.owner(owner).kind)
    if key is not None:
        name = str(owner["metadata"].get("name", ""))
        metadata["labels"] = {key: name, **(metadata.get("labels") or {})}
    return {**entry.pod, "metadata": metadata}


def _placing(command: Callable[..., None]) -> Callable[..., None]:
    """The options of both subcommands."""
    for option in (CLUSTER, given.SHAPES, given.NAMESPACE, given.PROFILE, given.FILE):
        command = option(command)
    return command


@click.command("rank")
@_placing
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table")
def rank_command(form: str, **asked: Any) -> None:
    """Rank the nodes of a cluster for the first pod in a file, best first."""
    question = _asked(**asked)
    for warning in question.entry.warnings:
        click.echo(warning, err=True)
    explained = question.answer()
    if explained is None:
        sys.exit(1)
    ranked = rank.rank(explained)
    listed = {"nodes": [one.document() for one in ranked]}
    click.echo(rank.table(ranked) if form == "table" else output.as_json(listed))
    sys.exit(int(not explained.best))


@click.command("explain")
@_placing
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text")
def explain_command(form: str, **asked: Any) -> None:
    """Say what the first pod in a file gets and why, and where it fits best and why."""
    question = _asked(**asked)
    explained = question.answer()
    found = {
        **_account(question),
        **({} if explained is None else account.placed(explained)),
    }
    click.echo(output.as_json(found) if form == "json" else explain.text(found))
    sys.exit(int(explained is None or not explained.best))


def _account(question: Question) -> dict[str, Any]:
    metadata = question.pod["metadata"]
    admitted = marker.injected((metadata.get("annotations") or {}).get(names.INJECTED))
    return {
        "pod": _name(metadata) or _name(question.owner.get("metadata") or {}),
        "namespace": metadata["namespace"],
        "warnings": list(question.entry.warnings),
        "injected": None if admitted is None else account.injected(admitted),
    }


def _name(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get("name") or metadata.get("generateName") or "")
