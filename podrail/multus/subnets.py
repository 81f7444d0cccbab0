"""Rules of lint about the rails' addresses: who gives them, how many, in which subnets and routes.

Where nothing is known (a pool in another object, a configuration in a file on the node) nothing is
said.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from podrail.fabric import EXCLUSIVE, Partial
from podrail.marker import Reason
from podrail.multus.address import HOST_LOCAL, STATIC
from podrail.multus.scene import Scene, Use


def _host_local(scene: Scene) -> Iterator[Reason]:
    if len(scene.fleet.machines) == 1:
        return
    for use in scene.distinct:
        if use.nad.config.ipam == HOST_LOCAL:
            message = (
                f"{use.what}: host-local counts on each node by itself, so pods on two nodes get "
                "the same address: use whereabouts, nv-ipam or another IPAM of the whole cluster"
            )
            yield Reason("HostLocalPool", use.path, message)


def _too_small(scene: Scene) -> Iterator[Reason]:
    for name, uses in _by_network(scene.uses).items():
        sizes = [
            pool.size
            for use in uses
            for pool in use.nad.config.pools
            if name in pool.networks and pool.size is not None
        ]
        needs = _interfaces(scene, uses)
        need = max(needs, default=0) if uses[0].nad.config.ipam == HOST_LOCAL else sum(needs)
        if sizes and min(sizes) < need:
            yield _small(uses, name, min(sizes), need)


def _small(uses: list[Use], name: str, size: int, need: int) -> Reason:
    first = uses[0]
    more = len({use.nad.key for use in uses}) - 1
    others = f" and {more} more" if more else ""
    advice = "use an IPAM of the whole cluster" if first.nad.config.ipam == STATIC else "enlarge it"
    message = (
        f"{first.nad.key}{others}: {first.nad.config.ipam} has {size} addresses of {name}, and the "
        f"pods' interfaces may take {need}: {advice}"
    )
    return Reason("SubnetTooSmall", first.path, message)


def _interfaces(scene: Scene, uses: list[Use]) -> list[int]:
    """The most interfaces of these networks that pods have at a time, for each node."""
    counted = {use.nad.resource for use in uses if _is_counted(scene, use)}
    others = sum(use.network.repeat for use in uses if not _is_counted(scene, use))
    # The smallest pod has one GPU, unless only pods of a whole node are let in.
    whole = scene.profile.partial is Partial.DENY
    return [
        sum(machine.allocatable.get(resource, 0) for resource in counted)
        + others * (1 if whole else machine.gpus)
        for machine in scene.fleet.machines
    ]


def _is_counted(scene: Scene, use: Use) -> bool:
    return bool(use.nad.resource) and scene.profile.attachment in EXCLUSIVE


def _same_subnet(scene: Scene) -> Iterator[Reason]:
    # InfiniBand finds its peers by LID: no ARP is on the way of its traffic.
    ethernet = [use for use in scene.uses if "ib-sriov" not in use.nad.config.types]
    for name, uses in _by_network(ethernet).items():
        untuned = sorted({use.nad.key for use in uses if not use.nad.config.answers_for_itself})
        count = sum(use.network.repeat for use in uses)
        if count > 1 and untuned:
            message = (
                f"{count} interfaces of a pod are in {name}, and {', '.join(untuned)} let any of "
                "them answer ARP for all: chain tuning with arp_announce 2 and arp_ignore 1, or "
                "sbr; or give each rail a subnet"
            )
            yield Reason("SameSubnetNoArp", uses[0].path, message)


def _default_routes(scene: Scene) -> Iterator[Reason]:
    for use in scene.distinct:
        if use.nad.config.default_route:
            message = (
                f"{use.nad.key} adds a default route beside the pod network's, which can break DNS "
                "and rendezvous: take 0.0.0.0/0 and ::/0 out of its routes, or chain sbr"
            )
            yield Reason("TwoDefaultRoutes", use.path, message)


def _mtu(scene: Scene) -> Iterator[Reason]:
    rails = [use for use in scene.uses if use.network.rail is not None and use.nad.config.mtu]
    found = Counter(use.nad.config.mtu for use in rails)
    if len(found) > 1:
        usual = found.most_common(1)[0][0]
        odd = [
            f"{use.nad.key} {use.nad.config.mtu}" for use in rails if use.nad.config.mtu != usual
        ]
        message = f"the rails' MTU is {usual}, but of {', '.join(odd[:8])}: make them equal"
        yield Reason("MtuDiffers", "spec.networks", message)


def _by_network(uses: Sequence[Use]) -> dict[str, list[Use]]:
    """The uses that take addresses of each network."""
    found: dict[str, list[Use]] = {}
    for use in uses:
        for name in dict.fromkeys(name for pool in use.nad.config.pools for name in pool.networks):
            found.setdefault(name, []).append(use)
    return found


RULES: Final[tuple[Callable[[Scene], Iterator[Reason]], ...]] = (
    _host_local,
    _too_small,
    _same_subnet,
    _default_routes,
    _mtu,
)
