"""The laws of injection (design §5), over random pods and every shipped profile."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import builders
import jsonpatch
import pytest
import strategies
from hypothesis import given, settings

from podrail import injection, names, networks, patch, pod

PROFILES = sorted(builders.shipped())
EXAMPLES = settings(max_examples=25, deadline=None)
every_profile = pytest.mark.parametrize("profile", PROFILES)


def injected(document: dict[str, Any], profile: str) -> dict[str, Any]:
    """The document after injection, as JSON would carry it."""
    found = pod.read(copy.deepcopy(document), "team")
    result = injection.inject(found, builders.shipped()[profile])
    after: dict[str, Any] = json.loads(json.dumps(result.pod.document))
    return after


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_a_second_pass_changes_nothing(profile: str, document: dict[str, Any]) -> None:
    """inject(inject(p)) == inject(p)."""
    once = injected(document, profile)
    assert once == injected(once, profile)


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_the_patch_turns_the_pod_into_the_injected_pod(
    profile: str, document: dict[str, Any]
) -> None:
    """The operations are valid for the library and lead exactly to the injected pod."""
    before = copy.deepcopy(document)
    result = injection.inject(pod.read(document, "team"), builders.shipped()[profile])
    operations = patch.diff(document, result.pod.document)
    assert before == document
    assert result.pod.document == jsonpatch.JsonPatch(operations).apply(document)
    assert patch.proven(operations, document, result.pod.document)


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_the_patch_stays_inside_containers_and_known_places(
    profile: str, document: dict[str, Any]
) -> None:
    """Only add, replace and remove; never a list of containers, the spec or the metadata as a whole."""
    result = injection.inject(pod.read(document, "team"), builders.shipped()[profile])
    for operation in patch.diff(document, result.pod.document):
        assert operation["op"] in {"add", "replace", "remove"}
        assert operation["path"] not in {
            "",
            "/spec",
            "/metadata",
            "/spec/containers",
            "/spec/volumes/0",
        }
        assert "initContainers" not in operation["path"]


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_nothing_of_the_users_is_lost(profile: str, document: dict[str, Any]) -> None:
    """What the user wrote stands in the injected pod, in its order, with its value."""
    after = injected(document, profile)
    assert document["x-new-field"] == after["x-new-field"]
    _same_but_more(document["spec"], after["spec"], "spec")
    before = document["metadata"].get("annotations") or {}
    users = {key: value for key, value in before.items() if key != names.NETWORKS}
    assert users.items() <= after["metadata"]["annotations"].items()


def _same_but_more(before: Any, after: Any, path: str) -> None:
    if isinstance(before, dict):
        for key, value in before.items():
            _same_but_more(value, after[key], f"{path}.{key}")
    elif isinstance(before, list):
        for index, value in enumerate(before):
            _same_but_more(value, after[index], f"{path}[{index}]")
    elif ".limits." in path or ".requests." in path:
        assert int(before) <= int(after), path
    else:
        assert before == after, path


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_the_users_networks_stand_first_and_unchanged(
    profile: str, document: dict[str, Any]
) -> None:
    """Every element of the user's keeps its place, its spelling and its duplicates."""
    text = (document["metadata"].get("annotations") or {}).get(names.NETWORKS, "")
    before = networks.parse(text)
    after = networks.parse(
        injected(document, profile)["metadata"]["annotations"].get(names.NETWORKS, "")
    )
    for index, element in enumerate(before.elements):
        assert (element.name, element.namespace, element.interface, element.raw) == (
            after.elements[index].name,
            after.elements[index].namespace,
            after.elements[index].interface,
            after.elements[index].raw,
        )
    if after.is_json == before.is_json and text.strip():
        assert after.text.startswith(text.rstrip(" \t\n\r]"))


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_interface_names_of_ours_clash_with_nothing(profile: str, document: dict[str, Any]) -> None:
    """An interface that we name is named once, is no net<N>, and fits the kernel."""
    after = injected(document, profile)
    marker = json.loads(after["metadata"]["annotations"][names.INJECTED])
    found = networks.parse(after["metadata"]["annotations"].get(names.NETWORKS, ""))
    before = (document["metadata"].get("annotations") or {}).get(names.NETWORKS, "")
    users = len(networks.parse(before).elements)
    counts = Counter(element.interface for element in found.elements)
    for ours in (one for one in marker["networks"] if one["index"] >= users):
        assert counts[ours["interface"]] == 1
        assert not ours["interface"].startswith("net")
        assert len(ours["interface"]) <= 15


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_requests_equal_limits_for_all_we_ask(profile: str, document: dict[str, Any]) -> None:
    """An extended resource of ours has the same integer in requests and limits."""
    after = injected(document, profile)
    marker = json.loads(after["metadata"]["annotations"][names.INJECTED])
    for container in after["spec"]["containers"]:
        limits = container["resources"]["limits"]
        requests = container["resources"].get("requests", {})
        for name in marker["resources"].keys() & requests.keys():
            assert limits[name] == requests[name]


@every_profile
@EXAMPLES
@given(strategies.pods())
def test_nothing_dangerous_is_ever_injected(profile: str, document: dict[str, Any]) -> None:
    """No privilege, no host namespace and no hostPath comes from a profile."""
    after = injected(document, profile)
    assert document["spec"].get("hostNetwork") == after["spec"].get("hostNetwork")
    text = json.dumps(after)
    for word in ("privileged", "hostPID", "hostIPC", "hostPath"):
        assert word not in text


@settings(max_examples=150, deadline=None)
@given(strategies.DOCUMENTS, strategies.DOCUMENTS)
def test_the_diff_of_any_two_documents_turns_one_into_the_other(before: Any, after: Any) -> None:
    """apply(diff(a, b), a) == b for arbitrary documents."""
    operations = patch.diff(before, after)
    result = jsonpatch.JsonPatch(operations).apply(copy.deepcopy(before))
    assert (
        json.dumps(after) == json.dumps(result)
        if not isinstance(after, dict | list)
        else after == result
    )


@settings(max_examples=50, deadline=None)
@given(strategies.DOCUMENTS)
def test_equal_documents_have_no_patch(document: Any) -> None:
    """diff(a, a) is empty, also for equal documents that are not the same object."""
    assert patch.diff(document, copy.deepcopy(document)) == []
