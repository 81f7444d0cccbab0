"""`podrail verify`: writes what measures a fabric, or runs it, and says who is slow."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
import yaml

from podrail.errors import MalformedError, Problem
from podrail.evidence import cluster as evidence
from podrail.evidence.atlas import Atlas, Found
from podrail.fabric import Profile
from podrail.topology import Topology
from podrail.verification import allreduce, plan, record, verdict, workload
from podrail.verification.verdict import Expected, Report
from podrail.verification.workload import Order
from podrail_cli import census, completion, given, library, live, measuring, output
from podrail_cli.given import InputError, telling
from podrail_cli.measuring import Clock, Ran
from podrail_io.kube import Api

_EXAMPLES: Final = """\b
Examples:
  podrail verify sriov-rails --nodes gpu-1,gpu-2 --image IMAGE > verify.yaml
  podrail verify sriov-rails --run --image IMAGE
  podrail verify sriov-rails --log server.log --log client.log --gbps 400

\b
The image has nccl-tests built with MPI, perftest, sh, and for all nodes at once sshd.
Nothing can be measured without GPUs and NICs: what was not verified is listed.

Exit status: 0 nothing is slow, 1 something is or nothing was measured, 2 wrong input."""
_MOST_NODES: Final = 64


class _Dumper(yaml.SafeDumper):
    """Scripts line by line, and what is there twice written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


@click.command("verify", epilog=_EXAMPLES)
@click.argument("profile", shell_complete=completion.profiles)
@click.option(
    "--nodes", default="", metavar="A,B", help="With --run, all that have GPUs if absent."
)
@click.option("--image", default="", help="What the pods run: nccl-tests and perftest.")
@click.option("--run", "running", is_flag=True, help="Create the Jobs, wait and read their logs.")
@click.option("--log", "logs", multiple=True, metavar="FILE", help="Judge logs of these pods.")
@click.option("--all-log", metavar="FILE", help="Judge this log of all nodes at once, too.")
@click.option("--shape", metavar="NAME", help="Machine type whose line rate is expected.")
@click.option("--gbps", type=click.IntRange(1, 10_000), help="Line rate of a rail, in Gb/s.")
@click.option("--timeout", "seconds", type=click.IntRange(60, 86_400), default=1800)
@click.option("-n", "--namespace", default="default", show_default=True)
@given.KUBECONFIG
@given.SERVER
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text")
def verify_command(profile: str, form: str, **said: Any) -> None:
    """Write the Jobs that measure a fabric, or run them and compare with what it should give."""
    fabric = given.named(profile)
    if said["logs"] or said["all_log"]:
        with telling():
            found = _judged(fabric, said)
    elif said["running"]:
        found = _run(fabric, said)
    else:
        click.echo(_manifests(_order(fabric, _named(said["nodes"]), said)), nl=False)
        return
    click.echo(output.as_json(found.document()) if form == "json" else text(found))
    sys.exit(int(bool(found.findings) or not found.measured))


def _order(fabric: Profile, nodes: Sequence[str], said: Mapping[str, Any]) -> Order:
    if not said["image"]:
        raise InputError("--image is needed: an image with nccl-tests and perftest")
    if not nodes:
        raise InputError("--nodes is needed: which nodes are to be measured?")
    if len(nodes) > _MOST_NODES:
        raise InputError(f"expected at most {_MOST_NODES} nodes, got {len(nodes)}: name some")
    return Order(fabric, said["image"], tuple(nodes), said["namespace"], said["seconds"])


def _named(nodes: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.strip() for one in nodes.split(",") if one.strip()))


def _manifests(order: Order) -> str:
    """The objects as YAML; a round is applied when the one before has ended."""
    jobs = workload.jobs(order)
    rounds = sorted({job["metadata"]["labels"][workload.ROUND] for job in jobs})
    head = [f"# {line}\n" for line in _head(order, rounds)]
    documents = [workload.service(order), *jobs]
    if len(order.nodes) > 1:
        documents.append(workload.mpi_job(order))
    written = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=100)
    return "".join([*head, written])


def _head(order: Order, rounds: Sequence[str]) -> Iterable[str]:
    yield "Written by podrail verify. The pods take all GPUs of their nodes: apply round by round,"
    yield "each when the Jobs before have ended, and the MPIJob last."
    yield f"kubectl apply -f FILE -l '!{workload.ROUND},!{workload.LAST}'"
    for number in rounds:
        yield f"kubectl apply -f FILE -l {workload.ROUND}={number}"
    yield f"kubectl apply -f FILE -l {workload.LAST}"
    yield f"Then: podrail verify {order.profile.name} --log FILE for the log of each pod."
    why = plan.unmeasured(order.profile)
    if why:
        yield f"Not measured: {why}."


def _judged(fabric: Profile, said: Mapping[str, Any]) -> Report:
    """The report on logs that somebody else has collected."""
    records = [record.read(_log(path)) for path in said["logs"]]
    together = None
    unverified = [plan.unmeasured(fabric)] if plan.unmeasured(fabric) else []
    if said["all_log"]:
        together = allreduce.read(_log(said["all_log"]))
    if together is None:
        unverified.append("all nodes at once: no table of all_reduce_perf was given")
    return verdict.judge(records, together, _expected(fabric, said, {}), unverified)


def _log(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8", "replace")


def _run(fabric: Profile, said: Mapping[str, Any]) -> Report:
    with telling():
        api = live.connect(said["kubeconfig"], said["server"])
        nodes = census.listed(api, "Node", census.PATHS["Node"])
        wanted = _named(said["nodes"])
        able = measuring.able(nodes, fabric)
        chosen = [one for one in wanted or able if one in able]
        unable = [f"{one}: it takes no pods, or has not all GPUs" for one in {*wanted} - {*able}]
        if not chosen:
            gpus = f"{fabric.rails.gpus} {' or '.join(fabric.gpu_resources)}"
            why = [*unable, f"no node gives {gpus}: there is no hardware to measure"]
            return verdict.judge((), None, _expected(fabric, said, {}), why)
        order = replace(_order(fabric, chosen, said), tag=f"{int(time.time()):x}")
        expected = _expected(fabric, said, _known(api, nodes, chosen))
        clock = Clock(time.monotonic, time.sleep)
        ran = measuring.run(api, order, clock, lambda told: click.echo(told, err=True))
    return _report(fabric, ran, expected, unable)


def _report(fabric: Profile, ran: Ran, expected: Expected, unable: Sequence[str]) -> Report:
    why = plan.unmeasured(fabric)
    told = [*unable, *([why] if why else []), *ran.unverified]
    records = [record.read(log) for log in ran.logs]
    return verdict.judge(records, allreduce.read(ran.collective), expected, told)


def _known(
    api: Api, nodes: Iterable[Mapping[str, Any]], chosen: Sequence[str]
) -> Mapping[str, Found]:
    """What is known of the devices of the chosen nodes, in the cluster and in the catalog."""
    told = [*nodes, *census.take(api, evidence.KINDS[1:]).listed(evidence.KINDS[1:])]
    found = evidence.read(told, Atlas(library.shapes(None)), library.counted(None))
    return {name: found[name] for name in chosen if name in found}


def _expected(fabric: Profile, said: Mapping[str, Any], found: Mapping[str, Found]) -> Expected:
    """The line rate that was said, or the shape's, or the nodes' own."""
    if said["gbps"]:
        return Expected(said["gbps"], fabric.rails.count, "--gbps")
    if said["shape"]:
        shapes = library.shapes(None)
        if said["shape"] not in shapes:
            known = f"there are {', '.join(sorted(shapes))}"
            raise MalformedError("--shape", [Problem(said["shape"], f"no such shape; {known}")])
        return _of([shapes[said["shape"]]], fabric, f"shape {said['shape']}")
    return _of([one.topology for one in found.values() if one.topology], fabric, "the nodes")


def _of(topologies: Iterable[Topology], fabric: Profile, source: str) -> Expected:
    """The most frequent line rate of the NICs that are rails."""
    nics = [nic for one in topologies for nic in one.nics if nic.rail is not None]
    rates = Counter(nic.gbps for nic in nics if nic.gbps)
    return Expected(max(rates, key=rates.__getitem__, default=None), fabric.rails.count, source)


def text(found: Report) -> str:
    """The report for people."""
    rate = found.expected.gbps
    lines = [f"expected: {rate} Gb/s a rail ({found.expected.source})" if rate else "", ""]
    rows = [
        (
            one.link.server,
            one.link.client,
            one.link.rail,
            "-" if one.link.gbps is None else f"{one.link.gbps:.1f}",
            "-" if one.floor is None else f"{one.floor:.1f}",
            one.word,
        )
        for one in found.links
    ]
    if rows:
        heads = ("SERVER", "CLIENT", "RAIL", "Gb/s", "AT LEAST", "VERDICT")
        lines += [output.table(heads, rows), ""]
    for node, busbw in found.local.items():
        lines.append(f"{node}: all_reduce inside the node {busbw:.1f} GB/s")
    if found.collective is not None:
        lines.append(f"all nodes at once: all_reduce {found.collective:.1f} GB/s")
    lines += [f"SLOW: {one}" for one in found.findings]
    if found.measured and not found.findings:
        lines.append("nothing that was measured is slow")
    if not found.measured:
        lines.append("NOTHING WAS VERIFIED")
    lines += [f"not verified: {one}" for one in found.unverified]
    return "\n".join(lines).lstrip("\n")
