"""A node with the pods on it: the state in which the next pod finds it."""

from collections.abc import Iterable, Mapping

from extender.around import Around
from extender.books import Books
from extender.node import Standing
from extender.tally import Tenant
from podrail.score import state
from podrail.score.state import State


def of(name: str, standing: Standing, books: Books, around: Around, uid: str = "") -> State | None:
    """The state of a node, not counting the pod of this UID; None if nothing is known of it."""
    if standing.plain is None:
        return None
    free = books.tally.left(name, standing.devices, uid)
    used = books.used(name, around.world.clock(), uid)
    return state.same(
        State(
            standing.plain,
            standing.kubelet,
            standing.devices,
            state.counted(free),
            _free_gpus(standing, books.tally.on(name).values(), around, free),
            tuple(sorted(used.items())),
            standing.product,
            standing.sliced,
        )
    )


def _free_gpus(
    standing: Standing, tenants: Iterable[Tenant], around: Around, free: Mapping[str, int]
) -> tuple[int, ...] | None:
    """The free GPUs, if they are known: by the agent, or by markers that are sure."""
    gpu = next((one for one in around.resources().gpus if one in free), None)
    if gpu is None or standing.plain is None:
        return None
    held = (standing.holders.get(one.pod, one.held.gpus) for one in tenants)
    return state.free_gpus(standing.plain, held, max(free[gpu], 0))
