"""The slim door: the same API servers, faults and identities as the other one's tests have."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import faulty_api
import kinds_api
import pytest
from faulty_api import Fault, FaultyApi
from kinds_api import KindsApi

from podrail_io import slim
from podrail_io.followed import Followed
from podrail_io.slim import ApiError, Place, SlimApi

NODES = "/api/v1/nodes"


@pytest.fixture
def faulty() -> Iterator[FaultyApi]:
    with faulty_api.serving() as running:
        yield running


@pytest.fixture
def kinds() -> Iterator[KindsApi]:
    with kinds_api.serving() as running:
        running.put(f"{NODES}/n1", {"metadata": {"labels": {"a": "b"}}})
        yield running


def test_an_object_is_read_made_and_applied(kinds: KindsApi) -> None:
    """What the server answers comes back."""
    api = SlimApi(Place(kinds.url))
    assert {"a": "b"} == api.get(f"{NODES}/n1")["metadata"]["labels"]
    api.post(NODES, {"metadata": {"name": "n2"}})
    notes = {"metadata": {"name": "n2", "annotations": {"x": "y"}}}
    assert {"x": "y"} == api.apply(f"{NODES}/n2", notes, "me")["metadata"]["annotations"]
    assert "fieldManager=me&force=true" in kinds.writes[-1][1]


def test_the_token_is_read_anew_for_each_call(faulty: FaultyApi, tmp_path: Path) -> None:
    """The kubelet rotates it."""
    token = tmp_path / "token"
    api = SlimApi(Place(faulty.url, token))
    for text in ("one", "two"):
        token.write_text(f"{text}\n")
        api.get(faulty_api.PATH)
    found = [request.headers["Authorization"] for request in faulty.requests]
    assert ["Bearer one", "Bearer two"] == found


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault.ERROR, 500),
        (Fault.BUSY, 429),
        (Fault.ABSENT, 404),
        (Fault.REDIRECT, 302),
        (Fault.NONSENSE, 0),
    ],
)
def test_what_is_no_success_is_an_error(faulty: FaultyApi, fault: Fault, status: int) -> None:
    """With its status, if it has one; a redirect is not followed, and nothing is retried."""
    faulty.always = fault
    with pytest.raises(ApiError) as caught:
        SlimApi(Place(faulty.url)).get(faulty_api.PATH)
    assert (status, 1) == (caught.value.status, len(faulty.requests))


def test_an_api_server_that_is_not_there_is_an_error(faulty: FaultyApi) -> None:
    """So is a missing token or CA file."""
    with pytest.raises(ApiError, match="FileNotFoundError"):
        SlimApi(Place(faulty.url, Path("/no/token"))).get("/x")
    with pytest.raises(ApiError, match=r"ca\.crt"):
        SlimApi(Place("https://127.0.0.1:1", None, Path("/no/ca.crt"))).get("/x")
    with pytest.raises(ApiError, match="ConnectionRefusedError"):
        SlimApi(Place("http://127.0.0.1:1")).get("/x")


def test_a_watch_ends_with_an_error_or_in_silence(faulty: FaultyApi) -> None:
    """410 has its status; half a line and silence have none."""
    api = SlimApi(Place(faulty.url))
    for fault, status in ((Fault.GONE, 410), (Fault.CUT, 0), (Fault.SILENT, 0)):
        faulty.faults.append(fault)
        with pytest.raises(ApiError) as caught:
            list(api.watch(faulty_api.PATH, {"resourceVersion": "1"}, silence=0.3))
        assert status == caught.value.status


def test_a_cluster_is_known_by_its_account(tmp_path: Path) -> None:
    """No variables or no token: none."""
    variables = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert None is slim.in_cluster(variables, tmp_path)
    (tmp_path / "token").write_text("t")
    assert None is slim.in_cluster({}, tmp_path)
    expected = Place("https://[fd00::1]:443", tmp_path / "token", tmp_path / "ca.crt")
    assert expected == slim.in_cluster(variables, tmp_path)


def test_an_object_is_followed(kinds: KindsApi) -> None:
    """From the first list on, through changes of it alone, to its end."""
    news = threading.Event()
    followed = Followed(SlimApi(Place(kinds.url)), NODES, "n1", lambda: 0.5, news.set)
    followed.start()
    try:
        assert news.wait(5)
        assert followed.value is not None
        for labels in ({"a": "c"}, None):
            news.clear()
            kinds.put(f"{NODES}/other", {"metadata": {}})
            if labels:
                kinds.put(f"{NODES}/n1", {"metadata": {"labels": labels}})
            else:
                kinds.remove(f"{NODES}/n1")
            assert news.wait(5)
            value = followed.value
            assert labels == (value and value["metadata"]["labels"])
    finally:
        followed.stop()


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.NONSENSE, Fault.NO_LIST, Fault.CUT])
def test_following_outlives_a_fault(faulty: FaultyApi, fault: Fault) -> None:
    """It asks again, not at once."""
    faulty.put("t1", x=1)
    faulty.faults.append(fault)
    news = threading.Event()
    followed = Followed(SlimApi(Place(faulty.url)), faulty_api.PATH, "t1", lambda: 0.0, news.set)
    followed.start()
    try:
        assert news.wait(5)
        assert followed.value is not None
    finally:
        followed.stop()
