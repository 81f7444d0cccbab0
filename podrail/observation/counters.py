"""Counters of RDMA ports: which are read, what they add up to, and rates that make a rail suspect.

Names as in Linux 6.12: mlx5 (counters.c), bnxt_re (hw_counters.c), efa (efa_verbs.c) and the IBTA's
port counters. The limits are podrail's own: no vendor publishes one. They lie where a collective
loses time visibly, far above what an idle or healthy port shows. Out-of-order packets, CNP and
pause frames tell of the network, or of adaptive routing, and SRD (EFA) retransmits as a matter of
course: those are shown and judge nobody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "retransmits": (
        "local_ack_timeout_err",
        "packet_seq_err",
        "implied_nak_seq_err",
        "roce_adp_retrans",
        "to_retransmits",
        "seq_err_naks_rcvd",
    ),
    "srd_retransmits": ("retrans_pkts",),
    "out_of_order": ("out_of_sequence", "oos_drop_count", "res_oos_drop_count"),
    "congestion": ("np_cnp_sent", "rp_cnp_handled", "rx_cnp_pkts", "tx_cnp_pkts"),
    "not_ready": ("rnr_nak_retry_err", "out_of_buffer", "rnr_naks_rcvd"),
    "link_errors": ("symbol_error", "port_rcv_errors", "local_link_integrity_errors"),
    "link_downed": ("link_downed",),
    "discards": ("port_xmit_discards", "rx_drops"),
    "wait": ("port_xmit_wait",),
    "pause": (
        "rx_pause_ctrl_phy",
        "tx_pause_ctrl_phy",
        *(f"{way}_prio{number}_pause" for way in ("rx", "tx") for number in range(8)),
    ),
}
"""What the counters of a port add up to; those that a driver lacks count as nothing."""
NAMES: Final = frozenset(name for group in GROUPS.values() for name in group)
FOLDERS: Final = ("hw_counters", "counters")

LIMITS: Final[Mapping[str, float]] = {
    "retransmits": 100.0,
    "link_errors": 10.0,
    "link_downed": 1 / 600,
    "discards": 1000.0,
}
"""A second, over a window of WINDOW_SECONDS: 100 retransmits stall a 400 Gb/s flow each time; ten
symbol or receive errors are far beyond the 1e-12 bit error rate that IBTA asks for; a link that has
gone down in the last minutes is flapping; switches and NICs that discard hold flows up."""
CODES: Final[Mapping[str, str]] = {
    "retransmits": "Retransmits",
    "link_errors": "LinkErrors",
    "link_downed": "LinkFlapping",
    "discards": "Discards",
}
WINDOW_SECONDS: Final = 60.0
CALM_SECONDS: Final = 300.0
"""How long a rail stays suspect after its rates have come below the limits."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The counters of a port by group at a time, in seconds of a clock that never goes back."""

    at: float
    totals: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Track:
    """A port's samples of the last window, and until when each group over its limit is held."""

    samples: tuple[Sample, ...] = ()
    held: tuple[tuple[str, float], ...] = ()
    rates: tuple[tuple[str, float], ...] = ()

    @property
    def suspicions(self) -> tuple[str, ...]:
        """The groups that make the rail suspect."""
        return tuple(group for group, _ in self.held)


def totals(values: Mapping[str, int]) -> Mapping[str, int]:
    """The sum of each group of which the port has a counter."""
    return {
        group: sum(values[name] for name in names if name in values)
        for group, names in GROUPS.items()
        if any(name in values for name in names)
    }


def follow(track: Track, sample: Sample, limits: Mapping[str, float] = LIMITS) -> Track:
    """The track with one more sample; a counter that went back begins the window anew."""
    before = track.samples
    if before and _went_back(before[-1].totals, sample.totals):
        before = ()
    # The last one from before the window is kept, so that the window is full.
    old = [one for one in before if one.at <= sample.at - WINDOW_SECONDS]
    kept = (*old[-1:], *before[len(old) :], sample)
    found = _rates(kept)
    held = {group: until for group, until in track.held if until > sample.at}
    for group in _over(found, limits):
        held[group] = sample.at + CALM_SECONDS
    return Track(kept, tuple(sorted(held.items())), tuple(sorted(found.items())))


def _rates(samples: tuple[Sample, ...]) -> Mapping[str, float]:
    """By group, a second; empty until there are two samples."""
    first, last = samples[0], samples[-1]
    seconds = max(last.at - first.at, WINDOW_SECONDS)
    if first is last:
        return {}
    return {
        group: (count - first.totals[group]) / seconds
        for group, count in last.totals.items()
        if group in first.totals
    }


def _over(rates: Mapping[str, float], limits: Mapping[str, float]) -> Iterable[str]:
    return (group for group, limit in limits.items() if rates.get(group, 0.0) > limit)


def _went_back(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    return any(after.get(group, 0) < count for group, count in before.items())
