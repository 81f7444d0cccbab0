"""Which nodes measure against which, and when: every node against two others, if there are so many.

A pair that is slow has two suspects; a second partner tells which one it is. A node takes part in
one pair at a time, since the pods take all of its GPUs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from podrail.fabric import Attachment, Profile

_PAIR = 2


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes that measure against each other, and the round in which they do, from 1."""

    server: str
    client: str
    round: int


def pairs(nodes: Sequence[str]) -> tuple[Pair, ...]:
    """The ring of the nodes, in rounds of pairs that have no node in common."""
    if len(nodes) < _PAIR:
        return ()
    ring = [(one, nodes[(at + 1) % len(nodes)]) for at, one in enumerate(nodes)]
    if len(nodes) == _PAIR:
        ring = ring[:1]
    found = [Pair(server, client, 1 + at % 2) for at, (server, client) in enumerate(ring)]
    if len(ring) % 2 and len(ring) > 1:
        # The last pair of an odd ring meets both rounds: it has one of its own.
        found[-1] = Pair(found[-1].server, found[-1].client, 3)
    return tuple(sorted(found, key=lambda pair: pair.round))


def unmeasured(profile: Profile) -> str:
    """Why ib_write_bw cannot measure the rails of a profile; empty if it can."""
    match profile.attachment:
        case Attachment.EFA:
            return "ib_write_bw does not speak EFA's protocol (SRD): only NCCL is measured there"
        case Attachment.NONE:
            return "the profile has no RDMA devices: only NCCL is measured"
        case _:
            return ""


def rails(profile: Profile) -> tuple[str, ...]:
    """The interfaces that a pod with the whole node has; empty where it has no networks."""
    return tuple(name for network in profile.networks for name in network.interfaces if name)
