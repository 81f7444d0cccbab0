"""`podrail scheduler-config`: the files by which a kube-scheduler asks the extender."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from podrail import schedulerconfig
from podrail.schedulerconfig import Part, Target, Terms
from podrail_cli import library, output
from podrail_cli.given import telling
from podrail_io import files

_EXAMPLE: Final = """Example: podrail scheduler-config --for kubeadm

Exit status: 0 printed, 2 wrong input."""


@click.command("scheduler-config", epilog=_EXAMPLE)
@click.option(
    "--for",
    "target",
    type=click.Choice([one.value for one in Target]),
    required=True,
    help="Whose it is.",
)
@click.option(
    "--url", default=schedulerconfig.URL, show_default=True, help="Where the extender is asked."
)
@click.option(
    "--ca",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With https: the CA of the extender's certificate, a PEM file.",
)
@click.option("--gpu", "gpus", multiple=True, help="A GPU's resource name; may be repeated.")
@click.option("-o", "--output", "form", type=click.Choice(["yaml", "json"]), default="yaml")
def scheduler_config_command(
    target: str, url: str, ca: Path | None, gpus: tuple[str, ...], form: str
) -> None:
    """Print how kube-scheduler is told to ask the extender: files, and what to do with them."""
    with telling():
        terms = Terms(
            gpus=gpus or library.gpu_resources(None),
            url=url,
            authority="" if ca is None else files.text(ca),
        )
        found = schedulerconfig.parts(Target(target), _documents(), terms)
    click.echo(_json(found) if form == "json" else _yaml(found), nl=form == "json")


def _documents() -> list[Any]:
    """The existing scheduler's and the second's, in the order of their files' names."""
    return [one.document for one in files.package_documents(*schedulerconfig.DOCUMENTS)]


def _yaml(parts: Sequence[Part]) -> str:
    return "---\n".join(
        f"{_comment(f'{one.place}:')}{_comment(one.told)}{output.as_yaml([one.document])}"
        for one in parts
    )


def _json(parts: Sequence[Part]) -> str:
    listed = [
        {"place": one.place, "told": one.told, "document": dict(one.document)} for one in parts
    ]
    return output.as_json({"parts": listed})


def _comment(text: str) -> str:
    return textwrap.indent(textwrap.fill(text, 98, break_on_hyphens=False), "# ") + "\n"
