"""Creators of pods that go on while something happens, and what they were answered."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import builders
from controlplane.client import Answer, Client

from podrail import names

CREATORS = 6
PAUSE_SECONDS = 0.25
"""After each pod: whoever deletes them all afterwards has one request and 30 s for it."""
UNANSWERED = 0


@dataclass(slots=True)
class Load:
    """No pod is tried twice; a call that was not answered has the status 0."""

    client: Client
    namespace: str
    fabric: str | None = "sriov-rails"
    """None for pods that have not opted in."""
    answers: list[Answer] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)

    def create(self, creator: int) -> None:
        """Create one pod after the other until the end."""
        number = 0
        while not self.ending.is_set():
            # Gated: a scheduler with nowhere to put them would share the processors.
            gates = [{"name": "test.podrail.dev/not-scheduled"}]
            name = f"{self.fabric or 'plain'}-{creator}-{number}"
            pod = builders.document(name=name, fabric=self.fabric, schedulingGates=gates)
            try:
                self.answers.append(self.client.try_create(pod, self.namespace))
            except (OSError, http.client.HTTPException) as error:
                self.answers.append(Answer(UNANSWERED, {"message": repr(error)}, ()))
            number += 1
            self.ending.wait(PAUSE_SECONDS)

    @property
    def created(self) -> list[str]:
        """The names of the pods that there are."""
        return [one.body["metadata"]["name"] for one in self.answers if one.status == 201]

    @property
    def uninjected(self) -> list[str]:
        """Those that there are without podrail having seen them."""
        made = [one.body["metadata"] for one in self.answers if one.status == 201]
        return [one["name"] for one in made if names.INJECTED not in one.get("annotations", {})]

    @property
    def failures(self) -> list[str]:
        """What was said where no pod was created."""
        return [f"{one.status}: {one.message}" for one in self.answers if one.status != 201]


@contextlib.contextmanager
def creating(
    client: Client, namespace: str, fabric: str | None = "sriov-rails", creators: int = CREATORS
) -> Iterator[Load]:
    """Six creators for the length of a block; all have ended after it."""
    load = Load(client, namespace, fabric)
    with ThreadPoolExecutor(creators) as pool:
        running = [pool.submit(load.create, number) for number in range(creators)]
        try:
            yield load
        finally:
            load.ending.set()
    for one in running:
        one.result()
