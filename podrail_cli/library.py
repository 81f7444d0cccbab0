"""The profiles that the command knows: the shipped ones, and files that the user names."""

from pathlib import Path

from podrail import profiles
from podrail.errors import MalformedError, Problem
from podrail.fabric import Profile
from podrail.profiles import Loaded
from podrail_io import files


def shipped() -> Loaded:
    """The profiles of this package."""
    return profiles.load(files.package_documents("podrail", "data/profiles"))


def named(choice: str) -> Profile:
    """The profile that --profile means: a shipped one by name, or the only one in a file.

    Raises:
        MalformedError: no such profile, or a file whose profile is wrong.
    """
    known = shipped().profiles
    if choice in known:
        return known[choice]
    path = Path(choice)
    if not path.is_file():
        message = f"neither a file nor a shipped profile; those are {', '.join(sorted(known))}"
        raise MalformedError("--profile", [Problem(choice, message)])
    loaded = profiles.load(files.yaml_documents(path))
    if loaded.problems:
        raise MalformedError(str(path), loaded.problems)
    if len(loaded.profiles) != 1:
        message = f"expected one FabricProfile, got {len(loaded.profiles)}"
        raise MalformedError(str(path), [Problem(choice, message)])
    return next(iter(loaded.profiles.values()))
