"""The health of podrail itself: agents, programs, certificates, profiles, each with a remedy."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from podrail.doctor import finding
from podrail.doctor.finding import Finding, Topic, Verdict
from podrail.doctor.trust import LATE
from podrail.railmap.facts import Pod
from podrail.railmap.machine import Machine, Voice
from podrail.railmap.scene import Scene

MOST_NODES: Final = 20
DAY: Final = 86_400.0
OLD: Final = 300.0
"""From that age in seconds on the map may be wrong: watches are confirmed each minute."""
_WITHOUT: Final[Mapping[str, str]] = {
    "webhook": "Opted-in pods are not injected; the policy refuses them or warns.",
    "extender": "Pods are placed without regard to rails, or wait.",
    "controller": "Nobody reports what pods got.",
    "certs": "Certificates are not renewed.",
    "nodeagent": "What is known of nodes grows old.",
}


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a program shows to whoever connects, valid from when to when; problem if it is none."""

    place: str
    not_before: float = 0.0
    not_after: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Around:
    """What is not on the map: the views' age in seconds, the lease, and what was asked for."""

    age: float
    active: bool
    ready: Mapping[str, int] = field(default_factory=dict)
    """How many FabricProfiles there are by what their condition Ready says."""
    certificates: tuple[Certificate, ...] = ()


@dataclass(frozen=True, slots=True)
class Silent:
    """A node whose agent is not heard, and since when (seconds since the epoch)."""

    node: str
    voice: Voice
    since: float | None
    problem: str


@dataclass(frozen=True, slots=True)
class Program:
    """A pod of podrail's own."""

    pod: str
    component: str
    node: str
    ready: bool


@dataclass(frozen=True, slots=True)
class Health:
    """The view. silent has the first nodes without a voice, programs all that are not agents."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    agents: Mapping[str, int]
    silent: tuple[Silent, ...]
    programs: tuple[Program, ...]


def of(scene: Scene, around: Around) -> Health:
    """The view at the scene's time."""
    members = [one for one in scene.machines.values() if one.gpus]
    voices = Counter(one.voice for one in members)
    found = (
        *_views(around),
        *_agents(voices),
        *_programs(scene.own),
        *(_certificate(one, scene.at) for one in around.certificates),
        *_profiles(around.ready),
    )
    return Health(
        verdict=_worst(found),
        findings=found,
        agents={one.value: voices[one] for one in Voice},
        silent=tuple(_silent(one) for one in members if one.voice is not Voice.FRESH)[:MOST_NODES],
        programs=tuple(
            Program(one.key, one.component, one.node, one.ready)
            for one in scene.own
            if one.component != "nodeagent"
        ),
    )


def _worst(found: Sequence[Finding]) -> Verdict:
    order = (Verdict.FAIL, Verdict.WARN, Verdict.UNKNOWN)
    verdicts = {one.verdict for one in found}
    return next((one for one in order if one in verdicts), Verdict.OK)


def _views(around: Around) -> Iterator[Finding]:
    topic = Topic("map", "this map")
    if around.age > OLD:
        yield topic.fail(
            f"the API server was last heard {around.age:.0f} s ago",
            "What is shown may be out of date: look at the controller's log and its network.",
        )
    else:
        yield topic.ok(f"confirmed {around.age:.0f} s ago")
    topic = Topic("lease", "the controller's lease")
    if around.active:
        yield topic.ok("this controller holds it: it writes the reports on pods")
    else:
        yield topic.ok(
            "this controller does not hold it: another one, if any, writes the reports on pods"
        )


def _agents(voices: Mapping[Voice, int]) -> Iterator[Finding]:
    topic = Topic("agents", "node agents")
    nodes = sum(voices.values())
    if not nodes:
        yield topic.unknown("no node offers GPUs", "Install the GPU device plugin on the nodes.")
        return
    for voice, remedy in (
        (Voice.SILENT, "Look at the pods of podrail-nodeagent on these nodes."),
        (Voice.BROKEN, "Install agents and definitions of one version."),
        (Voice.NEVER, "Let podrail-nodeagent run there; until then the catalog is all there is."),
    ):
        if voices.get(voice, 0):
            count = finding.many(voices[voice], "node")
            yield topic.warn(f"{count} of {nodes} with GPUs: agent {voice.value}", remedy)
    if voices.get(Voice.FRESH, 0) == nodes:
        yield topic.ok(f"all {nodes} nodes with GPUs are heard")


def _programs(own: Sequence[Pod]) -> Iterator[Finding]:
    for component, effect in _WITHOUT.items():
        topic = Topic(f"program.{component}", f"podrail-{component}")
        pods = [one for one in own if one.component == component]
        ready = sum(one.ready for one in pods)
        told = f"{ready} of {finding.many(len(pods), 'pod')} ready"
        if not pods:
            yield topic.unknown(
                "there is no pod of it in this cluster",
                f"If it is meant to run: {effect}",
            )
        elif not ready:
            yield topic.fail(told, f"{effect} Look at its pods.")
        elif ready < len(pods):
            yield topic.warn(told, "Look at the pods that are not ready.")
        else:
            yield topic.ok(told)


def _certificate(one: Certificate, now: float) -> Finding:
    topic = Topic("certificate", f"certificate of {one.place}")
    if one.problem:
        return topic.fail(
            one.problem,
            "Look at the webhook's pods, and whether a NetworkPolicy keeps this one out.",
        )
    until = datetime.fromtimestamp(one.not_after, UTC).strftime("%Y-%m-%d %H:%M UTC")
    left = one.not_after - now
    if left <= 0:
        return topic.fail(f"ended {until}", "Look at podrail-certs: podrail doctor says more.")
    if left < LATE * (one.not_after - one.not_before):
        return topic.warn(f"valid until {until}", "It should have been renewed: podrail-certs.")
    return topic.ok(f"valid until {until}, {finding.many(round(left / DAY), 'day')}")


def _profiles(ready: Mapping[str, int]) -> Iterator[Finding]:
    topic = Topic("profiles", "FabricProfiles")
    bad, every = ready.get("False", 0), sum(ready.values())
    if bad:
        told = f"{bad} of {finding.many(every, 'profile')} not ready"
        yield topic.warn(told, "kubectl get fabricprofiles shows which, and why.")
    elif every:
        yield topic.ok(f"{finding.many(every, 'profile')}, none of which is known to be wrong")


def _silent(one: Machine) -> Silent:
    sight = None if one.agent is None else one.agent.sight
    return Silent(
        node=one.node.name,
        voice=one.voice,
        since=None if sight is None else sight.observed_at,
        problem="" if one.agent is None else one.agent.why,
    )
