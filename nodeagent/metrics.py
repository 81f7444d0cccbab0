"""The node agent's metrics; labels are names of hardware and codes, never what a user wrote."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from podrail.evidence.noderails import Trouble
from podrail.observation.counters import Track
from podrail.topology import Topology
from podrail_io import exposition
from podrail_io.exposition import Family, Kind, Sample

_PREFIX: Final = "podrail_nodeagent_"
_COUNTED: Final[Mapping[str, str]] = {
    "status_writes": "Statuses that were written.",
    "annotation_writes": "Annotations that were written.",
    "write_errors": "Writes the API server did not take.",
    "kubelet_errors": "Times the kubelet did not answer.",
    "looks": "Times that the whole trees were read.",
    "faults": "Rounds that ended in an error of ours.",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the metrics are about: the last observation."""

    topology: Topology | None = None
    tracks: Mapping[str, Track] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()
    idle: str = ""


class Metrics:
    """What the process has done, and what it saw last."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counts = dict.fromkeys(_COUNTED, 0)
        self.shown = Shown()
        self.observed = float("-inf")
        """When the devices were last looked at, by the clock."""

    def count(self, name: str, more: int = 1) -> None:
        """Add to one of the counters."""
        self._counts[name] += more

    def text(self) -> str:
        """All of it, as Prometheus reads it."""
        shown = self.shown
        return exposition.text([*self._own(), *_state(shown), *_ports(shown)])

    def _own(self) -> Iterator[Family]:
        for name, count in self._counts.items():
            told = _COUNTED[name]
            yield Family(f"{_PREFIX}{name}_total", Kind.COUNTER, told, (), (Sample(count),))
        told = "Seconds since the devices were last looked at."
        age = Sample(self._clock() - self.observed)
        yield _gauge("observation_age_seconds", told, (), (age,))


def _state(shown: Shown) -> Iterator[Family]:
    idle = (Sample(1, (shown.idle,)),) if shown.idle else ()
    yield _gauge("idle", "1 while there is nothing to report.", ("reason",), idle)
    troubles = tuple(Sample(1, (one.code, one.device)) for one in shown.troubles)
    yield _gauge(
        "troubles", "Troubles at hand.", ("code", "device"), tuple(dict.fromkeys(troubles))
    )
    nics = shown.topology.nics if shown.topology else ()
    cards = shown.topology.cards if shown.topology else ()
    named = [(nic, (nic.name, "" if nic.rail is None else str(nic.rail))) for nic in nics]
    states = tuple(Sample(1, (*who, nic.state or "unknown")) for nic, who in named)
    yield _gauge("nic_state", "1 for the state of a NIC.", ("device", "rail", "state"), states)
    speeds = tuple(Sample(nic.gbps, who) for nic, who in named if nic.gbps is not None)
    yield _gauge("nic_gbps", "Gb/s of a NIC.", ("device", "rail"), speeds)
    healthy = tuple(Sample(int(card.healthy), (str(at),)) for at, card in enumerate(cards))
    yield _gauge("gpu_healthy", "1 for a GPU without trouble.", ("gpu",), healthy)


def _ports(shown: Shown) -> Iterator[Family]:
    tracks = shown.tracks.items()
    totals = tuple(
        Sample(total, (device, group))
        for device, track in tracks
        for group, total in (track.samples[-1].totals.items() if track.samples else ())
    )
    told = "What the counters of a NIC's ports add up to."
    labels = ("device", "group")
    yield Family(f"{_PREFIX}port_events_total", Kind.COUNTER, told, labels, totals)
    rates = tuple(
        Sample(rate, (device, group)) for device, track in tracks for group, rate in track.rates
    )
    yield _gauge("port_rate", "The same a second, over the last minute.", labels, rates)


def _gauge(name: str, told: str, labels: tuple[str, ...], samples: tuple[Sample, ...]) -> Family:
    return Family(f"{_PREFIX}{name}", Kind.GAUGE, told, labels, samples)
