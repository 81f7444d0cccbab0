"""What is known of the pods that are bound: devices and rails by node, siblings and claims by job.

A pod counts from the moment that its bind begins; one that the watch never shows bound stops
counting by itself. Times are given.
"""

from collections import Counter
from dataclasses import dataclass, replace

from extender.node import Standing
from extender.tally import Tally, Tenant
from podrail.gang import blocks
from podrail.gang.claims import Claims
from podrail.gang.job import Job
from podrail.gang.siblings import Member, Siblings
from podrail.ledger import Ledger
from podrail.locality import Place


@dataclass(frozen=True, slots=True)
class _Home:
    """Where the latest pod of a job was bound, when that was, and until when the claim lasts."""

    since: str
    node: str
    until: float
    place: Place


class Books:
    """All of it together. Not thread-safe: its owner locks."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.siblings = Siblings()
        self.claims = Claims()
        self._ledger = Ledger()
        self._homes: dict[str, _Home] = {}
        self.version = 0
        """Changes whenever siblings or claims do."""

    def used(self, node: str, now: float, apart_from: str = "") -> Counter[int]:
        """How many pods use each rail of a node, not counting one pod."""
        return self._ledger.used(node, apart_from, now)

    def hold(self, uid: str, tenant: Tenant, standing: Standing, claimed_until: float) -> None:
        """Count a pod that is about to be bound; one seen bound keeps what it has."""
        known = self.tally.get(uid)
        if tenant.until is None or (known is not None and known.until is None):
            return
        self.tally.put(uid, tenant)
        self._ledger.hold(uid, tenant.node, tenant.held.rails, tenant.until)
        if tenant.held.job is not None:
            member = _member(tenant, standing)
            self.siblings.hold(uid, tenant.held.job.key, member, tenant.until)
            self._settle(tenant.held.job, _home(tenant, standing, claimed_until))

    def seen(self, uid: str, tenant: Tenant, standing: Standing, claimed_until: float) -> None:
        """Count what the watch shows of a bound pod, in place of any hold."""
        self.tally.put(uid, tenant)
        if tenant.held.job is None:
            self._forget(uid)
            return
        self._ledger.seen(uid, tenant.node, tenant.held.rails)
        self.siblings.seen(uid, tenant.held.job.key, _member(tenant, standing))
        self._settle(tenant.held.job, _home(tenant, standing, claimed_until))

    def moved(self, node: str, standing: Standing) -> None:
        """Count the pods of a node of which other things are known now."""
        for uid, tenant in self.tally.on(node).items():
            if tenant.held.job is None:
                continue
            key, member = tenant.held.job.key, _member(tenant, standing)
            if tenant.until is None:
                self.siblings.seen(uid, key, member)
            else:
                self.siblings.hold(uid, key, member, tenant.until)
            home = self._homes.get(key)
            if home is not None and home.node == node:
                self._settle(tenant.held.job, replace(home, place=standing.place))
        self.version += 1

    def release(self, uid: str) -> str:
        """Forget a pod that has ended or is gone; its node, empty if it was on none."""
        tenant = self.tally.get(uid)
        self._forget(uid)
        if tenant is not None and tenant.held.job is not None:
            self._end(tenant.held.job.key)
        return self.tally.drop(uid)

    def abandon(self, uid: str) -> str:
        """Forget a pod that could not be bound, if it is not seen bound; its node or nothing."""
        tenant = self.tally.get(uid)
        return "" if tenant is None or tenant.until is None else self.release(uid)

    def expire(self, now: float) -> list[str]:
        """Forget the pods never seen bound in time, and old claims; the nodes that changed."""
        nodes = [self.release(uid) for uid in self.tally.overdue(now)]
        before = len(self.claims)
        self.claims.expire(now)
        self.version += before != len(self.claims)
        return nodes

    def _forget(self, uid: str) -> None:
        self._ledger.release(uid)
        self.siblings.release(uid)

    def _end(self, job: str) -> None:
        self.version += 1
        if job not in self.siblings.jobs:
            self.claims.release(job)
            self._homes.pop(job, None)

    def _settle(self, job: Job, home: _Home) -> None:
        """Claim what a job still needs where its latest pod is."""
        self.version += 1
        known = self._homes.get(job.key)
        if known is None or known.since <= home.since:
            known = self._homes[job.key] = home
        rest = blocks.rest(job, self.siblings.crew(job.key)) or 0
        self.claims.make(job.key, known.place, rest, known.until)


def with_rails(tenant: Tenant, rails: tuple[int, ...]) -> Tenant:
    """The tenant with other rails."""
    return replace(tenant, held=replace(tenant.held, rails=rails))


def _home(tenant: Tenant, standing: Standing, until: float) -> _Home:
    return _Home(tenant.since, tenant.node, until, standing.place)


def _member(tenant: Tenant, standing: Standing) -> Member:
    job = tenant.held.job
    index = None if job is None else job.index
    return Member(
        tenant.node, standing.place, tenant.held.rails, standing.product, standing.gbps, index
    )
