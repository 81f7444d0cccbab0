"""AdmissionReview v1 in, AdmissionReview v1 out.

k8s.io/api v0.36 admission/v1; k8s.io/apiserver v0.36 VerifyAdmissionResponse: the same uid, patch
and patchType both or neither, and no patch where nothing changes.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import document
from podrail.errors import RequestError
from podrail.reading import shown

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
_UID: Final = 128
WARNING: Final = 256
"""The API server may cut a longer warning."""
_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class Review:
    """One request of the API server."""

    uid: str
    namespace: str
    resource: str
    operation: str
    object: Any
    name: str = ""
    """The pod's, or what its name is to begin with: a generated one is not known yet."""


def read(body: bytes) -> Review:
    """The request in an AdmissionReview.

    Raises:
        RequestError: nothing in the body that could be answered: the uid is missing.
    """
    top = document.read(body)
    if not isinstance(top, dict) or top.get("apiVersion") != API_VERSION or top.get("kind") != KIND:
        raise RequestError(f"expected a {KIND} of {API_VERSION}")
    request = top.get("request")
    if not isinstance(request, dict):
        raise RequestError(f"request: expected an object, got {shown(request)}")
    uid = request.get("uid")
    if not isinstance(uid, str) or not 0 < len(uid) <= _UID or not uid.isprintable():
        raise RequestError(f"request.uid: expected 1-{_UID} characters, got {shown(uid)}")
    resource, pod = request.get("resource"), request.get("object")
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    generated = metadata.get("generateName") if isinstance(metadata, dict) else None
    return Review(
        uid=uid,
        namespace=_text(request.get("namespace")),
        resource=_text(resource.get("resource")) if isinstance(resource, dict) else "",
        operation=_text(request.get("operation")),
        object=pod,
        name=_text(request.get("name")) or _text(generated),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def allow(uid: str, warnings: Sequence[str], operations: Sequence[Mapping[str, Any]] = ()) -> bytes:
    """The answer that lets the pod through, with a patch if there are operations."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if operations:
        patch = json.dumps(operations, separators=(",", ":")).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return _answer(response, warnings)


def deny(uid: str, message: str, warnings: Sequence[str] = ()) -> bytes:
    """The answer that refuses the pod; kubectl prints the message."""
    status = {"code": 422, "reason": "Invalid", "message": message[:_MESSAGE]}
    return _answer({"uid": uid, "allowed": False, "status": status}, warnings)


def _answer(response: dict[str, Any], warnings: Sequence[str]) -> bytes:
    if warnings:
        response["warnings"] = [_short(warning) for warning in warnings]
    review = {"apiVersion": API_VERSION, "kind": KIND, "response": response}
    return json.dumps(review, separators=(",", ":")).encode()


def _short(warning: str) -> str:
    return warning if len(warning) <= WARNING else warning[: WARNING - 3] + "..."
