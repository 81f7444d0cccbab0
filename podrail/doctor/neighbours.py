"""Who else has a hand in the same pods: other webhooks that change them, and quotas."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from podrail import names, quantity
from podrail.doctor import admission, fields, nodes
from podrail.doctor.cluster import Cluster, Document
from podrail.doctor.finding import Finding, Topic, many, some
from podrail.fabric import Profile, Requester

INJECTORS: Final = Topic("injectors", "Other webhooks on pods")
QUOTAS: Final = Topic("quotas", "Quotas")
_HOOKS: Final = "MutatingWebhookConfiguration"
_REQUESTS: Final = "requests."
_NRI: Final = "network-resources-injector"
_SPIDERPOOL: Final = "spiderpool"
_PAGE: Final = "docs/user/injectors.md"


@dataclass(frozen=True, slots=True)
class _Other:
    """A registration of somebody else's that is called for new pods."""

    name: str
    reinvoked: bool
    everywhere: bool
    """False if a selector keeps it away from some pods."""


def injectors(cluster: Cluster) -> Iterator[Finding]:
    """Two webhooks that count devices for the same networks count them twice."""
    if _HOOKS not in cluster.seen:
        yield INJECTORS.unknown(cluster.why(_HOOKS), cluster.look("mutatingwebhookconfigurations"))
        return
    others = [*_others(cluster)]
    told = [finding for one in others for finding in _told(cluster, one)]
    yield from told
    if not told:
        if not others:
            yield INJECTORS.ok("there are none")
            return
        listed = some([one.name for one in others])
        yield INJECTORS.ok(f"{listed}: not known to count devices for networks")


def _others(cluster: Cluster) -> Iterator[_Other]:
    for one in cluster.of(_HOOKS):
        entries = [e for e in fields.parts(one, "webhooks") if _on_new_pods(e)]
        if not entries or any(entry in admission.ours(cluster).values() for entry in entries):
            continue
        yield _Other(
            fields.name(one),
            any(entry.get("reinvocationPolicy") == "IfNeeded" for entry in entries),
            not any(fields.part(entry, "objectSelector") for entry in entries),
        )


def _on_new_pods(entry: Document) -> bool:
    return any(
        _has(rule, "resources", "pods") and _has(rule, "operations", "CREATE")
        for rule in fields.parts(entry, "rules")
    )


def _has(rule: Document, key: str, value: str) -> bool:
    return not {value, "*", "*/*"}.isdisjoint(fields.texts(rule, key))


def _told(cluster: Cluster, other: _Other) -> Iterator[Finding]:
    if _SPIDERPOOL in other.name:
        yield INJECTORS.warn(
            f"{other.name}: Spiderpool injects resources for its own annotations",
            f"Do not let both inject the same pods ({_PAGE}).",
        )
    if _NRI in other.name:
        yield from _injector(cluster, other)


def _injector(cluster: Cluster, other: _Other) -> Iterator[Finding]:
    """The rows of docs/user/injectors.md in which devices are counted twice, or never."""
    if not other.everywhere:
        return
    by_it = [one.name for one in cluster.used if one.requested_by is Requester.INJECTOR]
    first = other.name < _registration(cluster)
    if by_it and first and not other.reinvoked:
        yield INJECTORS.fail(
            f"{other.name} is called before podrail and not again, so profile {some(by_it)} gets "
            "no devices: it never sees podrail's networks",
            f"Set its reinvocationPolicy to IfNeeded ({_PAGE}).",
        )
    honours = _honours(cluster)
    by_us = [one.name for one in cluster.used if one.requested_by is Requester.PODRAIL]
    if honours and by_us and not (first and not other.reinvoked):
        yield INJECTORS.fail(
            f"{other.name} runs with -honor-resources: it and podrail both count the devices of "
            f"{some(by_us)}, so pods ask for twice as many",
            f"Set requestedBy: Injector in these profiles, or take the flag away ({_PAGE}).",
        )


def _registration(cluster: Cluster) -> str:
    """The name under which podrail is registered: configurations are called in their order."""
    ours = admission.ours(cluster).values()
    found = (
        fields.name(one)
        for one in cluster.of(_HOOKS)
        if any(entry in ours for entry in fields.parts(one, "webhooks"))
    )
    return next(found, "podrail")


def _honours(cluster: Cluster) -> bool:
    said = (
        fields.words(container)
        for pod in cluster.of("Pod")
        for container in fields.containers(pod)
        if _NRI in fields.text(container, "image") or _NRI in fields.name(pod)
    )
    values = [fields.flag(words, "honor-resources") for words in said]
    return any(value is not None and value != "false" for value in values)


def quotas(cluster: Cluster) -> Iterator[Finding]:
    """No quota of a namespace that uses a profile is below what one of its pods asks for."""
    if "ResourceQuota" not in cluster.seen:
        yield QUOTAS.unknown(cluster.why("ResourceQuota"), cluster.look("resourcequotas"))
        return
    told = [
        finding
        for quota in cluster.of("ResourceQuota")
        for profile in _profiles(cluster, fields.text(quota, "metadata", "namespace"))
        for finding in _short(quota, profile)
    ]
    yield from told
    if not told:
        yield QUOTAS.ok(
            f"{many(len(cluster.of('ResourceQuota')), 'quota')}; none blocks a profile's pods"
        )


def _profiles(cluster: Cluster, namespace: str) -> tuple[Profile, ...]:
    """Those that the pods of a namespace opt into."""
    labelled = {
        fields.label(one, names.FABRIC)
        for one in (*cluster.of("Namespace"), *cluster.of("Pod"))
        if (fields.text(one, "metadata", "namespace") or fields.name(one)) == namespace
    }
    return tuple(one for one in cluster.used if one.name in labelled)


def _short(quota: Document, profile: Profile) -> Iterator[Finding]:
    """What is too little for the smallest pod, else for one with a whole node."""
    hard = fields.part(quota, "spec", "hard")
    whole = profile.rails.gpus
    for gpus, pods in ((1, "every pod"), (whole, f"every pod with {whole} GPUs")):
        short = [
            f"{name} {hard[key]}, asked {count}"
            for name, count in nodes.asked(profile, gpus).items()
            if (key := _REQUESTS + name) in hard and quantity.count(hard[key]) < count
        ]
        if short:
            make = QUOTAS.fail if gpus == 1 else QUOTAS.warn
            yield make(
                f"{fields.place(quota)} refuses {pods} of {profile.name}: {some(short)}",
                "Raise the quota by what the profile adds (docs/user/quotas.md).",
            )
            return
