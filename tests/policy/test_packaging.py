"""The wheel holds the eight packages and nothing else, and nothing else claims their names.

Generic names (webhook, certs) are the reason: pip mixes two wheels with the same top-level package
without a word, and `pip check` stays green.
"""

import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import checkout
import pytest

SCRIPTS: Final = {
    "kubectl-podrail": "podrail_cli.command:main",
    "podrail": "podrail_cli.command:main",
    "podrail-certs": "certs.program:main",
    "podrail-extender": "extender.program:main",
    "podrail-controller": "controller.program:main",
    "podrail-nodeagent": "nodeagent.program:main",
    "podrail-webhook": "webhook.program:main",
}


@pytest.fixture(name="wheel", scope="module")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=checkout.ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    unpacked = folder / "unpacked"
    zipfile.ZipFile(built).extractall(unpacked)
    return unpacked


def test_the_wheel_holds_the_packages(wheel: Path) -> None:
    """The top-level names are the eight packages and the metadata."""
    assert {*checkout.PACKAGES, "podrail-0.1.0.dist-info"} == {one.name for one in wheel.iterdir()}


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    """Data files and py.typed are in the wheel too; tests and caches are not."""
    expected = {str(one) for one in checkout.files() if one.parts[0] in checkout.PACKAGES}
    packed = (one.relative_to(wheel) for one in wheel.rglob("*") if one.is_file())
    assert expected == {str(one) for one in packed if one.parts[0] in checkout.PACKAGES}


def test_no_other_distribution_claims_the_names(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each top-level name belongs to podrail alone, among all that is installed here."""
    # An editable install claims no name at all, so the wheel stands in for it.
    monkeypatch.syspath_prepend(wheel)
    claimed = importlib.metadata.packages_distributions()
    assert {name: {"podrail"} for name in checkout.PACKAGES} == {
        name: set(claimed[name]) for name in checkout.PACKAGES
    }


def test_no_name_hides_the_standard_library() -> None:
    """No package is called like a module of the standard library."""
    assert set() == set(checkout.PACKAGES) & sys.stdlib_module_names


def test_the_commands_exist(wheel: Path) -> None:
    """Every console script names a function that can be called."""
    found = importlib.metadata.PathDistribution(wheel / "podrail-0.1.0.dist-info").entry_points
    assert SCRIPTS == {one.name: one.value for one in found if one.group == "console_scripts"}
    assert all(callable(one.load()) for one in found)


def test_the_licence_goes_along(wheel: Path) -> None:
    """The wheel carries the licence's text and names it."""
    metadata = importlib.metadata.PathDistribution(wheel / "podrail-0.1.0.dist-info").metadata
    assert metadata["License-Expression"] == "Apache-2.0"
    text = (wheel / "podrail-0.1.0.dist-info" / "licenses" / "LICENSE").read_text()
    assert text == checkout.text(checkout.ROOT / "LICENSE")
