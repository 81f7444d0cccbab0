"""What the extender knows of the cluster: each node's state and place, and the jobs of its pods.

Watches change it as they go, each event what it is about and no more; questions look up.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import Final

from extender import known, occupancy
from extender import node as nodes
from extender.around import Around, Terms
from extender.books import Books, with_rails
from extender.candidates import Candidates
from extender.known import Held, Known
from extender.node import Spot, Standing
from extender.sizes import Sizes
from extender.survey import Survey
from extender.tally import Tenant
from extender.view import View
from extender.waiting import Waiting
from podrail.gang import ties
from podrail.gang.blocks import Seeker
from podrail.gang.job import Job
from podrail.locality import Place
from podrail.score import value
from podrail.topology import Topology
from podrail_io.kube import Api
from podrail_io.reflector import Change, Reflector

PODS: Final = "/api/v1/pods"
MOST_VIEWS: Final = 128
"""Of jobs whose pods are being bound: each knows some hundred places."""
SIZES_SECONDS: Final = 5.0
"""How long the pods wait for the sizes of jobs; a kind that may not be read never comes."""
EXPIRY_SECONDS: Final = 1.0
"""How often holds and claims are looked through for those whose time is over."""


class Cluster:
    """The watches and the books that they feed, behind one lock."""

    def __init__(
        self,
        api: Api,
        shapes: Mapping[str, Topology],
        around: Around,
        terms: Terms,
    ) -> None:
        self._around = around
        self._terms = terms
        self._lock = threading.Lock()
        self._books = Books()
        self.waiting = Waiting()
        self._standings: dict[str, Standing] = {}
        self._views: dict[str, View] = {}
        self._looked = 0.0
        self._seats: dict[str, value.Seat] = {}
        self._moment = 0
        self._asked = Candidates.of((), 0, {})
        self._named = around.resources()
        self.sizes = Sizes(api, around.world, lambda: around.resources().gpus)
        self.survey = Survey(api, shapes, around.world, around.resources, self._surveyed)
        keep = known.keeper(self.sizes.of)
        self.pods: Reflector[Known] = Reflector(api, PODS, keep, around.world, self._changed)

    def start(self) -> None:
        """Begin to follow the cluster."""
        self.sizes.start()
        self.survey.start()
        threading.Thread(target=self._follow_pods, name="pods", daemon=True).start()

    def _follow_pods(self) -> None:
        """Sizes first, so that a restart knows what jobs still need; but not endlessly."""
        self.sizes.wait(SIZES_SECONDS)
        self.pods.start()

    @property
    def synced(self) -> bool:
        """True once all nodes and pods have been seen."""
        return self.survey.nodes.synced and self.pods.synced

    @property
    def version(self) -> int:
        """Changes whenever what is known of jobs does."""
        return self._books.version

    def age(self) -> float:
        """Seconds since the older of the views of nodes and pods was confirmed."""
        return max(self.survey.nodes.age(), self.pods.age())

    def candidates(self, names: Sequence[str], uid: str = "") -> Candidates:
        """The nodes of these names as they are now: often the last ones, asked about once more.

        They are as the pod of this UID finds them: what is planned for it is free to it.
        """
        self._keep_up()
        # Read before the seats: a seat that is written meanwhile makes these out of date.
        moment, planned = self._moment, self.planned(uid)
        if planned:
            seats = {name: seat for name in names if (seat := self._seats.get(name)) is not None}
            with self._lock:
                seats[planned] = self._own(uid, planned)
            return Candidates.of(names, moment, seats)
        found = self._asked
        if found.names is not names or found.moment != moment:
            found = self._asked = Candidates.of(names, moment, self._seats)
        return found

    def planned(self, uid: str) -> str:
        """The node that is kept for a pod that waits; empty if there is none."""
        tenant = self._books.tally.get(uid)
        return tenant.node if tenant is not None and tenant.planned else ""

    def _keep_up(self) -> None:
        """End what is overdue, and look at all nodes anew once GPUs are called by other names."""
        named = self._around.resources()
        late = self._around.world.clock() - self._looked >= EXPIRY_SECONDS
        if not late and named == self._named:
            return
        with self._lock:
            self._expire()
            for name in () if named == self._named else tuple(self._standings):
                self._seat(name)
            self._named = named

    def standing(self, name: str) -> Standing:
        """What a node is apart from its pods."""
        return self._standings.get(name, nodes.UNKNOWN)

    def view(self, job: Job, there: Mapping[Place, int], per_node: int) -> View:
        """The places with free nodes as the job sees them."""
        with self._lock:
            asked = (job, self._books.version, per_node, frozenset(map(_count, there.items())))
            found = self._views.get(job.key)
            if found is None or found.asked != asked:
                seeker, now = self._seeker(job, per_node), self._around.world.clock()
                if found is not None:
                    about = found.proposed(there, seeker.crew.pods, now)
                    seeker = replace(seeker, proposed=about)
                found = View.of(asked, seeker, there, now)
                if len(self._views) >= MOST_VIEWS:
                    del self._views[next(iter(self._views))]
                self._views[job.key] = found
            return found

    def hold(
        self,
        uid: str,
        tenant: Tenant,
        choose: Callable[[Spot], tuple[int, ...]],
    ) -> Spot:
        """Count a pod whose bind begins: its devices, its job's claims, and the rails chosen.

        All is one step, so that no other bind and no question comes between. What was planned for
        the pod is given up for it.
        """
        with self._lock:
            self._seat(self._books.abandon(uid))
            return self._hold(uid, tenant, choose)

    def plan(self, uid: str, tenant: Tenant, choose: Callable[[Spot], tuple[int, ...]]) -> bool:
        """Count a pod that waits as hold does, unless it is counted already: then False."""
        with self._lock:
            free = self._books.tally.get(uid) is None
            if free:
                self._hold(uid, tenant, choose)
            return free

    def _hold(self, uid: str, tenant: Tenant, choose: Callable[[Spot], tuple[int, ...]]) -> Spot:
        self._expire()
        spot = self._spot(uid, tenant)
        chosen = with_rails(tenant, choose(spot))
        until = self._around.world.clock() + self._terms.claim
        self._books.hold(uid, chosen, spot.standing, until)
        self._seat(tenant.node)
        return spot

    def tenant(self, pod: str, node: str, held: Held, *, planned: bool = False) -> Tenant:
        """A pod (namespace/name) that is to be held on a node from now on; a plan is given up."""
        since = self._around.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        until = inf if planned else self._around.world.clock() + self._terms.hold
        return Tenant(node, pod, held, since, until, planned)

    def abandon(self, uid: str) -> None:
        """Give back what is held for a pod that was not bound."""
        with self._lock:
            self._seat(self._books.abandon(uid))

    def give_up(self, uid: str) -> None:
        """Give back what is planned for a pod; a bind of it that has begun keeps what it has."""
        with self._lock:
            self._give_up(uid)

    def _give_up(self, uid: str) -> None:
        if self.planned(uid):
            self._seat(self._books.abandon(uid))

    def _spot(self, uid: str, tenant: Tenant) -> Spot:
        standing, now = self.standing(tenant.node), self._around.world.clock()
        seeker = self._seeker(tenant.held.job or _NO_JOB, 1)
        asked = self._views.get(seeker.job.key)
        near = None if asked is None else asked.nears.get(standing.place)
        return Spot(
            standing,
            occupancy.of(tenant.node, standing, self._books, self._around),
            self._books.used(tenant.node, now, uid),
            ties.kin(seeker.crew),
            near or ties.near(standing.place, seeker),
        )

    def _own(self, uid: str, name: str) -> value.Seat:
        """A node as the pod finds it that has a place there."""
        standing = self.standing(name)
        return value.seat(
            occupancy.of(name, standing, self._books, self._around, uid), standing.place
        )

    def _seeker(self, job: Job, per_node: int) -> Seeker:
        crew = self._books.siblings.crew(job.key)
        claimed = self._books.claims.others(job.key, self._around.world.clock())
        return Seeker(job, crew, claimed, per_node)

    def _expire(self) -> None:
        self._looked = self._around.world.clock()
        for name in self._books.expire(self._looked):
            self._seat(name)

    def _surveyed(self, name: str) -> None:
        with self._lock:
            before, after = self.standing(name), self.survey.standing(name)
            if after is None:
                self._standings.pop(name, None)
                after = nodes.UNKNOWN
            else:
                self._standings[name] = after
            if _kind(before) != _kind(after):
                self._books.moved(name, after)
            self._seat(name)

    def _changed(self, change: Change[Known]) -> None:
        with self._lock:
            gone, there = change.before, change.after
            self.waiting.changed(change, self._around.world.clock())
            if gone is not None and (there is None or there.uid != gone.uid):
                self._seat(self._books.release(gone.uid))
            elif gone is not None and there is not None and gone.nominated > there.nominated:
                # Withdrawn, or taken away by a preemption; a bind ends with the next lines.
                self._give_up(there.uid)
            if there is not None and there.node:
                self._bound(change.key, there)

    def _bound(self, pod: str, there: Known) -> None:
        tenant = Tenant(there.node, pod, there.held, there.since)
        held = self._books.tally.get(there.uid)
        self._books.seen(there.uid, tenant, self.standing(there.node), self._claimed(there.since))
        self._seat(there.node)
        if held is not None and held.node != there.node:
            self._seat(held.node)

    def _claimed(self, since: str) -> float:
        """Until when a job's claim lasts whose latest pod was bound then."""
        now = self._around.world.clock()
        try:
            age = (self._around.now() - datetime.fromisoformat(since)).total_seconds()
        except (ValueError, TypeError):
            return now
        return now + self._terms.claim - max(age, 0.0)

    def _seat(self, name: str) -> None:
        """Write anew what is known of a node; an empty name is no node."""
        before, after = self._seats.get(name), None
        standing = self._standings.get(name)
        if standing is None:
            self._seats.pop(name, None)
        else:
            found = occupancy.of(name, standing, self._books, self._around)
            after = self._seats[name] = value.seat(found, standing.place)
        # After the seat: who reads the new moment reads the new seat.
        self._moment += after is not before


_NO_JOB: Final = Job("", "none", 1)


def _kind(standing: Standing) -> tuple[Place, str, int]:
    """What siblings know of a node."""
    return (standing.place, standing.product, standing.gbps)


def _count(item: tuple[Place, int]) -> tuple[int, int]:
    """A place by identity, since each is one object: fast to compare."""
    return (id(item[0]), item[1])
