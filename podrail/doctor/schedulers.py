"""The configurations that kube-schedulers run with, as far as they can be seen, and who is asked.

A kube-scheduler that is a pod names its file in --config; the file is seen if it comes out of a
ConfigMap. A static pod's lies on the node: then the file has to be given.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from podrail.doctor import fields
from podrail.doctor.cluster import APPLICATION, Cluster, Document

KIND: Final = "KubeSchedulerConfiguration"
DEFAULT: Final = "default-scheduler"
SECOND: Final = 20
EXISTING: Final = 60
_ALL: Final = 100
_VERBS: Final = ("filterVerb", "prioritizeVerb", "bindVerb")
_PORT: Final = ":8888"
"""The extender's default (PODRAIL_LISTEN)."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A configuration in use, where it is, and podrail's entry among its extenders."""

    place: str
    config: Document
    extender: Document | None

    @property
    def names(self) -> tuple[str, ...]:
        """The schedulerNames that it serves."""
        listed = fields.parts(self.config, "profiles") or ({},)
        return tuple(fields.text(one, "schedulerName") or DEFAULT for one in listed)

    @property
    def samples(self) -> tuple[object, ...]:
        """The share of nodes that each profile scores; None is the default, a sample."""
        whole = self.config.get("percentageOfNodesToScore")
        listed = fields.parts(self.config, "profiles") or ({},)
        return tuple(one.get("percentageOfNodesToScore", whole) for one in listed)


@dataclass(frozen=True, slots=True)
class Lineup:
    """The schedulers whose configuration is seen, and the pods of those whose is not."""

    seen: tuple[Scheduler, ...]
    hidden: tuple[str, ...]

    @property
    def asking(self) -> tuple[Scheduler, ...]:
        """Those that ask podrail's extender."""
        return tuple(one for one in self.seen if one.extender is not None)


def lineup(cluster: Cluster) -> Lineup:
    """The schedulers of the cluster; configurations that were given as files come first."""
    seen = [_scheduler(KIND, one, owned=False) for one in cluster.of(KIND)]
    hidden = []
    for pod in cluster.of("Pod"):
        container = next(filter(_schedules, fields.containers(pod)), None)
        if container is None:
            continue
        found = _mounted(cluster, pod, container)
        if found is None:
            hidden.append(fields.place(pod))
            continue
        owned = fields.label(pod, APPLICATION) == "podrail"
        scheduler = _scheduler(*found, owned=owned)
        if scheduler not in seen:
            seen.append(scheduler)
    return Lineup(tuple(seen), tuple(hidden))


def _schedules(container: Document) -> bool:
    """True for a kube-scheduler, however its image is called."""
    said = fields.words(container)
    named = any(word.rpartition("/")[2] == "kube-scheduler" for word in said[:1])
    return named or "kube-scheduler" in fields.text(container, "image").rpartition("/")[2]


def _mounted(cluster: Cluster, pod: Document, container: Document) -> tuple[str, Document] | None:
    """The configuration out of a ConfigMap, and where that is; None if it cannot be seen."""
    path = fields.flag(fields.words(container), "config") or ""
    folder, _, file = path.rpartition("/")
    mount = next(
        (
            one
            for one in fields.parts(container, "volumeMounts")
            if fields.text(one, "mountPath").rstrip("/") in {folder, path}
        ),
        {},
    )
    volumes = fields.parts(pod, "spec", "volumes")
    volume = next((one for one in volumes if one.get("name") == mount.get("name")), {})
    source = fields.part(volume, "configMap")
    items = fields.parts(source, "items")
    keys = {fields.text(one, "path"): fields.text(one, "key") for one in items}
    wanted = fields.text(mount, "subPath") or file
    place = f"{fields.text(pod, 'metadata', 'namespace')}/{fields.text(source, 'name')}"
    for one in cluster.parsed:
        if one.place == place and one.key == keys.get(wanted, wanted):
            return f"ConfigMap {place}", one.document
    return None


def _scheduler(place: str, config: Document, *, owned: bool) -> Scheduler:
    ours = (one for one in fields.parts(config, "extenders") if owned or _ours(one))
    return Scheduler(place, config, next(ours, None))


def _ours(extender: Document) -> bool:
    url = fields.text(extender, "urlPrefix")
    return "podrail" in url or url.rstrip("/").endswith(_PORT)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with settings, and what to do; fails if placement is worth nothing so."""

    what: str
    remedy: str
    fails: bool = False


def managed(extender: Document) -> tuple[str, ...]:
    """The resources whose pods are sent to an extender; none means all pods."""
    return tuple(fields.text(one, "name") for one in fields.parts(extender, "managedResources"))


def rules(scheduler: Scheduler, extender: Document) -> Iterator[Fault]:
    """What is wrong with a scheduler that asks podrail.

    Facts of kube-scheduler 1.36: it hands a sample of the nodes to extenders unless told 100, and
    without nodeCacheCapable all nodes come back as if they were idle (kubernetes#141781).
    """
    if any(one != _ALL for one in scheduler.samples):
        yield Fault(
            "percentageOfNodesToScore is not 100: the extender sees a sample of the nodes, and "
            "pods stay pending though others would do",
            "Set percentageOfNodesToScore: 100.",
        )
    if extender.get("nodeCacheCapable") is not True:
        yield Fault(
            "nodeCacheCapable is not true: every node counts as idle afterwards",
            "Set nodeCacheCapable: true in the extender's entry.",
            fails=True,
        )
    missing = [verb for verb in _VERBS if not extender.get(verb)]
    if missing:
        yield Fault(
            f"{', '.join(missing)} is not set: that part of the placement never happens",
            "Set filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind.",
            fails=True,
        )
    # The weights of deploy/: a point of a second scheduler is worth a full preference.
    least = EXISTING if DEFAULT in scheduler.names else SECOND
    weight: Any = extender.get("weight", 1)
    if not isinstance(weight, int) or weight < least:
        yield Fault(
            f"the extender's weight is {weight}: other scores may outvote alignment",
            f"Set weight: {least}.",
        )
    if extender.get("ignorable") is not True:
        yield Fault(
            "ignorable is not true: while the extender is away no pod is placed at all",
            "Set ignorable: true, unless that is what you want.",
        )
