"""What a server is at."""

from http import HTTPStatus

from flask import Flask
from prometheus_client import CollectorRegistry

from podrail_io import load


def test_an_application_shows_the_load_of_its_server() -> None:
    """How many requests are in flight at the scrape, and refusals by status, overload from nought."""
    app, registry = Flask("x"), CollectorRegistry()
    load.export(app, registry)
    found = load.of(app)
    found.follow(lambda: 3)
    found.refuse(HTTPStatus.BAD_REQUEST)
    told = [
        registry.get_sample_value("podrail_http_refusals_total", {"status": status})
        for status in ("429", "400")
    ]
    assert ([0, 1], 3) == (told, registry.get_sample_value("podrail_requests_in_flight"))


def test_who_exports_nothing_can_be_served_all_the_same() -> None:
    """A WSGI application that is a function, as in tests."""
    load.of(lambda _environ, _start: [])
