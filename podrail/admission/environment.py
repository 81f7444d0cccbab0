"""The rule that hands the fabric's settings to the pod: a variable, or a line of /etc/nccl.conf.

What the user has set stays. A late setting is read from an annotation of the pod (downward API),
which holds the value for any node until the Binding replaces it; the annotation is always written,
since an empty variable is not harmless (design §4).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from podrail.admission import volume as volumes
from podrail.admission.draft import Draft
from podrail.fabric import Profile, Setting
from podrail.names import ENV_PREFIX, NCCL_CONF
from podrail.nccl import settings as nccl

VOLUME: Final = "podrail-nccl-conf"
CONF_FILE: Final = "NCCL_CONF_FILE"
"""Names another file than ~/.nccl.conf (NCCL 2.23); /etc/nccl.conf is read all the same."""
_READ: Final = frozenset({nccl.CONF_PATH, "/etc/rccl.conf"})
"""The files that NCCL and RCCL read without being told to."""
_FILE: Final = "nccl.conf"
_MODE: Final = 0o644


def _field(annotation: str) -> dict[str, str]:
    """A downward API reference, spelled as the API server completes it (core/v1 defaults)."""
    return {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{annotation}']"}


_SOURCE: Final[Mapping[str, Any]] = {
    "downwardAPI": {
        "items": [{"path": _FILE, "fieldRef": _field(NCCL_CONF)}],
        "defaultMode": _MODE,
    }
}


def export(draft: Draft) -> Draft:
    """The pod with the profile's settings."""
    return _conf(_variables(draft))


class _Entries(NamedTuple):
    """What a profile puts into env and into the file, whichever pod it is."""

    variables: tuple[tuple[Setting, Mapping[str, Any]], ...]
    lines: tuple[Setting, ...]
    text: str


@lru_cache(maxsize=256)
def _entries(profile: Profile) -> _Entries:
    variables = [one for one in profile.settings if one.carrier is nccl.Carrier.ENV]
    lines = tuple(one for one in profile.settings if one.carrier is nccl.Carrier.FILE)
    text = nccl.conf([(one.name, one.value) for one in lines])
    return _Entries(tuple((one, _entry(one)) for one in variables), lines, text)


def _variables(draft: Draft) -> Draft:
    container = draft.container
    present = {entry.get("name"): entry for entry in container.get("env") or ()}
    pod, added, ours, late, kept = draft.pod, [], [], [], []
    for setting, entry in _entries(draft.profile).variables:
        if present.get(setting.name, entry) != entry:
            kept.append(f"env/{setting.name}")
            continue
        ours.append(setting.name)
        if setting.name not in present:
            added.append(entry)
        if setting.late:
            late.append(f"env.{setting.name}")
            pod = pod.annotate(ENV_PREFIX + setting.name, setting.value)
    draft = draft.to(pod).marked(env=tuple(ours)).late(*late).keeping(*kept)
    if added:
        draft = draft.put("env", [*(container.get("env") or ()), *added])
    if ours and container.get("envFrom"):
        sources = ", ".join(_source(one) for one in container["envFrom"])
        message = f"variables from {sources} lose to these of the profile: {', '.join(ours)}"
        draft = draft.noting("EnvFromHidden", f"{draft.path}.envFrom", message)
    return draft


def _source(given: Mapping[str, Any]) -> str:
    """An entry of envFrom as people name it: ConfigMap nccl-env."""
    for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        reference = given.get(field)
        if isinstance(reference, dict):
            return f"{kind} {reference.get('name', '')}"
    return "an unknown source"


def _entry(setting: Setting) -> Mapping[str, Any]:
    if not setting.late:
        return {"name": setting.name, "value": setting.value}
    return {"name": setting.name, "valueFrom": {"fieldRef": _field(ENV_PREFIX + setting.name)}}


def _conf(draft: Draft) -> Draft:
    entries, path = _entries(draft.profile), draft.profile.conf_file
    if not entries.lines:
        return draft
    container = draft.container
    volume = volumes.name_for(draft, VOLUME, _SOURCE)
    mount = {"name": volume, "mountPath": path, "subPath": _FILE, "readOnly": True}
    mounts = container.get("volumeMounts") or ()
    if any(_hides(one.get("mountPath"), path) and one != mount for one in mounts):
        message = f"{path} is taken by a mount of the pod: the profile's file is left out"
        return draft.noting("NcclConfTaken", f"{draft.path}.volumeMounts", message)
    present = {entry.get("name"): entry for entry in container.get("env") or ()}
    named = {"name": CONF_FILE, "value": path}
    if path not in _READ and present.get(CONF_FILE, named) != named:
        message = f"{CONF_FILE} is the pod's own: the profile's file is left out"
        return draft.keeping(f"env/{CONF_FILE}").noting("NcclConfTaken", draft.path, message)
    draft = draft.keeping(*(f"env/{one.name}" for one in entries.lines if one.name in present))
    draft = draft.to(draft.pod.annotate(NCCL_CONF, entries.text))
    if mount not in mounts:
        draft = draft.put("volumeMounts", [*mounts, mount])
    if path not in _READ and CONF_FILE not in present:
        draft = draft.put("env", [*(container.get("env") or ()), named])
    draft = volumes.added(draft, volume, _SOURCE)
    if any(one.late for one in entries.lines):
        draft = draft.late(_FILE)
    message = f"a file {path} of the image itself is hidden by the profile's"
    return draft.noting("ImageConfHidden", f"{draft.path}.volumeMounts", message, warn=False)


def _hides(mounted: object, path: str) -> bool:
    """True if what is mounted there is the file, or a folder that holds it."""
    return isinstance(mounted, str) and f"{path}/".startswith(mounted.rstrip("/") + "/")
