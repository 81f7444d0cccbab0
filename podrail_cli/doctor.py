"""`podrail doctor`: what an installation lacks, in order, with what to do about each."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from podrail.doctor import examination
from podrail.doctor.cluster import Cluster
from podrail.doctor.finding import Finding, Verdict, many
from podrail_cli import doctor_sight, given, live, output
from podrail_cli.doctor_sight import Wish
from podrail_cli.given import InputError, telling

_MARKS: Final[Mapping[Verdict, tuple[str, str]]] = {
    Verdict.OK: ("\N{CHECK MARK}", "green"),
    Verdict.WARN: ("\N{WARNING SIGN}", "yellow"),
    Verdict.FAIL: ("\N{BALLOT X}", "red"),
    Verdict.UNKNOWN: ("?", "cyan"),
}
_NAMES: Final[Mapping[Verdict, str]] = {
    Verdict.OK: "ok",
    Verdict.WARN: "to look at",
    Verdict.FAIL: "wrong",
    Verdict.UNKNOWN: "not known",
}
_DUMP: Final = (
    "kubectl get nodes,pods,ns,quota,cm,noderails,fabricprofiles,net-attach-def,crd,"
    "mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings "
    "-A -o json > cluster.json"
)
_EXAMPLES: Final = f"""\b
Examples:
  podrail doctor
  podrail doctor --profile sriov-rails --scheduler-config kube-scheduler.yaml
  podrail doctor --cluster cluster.json -o json

\b
A file for --cluster:
  {_DUMP}

Exit status: 0 nothing is wrong, 1 something is, 2 wrong input or no answer."""


@click.command("doctor", epilog=_EXAMPLES)
@click.option(
    "--cluster",
    type=click.Path(exists=True, path_type=Path),
    help="File or folder as kubectl get -o json writes it, in place of a live cluster.",
)
@click.option("--profile", multiple=True, help="Look at this profile too, though nobody uses it.")
@click.option(
    "--scheduler-config",
    multiple=True,
    metavar="FILE",
    help="What a kube-scheduler's --config names, where the API server does not have it.",
)
@click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    help="Where a pod is created by a dry run, to see whether the webhook answers.",
)
@given.KUBECONFIG
@given.SERVER
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text")
def doctor_command(
    cluster: Path | None, kubeconfig: str | None, server: str, form: str, **said: Any
) -> None:
    """Look at an installation of podrail from end to end: what works, what does not, what to do.

    Nothing is changed: the one thing that is created is created by a dry run.
    """
    wish = _wish(**said)
    with telling():
        if cluster is not None:
            found = doctor_sight.of_files(cluster, wish)
        else:
            api = live.connect(kubeconfig, server)
            output.progress("reading the cluster")
            now = datetime.now(UTC)  # noqa: TID251 - the command is where the time comes from
            found = doctor_sight.of_live(api, wish, now)
    findings = examination.examine(found)
    if form == "json":
        click.echo(output.as_json(examination.document(findings)))
    else:
        click.echo(text(found, findings, _width()))
    sys.exit(int(any(one.verdict is Verdict.FAIL for one in findings)))


def _wish(profile: Sequence[str], scheduler_config: Sequence[str], namespace: str) -> Wish:
    configs = [one.document for path in scheduler_config for one in given.read(path)]
    for path, config in zip(scheduler_config, configs, strict=False):
        if not isinstance(config, dict) or config.get("kind") != "KubeSchedulerConfiguration":
            raise InputError(f"{path}: expected a KubeSchedulerConfiguration")
    return Wish(tuple(map(given.named, profile)), tuple(configs), namespace)


def _width() -> int | None:
    """How wide a terminal is; None if nobody looks."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def text(cluster: Cluster, findings: Sequence[Finding], width: int | None = None) -> str:
    """The findings for people; with marks, colours and line breaks for a terminal of a width."""
    lines = [_head(cluster), ""]
    for one in findings:
        lines += _lines(one, width)
    counts = {verdict: sum(one.verdict is verdict for one in findings) for verdict in Verdict}
    told = ", ".join(f"{count} {_NAMES[verdict]}" for verdict, count in counts.items() if count)
    return "\n".join([*lines, "", told])


def _head(cluster: Cluster) -> str:
    nodes = f"{many(len(cluster.of('Node')), 'node')}, {len(cluster.gpu_nodes)} with GPUs"
    return f"{nodes}; {many(len(cluster.used), 'profile')} in use"


def _lines(one: Finding, width: int | None) -> Iterator[str]:
    mark, colour = _MARKS[one.verdict]
    shown = f"{one.verdict.value:<8}" if width is None else click.style(f"{mark} ", fg=colour)
    indent = " " * (8 if width is None else 2)
    first, *rest = _wrapped(f"{one.title}: {one.detail}", width, indent)
    yield f"{shown}{first}"
    yield from (f"{indent}{line}" for line in rest)
    if one.remedy:
        start, *more = _wrapped(f"what to do: {one.remedy}", width, f"{indent}  ")
        yield f"{indent}  {start}"
        yield from (f"{indent}  {line}" for line in more)


def _wrapped(told: str, width: int | None, indent: str) -> list[str]:
    if width is None:
        return [told]
    room = max(width - len(indent), 40)
    return textwrap.wrap(told, room, break_on_hyphens=False, break_long_words=False)
