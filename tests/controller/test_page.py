"""The rail map page over HTTP: its addresses, its headers, what it refuses, and its JSON twin."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote

import mapped
import pytest
import served
import viewed
from viewed import Viewed

from controller.page import app, board, surroundings
from controller.page.surroundings import Webhook
from controller.page.watch import Watch
from podrail import names
from podrail.railmap.scene import Scene
from podrail_io import aside
from podrail_io.kube import Api
from podrail_io.reflector import World

VIEWS = (
    "fleet",
    "fleet?show=down&page=1",
    "nodes/node-1",
    "nodes/node-7",
    "nodes/node-8",
    "jobs",
    "jobs/team/train",
    "pending",
    "pending/team/late-0",
    "health",
)


@pytest.fixture(name="page", scope="module")
def _page() -> Iterator[Viewed]:
    """The page of the usual cluster."""
    with viewed.serving() as running:
        yield running


def get(page: Viewed, path: str, method: str = "GET") -> tuple[int, str, dict[str, str]]:
    """Status, body and headers."""
    request = urllib.request.Request(f"{page.url}/{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_is_a_page_and_a_document(page: Viewed, path: str) -> None:
    """With the same address, .json added; the page links it."""
    status, html, _ = get(page, path)
    view, _, query = path.partition("?")
    twin = f"{view}.json{'?' if query else ''}{query}"
    assert (200, True) == (status, twin.replace("&", "&amp;") in html)
    status, text, headers = get(page, twin)
    assert (200, "application/json") == (status, headers["Content-Type"])
    assert (1, mapped.NOW) == (json.loads(text)["v"], json.loads(text)["at"])


def test_the_page_is_drawn_from_what_the_document_says(page: Viewed) -> None:
    """Nodes by leaf, with the letters of their rails."""
    html = get(page, "fleet?leaf=b0/r0")[1]
    found = json.loads(get(page, "fleet.json?leaf=b0/r0")[1])
    names = [one["name"] for group in found["groups"] for one in group["nodes"]]
    assert ["node-0", "node-1", "node-2"] == names
    assert "node-1, rail 3, down (PortDown): team/train-1" in html
    assert "node-3" not in html


def test_the_top_is_the_fleet(page: Viewed) -> None:
    """Without a redirect, which would leave a proxy's path."""
    status, html, _ = get(page, "")
    assert (200, True) == (status, 'href="./static/page.css"' in html)


def test_links_are_relative(page: Viewed) -> None:
    """So that the page works below any path, as kubectl proxy serves it."""
    html = get(page, "jobs/team/train")[1]
    assert 'href="../../static/page.css"' in html
    assert 'href="/' not in html


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_but_reading_is_answered(page: Viewed, method: str) -> None:
    """405, with what is allowed."""
    status, _, headers = get(page, "fleet", method)
    assert (405, "GET, HEAD") == (status, headers["Allow"])


def test_a_head_is_a_page_without_its_body(page: Viewed) -> None:
    """As HTTP has it."""
    status, body, headers = get(page, "fleet", "HEAD")
    assert (200, "", True) == (status, body, int(headers["Content-Length"]) > 1000)


def test_nothing_comes_from_elsewhere_and_no_script_runs(page: Viewed) -> None:
    """The policy says so on every answer, errors and files included."""
    for path in ("fleet", "fleet.json", "static/page.css", "nobody"):
        headers = get(page, path)[2]
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
        assert "script" not in headers["Content-Security-Policy"]
        assert ("nosniff", "podrail") == (headers["X-Content-Type-Options"], headers["Server"])
        assert "Set-Cookie" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "nodes/none",
        "jobs/team/none",
        "pending/team/none",
        "nobody",
        "static/none",
        "static/../app.py",
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(page: Viewed, path: str) -> None:
    """404."""
    status, html, _ = get(page, path)
    assert (404, True) == (status, "<h1>Not Found</h1>" in html)


@pytest.mark.parametrize("query", ["page=x", "page=-1", "page=99999999999", "show=x", "page=²"])
def test_a_query_that_means_nothing_is_as_none(page: Viewed, query: str) -> None:
    """The first page of all."""
    path = quote(f"fleet.json?{query}", safe="=?")
    found = json.loads(get(page, path)[1])
    assert ("all", 9) == (found["query"]["show"], found["paging"]["total"])


def test_what_users_wrote_is_text(page: Viewed) -> None:
    """Never markup."""
    html = get(page, "fleet?name=%3Cscript%3E%22")[1]
    assert "<script" not in html
    assert "&lt;script&gt;&#34;" in html
    assert "<b>" not in get(page, "nodes/%3Cb%3E")[1]


def test_long_lists_turn_by_the_page() -> None:
    """Links keep the question."""
    nodes = [mapped.node(f"n{at}", "b0", "r0") for at in range(120)]
    with viewed.serving({"nodes": nodes, "pods": [], "rails": []}) as page:
        html = get(page, "fleet?page=2&block=b0")[1]
    assert "fleet?block=b0&amp;page=1" in html
    assert "fleet?block=b0&amp;page=3" in html
    assert "n50" in html
    assert ">n49<" not in html


def test_changes_are_shown_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks gets the last scene at once and has the next one drawn."""
    monkeypatch.setattr(board, "GOOD_SECONDS", 0.1)
    with viewed.serving() as page:
        assert 9 == json.loads(get(page, "fleet.json")[1])["sum"]["nodes"]
        assert 2 == json.loads(get(page, "pending/team/late-0.json")[1])["able"]
        page.api.remove("/api/v1/nodes/node-8")
        end = time.monotonic() + 20
        while json.loads(get(page, "fleet.json")[1])["sum"]["nodes"] != 8:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert 1 == json.loads(get(page, "pending/team/late-0.json")[1])["able"]


def test_a_scene_that_is_no_longer_the_last_is_still_good() -> None:
    """A request keeps the one with which it began."""
    with viewed.serving() as page:
        old = mapped.scene()
        assert 9 == page.board.overview(old).sum.nodes
        found = page.board.explained(old, old.waiting[0])
        assert found is not None
        assert 2 == len(found.best)


def test_a_cluster_that_was_not_seen_yet_is_no_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """503, and a page that says so."""
    monkeypatch.setattr(board, "SYNC_SECONDS", 0.2)
    with viewed.serving() as page:
        page.api.deaf = True
        status, html, _ = get(page, "fleet")
        page.api.deaf = False
    assert (503, True) == (status, "has not been seen yet" in html)


def test_a_watch_tells_how_old_it_is() -> None:
    """Infinitely old before it has seen anything; it begins once."""
    watch = Watch(Api.connect(None, "http://127.0.0.1:9"), World(time.monotonic, lambda: 0.5), dict)
    assert (float("inf"), False) == (watch.age(), watch.synced)
    watch.stop()
    watch.start()
    watch.start()


def test_the_webhook_is_asked_for_its_certificate_now_and_then() -> None:
    """Who shows none has a problem; the answer is good for half a minute."""
    clock = iter((0.0, 1.0, 99.0, 99.0))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()[:2]
    asked = Webhook(address, lambda: next(clock))
    first = asked.certificate()
    assert "shows none" in first.problem
    assert first is asked.certificate()
    assert first is not asked.certificate()


def test_profiles_are_counted_by_what_their_condition_says() -> None:
    """One without a condition is not counted."""
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other"}]}}
    assert {"True": 2} == surroundings.ready({"a": ready, "b": ready, "c": {}})


def test_a_slow_page_is_nobody_else_s_concern() -> None:
    """It takes so many connections and no more; those that stay silent hold nobody up."""
    with viewed.serving() as page:
        get(page, "fleet")
        host, port = page.url.removeprefix("http://").split(":")
        silent = [
            socket.create_connection((host, int(port)), 5) for _ in range(aside.MOST_CONNECTIONS)
        ]
        try:
            with socket.create_connection((host, int(port)), 5) as more:
                more.sendall(b"GET /fleet HTTP/1.1\r\n\r\n")
                assert b"" == _received(more)
            began = time.monotonic()
            assert 9 == page.board.overview(page.board.scene()).sum.nodes
            assert time.monotonic() - began < 1
        finally:
            for one in silent:
                one.close()


def _received(peer: socket.socket) -> bytes:
    found = b""
    try:
        while part := peer.recv(4096):
            found += part
    except ConnectionResetError:
        pass
    return found


def test_a_line_without_an_end_is_refused() -> None:
    """414; one that is no HTTP is refused too."""
    with viewed.serving() as page:
        host, port = page.url.removeprefix("http://").split(":")
        for line, status in ((b"GET /" + b"a" * 9000, b"414"), (b"a b c d\r\n\r\n", b"400")):
            with socket.create_connection((host, int(port)), 5) as peer:
                peer.sendall(line)
                assert status in _received(peer)


def test_a_fault_of_ours_is_a_500_without_words() -> None:
    """And does not end the server."""

    class Broken(board.Board):
        def __init__(self) -> None:
            pass

        def scene(self) -> Scene:
            raise RuntimeError("secret")

    client = app.create(Broken()).test_client()
    answer = client.get("/fleet")
    assert (500, False) == (answer.status_code, "secret" in answer.text)


def test_drawings_do_not_wait_for_each_other() -> None:
    """Many first looks are one drawing."""
    with viewed.serving() as page:
        found: list[object] = []
        threads = [
            threading.Thread(target=lambda: found.append(page.board.scene())) for _ in range(8)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert 1 == len({id(one) for one in found})


def test_what_is_not_known_is_said() -> None:
    """A job whose rails nobody knows, a NodeRails that cannot be read, a pod nobody has tried."""
    given = mapped.documents()
    broken = {"metadata": {"name": "node-8"}, "status": {"gpus": 7}}
    late = {**mapped.worker("late-0"), "status": {"phase": "Pending"}}
    claimed = mapped.worker("claimed-0", "node-8")
    notes = claimed["metadata"]["annotations"]
    for name in (names.INJECTED, names.PLACEMENT):
        notes[name] = json.dumps({**json.loads(notes[name]), "rails": []})
    pods = [late, claimed]
    with viewed.serving({**given, "pods": pods, "rails": [broken]}) as page:
        assert "unreadable" in get(page, "nodes/node-8")[1]
        assert "No scheduler has tried it yet" in get(page, "pending/team/late-0")[1]
        html = get(page, "jobs/team/claimed")[1]
    assert "none known" in html
    assert "<svg" not in html


def test_a_gpu_is_free_only_if_the_counts_say_so_too() -> None:
    """A stranger holds one where no agent tells which."""
    with viewed.serving({**mapped.documents(), "rails": []}) as page:
        html = get(page, "nodes/node-3")[1]
    assert "GPU 7 not known" in html
    assert "GPU 7 free" not in html


def test_the_webhook_s_certificate_is_read(tmp_path: Path) -> None:
    """From when to when it is valid, whoever signed it."""
    with served.served(tmp_path / "server", trust=served.authority(tmp_path)) as server:
        found = Webhook(("127.0.0.1", server.port), time.monotonic).certificate()
    assert ("", True) == (found.problem, found.not_before < time.time() < found.not_after)
