"""Who issued whom, and certificates as text."""

from __future__ import annotations

import issued
import pytest
from issued import NOW

from certs import authority, chain
from certs.authority import Pair

ROOT, OTHER = issued.ca(), issued.ca()
LEAF = issued.leaf(ROOT).certificate


def test_a_text_is_always_in_the_same_order() -> None:
    """Whatever order they come in, and each once; reading gives the same certificates."""
    older, younger = issued.ca(9).certificate, issued.ca(1).certificate
    text = chain.text([older, younger, older])
    assert text == chain.text([younger, older])
    assert (younger, older) == chain.parse(text)


@pytest.mark.parametrize("text", [b"", b" \n"])
def test_an_empty_text_has_none(text: bytes) -> None:
    """And is no error."""
    assert () == chain.parse(text)


@pytest.mark.parametrize("text", [b"x", ROOT.key_pem, b"-----BEGIN CERTIFICATE-----\nx"])
def test_what_is_no_certificate_is_an_error(text: bytes) -> None:
    """A key neither."""
    with pytest.raises(ValueError, match=r".+"):
        chain.parse(text)


def test_a_leaf_leads_to_its_own_ca_only() -> None:
    """Another of the same name is no help."""
    assert chain.leads(LEAF, (), [OTHER.certificate, ROOT.certificate])
    assert not chain.leads(LEAF, (), [OTHER.certificate])
    assert not chain.leads(LEAF, (), [])


def test_a_root_may_be_the_leaf_itself() -> None:
    """As cert-manager's selfSigned issuer has it, and Go accepts it."""
    assert chain.leads(LEAF, (), [LEAF])


def test_what_lies_between_is_walked() -> None:
    """In any order, and a circle ends."""
    middle = sub(ROOT)
    low = sub(middle)
    leaf = issued.leaf(low).certificate
    between = (low.certificate, middle.certificate)
    assert chain.leads(leaf, between, [ROOT.certificate])
    assert chain.leads(leaf, between[::-1], [ROOT.certificate])
    assert not chain.leads(leaf, between[:1], [ROOT.certificate])
    assert not chain.leads(OTHER.certificate, (OTHER.certificate,) * 3, [ROOT.certificate])


def sub(of: Pair) -> Pair:
    """An authority below another; that it may sign is not looked at."""
    return authority.leaf(of, ("a",), NOW, issued.LIFE)


def test_a_certificate_is_current_from_its_first_to_before_its_last_second() -> None:
    """Both as it says itself."""
    first, last = LEAF.not_valid_before_utc, LEAF.not_valid_after_utc
    assert [True, False] == [chain.current(LEAF, one) for one in (first, last)]
