"""The subcommand simulate: its options, its inputs, and its progress."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from podrail import dump, snapshot
from podrail.errors import MalformedError, Problem
from podrail.evidence import cluster as evidence
from podrail.evidence.atlas import Atlas
from podrail.fabric import Profile
from podrail.simulation import site, trace
from podrail.simulation.order import Order
from podrail.simulation.rules import Strategy
from podrail.snapshot import Spot
from podrail_cli import given, library, node, output, simulate
from podrail_cli.given import InputError, telling
from podrail_io import files

QUIET_SECONDS: Final = 2.0
"""Nothing is told of a simulation that is shorter."""


class Progress:
    """Lines on stderr, one every two seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = clock()

    def __call__(self, rules: str, bound: int, pods: int) -> None:
        """Tell of it if it is time to."""
        now = self._clock()
        if now - self._last >= QUIET_SECONDS:
            self._last = now
            click.echo(f"{rules}: {bound} binds for {pods} pods", err=True)


@click.command(
    "simulate", epilog="Example: podrail simulate --nodes dgx-h100:64:16 --jobs trace.yaml"
)
@click.option(
    "--cluster",
    type=click.Path(exists=True, path_type=Path),
    help="File or folder with nodes and pods, as kubectl get -o json writes them.",
)
@click.option(
    "--nodes",
    "rows",
    multiple=True,
    metavar="SHAPE:COUNT[:LEAF[:BLOCK]]",
    help="Idle nodes of a machine type; LEAF and BLOCK are how many nodes each has.",
)
@click.option("--jobs", required=True, metavar="FILE", help="The trace; - is standard input.")
@given.PROFILE
@given.SHAPES
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--strategy",
    type=click.Choice([one.value for one in Strategy]),
    default=Strategy.LEAST.value,
    show_default=True,
    help="How the default scheduler's NodeResourcesFit scores GPUs.",
)
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table")
def simulate_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    cluster: Path | None,
    rows: tuple[str, ...],
    jobs: str,
    profile: str | None,
    shapes: Path | None,
    seed: int,
    strategy: str,
    form: str,
) -> None:
    """Replay a trace of jobs under the default scheduler's rules and podrail's, side by side."""
    if (cluster is None) == (not rows):
        raise InputError("expected either --cluster or --nodes")
    stand_in = None if profile is None else given.named(profile)
    documents = [one.document for one in given.read(jobs)]
    with telling():
        wanted = _orders(jobs, documents, stand_in)
        spots = (
            _idle(rows, shapes, wanted) if cluster is None else _dumped(cluster, shapes, stand_in)
        )
        found = simulate.compare(spots, wanted, Strategy(strategy), seed, Progress(time.monotonic))
    click.echo(simulate.table(found) if form == "table" else output.as_json(found.document()))


def _orders(path: str, documents: list[object], stand_in: Profile | None) -> tuple[Order, ...]:
    if len(documents) != 1:
        raise MalformedError(path, [Problem(path, f"expected one trace, got {len(documents)}")])
    profiles = dict(library.shipped().profiles)
    if stand_in is not None:
        profiles[stand_in.name] = stand_in
    works = trace.read(documents[0], "" if stand_in is None else stand_in.name)
    return simulate.orders(works, profiles)


def _idle(
    rows: tuple[str, ...], shapes: Path | None, wanted: tuple[Order, ...]
) -> tuple[Spot, ...]:
    fabrics = {one.fabric.name: one.fabric for one in wanted}
    return site.spots(map(site.row, rows), library.shapes(shapes), fabrics.values())


def _dumped(cluster: Path, shapes: Path | None, stand_in: Profile | None) -> tuple[Spot, ...]:
    """The nodes of a dump with what its pods leave; those pods never end."""
    documents = [one.document for one in node.dump(cluster)]
    atlas = Atlas(library.shapes(shapes))
    found = evidence.read(documents, atlas, library.counted(stand_in))
    spots = snapshot.take(dump.read(documents), found, library.gpu_resources(stand_in)).spots
    if not spots:
        message = "no nodes found; kubectl get nodes,pods -A -o json writes them"
        raise files.FileError(f"{cluster}: {message}")
    return tuple(spot for spot in spots if not spot.cordoned)
