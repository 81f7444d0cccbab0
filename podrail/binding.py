"""Late binding: the annotations that a Binding carries into the pod in the write that binds it.

kube-apiserver 1.36 merges a Binding's annotations into the pod together with spec.nodeName
(registry/core/pod/storage, setPodNodeAndMetadata) and does not validate them: so their keys are
the marker's and ours, and their size is checked here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from podrail import attachment, names, nccl, networks
from podrail.errors import PodError
from podrail.fabric import Profile
from podrail.networks import Networks, Wanted
from podrail.placement import Choice, Wish

Texts = Mapping[str, str]


def annotations(
    pod: Mapping[str, Any], wish: Wish, profile: Profile, labels: Texts, choice: Choice | None
) -> dict[str, str]:
    """What changes with the node: the networks of the chosen rails, and settings by node label.

    Only what the pod's marker says may be late, and only annotations that admission wrote.
    """
    metadata = pod.get("metadata") or {}
    present: Texts = metadata.get("annotations") or {}
    late = dict(_settings(wish, profile, labels))
    if choice is not None and wish.late:
        text, namespace = present.get(names.NETWORKS, ""), str(metadata.get("namespace", ""))
        late[names.NETWORKS] = _networks(text, namespace, wish, profile, choice)
    return {key: text for key, text in late.items() if key in present and present[key] != text}


def bounded(late: Texts, placement: str) -> dict[str, str]:
    """The annotations with the placement marker; it alone if all is too much for a Binding."""
    whole = {**late, names.PLACEMENT: placement}
    if sum(len(key) + len(text.encode()) for key, text in whole.items()) <= names.BINDING_BYTES:
        return whole
    return {names.PLACEMENT: placement}


def _settings(wish: Wish, profile: Profile, labels: Texts) -> Iterator[tuple[str, str]]:
    if "nccl.conf" in wish.marker.late:
        lines = [
            (setting.name, setting.on(labels))
            for setting in profile.settings
            if setting.carrier is nccl.Carrier.FILE
        ]
        yield names.NCCL_CONF, nccl.conf(lines)
    for setting in profile.settings:
        if f"env.{setting.name}" in wish.marker.late:
            yield names.ENV_PREFIX + setting.name, setting.on(labels)


def _networks(text: str, namespace: str, wish: Wish, profile: Profile, choice: Choice) -> str:
    """The annotation with our elements replaced by those of the chosen rails.

    An element is ours where the marker says and only if it still says what the marker says; every
    other element stays. A rail that is attached already keeps its place.
    """
    try:
        present = networks.parse(text)
    except PodError:
        return text
    ours = _ours(present, namespace, wish)
    chosen = [one for one in attachment.wishes(profile, choice.rails) if one.rail is not None]
    attached = {element.network(namespace) for element in present.elements}
    waiting = [one.wanted for one in chosen if one.wanted.network not in attached]
    stay = {one.wanted.network for one in chosen}
    free = [index for index, network in ours.items() if network not in stay]
    taken = {
        element.interface for index, element in enumerate(present.elements) if index not in free
    }
    change: dict[int, Wanted | None] = dict.fromkeys(free)
    change.update(zip(free, (_fitting(one, taken) for one in waiting), strict=False))
    return present.replace(change).text if change else text


def _ours(present: Networks, namespace: str, wish: Wish) -> dict[int, str]:
    """The networks of our elements by position: of rails only, no other depends on the node."""
    found = {}
    for attached in wish.marker.networks:
        if attached.rail is None or attached.index >= len(present.elements):
            continue
        element = present.elements[attached.index]
        said = (element.network(namespace), element.interface)
        if said == (attached.name, attached.interface):
            found[attached.index] = attached.name
    return found


def _fitting(one: Wanted, taken: set[str]) -> Wanted:
    free = next(spelled for spelled in attachment.spellings(one) if spelled.interface not in taken)
    taken.add(free.interface)
    return free
