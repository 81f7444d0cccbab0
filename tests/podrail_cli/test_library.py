"""What the command knows without a cluster."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import builders
import checkout
import pytest
import yaml

from podrail import profile
from podrail.errors import MalformedError
from podrail.fabric import Verified
from podrail_cli import library
from podrail_io.files import FileError

FOLDER = checkout.ROOT / "podrail" / "data" / "profiles"
NAMES = {path.stem for path in FOLDER.iterdir()}


def test_every_shipped_profile_can_be_used() -> None:
    """None of them has a problem."""
    shipped = library.shipped()
    assert (NAMES, ()) == (set(shipped.profiles), shipped.problems)


def test_a_profile_says_how_far_it_is_verified() -> None:
    """Tests create and bind the example of each, and run some on a node; none ran on hardware."""
    shipped = library.shipped().profiles.values()
    assert {Verified.API, Verified.NODE} == {one.verified for one in shipped}


def test_a_profile_opens_with_what_it_is_for() -> None:
    """In two to four lines of comment, and one line of description."""
    for name in NAMES:
        head = list(takewhile(lambda line: line.startswith("# "), library.text(name).splitlines()))
        assert len(head) in {1, 2, 3, 4}, name
        assert "\n" not in library.shipped().profiles[name].description


def test_documents_and_texts_say_the_same() -> None:
    """A text is the file itself, so it reads as the profile of its name."""
    assert set(library.documents()) == NAMES
    for name, document in library.documents().items():
        assert document == yaml.safe_load(library.text(name))
        assert name == profile.read(document).name


def test_a_name_means_the_shipped_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where a file has the same name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tcp").write_text("a: 1")
    assert "tcp" == library.named("tcp").name


def test_a_file_means_its_only_profile(tmp_path: Path) -> None:
    """Whatever it is called."""
    path = tmp_path / "x"
    path.write_text(yaml.safe_dump(builders.profile_document("mine", attachment="None")))
    assert "mine" == library.named(str(path)).name


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ([], "expected one FabricProfile, got 0"),
        (
            [builders.profile_document(name, attachment="None") for name in "ab"],
            "expected one FabricProfile, got 2",
        ),
        ([builders.profile_document("a", attachment="Pigeon")], "spec.attachment"),
        ([{"kind": "Pod"}], "kind"),
    ],
    ids=["none", "two", "wrong", "other kind"],
)
def test_a_file_without_exactly_one_good_profile_is_malformed(
    documents: list[object], told: str, tmp_path: Path
) -> None:
    """The message names the file and what is wrong in it."""
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    with pytest.raises(MalformedError) as caught:
        library.named(str(path))
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


def test_neither_a_name_nor_a_file_names_what_was_meant() -> None:
    """A typo is found at once."""
    with pytest.raises(
        MalformedError, match=r"srio: neither .* did you mean sriov-ib\? podrail profiles lists"
    ):
        library.named("srio")


def test_a_file_that_cannot_be_read_is_a_file_error(tmp_path: Path) -> None:
    """Not text at all."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff")
    with pytest.raises(FileError, match="expected UTF-8"):
        library.named(str(path))


def test_gpus_are_counted_under_every_name() -> None:
    """Those of the shipped profiles and of the one that is given."""
    extra = builders.fabric(attachment="None", gpuResources=["x.io/gpu"])
    assert set(library.gpu_resources(None)) < set(library.gpu_resources(extra))
    assert "nvidia.com/gpu" in library.gpu_resources(None)
    assert "x.io/gpu" in library.gpu_resources(extra)


def test_nics_are_counted_under_every_name() -> None:
    """Those that profiles ask for beside GPUs; huge pages are no devices."""
    extra = builders.fabric(attachment="None", resources=[{"name": "x.io/vf", "count": {"per": "Pod"}}])  # fmt: skip
    counted = library.counted(extra)
    assert {"x.io/vf"} == set(counted.nics) - set(library.counted(None).nics)
    assert {"vpc.amazonaws.com/efa"} < set(counted.nics)
    assert set() == {name for name in counted.nics if "/" not in name or name in counted.gpus}


def test_a_folders_shapes_stand_beside_the_shipped_ones(tmp_path: Path) -> None:
    """A machine type of one's own needs no new release."""
    (tmp_path / "mine.yaml").write_text(
        yaml.safe_dump(
            {"shapes": [{"shape": "mine", "gpus": [{}], "nics": [{"name": "x", "rail": 0}], "tiers": ["PIX"]}]}
        )
    )  # fmt: skip
    assert {"mine"} == library.shapes(tmp_path).keys() - library.shapes(None).keys()
