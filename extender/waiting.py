"""The injected pods that wait for a node: by job, in the order in which the watch brought them."""

import threading
from collections.abc import Mapping, Sequence

from extender.known import Known
from podrail_io.reflector import Change


class Waiting:
    """All of them, and since when a nomination of each leads nowhere; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[str, Known]] = {}
        self._nominated: dict[str, float] = {}
        self._moved: dict[str, float] = {}

    def of(self, job: str) -> Mapping[str, Known]:
        """A copy of a job's pods by namespace/name."""
        with self._lock:
            return dict(self._jobs.get(job, {}))

    def stuck(self, since: float) -> Sequence[tuple[str, Known]]:
        """The pods nominated by then, of jobs of which no pod has found a node after that."""
        with self._lock:
            return [
                (key, pod)
                for job, pods in self._jobs.items()
                if self._moved.get(job, since) <= since
                for key, pod in pods.items()
                if self._nominated.get(key, since + 1) <= since
            ]

    def changed(self, change: Change[Known], now: float) -> None:
        """Follow a pod that came, changed, was bound or went."""
        before, after = _job(change.before), _job(change.after)
        with self._lock:
            if before and change.after is not None and change.after.node:
                self._moved[before] = now
            if before and before != after:
                self._leave(before, change.key)
            if after and change.after is not None:
                self._jobs.setdefault(after, {})[change.key] = change.after
            if change.after is not None and change.after.nominated:
                self._nominated.setdefault(change.key, now)
            else:
                self._nominated.pop(change.key, None)

    def _leave(self, job: str, key: str) -> None:
        del self._jobs[job][key]
        if not self._jobs[job]:
            del self._jobs[job]
            self._moved.pop(job, None)


def _job(pod: Known | None) -> str:
    """The job of a pod that waits and was injected; empty for any other."""
    if pod is None or pod.node or pod.held.job is None:
        return ""
    return pod.held.job.key
