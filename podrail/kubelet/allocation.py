"""Which devices of one resource a container gets (Kubernetes 1.36.3, devicemanager/manager.go).

Devices that the pod's init containers left come first. Then those inside the container's affinity:
the plugin may choose among them if there are more than needed; else all, and the rest from outside.
Resources never see each other, so the affinity is all that links a pod's GPUs with its NICs.
"""

from functools import lru_cache
from typing import Final

from podrail.kubelet import draw, partition
from podrail.kubelet.draw import Draw
from podrail.kubelet.node import Counts, Plugin, Resource, Stock

MOST_OUTCOMES: Final = 512
"""Of one resource for one container; more are thinned evenly."""


@lru_cache(maxsize=8192)
def fresh(resource: Resource, stock: Stock, want: int, mask: int | None) -> Draw:
    """What comes from the free devices on top of what is had, in an affinity or in none.

    want is more than is had, and at most that and all that is free.
    """
    need = want - sum(stock.had)
    inside = tuple(
        mask is not None and numa is not None and bool(mask >> numa & 1) for numa in resource.numas
    )
    aligned = draw.only(stock.free, inside)
    if need == sum(stock.free):
        return Draw(((stock.free, draw.ONE),))
    if need == sum(aligned):
        return Draw(((aligned, draw.ONE),))
    if need < sum(aligned):
        blind = draw.blind(aligned, need, MOST_OUTCOMES)
        return _chosen(resource, Stock(aligned, stock.had), want, blind)
    rest = Stock(draw.minus(stock.free, aligned), draw.plus(stock.had, aligned))
    blind = _outside(resource, rest.free, want - sum(rest.had), mask)
    return _chosen(resource, rest, want, blind).shifted(aligned)


def _outside(resource: Resource, free: Counts, need: int, mask: int | None) -> Draw:
    """Devices of other NUMA nodes first, then those whose NUMA node nobody knows."""
    told = [mask is not None and numa is not None for numa in resource.numas]
    first = draw.only(free, told)
    if need <= sum(first):
        return draw.blind(first, need, MOST_OUTCOMES)
    last = draw.minus(free, first)
    return draw.blind(last, need - sum(first), MOST_OUTCOMES).shifted(first)


def _chosen(resource: Resource, stock: Stock, want: int, blind: Draw) -> Draw:
    """What the plugin prefers on top of what is had; a blind draw where it prefers nothing."""
    if resource.plugin is Plugin.ANY:
        return blind
    if resource.plugin is not Plugin.ALIGNED:
        devices = tuple(card.devices for card in resource.cards)
        picks = want - sum(stock.had)
        found = draw.replicas(resource.plugin, devices, stock, picks)
        return draw.thinned(found, MOST_OUTCOMES)
    had = sum(1 << at for at, count in enumerate(stock.had) if count)
    free = sum(1 << at for at, count in enumerate(stock.free) if count)
    preference = partition.preferred(resource.links, free | had, had, want)
    places = range(len(stock.free))
    chances = [
        (tuple((some & ~had) >> at & 1 for at in places), chance)
        for some, chance in preference.sets
        if some
    ]
    for some, chance in preference.sets:
        if not some:
            chances += [(counts, chance * share) for counts, share in blind.chances]
    exact = preference.exact and (blind.exact or all(some for some, _ in preference.sets))
    return draw.thinned(draw.gathered(chances, exact=exact), MOST_OUTCOMES)
