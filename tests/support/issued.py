"""CAs and leaves with 60 seconds of life, and the scenes that they make."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from certs import authority, chain, holdings, rotation
from certs.authority import Pair
from certs.calm import Observer
from certs.holdings import Authorities, Served
from certs.scene import Keep, Scene, Serve, Sight, Terms, Trust

NOW: Final = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
LIFE: Final = timedelta(seconds=60)
HOST: Final = "podrail-webhook.podrail-system.svc"
SETTLE: Final = 5.0
"""With the steps and a late replica less than the third of a life that is left at a renewal."""
TERMS: Final = Terms((HOST,), LIFE, SETTLE)


def before(seconds: float) -> datetime:
    """So many seconds before now."""
    return NOW - timedelta(seconds=seconds)


def ca(age: float = 0.0) -> Pair:
    """A CA that was made so many seconds ago; its life is 600."""
    return authority.authority(before(age), LIFE)


def leaf(of: Pair, age: float = 0.0, *hosts: str) -> Pair:
    """A leaf that was made so many seconds ago."""
    return authority.leaf(of, hosts or (HOST,), before(age), LIFE)


def bundle(*trusted: Pair) -> bytes:
    """A caBundle."""
    return chain.text(one.certificate for one in trusted)


def served(one: Pair, *trusted: Pair) -> Served:
    """What the replicas are given."""
    return Served.read(holdings.served(one, [ca.certificate for ca in trusted]))


def good(signer: Pair | None = None, **changed: Any) -> Scene:
    """Nothing is to be done, but for what is changed."""
    signer = signer or ca()
    mine = changed.pop("leaf", None) or leaf(signer)
    usual = {
        "authorities": Authorities(signer),
        "served": served(mine, signer),
        "live": (bundle(signer), bundle(signer)),
        "sight": Sight((mine.certificate,)),
    }
    return Scene(NOW, **{**usual, **changed})


def for_seconds(value: float, *pairs: Pair) -> dict[Any, float]:
    """So many seconds for each."""
    return {one.certificate: value for one in pairs}


class Replay:
    """A cluster in memory: what auto writes, and whoever takes it over when it pleases."""

    def __init__(self) -> None:
        self.now = NOW
        self.authorities: dict[str, bytes] = {}
        self.served: dict[str, bytes] = {}
        self.live = [b"", b""]
        self.mounted: list[dict[str, bytes]] = []
        """What each replica has in its volume."""
        self.observer = self.observing()
        self.steps: list[str] = []

    def observing(self) -> Observer:
        """What a keeper that has just been started remembers."""
        return Observer(self.seconds)

    def seconds(self) -> float:
        """Since the beginning."""
        return (self.now - NOW).total_seconds()

    def leaves(self) -> list[Served]:
        """What each replica serves."""
        return [Served.read(one) for one in self.mounted if one]

    def look(self) -> Scene:
        """What the keeper sees."""
        shown = tuple(one.leaf for one in self.leaves() if one.leaf is not None)
        found = Scene(
            self.now,
            Authorities.read(self.authorities),
            Served.read(self.served),
            tuple(self.live),
            Sight(shown),
        )
        return self.observer.look(found, rotation.wanted(found))

    def step(self) -> bool:
        """Take the next step, if there is one."""
        taken = rotation.step(self.look(), TERMS)
        match taken:
            case None:
                return False
            case Keep(authorities):
                self.authorities = dict(authorities.data())
            case Trust(trusted):
                self.live = [trusted for _ in self.live]
            case Serve(data):
                self.served = {**self.served, **data}
        self.steps.append(type(taken).__name__)
        return True
