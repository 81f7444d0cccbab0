import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from podrail_cli import demo_store
from podrail_cli.demo_api import DemoApi
from podrail_cli.demo_store import RefusalError, Store, Target
from podrail_io.kube import Api, StatusError, UnreachableError
from podrail_io.reflector import Reflector, World

PODS = "/api/v1/namespaces/default/pods"
MOMENT = 1_700_000_000.0


@pytest.fixture
def demo() -> Iterator[DemoApi]:
    with DemoApi(time.time) as running:
        yield running


@pytest.fixture
def api(demo: DemoApi) -> Api:
    return Api.connect(server=demo.url)


@pytest.fixture
def store() -> Store:
    return Store(lambda: MOMENT)


def pod(name: str = "a") -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": {"mine": "1"}}, "spec": {"containers": []}}


def binding(node: str = "n", **metadata: Any) -> dict[str, Any]:
    target = {"kind": "Node", "name": node}
    return {"kind": "Binding", "apiVersion": "v1", "metadata": metadata, "target": target}


def eventually(holds: Callable[[], bool]) -> bool:
    """True as soon as it holds; False after 5 s."""
    deadline = time.monotonic() + 5
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.005)
    return holds()


def test_a_pod_is_made_read_and_deleted(api: Api, demo: DemoApi) -> None:
    """A created pod has what the API server would give it, and is gone once deleted."""
    made = api.post(PODS, pod())
    assert made == api.get(f"{PODS}/a")
    assert ("default", "Pending") == (made["metadata"]["namespace"], made["status"]["phase"])
    demo.store.delete(Target("pods", "default", "a"))
    with pytest.raises(StatusError, match='404 NotFound: pods "a" not found'):
        api.get(f"{PODS}/a")


def test_a_generated_name_is_a_new_one(api: Api) -> None:
    """Two pods of one generateName have two names and two uids."""
    made = [api.post(PODS, {"metadata": {"generateName": "job-"}, "spec": {}}) for _ in range(2)]
    assert all(one["metadata"]["name"].startswith("job-") for one in made)
    assert 2 == len({one["metadata"]["name"] for one in made})
    assert 2 == len({one["metadata"]["uid"] for one in made})


def test_a_name_that_is_taken_is_a_conflict(api: Api) -> None:
    """The second object of a name is refused as the API server does."""
    api.post(PODS, pod())
    with pytest.raises(StatusError, match="409 AlreadyExists"):
        api.post(PODS, pod())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/nodes", ["n"]),
        ("/api/v1/pods", ["a", "b"]),
        (PODS, ["a"]),
        ("/api/v1/namespaces", ["default", "other"]),
        ("/api/v1/events", []),
    ],
)
def test_a_list_holds_its_own(api: Api, demo: DemoApi, path: str, expected: list[str]) -> None:
    """A list has the objects of its kind and namespace, and a version."""
    demo.store.create(Target("nodes"), {"metadata": {"name": "n"}})
    demo.store.create(Target("namespaces"), {"metadata": {"name": "other"}})
    demo.store.create(Target("pods", "default"), pod("a"))
    demo.store.create(Target("pods", "other"), pod("b"))
    (page,) = api.pages(path)
    assert expected == [item["metadata"]["name"] for item in page.items]
    assert "5" == page.resource_version


def test_a_binding_sets_node_and_annotations_in_one_change(api: Api) -> None:
    """One MODIFIED event has both, the pod's own annotations kept, its uid checked."""
    made = api.post(PODS, pod())
    api.post(f"{PODS}/a/binding", binding(uid=made["metadata"]["uid"], annotations={"ours": "2"}))
    event = next(api.watch("/api/v1/pods", made["metadata"]["resourceVersion"]))
    assert ("MODIFIED", "n") == (event.kind, event.object["spec"]["nodeName"])
    assert {"mine": "1", "ours": "2"} == event.object["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (binding(uid="another"), "409 Conflict: Precondition failed"),
        (binding("second"), '409 Conflict: pod a is already assigned to node "n"'),
    ],
    ids=["another uid", "bound before"],
)
def test_a_binding_that_does_not_fit_is_a_conflict(
    api: Api, sent: dict[str, Any], message: str
) -> None:
    """Another pod's uid and a pod that has a node are refused, and nothing changes."""
    api.post(PODS, pod())
    api.post(f"{PODS}/a/binding", binding())
    before = api.get(f"{PODS}/a")
    with pytest.raises(StatusError, match=message):
        api.post(f"{PODS}/a/binding", sent)
    assert before == api.get(f"{PODS}/a")


def test_an_event_is_taken(api: Api) -> None:
    """Events can be written and read."""
    path = "/api/v1/namespaces/default/events"
    api.post(path, {"metadata": {"generateName": "a."}, "reason": "Placed"})
    assert ["Placed"] == [one["reason"] for one in api.get(path)["items"]]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/apis/apps/v1/deployments", pod(), 404),
        ("/api/v1/namespaces/nowhere/pods", pod(), 404),
        (f"{PODS}/a/binding", binding(), 404),
        (PODS, {"metadata": {}}, 400),
    ],
    ids=["unknown path", "unknown namespace", "unknown pod", "no name"],
)
def test_what_cannot_be_done_is_a_status(
    api: Api, path: str, body: dict[str, Any], status: int
) -> None:
    """A wrong request gets a Status of its kind."""
    with pytest.raises(StatusError) as caught:
        api.post(path, body)
    assert status == caught.value.status


def test_a_version_that_is_forgotten_is_410(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch from before the kept history is refused as after a compaction."""
    monkeypatch.setattr(demo_store, "MOST_HISTORY", 2)
    for name in "abc":
        store.create(Target("nodes"), {"metadata": {"name": name}})
    with pytest.raises(RefusalError) as caught:
        next(store.watch(Target("nodes"), 1, MOMENT + 1))
    assert 410 == caught.value.code
    assert "b" == next(store.watch(Target("nodes"), 2, MOMENT))["object"]["metadata"]["name"]


def test_a_watch_ends_in_time_with_a_bookmark(store: Store) -> None:
    """At the time that was asked for, the version at hand is told and the watch ends."""
    events = list(store.watch(Target("pods"), 1, MOMENT))
    assert [("BOOKMARK", "1")] == [
        (event["type"], event["object"]["metadata"]["resourceVersion"]) for event in events
    ]


def test_a_reflector_follows_the_demo(api: Api, demo: DemoApi) -> None:
    """The reflector runs unchanged: list, watch, and a binding as one change."""
    world = World(time.monotonic, random.SystemRandom().random)
    nodes: dict[str, str] = {}
    pods = Reflector(api, "/api/v1/pods", lambda one: one["spec"].get("nodeName", "none"), world)
    demo.store.create(Target("pods", "default"), pod("early"))
    pods.start()
    assert eventually(lambda: pods.items() == {"default/early": "none"})
    api.post(PODS, pod("late"))
    api.post(f"{PODS}/late/binding", binding())
    demo.store.delete(Target("pods", "default", "early"))
    nodes["default/late"] = "n"
    assert eventually(lambda: pods.items() == nodes)
    pods.stop()
    assert (1, 0, 0) == (pods.relists, pods.errors, pods.faults)


def test_stopping_ends_open_watches_at_once(demo: DemoApi, api: Api) -> None:
    """A watch that waits for news ends with the server, and nothing is served any more."""
    ended = threading.Event()

    def follow() -> None:
        # Whether the last chunk still gets out is chance.
        with contextlib.suppress(UnreachableError):
            list(api.watch("/api/v1/nodes", "1"))
        ended.set()

    demo.store.create(Target("nodes"), {"metadata": {"name": "n"}})
    follower = threading.Thread(target=follow)
    follower.start()
    time.sleep(0.1)
    began = time.monotonic()
    demo.__exit__()
    follower.join(5)
    assert ended.is_set()
    assert time.monotonic() - began < 1
