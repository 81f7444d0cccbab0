"""The loop that writes statuses: only what changed, only while it holds the lease."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import builders
import kinds_api
import pytest
from kinds_api import KindsApi

from controller.conditions import Scenery
from controller.reconciler import MANAGER, NODES, Reconciler, Times, View
from podrail import profiles
from podrail.multus.nad import OPEN
from podrail_io.kube import Api
from podrail_io.lease import Lease, Surroundings
from podrail_io.reflector import World

NOW = "2026-01-01T00:00:00Z"


def eventually(holds: Callable[[], bool], seconds: float = 8) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


class Running:
    """A reconciler on a server, with its lease."""

    def __init__(self, server: KindsApi) -> None:
        api = Api.connect(server=server.url)
        self.server = server
        self.view = View(api, World(time.monotonic, random.SystemRandom().random))
        around = Surroundings(
            time.monotonic,
            lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            random.SystemRandom().random,
        )
        self.lease = Lease(api, ("home", MANAGER), "me", around)
        self.reconciler = Reconciler(
            api, self.view, self.lease, Times(lambda: NOW, time.thread_time), Scenery({}, (), OPEN)
        )

    def start(self) -> None:
        self.view.start()
        self.lease.start()
        self.reconciler.start()

    def stop(self) -> None:
        self.reconciler.stop()
        self.view.stop()
        self.lease.stop()

    def ready(self, name: str) -> str:
        """What the Ready condition of a profile says."""
        status = self.server.objects[f"{profiles.RESOURCES}/{name}"].get("status") or {}
        return next(
            (one["reason"] for one in status.get("conditions", ()) if one["type"] == "Ready"), ""
        )

    def statuses(self) -> list[str]:
        """Where statuses were written."""
        return [target for method, target, _ in self.server.writes if method == "PATCH"]

    def count(self, name: str) -> float | None:
        """A metric."""
        return self.reconciler.metrics.registry.get_sample_value(name)


@pytest.fixture
def running() -> Iterator[Running]:
    with kinds_api.serving() as server:
        found = Running(server)
        put(found, "good")
        yield found
        found.stop()


def put(running: Running, name: str, **spec: Any) -> None:
    """Put a profile on the server."""
    place = f"{profiles.RESOURCES}/{name}"
    before = running.server.objects.get(place, {})
    document = {**builders.profile_document(name, **spec), "status": before.get("status")}
    running.server.put(place, document)


def test_a_status_is_written_for_each_profile_and_once(running: Running) -> None:
    """With our field manager, to the status alone; unchanged ones are left in peace."""
    put(running, "bad", mode="wrong")
    running.start()
    assert eventually(
        lambda: (running.ready("good"), running.ready("bad")) == ("Sound", "Malformed")
    )
    running.server.put(f"{NODES}/n", {"status": {"allocatable": {"nvidia.com/gpu": "8"}}})
    put(running, "good", description="new")
    assert eventually(lambda: len(running.statuses()) == 3)
    query = f"/status?fieldManager={MANAGER}&force=true"
    assert {f"{profiles.RESOURCES}/{name}{query}" for name in ("good", "bad")} == set(
        running.statuses()
    )
    # A write is counted once its answer is here.
    assert eventually(lambda: running.count("podrail_controller_status_writes_total") == 3)
    assert 1 == running.count("podrail_controller_active")


def test_who_does_not_hold_the_lease_writes_nothing(running: Running) -> None:
    """It follows the cluster, and takes over where the other one ends."""
    lease = f"/apis/coordination.k8s.io/v1/namespaces/home/leases/{MANAGER}"
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 3}
    running.server.put(lease, {"spec": spec})
    running.start()
    assert eventually(lambda: not running.view.problems())
    time.sleep(1.5)
    assert [] == running.statuses()
    assert eventually(lambda: running.ready("good") == "Sound", 15)


def test_without_the_lease_a_round_writes_nothing(running: Running) -> None:
    """It is asked before each write, not only before a round."""
    running.view.start()
    assert eventually(lambda: not running.view.problems())
    assert not running.reconciler.round()
    assert [] == running.statuses()


def test_a_server_that_refuses_is_asked_again(running: Running) -> None:
    """An error is counted; the next round writes."""
    running.view.start()
    assert eventually(lambda: not running.view.problems())
    running.lease._guarded(running.lease._round)
    running.server.refusing = 500
    assert not running.reconciler.round()
    assert 1 == running.count("podrail_controller_status_errors_total")
    running.server.refusing = 0
    assert running.reconciler.round()
    assert "Sound" == running.ready("good")


def test_a_profile_that_is_deleted_meanwhile_is_no_error(running: Running) -> None:
    """The watch tells of it a moment later."""
    running.view.start()
    assert eventually(lambda: not running.view.problems())
    running.view.stop()
    running.lease._guarded(running.lease._round)
    del running.server.objects[f"{profiles.RESOURCES}/good"]
    assert running.reconciler.round()
    assert 0 == running.count("podrail_controller_status_errors_total")


def test_a_fault_of_ours_ends_no_thread(running: Running) -> None:
    """It is logged and counted, and what can be written later is."""
    running.start()
    assert eventually(lambda: running.ready("good") == "Sound")
    running.reconciler._times = Times(lambda: str(1 // 0), time.thread_time)
    assert not running.reconciler._guarded()
    assert 1 == running.count("podrail_controller_faults_total")


def test_heartbeats_and_our_own_annotations_are_no_news(running: Running) -> None:
    """Of a node only what the lint looks at makes a round."""
    node = {"metadata": {"annotations": {"podrail.dev/free-rails": "0"}}, "status": {}}
    running.server.put(f"{NODES}/n", node)
    running.view.start()
    assert eventually(lambda: not running.view.problems())
    running.view.changed()
    beat = {"annotations": {"podrail.dev/free-rails": "1"}}
    running.server.put(f"{NODES}/n", {"metadata": beat, "status": {"conditions": [1]}})
    running.server.put(f"{NODES}/m", {"status": {"allocatable": {"nvidia.com/gpu": "8"}}})
    assert eventually(lambda: "m" in running.view.nodes.items())
    assert {"allocatable": {}} == running.view.nodes.items()["n"]["status"]
    assert ("", None) == (running.view.uid("n"), running.view.uid("none"))
    assert running.view.changed()
