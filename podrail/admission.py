"""The whole answer to an AdmissionReview: bytes in, bytes out, and what to count.

Whose fault decides the answer (design §5): a body without a usable uid is a RequestError; the
user's mistake in the pod is refused with a message to act on; a fault of our own lets the pod
through without a patch and without a marker, so that the shipped policy decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from podrail import demand, injection, names, patch, pod, review
from podrail.errors import PodError
from podrail.fabric import Profile
from podrail.marker import Injected, Reason
from podrail.pod import Pod
from podrail.review import Review

Labels = Mapping[str, str]


class Verdict(StrEnum):
    """What became of a request; the values are metric labels."""

    INJECTED = "injected"
    SKIPPED = "skipped"
    DENIED = "denied"
    NOT_OPTED_IN = "not_opted_in"
    NAMESPACE_NOT_SEEN = "namespace_not_seen"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """The AdmissionReview to send, the verdict, and the code of its reason if there is one."""

    body: bytes
    verdict: Verdict
    code: str = ""


@dataclass(frozen=True, slots=True)
class Directory:
    """What admission looks up: profiles by name, and the labels of a namespace (None: not seen)."""

    profiles: Mapping[str, Profile]
    namespace_labels: Callable[[str], Labels | None]


def answer(request: Review, directory: Directory) -> Answer:
    """The answer to one request; never raises for what a pod says."""
    if request.resource != "pods" or request.operation != "CREATE":
        return Answer(review.allow(request.uid, ()), Verdict.NOT_OPTED_IN)
    try:
        found = pod.read(request.object, request.namespace)
        return _answer(request, found, directory)
    except PodError as error:
        message = f"podrail: {error}"
        return Answer(review.deny(request.uid, message), Verdict.DENIED, error.code)


def failed(uid: str) -> Answer:
    """The answer when podrail itself is at fault: the pod passes unchanged, with a warning."""
    warning = "podrail: an internal error left this pod without its rails; see the webhook's log"
    return Answer(review.allow(uid, (warning,)), Verdict.FAILED)


def _answer(request: Review, found: Pod, directory: Directory) -> Answer:
    own = found.labels.get(names.FABRIC)
    if own == names.OPT_OUT:
        return Answer(review.allow(request.uid, ()), Verdict.NOT_OPTED_IN)
    labels = directory.namespace_labels(request.namespace)
    if own is None and labels is None:
        warning = f"podrail: NamespaceNotSeen: namespace {request.namespace} is not known here yet"
        return Answer(review.allow(request.uid, (warning,)), Verdict.NAMESPACE_NOT_SEEN)
    name = (labels or {}).get(names.FABRIC, names.OPT_OUT) if own is None else own
    if name == names.OPT_OUT:
        return Answer(review.allow(request.uid, ()), Verdict.NOT_OPTED_IN)
    where = f"{'namespace' if own is None else 'metadata'}.labels['{names.FABRIC}']"
    profile = directory.profiles.get(name)
    if profile is None:
        return _unknown(request, found, directory, name=name, where=where)
    if not profile.namespaces.matches(labels or {}):
        message = f"the namespaceSelector of profile {name} excludes {request.namespace}"
        raise PodError("ProfileNotForNamespace", where, message)
    return _patched(request, injection.inject(found, profile))


def _unknown(request: Review, found: Pod, directory: Directory, *, name: str, where: str) -> Answer:
    """Refused, unless the label is the namespace's and the pod has no use for rails."""
    message = (
        f"there is no fabric profile {name!r}; there are {', '.join(sorted(directory.profiles))}"
    )
    gpus = {"nvidia.com/gpu", "amd.com/gpu"}
    gpus.update(*(profile.gpu_resources for profile in directory.profiles.values()))
    if names.FABRIC in found.labels or demand.asks_for(found, gpus):
        raise PodError("UnknownProfile", where, message)
    reason = Reason("UnknownProfile", where, message)
    return _patched(request, injection.skipped(found, Injected(name, 0), reason))


def _patched(request: Review, result: injection.Injection) -> Answer:
    operations = patch.diff(request.object, result.pod.document)
    if not patch.proven(operations, request.object, result.pod.document):
        return failed(request.uid)
    verdict = Verdict.INJECTED if result.marker.injected else Verdict.SKIPPED
    body = review.allow(request.uid, result.warnings, operations)
    return Answer(body, verdict, result.marker.reason)
