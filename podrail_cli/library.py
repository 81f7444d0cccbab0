"""What the command knows without a cluster: shipped profiles and shapes, and files it is given."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from podrail import catalog, profiles
from podrail.errors import MalformedError, Problem
from podrail.evidence.cluster import Resources
from podrail.fabric import Profile
from podrail.nccl import settings as nccl
from podrail.profiles import Loaded
from podrail.topology import Topology
from podrail_cli import output
from podrail_io import files


def shipped() -> Loaded:
    """The profiles of this package."""
    return profiles.load(files.package_documents(*profiles.SHIPPED))


def named(choice: str) -> Profile:
    """The profile that is meant: a shipped one by name, or the only one in a file.

    Raises:
        MalformedError: no such profile, or a file whose profile is wrong.
        FileError: a file that cannot be read.
    """
    known = shipped().profiles
    if choice in known:
        return known[choice]
    path = Path(choice)
    if not path.is_file():
        near = " or ".join(difflib.get_close_matches(choice, known))
        meant = f"did you mean {near}? " if near else ""
        message = f"neither a file nor a shipped profile; {meant}podrail profiles lists those"
        raise MalformedError("profile", [Problem(choice, message)])
    loaded = profiles.load(files.file_documents(path))
    if loaded.problems:
        raise MalformedError(str(path), loaded.problems)
    if len(loaded.profiles) != 1:
        message = f"expected one FabricProfile, got {len(loaded.profiles)}"
        raise MalformedError(str(path), [Problem(choice, message)])
    return next(iter(loaded.profiles.values()))


def gpu_resources(extra: Profile | None) -> tuple[str, ...]:
    """The names under which GPUs are asked for in the shipped fabrics and one more."""
    fabrics = [*shipped().profiles.values(), *([extra] if extra else [])]
    return tuple(sorted({name for fabric in fabrics for name in fabric.gpu_resources}))


def counted(extra: Profile | None) -> Resources:
    """The names under which GPUs and NICs are counted, in the shipped fabrics and one more."""
    return devices([*shipped().profiles.values(), *([extra] if extra else [])])


def devices(fabrics: Iterable[Profile]) -> Resources:
    """The names under which these fabrics count GPUs and NICs."""
    known = [*fabrics]
    gpus = {name for one in known for name in one.gpu_resources}
    asked = {one.name for fabric in known for one in fabric.resources if "/" in one.name}
    return Resources(tuple(sorted(gpus)), asked - gpus)


def in_force(resources: Iterable[Mapping[str, Any]], asked: Iterable[Profile] = ()) -> Loaded:
    """The shipped profiles, a cluster's own in their place, and last those that are asked for."""
    own = [(f"FabricProfile {_called(one)}", _resource(one)) for one in resources]
    found = profiles.layered([files.package_documents(*profiles.SHIPPED), own])
    return replace(found, profiles={**found.profiles, **{one.name: one for one in asked}})


def _resource(document: Mapping[str, Any]) -> dict[str, Any]:
    """What matters of a custom resource; in a file it has no generation yet."""
    metadata = document.get("metadata") or {}
    return profiles.resource({**document, "metadata": {"name": "", "generation": 1, **metadata}})


def _called(document: Mapping[str, Any]) -> str:
    return str((document.get("metadata") or {}).get("name", ""))


def shapes(folder: Path | None) -> Mapping[str, Topology]:
    """The shipped machine types and those of a folder.

    Raises:
        MalformedError, FileError: something in the folder is wrong.
    """
    return catalog.read(files.with_own(*catalog.SHIPPED, folder))


def documents() -> Mapping[str, Any]:
    """The shipped FabricProfile documents by name, in the order of their names."""
    found = [one.document for one in files.package_documents(*profiles.SHIPPED)]
    return {one["metadata"]["name"]: one for one in sorted(found, key=_name)}


def _name(document: Mapping[str, Any]) -> str:
    return str(document["metadata"]["name"])


def text(name: str) -> str:
    """A shipped profile as its file has it, comments and all."""
    package, folder = profiles.SHIPPED
    path = resources.files(package) / folder / f"{name}.yaml"
    return path.read_text(encoding="utf-8")


def remarks(name: str) -> tuple[str, ...]:
    """What an author should know about the settings of a shipped profile, one sentence each."""
    return nccl.remarks(setting.name for setting in shipped().profiles[name].settings)


def table() -> str:
    """The shipped profiles as a table for people."""
    rows = [
        (one.name, one.attachment.value, str(one.rails.count), one.verified.value, one.description)
        for one in sorted(shipped().profiles.values(), key=lambda one: one.name)
    ]
    return output.table(("PROFILE", "ATTACHMENT", "RAILS", "VERIFIED", "DESCRIPTION"), rows)
