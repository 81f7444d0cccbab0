"""The subcommand explain: a pod of the cluster, or the first one of a file before it is created."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from podrail import account, fate, marker, names
from podrail.explanation import Explanation
from podrail_cli import explain, explain_live, given, live, node, output, placing, rank
from podrail_cli.explain_live import Looked
from podrail_cli.given import InputError, telling
from podrail_cli.placing import Question, Scenery
from podrail_io.kube import UnreachableError

_EXAMPLES: Final = """\b
Examples:
  podrail explain pod train-0 -n team
  podrail explain -f job.yaml
  podrail explain -f job.yaml --cluster cluster.json -o json

Exit status: 0 some node can run it, 1 none can or it has no rails, 2 wrong input or no answer."""


@click.command("explain", epilog=_EXAMPLES)
@click.argument("target", nargs=-1, metavar="[pod NAME]")
@click.option("-f", "--file", "path", help="YAML or JSON in place of a pod; - is standard input.")
@given.PROFILE
@given.NAMESPACE
@given.SHAPES
@click.option(
    "--cluster",
    type=click.Path(exists=True, path_type=Path),
    help="File or folder as kubectl get -o json writes it, in place of a live cluster.",
)
@given.KUBECONFIG
@given.SERVER
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text")
def explain_command(target: Sequence[str], path: str | None, form: str, **said: Any) -> None:
    """Say what a pod got and why, and where it fits best and why.

    A file's pod is not created: the API server is asked what would become of it (a dry run), or
    without a cluster the rules of the webhook here.
    """
    name = _name(target, path)
    if path is None:
        looked = _of_pod(name, **said)
    elif said["cluster"] is not None or said["profile"] is not None:
        looked = _offline(path, **said)
    else:
        looked = _of_file(path, **said)
    found, explained = _account(looked, said["shapes"])
    if explained is not None and path is not None:
        found["ranked"] = placing.listed(rank.rank(explained))
    click.echo(output.as_json(found) if form == "json" else explain.text(found))
    sys.exit(int(not _well(looked, found, explained)))


def _well(looked: Looked, found: Mapping[str, Any], explained: Explanation | None) -> bool:
    """True if some node can run the pod with its rails, as far as nodes are known."""
    if looked.refused:
        return False
    if looked.scenery is None:
        given = found["injected"]
        return given is not None and given["outcome"] == "injected"
    return explained is not None and bool(explained.best)


def _name(target: Sequence[str], path: str | None) -> str:
    """The pod's name in `pod NAME` or `pod/NAME`; empty if a file is given."""
    words = [word for one in target for word in one.split("/")]
    if path is not None and not words:
        return ""
    if path is not None or len(words) != 2 or words[0] not in {"pod", "pods", "po"}:  # noqa: PLR2004 - kind and name
        raise InputError("expected pod NAME, or a file with -f; see podrail explain --help")
    return words[1]


def _of_pod(name: str, cluster: Path | None, namespace: str, **said: Any) -> Looked:
    with telling():
        output.progress("reading the cluster")
        if cluster is None:
            api = live.connect(said["kubeconfig"], said["server"])
            return explain_live.pod(api, namespace, name)
        documents = [one.document for one in node.dump(cluster)]
        return explain_live.dumped(documents, namespace, name, str(cluster))


def _offline(path: str, namespace: str, profile: str | None, **said: Any) -> Looked:
    """The file's pod by the rules here; nodes only if a dump has some."""
    question = placing.asked(path, profile, namespace)
    if said["cluster"] is None:
        return _ruled(question)
    scenery = placing.dumped(said["cluster"], profile, said["shapes"])
    return _ruled(question, scenery)


def _of_file(path: str, namespace: str, **said: Any) -> Looked:
    """The file's pod by a dry run; by the rules here if there is no cluster to be asked."""
    question = placing.asked(path, None, namespace)
    wanted = bool(said["kubeconfig"] or said["server"])
    with telling():
        try:
            api = live.connect(said["kubeconfig"], said["server"])
            output.progress("asking the API server and reading the cluster")
            return explain_live.dry_run(api, question)
        except UnreachableError as error:
            if wanted:
                raise
            click.echo(f"no cluster to ask ({error}): by the rules of this command", err=True)
    return _ruled(question)


def _ruled(question: Question, scenery: Scenery | None = None) -> Looked:
    """The pod as the shipped profiles make it."""
    warnings = tuple(question.entry.warnings)
    source = "the rules of this command"
    name = explain_live.called(question)
    return Looked(question.pod, name, warnings, scenery, source, more=(question.owner,))


def _account(looked: Looked, shapes: Path | None) -> tuple[dict[str, Any], Explanation | None]:
    metadata = looked.pod.get("metadata") or {}
    admitted = marker.injected((metadata.get("annotations") or {}).get(names.INJECTED))
    found: dict[str, Any] = {
        "pod": looked.name,
        "namespace": metadata["namespace"],
        "source": looked.source,
        "refused": looked.refused,
        "warnings": list(looked.warnings),
        "injected": None if admitted is None or looked.refused else account.injected(admitted),
        "fate": fate.of(looked.pod) if looked.created else None,
        "nodesKnown": looked.scenery is not None or bool(looked.refused),
    }
    if looked.scenery is None or looked.refused:
        return found, None
    scenery = replace(looked.scenery, shapes=shapes)
    explained = placing.answer(looked.pod, looked.more, scenery)
    return {**found, **({} if explained is None else account.placed(explained))}, explained
