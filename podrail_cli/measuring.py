"""Runs what `podrail verify` plans in a live cluster, and hands back the logs.

The Jobs end by themselves and are removed by the cluster an hour later; nothing is deleted here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import quantity
from podrail.doctor import fields
from podrail.fabric import Profile
from podrail.verification import workload
from podrail.verification.workload import Order
from podrail_cli import census
from podrail_io import podlog
from podrail_io.kube import Api, StatusError

Document = Mapping[str, Any]
JOB: Final = "batch.kubernetes.io/job-name"
MPI_JOB: Final = "training.kubeflow.org/job-name"
_ROLE: Final = "training.kubeflow.org/job-role"
_PAUSE: Final = 2.0
_GRACE: Final = 60.0
"""How much longer than its deadline a round is waited for."""
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_ABSENT: Final = 404


@dataclass(frozen=True, slots=True)
class Clock:
    """How time passes: seconds since some moment, and a pause of some seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """The logs of what ran, and of what did not why not."""

    logs: tuple[str, ...]
    collective: str
    """The log of all_reduce over all nodes; empty if it did not run."""
    unverified: tuple[str, ...]


def run(api: Api, order: Order, clock: Clock, tell: Callable[[str], None]) -> Ran:
    """Create the Jobs of each round, wait for their pods, read their logs; then all nodes at once.

    Raises:
        StatusError: the API server refuses the Jobs.
        UnreachableError: it does not answer.
    """
    logs: list[str] = []
    unverified: list[str] = []
    rounds: dict[str, list[workload.Document]] = {}
    for job in workload.jobs(order):
        rounds.setdefault(fields.label(job, workload.ROUND), []).append(job)
    for number, jobs in rounds.items():
        tell(f"round {number} of {len(rounds)}: {len(jobs)} pods ...")
        made = [_job(api, order, job) for job in jobs]
        if number == "1":
            _service(api, order, made[0])
        for one in made:
            name = fields.name(one)
            pod = _ended(api, order, f"{JOB}={name}", clock)
            _take(api, order, pod, name, (logs, unverified))
    collective = ""
    if len(order.nodes) > 1:
        tell("all nodes at once ...")
        collective = _collective(api, order, clock, unverified)
    return Ran(tuple(logs), collective, tuple(unverified))


def _job(api: Api, order: Order, job: workload.Document) -> Document:
    return api.post(f"/apis/batch/v1/namespaces/{order.namespace}/jobs", job)


def _service(api: Api, order: Order, owner: Document) -> None:
    """The first Job owns it, so it goes when that one goes."""
    reference = {"name": fields.name(owner), "uid": fields.text(owner, "metadata", "uid")}
    api.post(census.namespaced(order.namespace, "services"), workload.service(order, reference))


def _ended(api: Api, order: Order, selector: str, clock: Clock) -> Document | None:
    """The pod with these labels once it has ended, or as it is when time is up; None for none."""
    end = clock.now() + order.seconds + _GRACE
    while True:
        listed = api.get(census.namespaced(order.namespace, "pods"), {"labelSelector": selector})
        found = fields.parts(listed, "items")
        if found and fields.text(found[0], "status", "phase") in _ENDED:
            return found[0]
        if clock.now() >= end:
            return found[0] if found else None
        clock.sleep(_PAUSE)


def _take(
    api: Api, order: Order, pod: Document | None, name: str, into: tuple[list[str], list[str]]
) -> None:
    logs, unverified = into
    if pod is None:
        unverified.append(f"{name}: its Job made no pod; kubectl describe job {name} says why")
        return
    phase = fields.text(pod, "status", "phase")
    if phase not in _ENDED:
        unverified.append(f"{name}: {phase or 'unknown'} until the time was up; {_waits(pod)}")
    try:
        logs.append(podlog.read(api, order.namespace, fields.name(pod)))
    except StatusError as error:
        unverified.append(f"{name}: its log cannot be read: {error}")


def _waits(pod: Document) -> str:
    """Why it is not scheduled or not started, as far as its status says."""
    conditions: Iterable[Document] = fields.parts(pod, "status", "conditions")
    told = (fields.text(one, "message") for one in conditions)
    reason = next((one for one in told if one), "")
    return reason or f"podrail explain pod {fields.name(pod)} says why"


def _collective(api: Api, order: Order, clock: Clock, unverified: list[str]) -> str:
    """The log of the launcher."""
    path = f"/apis/{workload.MPI}/namespaces/{order.namespace}/mpijobs"
    try:
        made = api.post(path, workload.mpi_job(order))
    except StatusError as error:
        why = "there is no MPIJob (the MPI operator)" if error.status == _ABSENT else str(error)
        unverified.append(f"all nodes at once: {why}")
        return ""
    logs: list[str] = []
    selector = f"{MPI_JOB}={fields.name(made)},{_ROLE}=launcher"
    pod = _ended(api, order, selector, clock)
    _take(api, order, pod, "the launcher", (logs, unverified))
    return "".join(logs)


def able(nodes: Iterable[Document], profile: Profile) -> tuple[str, ...]:
    """The nodes that take pods and have as many GPUs as the profile's machines."""
    return tuple(
        fields.name(one)
        for one in nodes
        if fields.part(one, "spec").get("unschedulable") is not True
        and fields.condition(one, "Ready") != "False"
        and any(_count(one, name) >= profile.rails.gpus for name in profile.gpu_resources)
    )


def _count(node: Document, name: str) -> int:
    return quantity.count(fields.part(node, "status", "allocatable").get(name, 0))
