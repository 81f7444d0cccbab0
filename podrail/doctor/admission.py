"""Whether admission works: the kinds, the registration, the answer, the policy behind it."""

from collections.abc import Iterator
from typing import Final

from podrail import names
from podrail.doctor import fields
from podrail.doctor.cluster import NAMESPACE, Cluster, Document
from podrail.doctor.finding import Finding, Topic, some

CRDS: Final = Topic("crds", "Custom resources")
WEBHOOK: Final = Topic("webhook", "Webhook registered")
ANSWERS: Final = Topic("webhook-answers", "Webhook answers")
POLICY: Final = Topic("policy", "Policy behind the webhook")
_KINDS: Final = ("fabricprofiles", "noderails")
_VERSION: Final = "v1alpha1"
_CRD: Final = "CustomResourceDefinition"
_HOOKS: Final = "MutatingWebhookConfiguration"
_ENTRIES: Final = (f"pod.{names.GROUP}", f"namespace.{names.GROUP}")
_POLICY: Final = "podrail-injected"
_BOUND: Final = ("spec", "policyName")
_BUNDLE: Final = ("clientConfig", "caBundle")
_PODS: Final = f"kubectl -n {NAMESPACE} get pods"


def crds(cluster: Cluster) -> Iterator[Finding]:
    """Both kinds are defined, established and served."""
    if _CRD not in cluster.seen:
        yield CRDS.unknown(cluster.why(_CRD), cluster.look("crd"))
        return
    there = {fields.name(one): one for one in cluster.of(_CRD)}
    wanted = [f"{plural}.{names.GROUP}" for plural in _KINDS]
    missing = [one for one in wanted if one not in there]
    if missing:
        yield CRDS.fail(
            f"not there: {some(missing)}", "Apply deploy/crds, or install podrail's Helm chart."
        )
    idle = [one for one in wanted if one in there and not _served(there[one])]
    if idle:
        yield CRDS.fail(
            f"there, but not served as {_VERSION}: {some(idle)}",
            "Look at the conditions: kubectl describe crd; then apply deploy/crds anew.",
        )
    if not missing and not idle:
        yield CRDS.ok(f"FabricProfile and NodeRails are served as {_VERSION}")


def _served(crd: Document) -> bool:
    served = any(
        one.get("name") == _VERSION and one.get("served") is True
        for one in fields.parts(crd, "spec", "versions")
    )
    return served and fields.condition(crd, "Established") == "True"


def ours(cluster: Cluster) -> dict[str, Document]:
    """The entries of podrail's registration, by name, wherever they are registered."""
    return {
        fields.text(entry, "name"): entry
        for one in cluster.of(_HOOKS)
        for entry in fields.parts(one, "webhooks")
        if entry.get("name") in _ENTRIES
    }


def webhook(cluster: Cluster) -> Iterator[Finding]:
    """Both entries are registered, and as deploy/ has them where it matters."""
    if _HOOKS not in cluster.seen:
        yield WEBHOOK.unknown(cluster.why(_HOOKS), cluster.look("mutatingwebhookconfigurations"))
        return
    found = ours(cluster)
    missing = [name for name in _ENTRIES if name not in found]
    if missing:
        yield WEBHOOK.fail(
            f"not registered: {some(missing)}; labels {names.FABRIC} have no effect",
            "Apply deploy/webhook/registration.yaml, or install podrail's Helm chart.",
        )
        return
    wrong = [*_wrong(found)]
    yield from wrong
    if not wrong:
        yield WEBHOOK.ok("for pods and for namespaces with the label; an outage stops nobody")


def _wrong(found: dict[str, Document]) -> Iterator[Finding]:
    without = [name for name, one in found.items() if not fields.text(one, *_BUNDLE)]
    if without:
        yield WEBHOOK.fail(
            f"no caBundle in {some(without)}: the API server trusts nobody there",
            "Have podrail-certs or cert-manager fill it in; look at their logs.",
        )
    strict = [name for name, one in found.items() if one.get("failurePolicy") != "Ignore"]
    if strict:
        yield WEBHOOK.warn(
            f"failurePolicy is not Ignore in {some(strict)}: an outage stops every opted-in pod",
            "Set failurePolicy: Ignore; the policy behind the webhook decides then.",
        )
    once = [name for name, one in found.items() if one.get("reinvocationPolicy") != "IfNeeded"]
    if once:
        yield WEBHOOK.warn(
            f"reinvocationPolicy is not IfNeeded in {some(once)}: what other webhooks add later "
            "is not looked at",
            "Set reinvocationPolicy: IfNeeded.",
        )


def answers(cluster: Cluster) -> Iterator[Finding]:
    """A dry run of an opted-in pod comes back marked; without one, whether its pods are ready."""
    probe = cluster.probe
    if probe is None:
        yield _by_pods(cluster)
    elif probe.injected:
        yield ANSWERS.ok("a dry run of an opted-in pod came back with podrail's marker")
    elif not probe.refusal:
        yield ANSWERS.fail(
            "a dry run of an opted-in pod came back without podrail's marker: nobody called it",
            f"Is it up ({_PODS})? Can the API server reach its Service?",
        )
    elif "has not seen it" in probe.refusal:
        yield ANSWERS.fail(
            "the API server could not call it; the policy behind it refused the dry run",
            f"Is it up ({_PODS})? Can the API server reach its Service, and is the certificate "
            "below the one that it trusts?",
        )
    else:
        yield ANSWERS.unknown(
            f"the dry run was refused: {probe.refusal}",
            "Run the doctor as somebody who may create pods, with -n in a namespace that lets "
            "such a pod in.",
        )


def _by_pods(cluster: Cluster) -> Finding:
    ask = "Ask the live cluster: podrail doctor without --cluster."
    found = cluster.programs("webhook")
    ready = sum(fields.condition(pod, "Ready") == "True" for pod in found)
    if not found:
        return ANSWERS.unknown("not asked, and no pods of it were given", ask)
    if not ready:
        return ANSWERS.fail(
            f"none of its {len(found)} pods is ready", f"kubectl -n {NAMESPACE} describe pods"
        )
    return ANSWERS.unknown(f"not asked; {ready} of its {len(found)} pods are ready", ask)


def policy(cluster: Cluster) -> Iterator[Finding]:
    """Opted-in pods that the webhook has not seen are refused."""
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    hidden = [kind for kind in kinds if kind not in cluster.seen]
    if hidden:
        yield POLICY.unknown(
            cluster.why(hidden[0]),
            cluster.look("validatingadmissionpolicies,validatingadmissionpolicybindings"),
        )
        return
    there = any(fields.name(one) == _POLICY for one in cluster.of(kinds[0]))
    bindings = [one for one in cluster.of(kinds[1]) if fields.text(one, *_BOUND) == _POLICY]
    if not there or not bindings:
        yield POLICY.fail(
            f"{_POLICY} is not in force: in an outage of the webhook pods start without rails, "
            "on TCP, and nobody is told",
            "Apply deploy/webhook/policy.yaml, or set it on in podrail's Helm chart.",
        )
        return
    mild = [one for one in bindings if "Deny" not in fields.texts(one, "spec", "validationActions")]
    if mild:
        yield POLICY.warn(
            f"{some([fields.name(one) for one in mild])} does not deny: in an outage pods start "
            "without rails, with a warning at most",
            "Set validationActions: [Deny], unless that is what you want.",
        )
        return
    yield POLICY.ok("opted-in pods that the webhook has not seen are refused")
