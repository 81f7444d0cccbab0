"""The rule that changes nothing and tells what stands in the way of a pod's rails.

Values of the user's own that NCCL misreads, networks that Multus will not find or serve, policies
that do not see the rails, a mesh in front of NCCL's bootstrap.
"""

from collections.abc import Iterator
from typing import Final

from podrail.admission import mesh, netpolicy
from podrail.admission.draft import Draft
from podrail.fabric import Attachment, Profile
from podrail.marker import Reason
from podrail.multus import lint
from podrail.nccl import misreading

_BY_OTHER_MEANS: Final = frozenset({Attachment.NONE, Attachment.IPOIB, Attachment.EFA})
_INTERFACE: Final = "NCCL_SOCKET_IFNAME"


def advise(draft: Draft) -> Draft:
    """The draft with a reason and a warning for each finding; networks of one fault share one."""
    for reason in _found(draft):
        draft = draft.noting(reason.code, reason.path, reason.message)
    alike: dict[str, list[Reason]] = {}
    for reason in _of_networks(draft):
        draft = draft.noting(reason.code, reason.path, reason.message, warn=False)
        alike.setdefault(reason.code, []).append(reason)
    for first, *others in alike.values():
        more = f" (and {len(others)} more like this)" if others else ""
        draft = draft.warning(f"{first.path}: {first.message}{more}")
    return draft


def _found(draft: Draft) -> Iterator[Reason]:
    pod, profile, vicinity = draft.pod, draft.profile, draft.vicinity
    env = draft.container.get("env") or ()
    for one in misreading.of(env, rdma=_over_rdma(profile)):
        if one.name in draft.marker.env:
            continue  # the profile's own value, found by a second pass
        yield Reason("NcclMisread", f"{draft.path}.env[{one.index}]", one.message)
    yield from netpolicy.warnings(pod, profile, vicinity.policies)
    marks = {**vicinity.annotations, **vicinity.labels}
    yield from mesh.warnings(pod, marks, mesh.interface_of(_bootstrap(profile)))


def _of_networks(draft: Draft) -> tuple[Reason, ...]:
    """What Multus will not do, if it is known and asked at all."""
    pod, vicinity = draft.pod, draft.vicinity
    if vicinity.nads is None or pod.spec.get("hostNetwork") is True:
        return ()
    return lint.warnings(pod, draft.profile, vicinity.nads, vicinity.isolation)


def _over_rdma(profile: Profile) -> bool:
    """True if NCCL's own InfiniBand transport carries this fabric."""
    return profile.attachment not in _BY_OTHER_MEANS and not profile.ib_disabled


def _bootstrap(profile: Profile) -> str:
    """The profile's value for the interfaces over which ranks find each other."""
    return next((one.value for one in profile.settings if one.name == _INTERFACE), "")
