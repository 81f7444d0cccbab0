"""The words for a report: the annotation podrail.dev/observed and the message of an Event.

The annotation is compact JSON with sorted keys, at most names.MARKER_BYTES. Messages are fixed
texts with facts in them: numbers, codes, and the names of the profile and the node.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import marker, names
from podrail.audit import told
from podrail.audit.outcome import Code, Finding, Observed, Outcome, Report
from podrail.audit.promise import Forecast
from podrail.audit.told import Times, Told

_DIGITS: Final = 4
SENTENCES: Final[Mapping[Code, str]] = {
    Code.RAIL_DOWN: "{rails} down{cause}",
    Code.RAIL_SUSPECT: "{rails} suspect{cause}",
    Code.RAIL_MISSING: "the node has no {rails}",
    Code.RAILS_LACKING: "the devices of the pod are on fewer rails than expected",
    Code.GPU_UNHEALTHY: "a GPU of the pod is not healthy",
    Code.MISALIGNED: "GPUs and rails do not line up as well as they could on this node",
    Code.BELOW_EXPECTED: "GPUs and rails line up worse than the placement expected",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """The next annotation of a pod; event is None where the outcome is no news."""

    text: str
    told: Told
    event: Times | None


def entry(report: Report, before: Told, now: str, *, news: bool = True) -> Entry | None:
    """What to write on a pod of which before was told; None if that says it already.

    Nothing known is never undone by what cannot be seen any more. Without news an outcome is
    written down, but not told by an event.
    """
    unknown = report.outcome is Outcome.UNKNOWN
    if unknown and before.number:
        return None
    if before.digest and told.digest(text(report, before)) == before.digest:
        return None
    event, times = None, before.times
    if report.outcome != before.outcome and news and not unknown:
        event = before.again(report.outcome, now)
        others = [one for one in times if one.outcome != report.outcome]
        times = tuple(sorted([*others, event], key=lambda one: one.outcome))
    number = min(before.number + 1, told.MOST_TIMES)
    after = Told(number, report.outcome, times)
    written = text(report, after)
    return Entry(written, Told(number, report.outcome, times, told.digest(written)), event)


def text(report: Report, told: Told) -> str:
    """The annotation's value under the number and with the events of told."""
    found = _document(report, told)
    whole = marker.compact(found)
    if len(whole) > names.MARKER_BYTES:
        # Long names of many NICs; the rails are told all the same.
        whole = marker.compact({**found, "nics": []})
    return whole


def message(report: Report) -> str:
    """What an Event says."""
    if report.outcome is Outcome.NOT_INJECTED:
        return (
            f"This pod has no rails: it asks for the fabric {report.profile}, but podrail's "
            "webhook has not seen it: it was not reached, or the label came later. Create the pod "
            "anew."
        )
    if report.outcome is Outcome.UNSCORED:
        return (
            f"Podrail has not placed this pod on node {report.node}: the extender was not reached, "
            f"or did not know the pod yet. It keeps the rails of its admission."
            f"{_got(report.observed)}"
        )
    facts = f"{_got(report.observed)}{_foreseen(report.forecast)}"
    if report.outcome is Outcome.ALIGNED:
        return f"GPUs and rails line up on node {report.node}.{facts}"
    told = "; ".join(_sentence(one) for one in report.findings)
    return f"On node {report.node}: {told}.{facts}"


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in short, as in 0-3,6.

    >>> ranges((0, 1, 2, 3, 6))
    '0-3,6'
    """
    return ",".join(
        f"{some[0]}-{some[-1]}" if some[1:] else f"{some[0]}" for some in _runs(numbers)
    )


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for one in numbers:
        if run and one != run[-1] + 1:
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _sentence(finding: Finding) -> str:
    many = "rails" if len(finding.rails) > 1 else "rail"
    cause = f" ({finding.cause})" if finding.cause else ""
    rails = f"{many} {ranges(finding.rails)}"
    return SENTENCES[finding.code].format(rails=rails, cause=cause)


def _got(seen: Observed | None) -> str:
    if seen is None or seen.worth is None or seen.aligned is None:
        return ""
    return (
        f" Seen: GPUs {ranges(seen.gpus)}, rails {ranges(seen.rails)}, worst distance "
        f"{seen.tier or 'unknown'}, {seen.aligned:.0%} of the pairs at the node's best, "
        f"worth {seen.worth:.2f}."
    )


def _foreseen(forecast: Forecast | None) -> str:
    if forecast is None or forecast.worth is None:
        return ""
    return (
        f" Expected: rails {ranges(forecast.rails)}, worst distance "
        f"{forecast.tier or 'unknown'}, worth {forecast.worth:.2f}."
    )


def _document(report: Report, told: Told) -> dict[str, Any]:
    found: dict[str, Any] = {
        "v": names.FORMAT_VERSION,
        "n": told.number,
        "outcome": report.outcome,
        "reasons": [
            {"code": one.code, "rails": one.rails, "cause": one.cause} for one in report.findings
        ],
        "profile": report.profile,
        "node": report.node,
        "told": [
            {"outcome": one.outcome, "count": one.count, "first": one.first} for one in told.times
        ],
    }
    if report.observed is not None:
        found |= _seen(report.observed)
    if report.forecast is not None:
        found["expected"] = _expected(report.forecast, report.observed)
    return found


def _seen(seen: Observed) -> dict[str, Any]:
    return {
        "gpus": seen.gpus,
        "nics": seen.nics,
        "rails": seen.rails,
        "by": seen.by,
        "tier": seen.tier,
        "aligned": _rounded(seen.aligned),
        "worth": _rounded(seen.worth),
    }


def _expected(forecast: Forecast, seen: Observed | None) -> dict[str, Any]:
    likeliest = forecast.gpu_sets[0][0] if forecast.gpu_sets else ()
    gpus = () if seen is None else seen.gpus
    return {
        "gpus": likeliest,
        "chance": forecast.chance(gpus) if gpus else None,
        "rails": forecast.rails,
        "tier": forecast.tier,
        "worth": _rounded(forecast.worth),
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, _DIGITS)
