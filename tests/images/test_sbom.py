"""The bill of materials of wheels and Debian packages."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import checkout
import pytest

PROGRAM = checkout.ROOT / "deploy" / "images" / "sbom.py"


def wheel(folder: Path, name: str, version: str, *lines: str) -> Path:
    """A wheel with nothing but its metadata."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    text = "\n".join(("Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines, ""))
    entry = zipfile.ZipInfo(f"{name}-{version}.dist-info/METADATA")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, text)
    return path


def bill(*folders: Path) -> str:
    """What the program prints."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}  # noqa: TID251 - a child lives in our environment
    command = [sys.executable, str(PROGRAM), "arm64", *map(str, folders)]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout


def part(folder: Path, name: str) -> Any:
    """The component of a name."""
    (found,) = (one for one in json.loads(bill(folder))["components"] if one["name"] == name)
    return found


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A folder with podrail and one library."""
    wheel(tmp_path, "podrail", "1.2.0", "License-Expression: Apache-2.0")
    wheel(tmp_path, "Some_Library", "3.4")
    return tmp_path


def test_the_bill_is_of_the_image(folder: Path) -> None:
    """It is CycloneDX 1.6 for one architecture, dated as it was told."""
    found = json.loads(bill(folder))
    image = found["metadata"]["component"]
    assert ("CycloneDX", "1.6") == (found["bomFormat"], found["specVersion"])
    assert ("podrail", "1.2.0", "image/arm64") == (
        image["name"],
        image["version"],
        image["bom-ref"],
    )
    assert "1970-01-02T00:00:00Z" == found["metadata"]["timestamp"]


def test_the_same_files_give_the_same_bytes(folder: Path) -> None:
    """Serial number included; another file gives another one."""
    first = bill(folder)
    assert first == bill(folder)
    wheel(folder, "another", "1")
    assert json.loads(first)["serialNumber"] != json.loads(bill(folder))["serialNumber"]


def test_a_wheel_is_named_as_the_index_names_it(folder: Path) -> None:
    """The name is normalised; the hash is the file's."""
    found = part(folder, "some-library")
    assert "pkg:pypi/some-library@3.4" == found["purl"]
    said = subprocess.run(
        ["sha256sum", folder / "Some_Library-3.4-py3-none-any.whl"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout.split()[0] == found["hashes"][0]["content"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("License-Expression: MIT", [{"expression": "MIT"}], id="expression"),
        pytest.param("License: BSD", [{"license": {"name": "BSD"}}], id="words"),
        pytest.param("License: A long\n  text", None, id="a whole text is no name"),
        pytest.param("Author: A", None, id="none"),
    ],
)
def test_licences(folder: Path, line: str, expected: object) -> None:
    """An SPDX expression is taken as such, short words as a name."""
    wheel(folder, "licensed", "1", line)
    assert expected == part(folder, "licensed").get("licenses")


def test_a_debian_package(folder: Path) -> None:
    """Its version has the epoch, which a file's name escapes; the URL escapes what it must."""
    (folder / "lib++6_1%3a1.2.13+x-1_arm64.deb").write_bytes(b"")
    found = part(folder, "lib++6")
    assert "1:1.2.13+x-1" == found["version"]
    purl = "pkg:deb/debian/lib%2B%2B6@1%3A1.2.13%2Bx-1?arch=arm64&distro=debian-12"
    assert purl == found["purl"]
