"""What a release consists of. The image is a stand-in here: the others are about what is in it."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import checkout
import helm
import pytest

PROGRAM = checkout.ROOT / "deploy" / "release" / "pack"
AIRGAP = "podrail-airgap-0.1.0"


def pack(folder: Path, *, image: bool = True) -> subprocess.CompletedProcess[str]:
    """Pack a release into a folder."""
    folder.mkdir()
    if image:
        (folder / "podrail-image-0.1.0.tar").write_text("image")
        (folder / "podrail-image-0.1.0-amd64.cdx.json").write_text("{}")
    variables = {"PYTHON": sys.executable, "OUT": str(folder), "SOURCE_DATE_EPOCH": "1700000000"}
    environ = {**os.environ, **variables}  # noqa: TID251 - a child lives in our environment
    return subprocess.run([PROGRAM], env=environ, capture_output=True, text=True, check=False)


@pytest.fixture(name="release", scope="module")
def _release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed release."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    packed = pack(folder)
    assert packed.returncode == 0, packed.stderr
    return folder


def test_the_files_of_a_release(release: Path) -> None:
    """Wheel, lock, image, bills, chart, the archive for a site without a network, checksums."""
    assert [
        "SHA256SUMS",
        "podrail-0.1.0-py3-none-any.whl",
        "podrail-0.1.0-requirements.txt",
        "podrail-0.1.0.tgz",
        f"{AIRGAP}.tar",
        "podrail-image-0.1.0-amd64.cdx.json",
        "podrail-image-0.1.0.tar",
    ] == sorted(one.name for one in release.iterdir())


def test_every_file_has_a_checksum(release: Path) -> None:
    """The checksums hold, and are of every other file."""
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release, check=True)
    listed = {line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert listed == {one.name for one in release.iterdir()} - {"SHA256SUMS"}


def test_the_same_sources_give_the_same_bytes(release: Path, tmp_path: Path) -> None:
    """Packed again, each file is the same to the last bit."""
    pack(tmp_path / "again")
    again = (tmp_path / "again" / "SHA256SUMS").read_text()
    assert (release / "SHA256SUMS").read_text() == again


def test_the_archive_for_a_site_without_a_network(release: Path, tmp_path: Path) -> None:
    """One folder with image, bills, chart, how to install them, and checksums that hold."""
    subprocess.run(["tar", "-C", tmp_path, "-xf", release / f"{AIRGAP}.tar"], check=True)
    folder = tmp_path / AIRGAP
    assert [
        "INSTALL.md",
        "SHA256SUMS",
        "podrail-0.1.0.tgz",
        "podrail-image-0.1.0-amd64.cdx.json",
        "podrail-image-0.1.0.tar",
    ] == sorted(one.name for one in folder.iterdir())
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True)


def test_the_chart_is_whole(release: Path) -> None:
    """The chart's files are its own and no link; its tests and what helm ignores stay out."""
    with tarfile.open(release / "podrail-0.1.0.tgz") as tar:
        members = tar.getmembers()
    names = {one.name for one in members}
    assert {
        "podrail/Chart.yaml",
        "podrail/values.yaml",
        "podrail/files/crds/noderails.yaml",
    } <= names
    assert not {"podrail/tests", "podrail/.helmignore"} & names
    assert [] == [one.name for one in members if not (one.isfile() or one.isdir())]


@pytest.mark.go
def test_the_packed_chart_says_the_same(release: Path) -> None:
    """Rendered, the packed chart is the same as the folder that it was packed from."""
    options = ("--namespace", helm.NAMESPACE, "--kube-version", "1.36.3")
    rendered = {
        helm.run("template", helm.RELEASE, chart, *options)
        for chart in (release / "podrail-0.1.0.tgz", helm.CHART)
    }
    assert 1 == len(rendered)


def test_a_release_without_an_image_is_refused(tmp_path: Path) -> None:
    """It says what is missing and how it is made."""
    refused = pack(tmp_path / "dist", image=False)
    assert 1 == refused.returncode
    assert "no podrail-image-0.1.0.tar: run deploy/images/build first" in refused.stderr
