"""The laws of injection (design §5), over random pods and random profiles."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import fuzz
import jsonpatch
import strategies
from hypothesis import given

from podrail import names, pod
from podrail.admission import injection, patch
from podrail.fabric import Profile
from podrail.multus.dialect import SPEECH

# Nine laws of a hundred and ten examples are a thousand.
EXAMPLES = fuzz.examples(110)
PODS = given(strategies.any_fabric(), strategies.pods())


def injected(document: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """The document after injection, as JSON would carry it."""
    found = pod.read(copy.deepcopy(document), "team")
    result = injection.inject(found, profile)
    after: dict[str, Any] = json.loads(json.dumps(result.pod.document))
    return after


@EXAMPLES
@PODS
def test_a_second_pass_changes_nothing(profile: Profile, document: dict[str, Any]) -> None:
    """inject(inject(p)) == inject(p)."""
    once = injected(document, profile)
    assert once == injected(once, profile)


@EXAMPLES
@PODS
def test_the_patch_turns_the_pod_into_the_injected_pod(
    profile: Profile, document: dict[str, Any]
) -> None:
    """The operations are valid for the library and lead exactly to the injected pod."""
    before = copy.deepcopy(document)
    result = injection.inject(pod.read(document, "team"), profile)
    operations = patch.diff(document, result.pod.document)
    assert before == document
    assert result.pod.document == jsonpatch.JsonPatch(operations).apply(document)
    assert patch.proven(operations, document, result.pod.document)


@EXAMPLES
@PODS
def test_the_patch_stays_inside_containers_and_known_places(
    profile: Profile, document: dict[str, Any]
) -> None:
    """Only add, replace and remove; never a list of containers, the spec or the metadata as a whole."""
    result = injection.inject(pod.read(document, "team"), profile)
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


@EXAMPLES
@PODS
def test_nothing_of_the_users_is_lost(profile: Profile, document: dict[str, Any]) -> None:
    """What the user wrote stands in the injected pod, in its order, with its value."""
    after = injected(document, profile)
    assert document["x-new-field"] == after["x-new-field"]
    _same_but_more(document["spec"], after["spec"], "spec")
    before = document["metadata"].get("annotations") or {}
    users = {key: value for key, value in before.items() if key != SPEECH[profile.dialect].key}
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


@EXAMPLES
@PODS
def test_the_users_networks_stand_first_and_unchanged(
    profile: Profile, document: dict[str, Any]
) -> None:
    """Every element of the user's keeps its place, its spelling and its duplicates."""
    speech = SPEECH[profile.dialect]
    annotations = document["metadata"].get("annotations") or {}
    text = annotations.get(speech.key, "")
    before = speech.listed(annotations)
    after = speech.listed(injected(document, profile)["metadata"]["annotations"])
    for index, element in enumerate(before.elements):
        there = after.elements[index]
        assert (element.name, element.namespace, element.interface) == (
            there.name,
            there.namespace,
            there.interface,
        )
        # An element of the short form has none until a neighbour makes the whole list JSON.
        assert element.raw is None or element.raw == there.raw
    if after.text.startswith("[") == text.startswith("[") and text.strip():
        assert after.text.startswith(text.rstrip(" \t\n\r]"))


@EXAMPLES
@PODS
def test_interface_names_of_ours_clash_with_nothing(
    profile: Profile, document: dict[str, Any]
) -> None:
    """An interface that we name is named once, is no net<N>, and fits the kernel."""
    after = injected(document, profile)
    marker = json.loads(after["metadata"]["annotations"][names.INJECTED])
    speech = SPEECH[profile.dialect]
    if not speech.named:
        return
    found = speech.listed(after["metadata"]["annotations"])
    users = len(speech.listed(document["metadata"].get("annotations") or {}).elements)
    counts = Counter(element.interface for element in found.elements)
    for ours in (one for one in marker["networks"] if one["index"] >= users):
        assert counts[ours["interface"]] == 1
        assert not ours["interface"].startswith("net")
        assert len(ours["interface"]) <= 15


@EXAMPLES
@PODS
def test_requests_equal_limits_for_all_we_ask(profile: Profile, document: dict[str, Any]) -> None:
    """An extended resource of ours has the same integer in requests and limits."""
    after = injected(document, profile)
    marker = json.loads(after["metadata"]["annotations"][names.INJECTED])
    for container in after["spec"]["containers"]:
        limits = container["resources"]["limits"]
        requests = container["resources"].get("requests", {})
        for name in {*marker["resources"], "hugepages-2Mi"} & requests.keys():
            assert limits[name] == requests[name]


@EXAMPLES
@PODS
def test_nothing_dangerous_is_ever_injected(profile: Profile, document: dict[str, Any]) -> None:
    """No privilege, no host namespace and no hostPath comes from a profile."""
    after = injected(document, profile)
    assert document["spec"].get("hostNetwork") == after["spec"].get("hostNetwork")
    text = json.dumps(after)
    for word in ("privileged", "hostPID", "hostIPC", "hostPath"):
        assert word not in text


@fuzz.examples(150)
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


@fuzz.examples(50)
@given(strategies.DOCUMENTS)
def test_equal_documents_have_no_patch(document: Any) -> None:
    """diff(a, a) is empty, also for equal documents that are not the same object."""
    assert patch.diff(document, copy.deepcopy(document)) == []
