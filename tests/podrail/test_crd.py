"""The definition of FabricProfile: described, bounded, in RE2, and the one in deploy/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import generated
import pytest
from generated import ROOT

from podrail import crd, schema

WHOLE: dict[str, Any] = crd.fabric_profiles()
SCHEMA: dict[str, Any] = WHOLE["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
OWN = {name: SCHEMA["properties"][name] for name in ("spec", "status")}


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


def test_every_field_has_a_sentence_and_every_sentence_a_field() -> None:
    """`kubectl explain` has something to say of each; none is left over."""
    assert sorted(schema.paths({"properties": OWN})) == sorted(crd.SENTENCES)
    assert all(text.endswith(".") for text in crd.SENTENCES.values())


def test_rules_and_defaults_are_of_fields_that_exist() -> None:
    """A path that is wrong would add nothing, silently."""
    known = set(schema.paths({"properties": OWN}))
    named = {path.removesuffix("[]") for path in (*crd.RULES, *crd.DEFAULTS)} - {""}
    assert set() == named - known


def test_everything_is_bounded() -> None:
    """CEL's cost is counted by the bounds; without one a rule is refused."""
    bounds = {"array": "maxItems", "string": "maxLength"}
    for part in (one for own in OWN.values() for one in nodes(own)):
        kind = part.get("type")
        if kind in bounds and not {"enum", "format"} & part.keys():
            assert bounds[kind] in part, part
        if "additionalProperties" in part or "x-kubernetes-preserve-unknown-fields" in part:
            assert "maxProperties" in part, part
        if kind == "integer":
            assert "minimum" in part, part


def test_patterns_are_of_the_kind_that_go_knows() -> None:
    """RE2 has no look-around and no back-references (facts: the API server refuses them)."""
    patterns = [one["pattern"] for one in nodes(SCHEMA) if "pattern" in one]
    assert patterns
    assert [] == [one for one in patterns if re.search(r"\(\?[^:]|\\[1-9]", one)]


def test_every_rule_says_what_was_expected() -> None:
    """A message of CEL's own would repeat the expression."""
    rules = [rule for one in nodes(SCHEMA) for rule in one.get("x-kubernetes-validations", ())]
    assert all(rule["message"].startswith("expected ") for rule in rules)
    assert 12 < len(rules)
