"""An extender without its threads: the test says what the watches bring, and what time it is."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import builders

from extender import app
from extender.announcer import Announcer
from extender.around import Around, Terms
from extender.asking import Desk, Names
from extender.binder import Binder
from extender.claimed import Claimed
from extender.cluster import Cluster
from extender.judge import Judge
from extender.known import Held
from extender.metrics import Metrics
from extender.node import Spot
from extender.nominator import Nominator
from podrail import catalog, names, pod
from podrail.admission import injection
from podrail.topology import Evidence, Judged, Nic, Tier, Topology
from podrail_io.kube import Api, Event
from podrail_io.reflector import World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask.testing import FlaskClient

    from podrail.extension import Arguments
    from podrail.fabric import Profile
    from podrail_io.kube import KubeError

HOLD_SECONDS = 60.0
UID = "0b57e3f5-6393-11e8-b7cc-42010a800002"
_EACH = tuple(tuple(Tier.PIX if gpu == rail else Tier.SYS for rail in range(8)) for gpu in range(8))
_NUMA = (0, 0, 0, 0, 1, 1, 1, 1)


def shape(name: str, tiers: tuple[tuple[Tier, ...], ...]) -> Topology:
    """A machine type with eight GPUs and eight rails on two NUMA nodes."""
    nics = tuple(Nic(f"mlx5_{rail}", rail, numa) for rail, numa in enumerate(_NUMA))
    return Topology(name, _NUMA, nics, tiers, Judged.PCIE, Evidence.CATALOG)


SHAPES = {
    "good": shape("good", _EACH),
    "bad": shape("bad", ((Tier.SYS,) * 8,) * 8),
    "small": next(iter(catalog.read([("small.json", {"shapes": [{
        "shape": "small",
        "gpus": [{}, {}],
        "nics": [{"rail": 0}, {"rail": 1}],
        "tiers": ["PIX SYS", "SYS PIX"],
    }]})]).values())),
}  # fmt: skip


def halves(**spec: Any) -> Profile:
    """A fabric of shared devices whose pods get half of a node's rails, chosen late."""
    setting = {
        "name": "NCCL_IB_TC",
        "value": "106",
        "late": [{"when": {"label": {"vendor": "b"}}, "value": "41"}],
    }
    fields = {
        "attachment": "SharedDevice",
        "rails": {"count": 8, "gpus": 8, "numaGroups": [[0, 1, 2, 3], [4, 5, 6, 7]]},
        "networks": [{"name": f"default/rail{rail}", "rail": rail} for rail in range(8)],
        "partial": "SameNuma",
        "settings": [setting],
        **spec,
    }
    return builders.fabric("halves", **fields)


def injected(profile: Profile, gpus: int = 4, uid: str = UID, **fields: Any) -> dict[str, Any]:
    """The document of a pod after admission, as the API server keeps it."""
    document = builders.document(builders.container(gpus=gpus), fabric=profile.name, **fields)
    document["metadata"] |= {"namespace": "team", "uid": uid}
    admitted = injection.inject(pod.read(document, "team"), profile).pod.document
    kept: dict[str, Any] = json.loads(json.dumps(admitted))
    return kept


def stranger(**fields: Any) -> dict[str, Any]:
    """The document of a pod that did not opt in."""
    document = builders.document(fabric=None, **fields)
    document["metadata"] |= {"namespace": "team", "uid": UID}
    return document


def _nothing() -> None:
    pass


class KeptApi(Api):
    """An API server that keeps what is written, after refusing as often as there are refusals."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, Mapping[str, Any], float]] = []
        self.applied: list[tuple[str, Mapping[str, Any], str]] = []
        self.refusals: list[KubeError] = []
        self.takes: Callable[[], None] = _nothing

    def post(self, path: str, body: Mapping[str, Any], timeout: float = 10) -> dict[str, Any]:
        self.posts.append((path, body, timeout))
        self.takes()
        if self.refusals:
            raise self.refusals.pop(0)
        return {}

    def apply(
        self, path: str, body: Mapping[str, Any], manager: str, timeout: float = 10
    ) -> dict[str, Any]:
        del timeout
        self.applied.append((path, body, manager))
        if self.refusals:
            raise self.refusals.pop(0)
        return {}

    @property
    def annotations(self) -> dict[str, str]:
        """Those of the last Binding."""
        found: dict[str, str] = self.posts[-1][1]["metadata"].get("annotations", {})
        return found

    @property
    def placement(self) -> dict[str, Any]:
        """The placement marker of the last Binding."""
        found: dict[str, Any] = json.loads(self.annotations[names.PLACEMENT])
        return found


@dataclass(slots=True)
class Stage:
    """An extender of one profile."""

    profile: Profile = field(default_factory=halves)
    scheduler: str = ""
    devices: dict[str, str] = field(default_factory=dict)
    """What the kubelet of each node offers."""
    now: float = 1000.0
    fabrics: dict[str, Profile] = field(init=False)
    api: KeptApi = field(default_factory=KeptApi)
    cluster: Cluster = field(init=False)
    metrics: Metrics = field(init=False)
    judge: Judge = field(init=False)
    binder: Binder = field(init=False)
    taken: list[str] = field(default_factory=list)
    """The jobs of the pods that were about to be bound, as the nominator hears of them."""
    nominator: Nominator = field(init=False)
    announcer: Announcer = field(init=False)
    claimed: Claimed = field(init=False)
    client: FlaskClient = field(init=False)

    def __post_init__(self) -> None:
        self.fabrics = {self.profile.name: self.profile}
        named = Names(self.profiles)
        around = Around(World(self.clock, lambda: 0.0), self.wall, named.resources)
        self.cluster = Cluster(self.api, SHAPES, around, Terms(hold=HOLD_SECONDS, claim=300))
        self.metrics = Metrics(self.cluster.age, lambda: self.cluster.synced)
        self.claimed = Claimed(self.api, around.world)
        desk = Desk(named, self.cluster.sizes.of, self.claimed)
        self.judge = Judge(self.cluster, desk, 300, self.wall, self.metrics.count_unscored)
        self.announcer = Announcer(self.api, self.wall)
        self.binder = Binder(
            self.api,
            self.cluster,
            desk,
            self.scheduler,
            self.metrics,
            self.announcer,
            self.clock,
            self.taken.append,
        )
        self.nominator = Nominator(
            self.api,
            self.cluster,
            desk,
            self.judge,
            self.scheduler,
            self.metrics,
            self.clock,
            HOLD_SECONDS,
        )
        self.client = app.create(self.judge, self.binder, self.metrics, list).test_client()

    def clock(self) -> float:
        return self.now

    def wall(self) -> datetime:
        """The time of day, as many seconds after the epoch as the clock shows."""
        return datetime.fromtimestamp(self.now, UTC)

    def profiles(self) -> dict[str, Profile]:
        return self.fabrics

    def sees_nodes(self, **shapes: str) -> None:
        """Let the watches bring nodes by name, each with its machine type."""
        for name, kind in shapes.items():
            self.sees_node(name, kind)
        self.cluster.pods._take(Event("BOOKMARK", {}, "1"))

    def sees_node(self, name: str, kind: str, **labels: str) -> None:
        """Let the watch bring a node."""
        metadata = {"name": name, "labels": {names.INSTANCE_TYPE: kind, **labels}}
        document = {"metadata": metadata, "status": {"allocatable": self.devices}}
        self.cluster.survey.nodes._take(Event("ADDED", document, "1"))

    def sees_pod(self, document: Mapping[str, Any], kind: str = "MODIFIED") -> None:
        """Let the watch bring a pod."""
        self.cluster.pods._take(Event(kind, dict(document), "1"))

    def sees_bound(self, document: Mapping[str, Any], node: str, **annotations: str) -> None:
        """Let the watch bring a pod on its node, with what its Binding carried."""
        metadata = document["metadata"]
        merged = {**metadata.get("annotations", {}), **annotations}
        self.sees_pod(
            {
                **document,
                "metadata": {**metadata, "annotations": merged},
                "spec": {**document["spec"], "nodeName": node},
            }
        )

    def scores(self, asked: Arguments) -> list[int]:
        """The score of each node that kube-scheduler asks about."""
        ranking = self.judge.prioritize(asked)
        return [ranking.scores[kind] for kind in ranking.kinds]

    def post(self, verb: str, document: object) -> Any:
        """The answer to a call of kube-scheduler."""
        answer = self.client.post(f"/{verb}", json=document)
        assert 200 == answer.status_code, answer.text
        return answer.json

    def binds(self, document: Mapping[str, Any], node: str) -> str:
        """The error of a bind of the pod; empty if it went well."""
        metadata = document["metadata"]
        asked = {
            "PodName": metadata["name"],
            "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"],
            "Node": node,
        }
        error: str = self.post("bind", asked)["Error"]
        return error

    def used(self, node: str) -> Counter[int]:
        """The rails in use on a node, as the bind of another pod sees them."""
        return Counter(self.spot(node).used)

    def spot(self, node: str) -> Spot:
        """The node as the bind of another pod finds it, which then comes to nothing."""
        tenant = self.cluster.tenant("team/nobody", node, Held())
        spot = self.cluster.hold("nobody", tenant, lambda _: ())
        self.cluster.abandon("nobody")
        return spot

    def count(self, name: str, **labels: str) -> float:
        """The value of a metric; 0 if it was never counted."""
        return self.metrics.registry.get_sample_value(f"podrail_{name}", labels) or 0.0
