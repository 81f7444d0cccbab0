"""`podrail inject`: what the webhook makes of the pods in a file, by the webhook's own rules."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from podrail import document, names, pod, workload
from podrail.admission import decision, patch
from podrail.admission.decision import Directory, Untouched
from podrail.errors import PodError
from podrail.fabric import Profile
from podrail.workload import Template
from podrail_cli import output


@dataclass(frozen=True, slots=True)
class Entry:
    """One pod template, before and after."""

    template: Template
    injected: bool
    denied: bool
    warnings: Sequence[str]
    patch: Sequence[Mapping[str, Any]]
    pod: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """The entry as `-o json` prints it."""
        return {
            "path": self.template.dotted,
            "injected": self.injected,
            "warnings": list(self.warnings),
            "patch": list(self.patch),
            "original": self.template.pod,
            "pod": self.pod,
        }


def templates(whole: Any, namespace: str) -> list[Template]:
    """Every pod template of a document, which may also be the output of `-o json`: its pods."""
    if not isinstance(whole, dict) or "kind" in whole or not isinstance(whole.get("pods"), list):
        return workload.templates(whole, namespace)
    return [
        replace(template, path=("pods", index, "pod", *template.path))
        for index, entry in enumerate(whole["pods"])
        if isinstance(entry, dict)
        for template in workload.templates(entry.get("pod"), namespace)
    ]


def entry(template: Template, profiles: Mapping[str, Profile], stand_in: Profile | None) -> Entry:
    """What becomes of one template; stand_in is the profile for pods without an opt-in label."""
    before = template.pod
    untouched = Entry(template, injected=False, denied=False, warnings=(), patch=(), pod=before)
    try:
        found = pod.read(before, template.namespace)
        result = decision.decide(found, Directory(profiles), stand_in)
    except PodError as error:
        return replace(untouched, denied=True, warnings=(f"denied: {error}",))
    if isinstance(result, Untouched):
        return replace(untouched, warnings=(_why(found),))
    after = result.pod.document
    return replace(
        untouched,
        injected=result.marker.injected,
        warnings=result.warnings,
        patch=patch.diff(before, after),
        pod=after,
    )


def _why(found: pod.Pod) -> str:
    if found.labels.get(names.FABRIC) == names.OPT_OUT:
        return f"opted out: label {names.FABRIC} is {names.OPT_OUT}"
    return f"not opted in: there is no label {names.FABRIC} on the pod (--profile stands in)"


def applied(whole: Any, entries: Sequence[Entry]) -> Any:
    """The document with every template replaced by what it becomes."""
    for one in entries:
        path = one.template.path
        given = _at(whole, path)
        # A template has no kind of its own unless the document gave it one.
        added = {"apiVersion", "kind"} - given.keys()
        after = {key: value for key, value in one.pod.items() if key not in added}
        whole = document.put(whole, path, after)
    return whole


def _at(whole: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        whole = whole[step]
    return whole


def unified(entry: Entry) -> str:
    """The change of one pod as a unified diff of its YAML."""
    before = output.as_yaml([entry.template.pod]).splitlines(keepends=True)
    after = output.as_yaml([entry.pod]).splitlines(keepends=True)
    name = entry.template.dotted or "pod"
    return "".join(difflib.unified_diff(before, after, f"{name} (yours)", f"{name} (with podrail)"))
