"""The definitions of our kinds: described, bounded, in RE2, and those in deploy/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import generated
import pytest
from generated import ROOT

from podrail import profile, schema
from podrail.crd import definition, fabric_profile, node_rails
from podrail.evidence import noderails
from podrail.names import GROUP


@dataclass(frozen=True)
class Described:
    """A definition, and what is added to its recorded schema."""

    whole: dict[str, Any]
    sentences: Any
    added: tuple[Any, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the only version."""
        found: dict[str, Any] = self.whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        return found

    @property
    def own(self) -> dict[str, Any]:
        """What is not the API server's."""
        return {name: self.schema["properties"][name] for name in ("spec", "status")}


KINDS = {
    "FabricProfile": Described(
        fabric_profile.fabric_profiles(),
        fabric_profile.SENTENCES,
        (fabric_profile.RULES, fabric_profile.DEFAULTS),
    ),
    "NodeRails": Described(
        node_rails.node_rails(), node_rails.SENTENCES, (node_rails.RULES, node_rails.FORMS)
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Described:
    """Each kind of ours."""
    return KINDS[request.param]


def nodes(part: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema."""
    yield part
    for inner in (*part.get("properties", {}).values(), part.get("items"), part.get("additionalProperties")):  # fmt: skip
        if inner is not None:
            yield from nodes(inner)


@pytest.mark.parametrize("name", generated.DOCUMENTS)
def test_what_is_made_from_the_code_is_up_to_date(name: str) -> None:
    """`make generate` writes it."""
    assert (ROOT / name).read_text() == generated.text(generated.DOCUMENTS[name])


def test_all_kinds_are_of_one_version() -> None:
    """The one that their readers take."""
    version = f"{GROUP}/{definition.VERSION}"
    assert {version} == {profile.API_VERSION, noderails.API_VERSION}


def test_every_field_has_a_sentence_and_every_sentence_a_field(kind: Described) -> None:
    """`kubectl explain` has something to say of each; none is left over."""
    assert sorted(schema.paths({"properties": kind.own})) == sorted(kind.sentences)
    assert all(text.endswith(".") for text in kind.sentences.values())


def test_rules_and_defaults_are_of_fields_that_exist(kind: Described) -> None:
    """A path that is wrong would add nothing, silently."""
    known = set(schema.paths({"properties": kind.own}))
    named = {path.removesuffix("[]") for more in kind.added for path in more} - {""}
    assert set() == named - known


def test_everything_is_bounded(kind: Described) -> None:
    """CEL's cost is counted by the bounds; without one a rule is refused."""
    bounds = {"array": "maxItems", "string": "maxLength"}
    for part in (one for own in kind.own.values() for one in nodes(own)):
        form = part.get("type")
        if form in bounds and not {"enum", "format"} & part.keys():
            assert bounds[form] in part, part
        if "additionalProperties" in part or "x-kubernetes-preserve-unknown-fields" in part:
            assert "maxProperties" in part, part
        if form == "integer":
            assert "minimum" in part, part


def test_patterns_are_of_the_kind_that_go_knows(kind: Described) -> None:
    """RE2 has no look-around and no back-references (facts: the API server refuses them)."""
    patterns = [one["pattern"] for one in nodes(kind.schema) if "pattern" in one]
    assert patterns
    assert [] == [one for one in patterns if re.search(r"\(\?[^:]|\\[1-9]", one)]


def test_every_rule_says_what_was_expected(kind: Described) -> None:
    """A message of CEL's own would repeat the expression."""
    rules = [rule for one in nodes(kind.schema) for rule in one.get("x-kubernetes-validations", ())]
    assert all(rule["message"].startswith("expected ") for rule in rules)
    assert 7 < len(rules)


def test_a_listing_tells_the_nodes_devices() -> None:
    """Columns are of fields that exist; a column cannot count, so the counts are fields."""
    columns = node_rails.node_rails()["spec"]["versions"][0]["additionalPrinterColumns"]
    assert ["GPUs", "Rails", "Policy", "GPUDirect", "Age"] == [one["name"] for one in columns]
    own = set(schema.paths({"properties": KINDS["NodeRails"].own}))
    assert own >= {one["jsonPath"][1:] for one in columns[:-1]}
