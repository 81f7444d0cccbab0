"""The rule that hands the fabric's settings to the pod: a variable, or a line of /etc/nccl.conf.

What the user has set stays. A late setting is read from an annotation of the pod (downward API),
which holds the value for any node until the Binding replaces it; the annotation is always written,
since an empty variable is not harmless (design §4).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from podrail import nccl
from podrail.draft import Draft
from podrail.fabric import Setting
from podrail.names import ENV_PREFIX, NCCL_CONF

VOLUME: Final = "podrail-nccl-conf"
_FILE: Final = "nccl.conf"
_MODE: Final = 0o644


def export(draft: Draft) -> Draft:
    """The pod with the profile's settings."""
    return _conf(_variables(draft))


def _field(annotation: str) -> dict[str, str]:
    """A downward API reference, spelled as the API server completes it (core/v1 defaults)."""
    return {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{annotation}']"}


def _variables(draft: Draft) -> Draft:
    container = draft.pod.containers[draft.demand.container]
    present = {entry.get("name"): entry for entry in container.get("env") or ()}
    pod, added, ours, late = draft.pod, [], [], []
    for setting in draft.profile.settings:
        if setting.carrier is not nccl.Carrier.ENV:
            continue
        entry = _entry(setting)
        if present.get(setting.name, entry) != entry:
            draft = draft.keeping(f"env/{setting.name}")
            continue
        ours.append(setting.name)
        if setting.name not in present:
            added.append(entry)
        if setting.late:
            late.append(f"env.{setting.name}")
            pod = pod.annotate(ENV_PREFIX + setting.name, setting.value)
    draft = draft.to(pod)
    if added:
        draft = draft.put("env", [*(container.get("env") or ()), *added])
    if ours and container.get("envFrom"):
        message = f"variables from there lose to these of the profile: {', '.join(ours)}"
        draft = draft.noting("EnvFromHidden", f"{draft.path}.envFrom", message)
    marker = draft.marker
    return replace(draft, marker=replace(marker, env=tuple(ours), late=(*marker.late, *late)))


def _entry(setting: Setting) -> Mapping[str, Any]:
    if not setting.late:
        return {"name": setting.name, "value": setting.value}
    return {"name": setting.name, "valueFrom": {"fieldRef": _field(ENV_PREFIX + setting.name)}}


def _conf(draft: Draft) -> Draft:
    settings = [one for one in draft.profile.settings if one.carrier is nccl.Carrier.FILE]
    if not settings:
        return draft
    container = draft.pod.containers[draft.demand.container]
    mount = {"name": VOLUME, "mountPath": nccl.CONF_PATH, "subPath": _FILE, "readOnly": True}
    mounts = container.get("volumeMounts") or ()
    taken = [one for one in mounts if _hides(one.get("mountPath")) and one != mount]
    if taken:
        message = f"{nccl.CONF_PATH} is taken by a mount of the pod: the profile's file is left out"
        return draft.noting("NcclConfTaken", f"{draft.path}.volumeMounts", message)
    present = {entry.get("name") for entry in container.get("env") or ()}
    draft = draft.keeping(*(f"env/{one.name}" for one in settings if one.name in present))
    text = nccl.conf([(one.name, one.value) for one in settings])
    draft = draft.to(draft.pod.annotate(NCCL_CONF, text))
    if mount not in mounts:
        draft = draft.put("volumeMounts", [*mounts, mount])
    draft = _with_volume(draft)
    if any(one.late for one in settings):
        draft = replace(draft, marker=replace(draft.marker, late=(*draft.marker.late, _FILE)))
    message = f"an {nccl.CONF_PATH} of the image itself is hidden by the profile's"
    return draft.noting("ImageConfHidden", f"{draft.path}.volumeMounts", message, warn=False)


def _hides(path: object) -> bool:
    return isinstance(path, str) and path.rstrip("/") in {"/etc", nccl.CONF_PATH}


def _with_volume(draft: Draft) -> Draft:
    volumes = draft.pod.spec.get("volumes") or ()
    if any(volume.get("name") == VOLUME for volume in volumes):
        return draft
    items = [{"path": _FILE, "fieldRef": _field(NCCL_CONF)}]
    volume = {"name": VOLUME, "downwardAPI": {"items": items, "defaultMode": _MODE}}
    return draft.to(draft.pod.put(("spec", "volumes"), [*volumes, volume]))
