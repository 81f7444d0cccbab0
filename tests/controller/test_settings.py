"""The controller's settings."""

import pytest

from controller.settings import Settings
from podrail.multus.nad import Isolation
from podrail_io.environ import SettingsError


def test_without_variables_it_runs_in_a_cluster() -> None:
    """The service account, podrail's own namespace, Multus without isolation."""
    found = Settings.from_environ({})
    assert ("0.0.0.0", 8080, 1) == (found.serving.host, found.serving.port, found.serving.workers)
    assert ("podrail-system", "", None) == (found.namespace, found.identity, found.kubeconfig)
    assert Isolation(enforced=False, open_to_all=frozenset({"default"})) == found.isolation


def test_multus_isolation_is_as_multus_has_it() -> None:
    """The flag and the namespaces that stay open."""
    found = Settings.from_environ(
        {"PODRAIL_NAMESPACE_ISOLATION": "true", "PODRAIL_GLOBAL_NAMESPACES": "default,rails"}
    )
    assert Isolation(enforced=True, open_to_all=frozenset({"default", "rails"})) == found.isolation


def test_schedulers_that_ask_the_extender_are_named() -> None:
    """The second one of deploy/ unless it is said otherwise."""
    assert frozenset({"podrail"}) == Settings.from_environ({}).schedulers
    found = Settings.from_environ({"PODRAIL_SCHEDULERS": "default-scheduler, own,"})
    assert frozenset({"default-scheduler", "own"}) == found.schedulers
    assert frozenset() == Settings.from_environ({"PODRAIL_SCHEDULERS": "none"}).schedulers
    assert 900 == found.stale_seconds


def test_the_page_is_served_only_where_it_is_said() -> None:
    """And the webhook is looked for in podrail's own namespace."""
    bare = Settings.from_environ({"PODRAIL_NAMESPACE": "rails"})
    assert (None, None) == (bare.page, bare.shapes)
    assert ("podrail-webhook.rails.svc", 443) == bare.webhook
    found = Settings.from_environ({"PODRAIL_PAGE": "[::1]:8081", "PODRAIL_PAGE_WEBHOOK": "a:1"})
    assert (("::1", 8081), ("a", 1)) == (found.page, found.webhook)


def test_every_wrong_variable_is_told() -> None:
    """By name, all at once."""
    wrong = {"PODRAIL_LISTEN": "x", "PODRAIL_NAMESPACE_ISOLATION": "yes"}
    with pytest.raises(SettingsError) as caught:
        Settings.from_environ(wrong)
    assert 2 == len(caught.value.problems)
