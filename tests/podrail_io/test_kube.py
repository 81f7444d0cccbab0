import datetime as dt
import json
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import faulty_api
import kinds_api
import pytest
from faulty_api import PATH, Fault, FaultyApi
from kubernetes.config.incluster_config import InClusterConfigLoader

from certs import authority
from podrail_io import kube
from podrail_io.kube import Api, Event, KubeError, StatusError, UnreachableError


@pytest.fixture
def server() -> Iterator[FaultyApi]:
    with faulty_api.serving() as running:
        yield running


@pytest.fixture
def api(server: FaultyApi) -> Api:
    return Api.connect(server=server.url)


def test_get_hands_the_document_over_as_it_came(server: FaultyApi, api: Api) -> None:
    """A document arrives raw, fields that no model knows included."""
    server.put("a", unheardOf={"x": [1]})
    assert {"x": [1]} == api.get(PATH)["items"][0]["unheardOf"]


def test_the_query_is_quoted(server: FaultyApi, api: Api) -> None:
    """A selector with reserved characters arrives whole."""
    api.get(PATH, {"labelSelector": "a in (b,c)&x"})
    assert {"labelSelector": "a in (b,c)&x"} == server.requests[0].query


def test_post_sends_the_document_as_json(server: FaultyApi, api: Api) -> None:
    """What is posted arrives as it was, as JSON."""
    body = {"metadata": {"name": "ä"}, "n": 1}
    assert body == api.post(PATH, body)
    assert "application/json" == server.requests[0].headers["Content-Type"]


def test_put_replaces_the_version_that_it_names_and_no_other() -> None:
    """Who comes second gets a 409."""
    with kinds_api.serving() as served:
        api = Api.connect(server=served.url)
        first = served.put("/things/a", {"spec": 1})
        second = api.put("/things/a", {**first, "spec": 2})
        assert 2 == served.objects["/things/a"]["spec"]
        assert first["metadata"]["resourceVersion"] != second["metadata"]["resourceVersion"]
        with pytest.raises(StatusError) as caught:
            api.put("/things/a", {**first, "spec": 3})
    assert 409 == caught.value.status


def test_apply_owns_its_fields_as_a_manager() -> None:
    """A server-side apply, which takes them over from whoever has them."""
    with kinds_api.serving() as served:
        served.put("/things/a", {"spec": 1})
        body = {"metadata": {"name": "a"}, "status": {"x": 1}}
        found = Api.connect(server=served.url).apply("/things/a/status", body, "me")
        assert {"x": 1} == found["status"]
        assert ("PATCH", "/things/a/status?fieldManager=me&force=true", body) == served.writes[0]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(
            Fault.ERROR,
            (500, "InternalError", 0, "500 InternalError: it is InternalError"),
            id="a Status",
        ),
        pytest.param(
            Fault.BUSY,
            (429, "TooManyRequests", 7, "429 TooManyRequests: it is TooManyRequests"),
            id="with Retry-After",
        ),
        pytest.param(Fault.ABSENT, (404, "", 0, "404: Not Found"), id="plain text"),
        pytest.param(Fault.REDIRECT, (302, "", 0, "302: Found"), id="a redirect"),
    ],
)
def test_a_refusal_says_what_the_server_said(
    server: FaultyApi, api: Api, fault: Fault, expected: tuple[int, str, float, str]
) -> None:
    """A status that is no success raises with status, reason, pause and message."""
    server.always = fault
    with pytest.raises(StatusError) as caught:
        api.get(PATH)
    found = caught.value
    assert expected == (found.status, found.reason, found.retry_after, str(found))


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.BUSY, Fault.REDIRECT, Fault.CUT])
def test_nothing_is_asked_twice(server: FaultyApi, api: Api, fault: Fault) -> None:
    """A failed call is one request: no retries, and no redirect that would carry the token away."""
    server.always = fault
    with pytest.raises(KubeError):
        api.get(PATH)
    assert 1 == len(server.requests)


@pytest.mark.parametrize("fault", [Fault.DEAF, Fault.SILENT, Fault.CUT, Fault.NONSENSE])
def test_no_usable_answer_is_unreachable(server: FaultyApi, api: Api, fault: Fault) -> None:
    """A server that is silent, breaks off or talks nonsense is told apart from one that refuses."""
    server.always = fault
    began = time.monotonic()
    with pytest.raises(UnreachableError):
        api.get(PATH, timeout=0.3)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_left_is_a_timeout(server: FaultyApi, api: Api, seconds: float) -> None:
    """A caller whose deadline has passed gets a timeout, not a call without one."""
    server.always = Fault.DEAF
    with pytest.raises(UnreachableError):
        api.get(PATH, timeout=seconds)


def test_a_closed_port_is_unreachable() -> None:
    """A refused connection is an error of the door, not of urllib3."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(UnreachableError, match="refused"):
            Api.connect(server=url).get(PATH)


def test_a_proxy_is_not_asked_for_the_own_machine(
    server: FaultyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loopback server is reached directly, whatever proxy the environment names."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert [] == Api.connect(server=server.url).get(PATH)["items"]


def test_a_list_comes_in_pages(server: FaultyApi, api: Api) -> None:
    """A list of more than a page is whole, in pages of 500, each with the list's version."""
    for number in range(1001):
        server.put(f"{number:04}")
    pages = list(api.pages(PATH))
    assert [500, 500, 1] == [len(page.items) for page in pages]
    assert {"1002"} == {page.resource_version for page in pages}
    assert 1001 == len({item["metadata"]["name"] for page in pages for item in page.items})


def test_a_list_that_is_none_is_unreachable(server: FaultyApi, api: Api) -> None:
    """JSON without a list's fields is no list."""
    server.always = Fault.NO_LIST
    with pytest.raises(UnreachableError, match="expected a list"):
        list(api.pages(PATH))


def test_a_watch_tells_what_happens_until_it_is_closed(server: FaultyApi, api: Api) -> None:
    """Each line is an event as soon as it is there; the server's end is the end."""
    server.put("a", color="red")
    watch = api.watch(PATH, "1")
    first = next(watch)
    server.remove("a")
    second = next(watch)
    server.close_watches()
    assert [("ADDED", "2"), ("DELETED", "3")] == [
        (event.kind, event.resource_version) for event in (first, second)
    ]
    assert "red" == first.object["color"]
    assert [] == list(watch)


def test_a_watch_asks_for_bookmarks_and_an_end(server: FaultyApi, api: Api) -> None:
    """The query has what keeps a quiet watch alive and lets the server end it."""
    server.always = Fault.CLOSE
    list(api.watch(PATH, "5"))
    expected = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "240",
    }
    assert expected == server.requests[0].query


def test_an_error_event_is_raised(server: FaultyApi, api: Api) -> None:
    """410 within a watch is the same error as 410 instead of one."""
    server.always = Fault.GONE
    with pytest.raises(StatusError) as caught:
        list(api.watch(PATH, "1"))
    assert (410, "Expired") == (caught.value.status, caught.value.reason)


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.DEAF, Fault.CUT])
def test_a_dead_watch_is_noticed(server: FaultyApi, api: Api, fault: Fault) -> None:
    """Silence, with or without headers, and a broken connection end a watch with an error."""
    server.always = fault
    with pytest.raises(UnreachableError):
        list(api.watch(PATH, "1", silence=0.3))


def test_a_watch_that_fell_silent_is_noticed(server: FaultyApi, api: Api) -> None:
    """The silence counts from the last byte, not from the start."""
    server.put("a")
    watch = api.watch(PATH, "1", silence=0.3)
    assert Event("ADDED", server.things["a"], "2") == next(watch)
    with pytest.raises(UnreachableError, match="no answer in time"):
        next(watch)


def test_silence_is_noticed_within_90_seconds() -> None:
    """Above the bookmarks' minute, and with the time to connect below 90 s."""
    assert 60 < kube.SILENCE_SECONDS
    assert kube.SILENCE_SECONDS + kube.CONNECT_SECONDS <= 90


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("[]", id="a list"),
        pytest.param("word", id="a word"),
        pytest.param("a: [", id="no YAML"),
        pytest.param("clusters: 3\ncurrent-context: a\ncontexts: 5\n", id="wrong types"),
    ],
)
def test_a_broken_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    """What cannot be used as a kubeconfig is an error that names the file."""
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(UnreachableError, match=f"kubeconfig {file}"):
        Api.connect(file)


def test_a_kubeconfig_leads_to_its_server_with_its_token(tmp_path: Path, server: FaultyApi) -> None:
    """Server and token are the current context's."""
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    Api.connect(file).get(PATH)
    assert "Bearer secret" == server.requests[0].headers["authorization"]


def test_outside_a_cluster_there_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without kubeconfig, URL and service account the error says so."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UnreachableError, match="no cluster around"):
        Api.connect()


class TestInCluster:
    """With a service account's files, over TLS."""

    @pytest.fixture
    def secure(self, tmp_path: Path) -> Iterator[FaultyApi]:
        now = dt.datetime.fromtimestamp(time.time(), dt.UTC)
        life = dt.timedelta(days=1)
        ca = authority.authority(now, life)
        leaf = authority.leaf(ca, ["127.0.0.1"], now, life)
        (tmp_path / "ca.crt").write_bytes(ca.certificate_pem)
        (tmp_path / "both.pem").write_bytes(leaf.certificate_pem + leaf.key_pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "both.pem")
        with faulty_api.serving(context) as running:
            yield running

    @pytest.fixture
    def account(self, tmp_path: Path, secure: FaultyApi) -> InClusterConfigLoader:
        (tmp_path / "token").write_text("first")
        environ = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(secure.port),
        }
        return InClusterConfigLoader(  # type: ignore[no-untyped-call]  # untyped library
            str(tmp_path / "token"), str(tmp_path / "ca.crt"), environ=environ
        )

    def test_the_token_is_sent(self, secure: FaultyApi, account: InClusterConfigLoader) -> None:
        """Every call has the account's token; client 36.0.0 sends none."""
        Api.with_account(account).get(PATH)
        assert "bearer first" == secure.requests[0].headers["authorization"]

    def test_a_watch_sends_the_token_too(
        self, secure: FaultyApi, account: InClusterConfigLoader
    ) -> None:
        """A watch is asked for with the same identity as a list."""
        secure.always = Fault.CLOSE
        list(Api.with_account(account).watch(PATH, "1"))
        assert "bearer first" == secure.requests[0].headers["authorization"]

    def test_a_rotated_token_is_used(
        self, tmp_path: Path, secure: FaultyApi, account: InClusterConfigLoader
    ) -> None:
        """When the period is over the next call reads the file again."""
        account._token_refresh_period = dt.timedelta(seconds=0.2)
        api = Api.with_account(account)
        api.get(PATH)
        (tmp_path / "token").write_text("second")
        time.sleep(0.25)
        api.get(PATH)
        sent = [request.headers["authorization"] for request in secure.requests]
        assert ["bearer first", "bearer second"] == sent

    def test_the_token_is_read_again_within_90_seconds(
        self, account: InClusterConfigLoader
    ) -> None:
        """The library's own period is short enough for a rotated token."""
        assert account._token_refresh_period <= dt.timedelta(seconds=90)

    def test_a_token_file_that_went_is_an_error_to_answer(
        self, tmp_path: Path, account: InClusterConfigLoader
    ) -> None:
        """A call without credentials raises what every failed call raises."""
        account._token_refresh_period = dt.timedelta(seconds=-1)
        api = Api.with_account(account)
        (tmp_path / "token").unlink()
        with pytest.raises(UnreachableError):
            api.get(PATH)

    @pytest.mark.usefixtures("secure")
    def test_a_server_of_another_authority_is_not_trusted(
        self, tmp_path: Path, account: InClusterConfigLoader
    ) -> None:
        """A certificate that the account's CA did not sign ends the call before anything is sent."""
        now = dt.datetime.fromtimestamp(time.time(), dt.UTC)
        other = authority.authority(now, dt.timedelta(days=1))
        (tmp_path / "ca.crt").write_bytes(other.certificate_pem)
        with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            Api.with_account(account).get(PATH)
