"""The page's addresses: each view as HTML and, with .json, as what the HTML is made of.

GET and HEAD only. No script, no cookie, nothing from elsewhere; what cannot be found is a 404.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from flask import Flask, Response, render_template, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound, ServiceUnavailable

from controller.page import fleet as fleet_page
from controller.page import health as health_page
from controller.page import job as job_page
from controller.page import node as node_page
from controller.page import pending as pending_page
from controller.page.board import Board, NotYetError
from controller.page.sheet import VIEWS, Page
from podrail.railmap import fleet, job, node, pending, plain
from podrail.railmap.fleet import Query, Show
from podrail.railmap.scene import Scene
from podrail_io import links

V = TypeVar("V")
FORMAT: Final = 1
MOST_TEXT: Final = 253
MOST_PAGE: Final = 1_000_000
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NOT_YET: Final = "The cluster has not been seen yet. Look again in a moment."
_READING: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class View:
    """A view: its address, its model of what was asked, and the page that is made of that."""

    address: str
    model: Callable[..., Any]
    page: Callable[[Any, str], Page]


def create(board: Board) -> Flask:
    """The application."""
    app = Flask(__name__, static_folder="static", template_folder="templates")
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_options = {"autoescape": True}
    app.config["PROPAGATE_EXCEPTIONS"] = False
    app.before_request(_check_method)
    app.after_request(_headers)
    app.register_error_handler(HTTPException, _wrong)
    app.register_error_handler(NotYetError, lambda _: _wrong(ServiceUnavailable(_NOT_YET)))
    for view in _views(board):
        _serve(app, board, view)
    app.add_url_rule("/", "top", app.view_functions["fleet"], provide_automatic_options=False)
    return app


def _views(board: Board) -> tuple[View, ...]:
    def of_fleet(scene: Scene) -> Any:
        return fleet.of(scene, board.overview(scene), _query())

    def of_pending(scene: Scene, key: str) -> Any:
        pod = _found(next((one for one in scene.waiting if one.key == key), None), f"Pod {key}")
        return pending.asked(pod, board.explained(scene, pod))

    return (
        View("fleet", of_fleet, fleet_page.page),
        View("nodes/<key>", _node, node_page.page),
        View("jobs", lambda scene: job.every(scene, _page()), job_page.every),
        View("jobs/<path:key>", _job, job_page.page),
        View("pending", lambda scene: pending.of(scene, _page()), pending_page.every),
        View("pending/<path:key>", of_pending, pending_page.page),
        View("health", board.health, health_page.page),
    )


def _node(scene: Scene, key: str) -> Any:
    return node.of(_found(scene.machines.get(key), f"Node {key}"))


def _job(scene: Scene, key: str) -> Any:
    _found(scene.jobs.get(key), f"Job {key}")
    return job.of(key, scene, _page())


def _found(value: V | None, what: str) -> V:
    if value is None:
        raise NotFound(f"{what} is not on the map: it is gone, or was never there.")
    return value


def _serve(app: Flask, board: Board, view: View) -> None:
    """The view and its twin."""

    def html(**given: str) -> str:
        scene = board.scene()
        page = view.page(view.model(scene, **given), _twin())
        moment = f"{datetime.fromtimestamp(scene.at, UTC):%Y-%m-%d %H:%M:%S UTC}"
        return render_template("page.html", page=page, root=_root(), views=VIEWS, moment=moment)

    def twin(**given: str) -> Response:
        scene = board.scene()
        found = {"v": FORMAT, "at": scene.at, **plain.document(view.model(scene, **given))}
        return Response(json.dumps(found, indent=1) + "\n", mimetype="application/json")

    options: dict[str, Any] = {"provide_automatic_options": False}
    app.add_url_rule(f"/{view.address}", view.address, html, **options)
    app.add_url_rule(f"/{view.address}.json", f"{view.address}.json", twin, **options)


def _query() -> Query:
    show = _text("show")
    return Query(
        block=_text("block"),
        leaf=_text("leaf"),
        name=_text("name"),
        show=Show(show) if show in set(Show) else Show.ALL,
        page=_page(),
    )


def _text(name: str) -> str:
    return request.args.get(name, "")[:MOST_TEXT]


def _page() -> int:
    text = request.args.get("page", "")
    return min(int(text), MOST_PAGE) if text.isascii() and text.isdecimal() and len(text) < 8 else 1  # noqa: PLR2004 - digits


def _root() -> str:
    """The way to the top: relative, since kubectl proxy and the like serve below a path."""
    depth = request.path.count("/") - 1
    return "../" * depth or "./"


def _twin() -> str:
    path = links.step(request.path.strip("/"), slashes=True) or "fleet"
    query = request.query_string.decode("ascii", "replace")
    return f"{path}.json?{query}" if query else f"{path}.json"


def _check_method() -> None:
    if request.method not in _READING:
        raise MethodNotAllowed(sorted(_READING), "This page is read-only: GET and HEAD.")


def _headers(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response


def _wrong(error: HTTPException) -> Response:
    """A page that says so, in the tone of the others."""
    words = error.description or ""
    body = render_template("missing.html", title=error.name, words=words, root=_root())
    answer = Response(body, error.code or 500, mimetype="text/html")
    answer.headers.extend((name, value) for name, value in error.get_headers() if name == "Allow")
    return answer
