"""How many addresses an IPAM configuration can give, and of which networks.

Counted as host-local and static (containernetworking/plugins 3d27709) and whereabouts (pkg/types,
08211e4) count them. nv-ipam names a pool that lies in another object: its size is unknown here.
What others (dhcp, calico-ipam, spiderpool) give is not in the configuration at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network
from typing import Final

from podrail.reading import Reader, shown

Network = IPv4Network | IPv6Network
HOST_LOCAL: Final = "host-local"
STATIC: Final = "static"


@dataclass(frozen=True, slots=True)
class Pool:
    """Addresses of which an interface takes one; size None if it is not known."""

    networks: tuple[str, ...]
    size: int | None


def pools(ipam: Reader) -> tuple[Pool, ...]:
    """The pools of an IPAM configuration; problems go to the reader."""
    read = _READERS.get(ipam.text("type"))
    return read(ipam) if read else ()


def _host_local(ipam: Reader) -> tuple[Pool, ...]:
    found = [_set([ipam])] if ipam.raw("subnet") is not None else []
    for index, ranges in enumerate(ipam.items("ranges", 64)):
        path = f"{ipam.at('ranges')}[{index}]"
        if not isinstance(ranges, list) or not ranges:
            ipam.wrong(f"ranges[{index}]", f"expected a list of ranges, got {shown(ranges)}")
            continue
        parts = [
            Reader.of(one, f"{path}[{at}]", ipam.problems) for at, one in enumerate(ranges[:64])
        ]
        found.append(_set(parts))
    if not found and not ipam.items("ranges", 64):
        ipam.wrong("ranges", "expected a subnet or ranges: host-local refuses to start without")
    return tuple(pool for pool in found if pool.networks)


def _set(parts: list[Reader]) -> Pool:
    counted = [count for part in parts if (count := _range(part)) is not None]
    return Pool(tuple(str(network) for network, _ in counted), sum(size for _, size in counted))


def _range(part: Reader) -> tuple[Network, int] | None:
    """The subnet of a range of host-local, and how many addresses it gives out."""
    network = _network(part, "subnet", strict=True)
    if network is None:
        return None
    if network.prefixlen > network.max_prefixlen - 2:
        part.wrong("subnet", f"{network} is too small for host-local to allocate from")
        return None
    first = _inside(part, "rangestart", network) or _ends(network)[0]
    last = _inside(part, "rangeend", network) or _ends(network)[1]
    # Without a gateway host-local keeps the first address for it.
    gateway = _number(part, "gateway", part.text("gateway", str(network[1])))
    return network, max(0, last - first + 1 - (first <= gateway <= last))


def _whereabouts(ipam: Reader) -> tuple[Pool, ...]:
    flat = [ipam] if ipam.raw("range") is not None else []
    return tuple(
        pool for part in (*flat, *ipam.parts("ipranges", 16)) if (pool := _span(part)) is not None
    )


def _span(part: Reader) -> Pool | None:
    """A range of whereabouts: a CIDR, or first-last/prefix."""
    start, dash, end = part.text("range").partition("-")
    network = _network(part, "range", strict=False, text=end if dash else start)
    if network is None:
        return None
    first, last = _ends(network)
    if dash:
        first, last = _number(part, "range", start), _number(part, "range", end.partition("/")[0])
    first = _inside(part, "range_start", network) or first
    last = _inside(part, "range_end", network) or last
    size = last - first + 1
    for text in part.texts("exclude", 256):
        left_out = _network(part, "exclude", strict=False, text=text)
        if left_out is not None:
            low, high = int(left_out.network_address), int(left_out.broadcast_address)
            size -= max(0, min(high, last) - max(low, first) + 1)
    return Pool((str(network),), max(0, size))


def _static(ipam: Reader) -> tuple[Pool, ...]:
    """Each address is the one that every pod gets."""
    found = []
    for part in ipam.parts("addresses", 64):
        network = _network(part, "address", strict=False)
        if network is not None:
            found.append(Pool((str(network),), 1))
    return tuple(found)


def _nv_ipam(ipam: Reader) -> tuple[Pool, ...]:
    kind = ipam.text("pooltype", "ippool").lower()
    named = [name.strip() for name in ipam.text("poolname").split(",")]
    return tuple(Pool((f"{kind} {name}",), None) for name in named if name)


_READERS: Final[Mapping[str, Callable[[Reader], tuple[Pool, ...]]]] = {
    HOST_LOCAL: _host_local,
    "whereabouts": _whereabouts,
    STATIC: _static,
    "nv-ipam": _nv_ipam,
}


def _network(part: Reader, key: str, *, strict: bool, text: str = "") -> Network | None:
    """The network in a field; strict refuses bits of a host, as host-local does."""
    text = text or part.text(key)
    if "/" not in text and strict:
        part.wrong(key, f"expected a network such as 10.0.0.0/24, got {shown(text)}")
        return None
    try:
        return ip_network(text, strict=True) if strict else ip_interface(text).network
    except ValueError as error:
        part.wrong(key, str(error))
        return None


def _number(part: Reader, key: str, text: str) -> int:
    """An address as a number; 0 if it is none."""
    try:
        return int(ip_address(text))
    except ValueError as error:
        part.wrong(key, str(error))
        return 0


def _inside(part: Reader, key: str, network: Network) -> int:
    """The address in a field as a number; 0 if it is not given, or is not of the network."""
    text = part.text(key)
    number = _number(part, key, text) if text else 0
    if number and not int(network[0]) <= number <= int(network[-1]):
        part.wrong(key, f"{text} is not in {network}")
        return 0
    return number


def _ends(network: Network) -> tuple[int, int]:
    """The first and the last address for hosts; a /31 or a /32 has no others."""
    first, last = int(network.network_address), int(network.broadcast_address)
    if network.prefixlen >= network.max_prefixlen - 1:
        return first, last
    return first + 1, last - isinstance(network, IPv4Network)
