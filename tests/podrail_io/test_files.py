"""Files as documents, each with its place."""

import os
from pathlib import Path

import pytest

from podrail_io import files
from podrail_io.files import FileError, Placed


def test_a_document_each() -> None:
    """A text of several documents gives each its number; empty ones are left out."""
    expected = [Placed("f[0]", {"a": 1}), Placed("f[1]", [2])]
    assert expected == files.documents("a: 1\n---\n---\n- 2\n", "f")


def test_json_is_read_too() -> None:
    """A JSON text is one document, placed without a number."""
    assert [Placed("f", {"a": [1, None, "é"]})] == files.documents(
        '{"a": [1, null, "\\u00e9"]}', "f"
    )


def test_values_are_those_of_json() -> None:
    """A date and a lone equals sign stay strings, as kubectl reads them."""
    (one,) = files.documents("day: 2026-11-30\nat: 2026-11-30T10:00:00Z\nhca: =\n", "f")
    assert one.document == {"day": "2026-11-30", "at": "2026-11-30T10:00:00Z", "hca": "="}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", "f:3: 'a' is given twice", id="duplicate"),
        pytest.param('{"a": {"b": 1, "b": 2}}', "f:1: 'b' is given twice", id="duplicate in JSON"),
        pytest.param("x: 1\na: [", "f:3: did not find expected node content", id="not closed"),
        pytest.param("\na: !!binary aGk=", "f:2: could not determine a constructor", id="binary"),
        pytest.param("!!python/name:os.system", "f:1: could not determine", id="python object"),
        pytest.param("[" * 100_000, "f:1: exceeded maximum nesting depth", id="deep"),
        pytest.param("a: \0", "f: not YAML: unacceptable character", id="control character"),
        pytest.param("a: " + "9" * 5000, "f: not YAML: Exceeds the limit", id="long number"),
        pytest.param("a: [.nan]", "f: not YAML: nan is no JSON number", id="not a number"),
        pytest.param(
            "a: &x [*x]", "f: nested too deeply, or an alias inside", id="alias of itself"
        ),
        pytest.param("\n~: 1", "f:2: expected a string as key, got None", id="null as key"),
    ],
)
def test_what_is_wrong_and_where(text: str, expected: str) -> None:
    """An error names the file, the line and the problem."""
    with pytest.raises(FileError) as caught:
        files.documents(text, "f")
    assert str(caught.value).startswith(expected)


def test_keys_are_strings() -> None:
    """A number or a truth value as a key becomes its text, as in kubectl."""
    assert [Placed("f", {"1": {"true": 2}})] == files.documents("1:\n  true: 2\n", "f")


def test_aliases_are_bounded() -> None:
    """A few lines of aliases of aliases would stand for a thousand million values."""
    lines = [
        "a0: &a0 [x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)),
    ]
    with pytest.raises(FileError, match="f: not YAML: more than 2000000 values"):
        files.documents("\n".join(lines), "f")


def test_a_text_within_the_bound(tmp_path: Path) -> None:
    """A file of exactly the bound is read, one byte more is refused."""
    path = tmp_path / "big.yaml"
    path.write_text("#" * files.MOST_BYTES)
    assert files.file_documents(path) == []
    path.write_text("#" * (files.MOST_BYTES + 1))
    with pytest.raises(FileError, match=r"big\.yaml: expected at most 8388608 bytes"):
        files.file_documents(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file and one that is not UTF-8 are errors that name it."""
    with pytest.raises(FileError, match=r"none\.yaml: No such file or directory"):
        files.file_documents(tmp_path / "none.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"a: \xe9")
    with pytest.raises(FileError, match=r"latin\.yaml: expected UTF-8: .* at byte 3"):
        files.file_documents(path)


def test_a_folder(tmp_path: Path) -> None:
    """The YAML and JSON files of a folder come in the order of their names, others are left."""
    (tmp_path / "b.yaml").write_text("b: 1")
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "notes.txt").write_text("- : [")
    (tmp_path / "c.yaml").mkdir()
    assert [{"a": 1}, {"b": 1}] == [one.document for one in files.folder_documents(tmp_path)]
    with pytest.raises(FileError, match="No such file or directory"):
        files.folder_documents(tmp_path / "none")


def test_package_data_of_other_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package's folder may hold other files too; only documents are read."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "podrail_test_data").mkdir()
    for name in ("__init__.py", "b.yaml", "a.json", "README"):
        (tmp_path / "podrail_test_data" / name).write_text("")
    (tmp_path / "podrail_test_data" / "b.yaml").write_text("b: 1")
    expected = [Placed("b.yaml", {"b": 1})]
    assert expected == list(files.package_documents("podrail_test_data", "."))


def test_package_data() -> None:
    """The shipped profiles are found through the package, wherever it is installed."""
    found = list(files.package_documents("podrail", "data/profiles"))
    assert found
    assert {"FabricProfile"} == {one.document["kind"] for one in found}
    assert [one.place for one in found] == sorted(one.place for one in found)


def test_a_folder_of_the_users_comes_after_the_packages(tmp_path: Path) -> None:
    """So that the user's documents win where a later one does."""
    (tmp_path / "a.yaml").write_text("a: 1")
    shipped = list(files.package_documents("podrail", "data/shapes"))
    assert shipped == files.with_own("podrail", "data/shapes", None)
    own = files.with_own("podrail", "data/shapes", tmp_path)
    assert (shipped, [{"a": 1}]) == (own[:-1], [one.document for one in own[-1:]])


def test_the_signature_tells_of_a_swapped_link(tmp_path: Path) -> None:
    """A ConfigMap volume changes by one link swap: same names, times and sizes, other inodes."""
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
        file = tmp_path / version / "p.yaml"
        file.write_text(f"a: {version}")
        os.utime(file, (1, 1))
    link = tmp_path / "current"
    link.symlink_to("v1")
    before = files.signature([link])
    assert before == files.signature([link])
    link.unlink()
    link.symlink_to("v2")
    assert before != files.signature([link])
