"""What is in the image, and what its bill of materials says of it."""

import email.parser
import re
import stat
from pathlib import Path
from typing import Final

import checkout
import images
import pytest

pytestmark = pytest.mark.image

UNWANTED: Final = {
    *("ash", "bash", "busybox", "dash", "perl", "sh", "su", "sudo", "mount"),
    *("apt", "apt-get", "curl", "dpkg", "ensurepip", "gcc", "pip", "pip3", "setuptools", "wget"),
}
PIN: Final = re.compile(r"^([\w.-]+)==(\S+) \\((?:\n    --hash=sha256:\w+(?: \\)?)+)", re.MULTILINE)


def distributions(root: Path) -> dict[str, str]:
    """The version of each Python distribution that is installed."""
    parser = email.parser.Parser()
    found = (parser.parsestr(one.read_text()) for one in root.rglob("*.dist-info/METADATA"))
    return {one["Name"].lower().replace("_", "-"): one["Version"] for one in found}


def debian(root: Path) -> dict[str, str]:
    """The version of each of Debian's packages."""
    records = (root / "var/lib/dpkg/status.d").iterdir()
    parser = email.parser.Parser()
    found = (parser.parsestr(one.read_text()) for one in records if one.suffix != ".md5sums")
    return {one["Package"]: one["Version"] for one in found}


def test_there_is_no_shell_and_nothing_that_installs(root: Path) -> None:
    """No shell, no package manager, no pip, no downloader."""
    assert set() == UNWANTED & {one.name for one in (root / "usr").rglob("*")}


def test_nothing_gives_rights(root: Path) -> None:
    """No file is setuid or setgid, and none but /tmp can be written by others than its owner."""
    modes = {one: one.lstat().st_mode for one in root.rglob("*") if not one.is_symlink()}
    assert [] == [one for one, mode in modes.items() if mode & (stat.S_ISUID | stat.S_ISGID)]
    open_to_others = {one for one, mode in modes.items() if mode & (stat.S_IWGRP | stat.S_IWOTH)}
    assert {root / "tmp"} == open_to_others
    assert {(0, 0)} == {(one.lstat().st_uid, one.lstat().st_gid) for one in root.rglob("*")}


def test_the_commands_are_podrails_own(root: Path) -> None:
    """Beside Python there are the programs of podrail and no others."""
    programs = {
        f"podrail-{one}" for one in ("certs", "controller", "extender", "nodeagent", "webhook")
    }
    expected = {"kubectl-podrail", "podrail", "python3.11", *programs}
    assert expected == {one.name for one in (root / "usr/bin").iterdir()}


@pytest.mark.parametrize("architecture", images.ARCHITECTURES)
def test_the_image_is_for_nobody_in_particular(image: images.Image, architecture: str) -> None:
    """Both architectures run as 65532, carry one layer and tell version and licence."""
    config = image.configs[architecture]["config"]
    assert "65532:65532" == config["User"]
    assert 1 == len(image.configs[architecture]["layers"])
    assert "0.1.0" == config["Labels"]["org.opencontainers.image.version"]
    assert "Apache-2.0" == config["Labels"]["org.opencontainers.image.licenses"]


@pytest.mark.parametrize("architecture", images.ARCHITECTURES)
def test_the_image_is_small(image: images.Image, architecture: str) -> None:
    """A node pulls less than 45 MB."""
    (digest,) = image.configs[architecture]["layers"]
    assert image.size(digest) < 45_000_000


@pytest.mark.parametrize("architecture", images.ARCHITECTURES)
def test_the_bill_names_all_that_is_installed(
    image: images.Image, architecture: str, tmp_path: Path
) -> None:
    """Every distribution and every package of Debian is in the bill, in its version; no other is."""
    image.unpack(architecture, tmp_path)
    parts = image.bill(architecture)["components"]
    listed: dict[str, dict[str, str]] = {"pypi": {}, "deb/debian": {}}
    for part in parts:
        kind = part["purl"].removeprefix("pkg:").rpartition("/")[0]
        listed[kind][part["name"]] = part["version"]
    assert {"pypi": distributions(tmp_path), "deb/debian": debian(tmp_path)} == listed
    assert all(part["hashes"] for part in parts)


@pytest.mark.parametrize("architecture", images.ARCHITECTURES)
def test_what_is_installed_is_what_is_locked(image: images.Image, architecture: str) -> None:
    """The hash of each wheel is among those that requirements/runtime.txt has for its version."""
    text = checkout.text(checkout.ROOT / "requirements" / "runtime.txt")
    locked = {(name, version): hashes for name, version, hashes in PIN.findall(text)}
    wheels = [one for one in image.bill(architecture)["components"] if "pypi" in one["purl"]]
    assert {name for name, _ in locked} | {"podrail"} == {one["name"] for one in wheels}
    strange = [
        one["purl"]
        for one in wheels
        if one["name"] != "podrail"
        and f":{one['hashes'][0]['content']}" not in locked[one["name"], one["version"]]
    ]
    assert [] == strange
