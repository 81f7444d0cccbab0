"""From counters to rates to suspicion."""

from __future__ import annotations

from podrail.observation import counters
from podrail.observation.counters import CALM_SECONDS, LIMITS, Sample, Track


def followed(*totals: tuple[float, int], group: str = "retransmits") -> Track:
    track = Track()
    for at, total in totals:
        track = counters.follow(track, Sample(at, {group: total}))
    return track


def test_counters_of_different_drivers_add_up_to_the_same_groups() -> None:
    """What a driver lacks is not there; what nobody knows is left out."""
    values = {"local_ack_timeout_err": 2, "packet_seq_err": 3, "np_cnp_sent": 7, "strange": 1}
    assert {"retransmits": 5, "congestion": 7} == counters.totals(values)
    assert {"srd_retransmits": 4} == counters.totals({"retrans_pkts": 4})


def test_a_rate_is_over_the_last_minute() -> None:
    """A short history counts as a whole window, so that one burst at the start is no alarm."""
    track = followed((0, 0), (15, 1500))
    assert (("retransmits", 25.0),) == track.rates
    track = followed(*((15.0 * at, 3000 * at) for at in range(9)))
    assert (("retransmits", 200.0),) == track.rates
    assert 60.0 == track.samples[-1].at - track.samples[0].at


def test_a_rate_above_its_limit_makes_suspect_and_calm_ends_it() -> None:
    """Not at once: a rail that is bad now and then would go up and down."""
    limit = LIMITS["retransmits"]
    bad = followed((0, 0), (60, int(limit * 60) + 1))
    assert ("retransmits",) == bad.suspicions
    last = bad.samples[-1]
    calm = counters.follow(bad, Sample(last.at + CALM_SECONDS - 1, last.totals))
    assert ("retransmits",) == calm.suspicions
    assert () == counters.follow(calm, Sample(last.at + CALM_SECONDS + 1, last.totals)).suspicions


def test_a_rate_at_its_limit_is_none() -> None:
    """The limit is what is still good."""
    assert () == followed((0, 0), (60, int(LIMITS["retransmits"] * 60))).suspicions


def test_one_lost_link_is_flapping() -> None:
    """It has gone down in the last minute."""
    assert ("link_downed",) == followed((0, 3), (15, 4), group="link_downed").suspicions


def test_a_counter_that_goes_back_begins_anew() -> None:
    """A driver that is loaded again counts from nothing."""
    track = followed((0, 9_000_000), (15, 0), (30, 10))
    assert ((), (("retransmits", 10 / 60),)) == (track.suspicions, track.rates)


def test_what_tells_of_the_network_judges_no_rail() -> None:
    """Out of order, congestion and pause are shown, whatever they are."""
    for group in ("out_of_order", "congestion", "pause", "wait", "srd_retransmits"):
        assert () == followed((0, 0), (60, 10**12), group=group).suspicions
