"""What the command is given: options that several subcommands have, files, and wrong input."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from podrail.errors import MalformedError, PodError
from podrail.fabric import Profile
from podrail_cli import library
from podrail_io import files
from podrail_io.files import FileError, Placed
from podrail_io.kube import KubeError

INPUT_ERROR: Final = 2


class InputError(click.ClickException):
    """A file or option that cannot be used."""

    exit_code = INPUT_ERROR


FILE: Final = click.option(
    "-f", "--file", "path", required=True, help="YAML or JSON; - is standard input."
)
PROFILE: Final = click.option(
    "--profile", help="Shipped profile or file; stands in for the pod's label."
)
NAMESPACE: Final = click.option("-n", "--namespace", default="default", show_default=True)
KUBECONFIG: Final = click.option(
    "--kubeconfig", envvar="KUBECONFIG", metavar="FILE", help="As kubectl's; also $KUBECONFIG."
)
SERVER: Final = click.option(
    "--server", default="", metavar="URL", help="In place of a kubeconfig, such as kubectl proxy's."
)
SHAPES: Final = click.option(
    "--shapes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of machine types beside the shipped catalog.",
)


def read(path: str) -> list[Placed]:
    """The documents of a file, or of standard input."""
    with telling():
        if path == "-":
            return files.documents(sys.stdin.read(), "standard input")
        return files.file_documents(Path(path))


def without_pods(path: str, documents: Sequence[Any]) -> InputError:
    """What to say of a file whose documents have no pod."""
    kinds = {str(one.get("kind", "none")) for one in documents if isinstance(one, dict)}
    found = f"kinds {', '.join(sorted(kinds))}" if kinds else "a text without fields"
    place = "standard input" if path == "-" else path
    return InputError(
        f"{place}: no pod template found in {found if documents else 'an empty file'}; "
        "expected a Pod, a Job or another kind that makes pods"
    )


def named(choice: str) -> Profile:
    """The profile that --profile means."""
    with telling():
        return library.named(choice)


@contextmanager
def telling() -> Iterator[None]:
    """What podrail refuses becomes an InputError, which click prints without a traceback."""
    try:
        yield
    except MalformedError as error:
        lines = [f"{error.what}:", *(f"  {problem}" for problem in error.problems)]
        raise InputError("\n".join(lines)) from error
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise InputError(named) from error
    except (FileError, KubeError, PodError, ValueError) as error:
        raise InputError(str(error)) from error
