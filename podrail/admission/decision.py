"""The whole answer to an AdmissionReview: bytes in, bytes out, and what to count.

Whose fault decides the answer (design §5): a body without a usable uid is a RequestError; the
user's mistake in the pod is refused with a message to act on; a fault of our own lets the pod
through without a patch and without a marker, so that the shipped policy decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from podrail import names, pod
from podrail.admission import demand, injection, patch, review
from podrail.admission.injection import Injection
from podrail.admission.review import Review
from podrail.admission.vicinity import Vicinity
from podrail.errors import PodError
from podrail.fabric import Mode, Profile
from podrail.gang import job
from podrail.marker import Injected, Reason
from podrail.pod import Pod

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
    """The AdmissionReview to send, the verdict, and the code of its reason if there is one.

    Where the pod got a marker, that and how many operations the patch has.
    """

    body: bytes
    verdict: Verdict
    code: str = ""
    marker: Injected | None = None
    operations: int = 0


@dataclass(frozen=True, slots=True)
class Untouched:
    """A pod that podrail leaves as it is, without a marker, and what its author should read."""

    verdict: Verdict
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Directory:
    """What admission looks up; nothing here calls anybody (design §5)."""

    profiles: Mapping[str, Profile]
    namespace_labels: Callable[[str], Labels | None] = lambda _namespace: {}
    """The labels of a namespace; None if it has not been seen."""
    generation: Callable[[str, str], int | None] = lambda _profile, _job: None
    """The generation of a profile that the living pods of a job have; None if it has none."""
    earlier: Callable[[str, int], Profile | None] = lambda _profile, _generation: None
    """A profile as it was in a generation, if that is remembered."""
    vicinity: Callable[[str, Labels], Vicinity] = lambda _namespace, labels: Vicinity(labels)
    """The surroundings of the pods of a namespace with these labels."""


def answer(request: Review, directory: Directory) -> Answer:
    """The answer to one request; never raises for what a pod says."""
    if request.resource != "pods" or request.operation != "CREATE":
        return Answer(review.allow(request.uid, ()), Verdict.NOT_OPTED_IN)
    try:
        result = decide(pod.read(request.object, request.namespace), directory)
    except PodError as error:
        message = f"podrail: {error}"
        return Answer(review.deny(request.uid, message), Verdict.DENIED, error.code)
    if isinstance(result, Untouched):
        warnings = (f"podrail: {result.warning}",) if result.warning else ()
        return Answer(review.allow(request.uid, warnings), result.verdict)
    return _patched(request, result)


def failed(uid: str) -> Answer:
    """The answer when podrail itself is at fault: the pod passes unchanged, with a warning."""
    warning = "podrail: an internal error left this pod without its rails; see the webhook's log"
    return Answer(review.allow(uid, (warning,)), Verdict.FAILED)


def decide(
    found: Pod, directory: Directory, stand_in: Profile | None = None
) -> Injection | Untouched:
    """What becomes of a new pod; the webhook and the command both ask here.

    stand_in is the profile of a pod whatever its labels name, unless it has opted out.

    Raises:
        PodError: what the user asks for cannot be given.
    """
    own = found.labels.get(names.FABRIC)
    if own == names.OPT_OUT:
        return Untouched(Verdict.NOT_OPTED_IN)
    labels = directory.namespace_labels(found.namespace)
    if stand_in is not None:
        return injection.inject(found, stand_in, directory.vicinity(found.namespace, labels or {}))
    if own is None and labels is None:
        warning = f"NamespaceNotSeen: namespace {found.namespace} is not known here yet"
        return Untouched(Verdict.NAMESPACE_NOT_SEEN, warning)
    name = (labels or {}).get(names.FABRIC, names.OPT_OUT) if own is None else own
    if name == names.OPT_OUT:
        return Untouched(Verdict.NOT_OPTED_IN)
    return _with_profile(found, name, labels or {}, directory)


def _with_profile(found: Pod, name: str, labels: Labels, directory: Directory) -> Injection:
    """The pod under the profile of that name; labels are its namespace's."""
    holder = "metadata" if names.FABRIC in found.labels else "namespace"
    where = f"{holder}.labels['{names.FABRIC}']"
    profile = directory.profiles.get(name)
    if profile is None:
        return _unknown(found, directory, name=name, where=where)
    if not profile.namespaces.matches(labels):
        message = f"the namespaceSelector of profile {name} excludes {found.namespace}"
        raise PodError("ProfileNotForNamespace", where, message)
    kept, changed = _of_the_job(found, profile, directory)
    result = injection.inject(found, kept, directory.vicinity(found.namespace, labels))
    return replace(result, warnings=(*result.warnings, *changed))


def _of_the_job(
    found: Pod, profile: Profile, directory: Directory
) -> tuple[Profile, tuple[str, ...]]:
    """The profile in the generation that the job began with, while a pod of the job lives."""
    key = job.of(found.document, found.namespace).key
    generation = directory.generation(profile.name, key)
    # The off switch is for every pod.
    if generation in {None, profile.generation} or profile.mode is Mode.SUSPENDED:
        return profile, ()
    earlier = directory.earlier(profile.name, generation or 0)
    if earlier is not None:
        return earlier, ()
    warning = (
        f"podrail: ProfileChangedMidJob: pods of this job run with generation {generation} of "
        f"{profile.name}, this one gets {profile.generation}: recreate the job if ranks disagree"
    )
    return profile, (warning,)


def _unknown(found: Pod, directory: Directory, *, name: str, where: str) -> Injection:
    """Refused, unless the label is the namespace's and the pod has no use for rails."""
    message = (
        f"there is no fabric profile {name!r}; there are {', '.join(sorted(directory.profiles))}"
    )
    gpus = {"nvidia.com/gpu", "amd.com/gpu"}
    gpus.update(*(profile.gpu_resources for profile in directory.profiles.values()))
    if names.FABRIC in found.labels or demand.asks_for(found, gpus):
        raise PodError("UnknownProfile", where, message)
    return injection.skipped(found, Injected(name, 0), Reason("UnknownProfile", where, message))


def _patched(request: Review, result: Injection) -> Answer:
    operations = patch.diff(request.object, result.pod.document)
    if not patch.proven(operations, request.object, result.pod.document):
        return failed(request.uid)
    verdict = Verdict.INJECTED if result.marker.injected else Verdict.SKIPPED
    body = review.allow(request.uid, result.warnings, operations)
    return Answer(body, verdict, result.marker.reason, result.marker, len(operations))
