"""The podrail command. Exit status: 0 done, 1 a pod was refused or nothing fits, 2 wrong input."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from podrail.topology import Topology
from podrail_cli import (
    branches,
    completion,
    decode_log,
    demo,
    discover,
    doctor,
    explaining,
    given,
    inject,
    library,
    live,
    node,
    output,
    placing,
    scheduler_config,
    simulating,
    topology,
    verify,
)
from podrail_cli.given import (
    FILE,
    KUBECONFIG,
    NAMESPACE,
    PROFILE,
    SERVER,
    InputError,
    telling,
)
from podrail_cli.inject import Entry
from podrail_io.kube import Api


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=__doc__)
@click.version_option(package_name="podrail")
@click.pass_context
def main(context: click.Context) -> None:
    """Rails for GPU pods: what they get, where they fit best, and why."""
    if os.environ.get("NO_COLOR"):  # noqa: TID251 - the command reads it (no-color.org)
        context.color = False


@main.command(
    "inject",
    epilog="Example: podrail inject -f job.yaml -o diff\n\n"
    "Exit status: 0 printed, 1 a pod was refused, 2 wrong input.",
)
@FILE
@PROFILE
@NAMESPACE
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["yaml", "json", "patch", "diff"]),
    default="yaml",
    show_default=True,
)
def inject_command(path: str, profile: str | None, namespace: str, form: str) -> None:
    """Print what the webhook makes of the pods in a file: a Pod, a Job, any kind with templates."""
    documents = [one.document for one in given.read(path)]
    stand_in = None if profile is None else given.named(profile)
    profiles = library.shipped().profiles
    found = [
        [inject.entry(one, profiles, stand_in) for one in inject.templates(whole, namespace)]
        for whole in documents
    ]
    entries = [entry for each in found for entry in each]
    if not entries:
        raise given.without_pods(path, documents)
    for entry in entries:
        for warning in entry.warnings:
            click.echo(f"{entry.template.dotted or 'pod'}: {warning}", err=True)
    changed = [inject.applied(one, each) for one, each in zip(documents, found, strict=True)]
    click.echo(_rendered(form, entries, changed), nl=False)
    sys.exit(int(any(entry.denied for entry in entries)))


main.add_command(placing.rank_command)
main.add_command(explaining.explain_command)
main.add_command(doctor.doctor_command)
main.add_command(decode_log.decode_log_command)
main.add_command(simulating.simulate_command)
main.add_command(scheduler_config.scheduler_config_command)
main.add_command(verify.verify_command)
main.add_command(completion.completion_command)


def _rendered(form: str, entries: Sequence[Entry], changed: Sequence[Any]) -> str:
    match form:
        case "json":
            return output.as_json({"pods": [entry.document() for entry in entries]}) + "\n"
        case "patch":
            return "".join(output.as_json(list(entry.patch)) + "\n" for entry in entries)
        case "diff":
            return "".join(inject.unified(entry) for entry in entries)
        case _:
            return output.as_yaml(changed)


@main.command(
    "topology",
    epilog="Example: podrail topology --node gpu-1\n\n"
    "Exit status: 0 shown, 1 nothing is known of the node, 2 wrong input or no answer.",
)
@click.option("--nvidia-smi", metavar="FILE", help="What nvidia-smi topo -m printed.")
@click.option("--rocm-smi", metavar="FILE", help="What rocm-smi --showtopo printed.")
@click.option("--nccl-xml", metavar="FILE", help="A file of NCCL_TOPO_FILE or NCCL_TOPO_DUMP_FILE.")
@click.option("--sysfs", metavar="DIR", help="A node's /sys, or a copy of it.")
@click.option("--shape", metavar="NAME", help="A machine type of the catalog.")
@click.option("--node-rails", metavar="FILE", help="A NodeRails object.")
@click.option("--node", "name", metavar="NAME", help="A node of a live cluster, or of --cluster.")
@click.option(
    "--cluster",
    type=click.Path(exists=True, path_type=Path),
    help="File or folder with nodes and what tells of them, as kubectl get -o json writes them.",
)
@KUBECONFIG
@SERVER
@click.option("-o", "--output", "form", type=click.Choice(["text", "tree", "json"]), default="text")
def topology_command(
    name: str | None,
    cluster: Path | None,
    kubeconfig: str | None,
    server: str,
    form: str,
    **sources: str | None,
) -> None:
    """Show a node's GPUs, NICs and rails, and how far each pair is apart; - is standard input."""
    chosen = [(kind, value) for kind, value in sources.items() if value is not None]
    number = len(chosen) + (name is not None)
    if number != 1:
        kinds = ", ".join(f"--{kind.replace('_', '-')}" for kind in topology.KINDS)
        raise InputError(f"expected one of {kinds} or --node; got {number} of them")
    if name is not None:
        _show_node(name, cluster, lambda: live.connect(kubeconfig, server), form)
    if cluster is not None:
        raise InputError("--cluster needs --node, which says the node to show")
    with telling():
        found = topology.read(*chosen[0])
    if form == "json":
        click.echo(output.as_json(topology.document(found)))
        return
    for warning in found.warnings:
        click.echo(warning, err=True)
    click.echo(_drawn(form)(found))


def _drawn(form: str) -> Callable[[Topology], str]:
    return branches.text if form == "tree" else topology.text


def _show_node(name: str, cluster: Path | None, connect: Callable[[], Api], form: str) -> NoReturn:
    """Exit status 1 if nothing is known of the node's devices."""
    with telling():
        found = node.of_live(name, connect()) if cluster is None else node.of_dump(name, cluster)
    if form == "json":
        click.echo(output.as_json(node.document(name, found)))
    else:
        for warning in () if found.topology is None else found.topology.warnings:
            click.echo(warning, err=True)
        click.echo(node.text(name, found, _drawn(form)))
    sys.exit(int(found.topology is None))


@main.command("profiles", epilog=discover.EXAMPLES)
@click.argument("name", required=False, shell_complete=completion.profiles)
@click.option(
    "--discover", "drafting", is_flag=True, help="Draft profiles from what a cluster shows."
)
@click.option(
    "--cluster",
    type=click.Path(exists=True, path_type=Path),
    help="With --discover: file or folder as kubectl get -o json writes it, not a live cluster.",
)
@KUBECONFIG
@SERVER
@click.option(
    "-o", "--output", "form", type=click.Choice(["table", "json", "yaml"]), default="table"
)
def profiles_command(name: str | None, form: str, *, drafting: bool, **where: Any) -> None:
    """List the shipped fabric profiles, print one to start your own from, or draft your own."""
    known = library.documents()
    if drafting:
        discover.show(name, form, **where)
    if where["cluster"] is not None:
        raise InputError("--cluster needs --discover, which says what to read it for")
    if name is not None:
        if name not in known:
            raise InputError(f"no shipped profile {name!r}; there are {', '.join(sorted(known))}")
        click.echo(output.as_json(known[name]) if form == "json" else library.text(name).rstrip())
        for remark in library.remarks(name):
            click.echo(f"note: {remark}", err=True)
        return
    if form == "table":
        click.echo(library.table())
        return
    listed = list(known.values())
    click.echo(output.as_yaml(listed) if form == "yaml" else output.as_json({"profiles": listed}))


@main.command("demo", epilog="Example: podrail demo --once")
@click.option("--once", is_flag=True, help="End by itself instead of waiting for Ctrl-C.")
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text")
def demo_command(form: str, *, once: bool) -> None:
    """Run webhook and extender against a simulated cluster and show what they do."""
    with telling():
        demo.run(once=once, as_json=form == "json")
