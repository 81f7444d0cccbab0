"""The rule for what else a pod of the fabric needs, each only where the pod says nothing itself."""

from collections.abc import Mapping
from typing import Any, Final

from podrail import quantity
from podrail.admission import volume as volumes
from podrail.admission.draft import Draft

SHM_VOLUME: Final = "podrail-shm"
_SHM: Final = "/dev/shm"  # noqa: S108 - a mount path in the pod, not a file of ours


def grant(draft: Draft) -> Draft:
    """The pod with the profile's scheduler, node selector, shared memory and capability."""
    for rule in (_scheduler, _selector, _dns, _shared_memory, _lock_memory):
        draft = rule(draft)
    return draft


def _scheduler(draft: Draft) -> Draft:
    name = draft.profile.extras.scheduler_name
    given = draft.pod.spec.get("schedulerName") or "default-scheduler"
    if not name or given == name:
        return draft
    if given != "default-scheduler":
        message = f"scheduler {given} is the pod's own choice: podrail does not place it"
        return draft.keeping("schedulerName").noting(
            "OtherScheduler", "spec.schedulerName", message
        )
    return draft.to(draft.pod.put(("spec", "schedulerName"), name))


def _selector(draft: Draft) -> Draft:
    given = draft.pod.spec.get("nodeSelector") or {}
    for key, value in draft.profile.extras.node_selector.items():
        if key not in given:
            draft = draft.to(draft.pod.put(("spec", "nodeSelector", key), value))
        elif given[key] != value:
            draft = draft.keeping(f"nodeSelector/{key}")
    return draft


def _dns(draft: Draft) -> Draft:
    policy = draft.profile.extras.dns_policy
    # ClusterFirst is also the default, and on the host's network it silently means Default.
    if not policy or not draft.pod.spec.get("hostNetwork"):
        return draft
    if draft.pod.spec.get("dnsPolicy") in {None, "ClusterFirst"} and policy != "ClusterFirst":
        return draft.to(draft.pod.put(("spec", "dnsPolicy"), policy))
    return draft


def _shared_memory(draft: Draft) -> Draft:
    size = draft.profile.extras.shm_size
    container = draft.container
    mounts = container.get("volumeMounts") or ()
    if not size:
        return draft
    source = _memory(draft, size)
    name = volumes.name_for(draft, SHM_VOLUME, source)
    there = [mount for mount in mounts if str(mount.get("mountPath")).rstrip("/") == _SHM]
    if there:
        ours = any(mount.get("name") == name for mount in there)
        return draft if ours else draft.keeping(f"volumeMounts{_SHM}")
    draft = volumes.added(draft, name, source)
    return draft.put("volumeMounts", [*mounts, {"name": name, "mountPath": _SHM}])


def _memory(draft: Draft, size: str) -> Mapping[str, Any]:
    """The volume's source, spelled as in the pod if it says the same there."""
    source = {"emptyDir": {"medium": "Memory", "sizeLimit": size}}
    for volume in draft.pod.spec.get("volumes") or ():
        given = volume.get("emptyDir") or {}
        ours = volume.get("name") == SHM_VOLUME and given.get("medium") == "Memory"
        if ours and quantity.same(given.get("sizeLimit"), size):
            return {"emptyDir": given}
    return source


def _lock_memory(draft: Draft) -> Draft:
    if not draft.profile.extras.ipc_lock:
        return draft
    context = draft.container.get("securityContext") or {}
    standard = draft.vicinity.standard
    if standard:
        message = f"IPC_LOCK is left out: the namespace enforces {standard}; raise memlock instead"
        return draft.noting("IpcLockForbidden", f"{draft.path}.securityContext", message)
    capabilities = context.get("capabilities") or {}
    added = capabilities.get("add") or []
    if not context.get("privileged") and "IPC_LOCK" not in added and "ALL" not in added:
        capabilities = {**capabilities, "add": [*added, "IPC_LOCK"]}
        draft = draft.put("securityContext", {**context, "capabilities": capabilities})
    user = context.get("runAsUser", (draft.pod.spec.get("securityContext") or {}).get("runAsUser"))
    if user:
        message = "IPC_LOCK does nothing for a user other than root: raise memlock on the node"
        return draft.noting("IpcLockInert", f"{draft.path}.securityContext", message)
    return draft
