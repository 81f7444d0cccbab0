"""The webhook's certificate files changed, broken, expired and mended while pods are created."""

from __future__ import annotations

import base64
import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import creating
import pytest
from certificates_api import logged
from controlplane.installed import Installed, eventually
from controlplane.processes import Child
from creating import Load

from certs import authority, store
from certs.authority import Pair
from podrail_io import tls

pytestmark = pytest.mark.cluster
REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podrail"
POLICY: Final = "ValidatingAdmissionPolicy 'podrail-injected'"
LIFE: Final = timedelta(days=1)
SHORT: Final = timedelta(seconds=6)
PHASE_SECONDS: Final = 2.5
LEARN_SECONDS: Final = 1.0
"""In which the API server has learned of a registration."""
PATIENCE_SECONDS: Final = 5.0
"""Within which a new pair is served: a look each second, on a busy machine."""


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


@dataclass(slots=True)
class Site:
    """A registered webhook that serves from files of its own."""

    installed: Installed
    folder: Path
    ca: Pair
    webhook: Child = field(init=False)
    address: str = field(init=False)

    def __post_init__(self) -> None:
        self.put(self.leaf())
        files = {"PODRAIL_CERT": str(self.folder / "tls.crt"), "PODRAIL_KEY": str(self.folder / "tls.key")}  # fmt: skip
        self.webhook = self.installed.webhook(**files)
        self.address = self.webhook.address()
        self.installed.register(self.address)

    def leaf(self, ca: Pair | None = None, life: timedelta = LIFE) -> Pair:
        """A new pair for the webhook's address."""
        return authority.leaf(ca or self.ca, ("127.0.0.1",), _now(), life)

    def put(self, certificate: Pair, key: Pair | None = None) -> None:
        """Have the files hold this certificate, and its key or another's."""
        self.write(certificate.certificate_pem, (key or certificate).key_pem)

    def write(self, certificate: bytes, key: bytes) -> None:
        """Replace both files, each by a rename."""
        for name, text in (("tls.key", key), ("tls.crt", certificate)):
            store._write(self.folder / name, text, 0o600)

    def trust(self, *authorities: Pair) -> None:
        """Have these in the caBundle: the API server then shakes hands anew for each call's client."""
        client = self.installed.cluster.client
        found = client.get(REGISTRATION)
        bundle = b"".join(one.certificate_pem for one in authorities)
        for one in found["webhooks"]:
            one["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
        assert 200 == client.call("PUT", REGISTRATION, found).status
        time.sleep(LEARN_SECONDS)

    def redial(self) -> None:
        """Have the API server make new connections: the same trust, and somebody who signs nothing."""
        self.trust(self.ca, authority.authority(_now(), LIFE))

    def serves(self, one: Pair) -> bool:
        """Whether a new connection is shown this certificate."""
        host, _, port = self.address.rpartition(":")
        return tls.leaf_of((host, int(port)), "localhost", 5) == one.certificate

    def wait_for(self, one: Pair) -> None:
        """Return once it is served."""
        eventually(lambda: self.serves(one), "the pair is served", PATIENCE_SECONDS)

    def ask(self, path: str) -> tuple[int, str]:
        """What the webhook says of itself, to who does not mind its certificate."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(
                f"https://{self.address}{path}", timeout=5, context=context
            ) as answer:
                return int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, name: str) -> float:
        """A metric without labels."""
        lines = self.ask("/metrics")[1].splitlines()
        return float(next(one for one in lines if one.startswith(f"{name} ")).rpartition(" ")[2])


@pytest.fixture
def site(installed: Installed, tmp_path: Path) -> Iterator[Site]:
    """One whose CA is that of the installation."""
    files = (installed.certificates / name for name in (store.CA_CERTIFICATE, store.CA_KEY))
    found = Site(installed, tmp_path, Pair.read(*(one.read_bytes() for one in files)))
    yield found
    installed.unregister()
    found.webhook.stop()


@dataclass(slots=True)
class Phases:
    """What creators were answered in each of some phases, those of opted-in pods and the others."""

    ours: Load
    others: Load
    created: dict[str, int] = field(default_factory=dict)
    refused: dict[str, list[str]] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is answered in the length of a block, and for a while after it."""
        before = len(self.ours.created), len(self.ours.failures)
        yield
        time.sleep(PHASE_SECONDS)
        self.created[name] = len(self.ours.created) - before[0]
        self.refused[name] = self.ours.failures[before[1] :]

    def tell(self) -> None:
        """Print the figures."""
        told = ", ".join(f"{one}: {made} created, {len(self.refused[one])} refused" for one, made in self.created.items())  # fmt: skip
        print(f"\n{told}; others: {len(self.others.created)}, {len(self.others.failures)} failed", file=sys.stderr)  # fmt: skip

    def check(self, *failing: str) -> None:
        """Only in these phases opted-in pods were refused, by the policy; nobody else ever was."""
        assert set(failing) == {name for name, told in self.refused.items() if told}
        assert [] == [one for told in self.refused.values() for one in told if POLICY not in one]
        assert ([], []) == (self.ours.uninjected, self.others.failures)
        assert len(self.others.created) > 10


@contextmanager
def phases(site: Site, namespace: str) -> Iterator[Phases]:
    """Six creators of opted-in pods and two of others for the length of a block."""
    client = site.installed.cluster.client
    with (
        creating.creating(client, namespace) as ours,
        creating.creating(client, namespace, None, 2) as others,
    ):
        yield Phases(ours, others)


def spoil(site: Site, seen: Phases, good: Pair) -> None:
    """Write files that cannot be served, one kind after the other."""
    other = site.leaf()
    bad = {
        "garbage": (b"-----BEGIN", b"\0" * 99),
        "of two pairs": (other.certificate_pem, site.leaf().key_pem),
        "empty": (b"", b""),
    }
    for name, pair in bad.items():
        with seen.phase(name):
            site.write(*pair)
            site.redial()
            assert site.serves(good)
            assert 200 == site.ask("/readyz")[0]
    assert len(bad) == site.metric("podrail_cert_reload_errors_total")


def expire(site: Site, seen: Phases) -> None:
    """Serve a pair whose time is soon over, and wait for that."""
    short = site.leaf(life=SHORT)
    with seen.phase("short-lived"):
        site.put(short)
        site.wait_for(short)
    time.sleep(max(short.certificate.not_valid_after_utc.timestamp() - time.time(), 0))
    # Connections that were made before go on; from here on there are new ones.
    with seen.phase("expired"):
        site.redial()
    status, told = site.ask("/readyz")
    assert (503, ["the certificate has expired"]) == (status, json.loads(told)["problems"])
    assert site.metric("podrail_cert_expiry_timestamp_seconds") < time.time()


def test_the_last_good_pair_is_served_until_its_end_and_the_next_one_at_once(
    site: Site, namespace: str
) -> None:
    """Bad files cost no call; after the end the policy refuses our pods, and nobody else notices."""
    first, last = site.leaf(), site.leaf()
    with phases(site, namespace) as seen:
        with seen.phase("new pair"):
            site.put(first)
            site.wait_for(first)
            site.redial()
        spoil(site, seen, first)
        expire(site, seen)
        site.put(last)
        site.wait_for(last)
        time.sleep(LEARN_SECONDS)
        with seen.phase("mended"):
            site.redial()
            assert 200 == site.ask("/readyz")[0]
    seen.tell()
    seen.check("expired")
    log = site.webhook.log.read_text()
    assert 3 == len(logged(log, "certificate not loaded"))
    assert 1 == len(logged(log, "certificate expired"))


def bundle_first(site: Site, after: Pair) -> None:
    """Nobody trusts what is still served."""
    site.trust(after)
    time.sleep(PHASE_SECONDS)
    _serve(site, after)


def pair_first(site: Site, after: Pair) -> None:
    """What is served is trusted by nobody yet, as soon as a connection is made."""
    _serve(site, after)
    site.redial()
    time.sleep(PHASE_SECONDS)
    site.trust(after)


def both_trusted_first(site: Site, after: Pair) -> None:
    """As podrail-certs does it."""
    site.trust(site.ca, after)
    _serve(site, after)
    site.trust(after, site.ca)
    time.sleep(PHASE_SECONDS)
    site.trust(after)


def _serve(site: Site, ca: Pair) -> None:
    leaf = site.leaf(ca)
    site.put(leaf)
    site.wait_for(leaf)


@pytest.mark.parametrize(
    ("order", "failing"),
    [(bundle_first, ["between"]), (pair_first, ["between"]), (both_trusted_first, [])],
    ids=["bundle first", "pair first", "both trusted first"],
)
def test_a_ca_is_replaced_without_a_failure_only_in_two_phases(
    site: Site, namespace: str, order: Callable[[Site, Pair], None], failing: list[str]
) -> None:
    """In either simple order our pods are refused until the other half is there."""
    with phases(site, namespace) as seen:
        with seen.phase("before"):
            pass
        with seen.phase("between"):
            order(site, authority.authority(_now(), LIFE))
        with seen.phase("after"):
            pass
    print(f"\n{order.__name__}", file=sys.stderr, end="")
    seen.tell()
    seen.check(*failing)
