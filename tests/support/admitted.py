"""Workloads as users write them, sent to admission pod by pod, and the pods that come back."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import builders
import checkout
import jsonpatch
import yaml

from podrail import marker, names, profile, workload
from podrail.admission import decision, review
from podrail.admission.decision import Directory
from podrail.fabric import Profile
from podrail.marker import Injected
from podrail_io import files

NAMESPACE = "default"
"""Where the platforms' own guides have their networks."""


@dataclass(frozen=True)
class Admitted:
    """A pod template before and after; place says where it stands in its file."""

    place: str
    before: Mapping[str, Any]
    pod: Mapping[str, Any]
    warnings: tuple[str, ...]

    @property
    def marker(self) -> Injected | None:
        """The admission marker, if there is one that can be read."""
        return marker.injected(said(self.pod).get(names.INJECTED))

    @property
    def outcome(self) -> str:
        """What became of the pod: injected, the reason to skip it, or untouched."""
        found = self.marker
        if found is None:
            return "untouched"
        return "injected" if found.injected else found.reason

    def document(self) -> dict[str, Any]:
        """The pod as a golden file has it."""
        kept = {"template": self.place, "outcome": self.outcome, "warnings": list(self.warnings)}
        return {**kept, "pod": self.pod}


@cache
def profiles() -> Mapping[str, Profile]:
    """The shipped profiles and those of the examples."""
    folder = checkout.ROOT / "examples" / "profiles"
    own = [profile.read(one.document) for one in files.folder_documents(folder)]
    return {**builders.shipped(), **{one.name: one for one in own}}


def admit(pod: Mapping[str, Any], place: str = "") -> Admitted:
    """What the webhook makes of one pod, its patch applied by a library that is not ours."""
    body = builders.review(pod, NAMESPACE)
    found = decision.answer(review.read(body), Directory(profiles(), lambda _namespace: {}))
    warnings = json.loads(found.body)["response"].get("warnings", ())
    return Admitted(place, pod, patched(pod, found.body), tuple(warnings))


def patched(pod: Mapping[str, Any], answer: bytes) -> Any:
    """The pod after the patch in an answer that allows it."""
    response = json.loads(answer)["response"]
    assert response["allowed"], response
    operations = json.loads(base64.b64decode(response.get("patch", "W10=")))
    return jsonpatch.JsonPatch(operations).apply(pod)


@cache
def workloads(path: Path) -> tuple[Admitted, ...]:
    """Every pod template of a file, admitted."""
    return tuple(
        admit(_json(template.pod), f"{_name(one.document)} {template.dotted}".rstrip())
        for one in files.file_documents(path)
        for template in workload.templates(one.document, NAMESPACE)
    )


def _name(whole: Mapping[str, Any]) -> str:
    return f"{whole['kind']}/{whole['metadata']['name']}"


def _json(pod: Mapping[str, Any]) -> Any:
    # Templates share anchors of their file; the API server has sent each pod on its own.
    return json.loads(json.dumps(pod))


def said(pod: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of a pod."""
    return (pod.get("metadata") or {}).get("annotations") or {}


def limits(pod: Mapping[str, Any]) -> Mapping[str, str]:
    """The limits of all containers of a pod together; no resource is asked for twice."""
    found: dict[str, str] = {}
    for container in pod["spec"]["containers"]:
        given = (container.get("resources") or {}).get("limits") or {}
        found |= {name: str(value) for name, value in given.items()}
    return found


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, as people write them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _text)


def golden(pods: Sequence[Admitted]) -> str:
    """The text of a golden file."""
    made = [one.document() for one in pods]
    text: str = yaml.dump_all(made, Dumper=_Dumper, sort_keys=False, width=98)
    return text
