"""Pods that wait as pages: the reasons of all, and one with its nearest misses."""

from collections.abc import Sequence
from typing import Final

from controller.page import sheet, wording
from controller.page.sheet import Box, Cell, Drawing, Facts, Label, Page, Section, Table
from podrail.railmap.pending import Asked, Common, Pending, Refusal, Waiting

BAR: Final = 260.0
"""The length of the longest bar, in pixels."""
HIGH: Final = 36.0
MOST_BARS: Final = 12
MOST_WORDS: Final = 62


def every(found: Pending, twin: str) -> Page:
    """The page of all that wait; twin is the address of the same as JSON."""
    heads = ("Reason", "Pods", "Nodes at most")
    reasons = tuple(_common(one) for one in found.reasons)
    pods = tuple(_waiting(one) for one in found.pods)
    nothing = "No pod with rails waits."
    return Page(
        here="pending",
        title="Pending",
        twin=twin,
        facts=Facts(
            (
                ("Pods that wait", Cell(str(found.paging.total))),
                ("Not tried by a scheduler yet", Cell(str(found.unscheduled))),
            )
        ),
        sections=(
            Section(
                "Why pods wait",
                "In the words of the scheduler. A pod may have several reasons.",
                drawing=_bars("Pods by reason", [(one.reason, one.pods) for one in found.reasons]),
                tables=(Table("Reasons", heads, reasons, nothing),),
            ),
            Section(
                "Pods",
                tables=(
                    Table(
                        "Pods that wait",
                        ("Pod", "Job", "Profile", "Since", "First reason"),
                        pods,
                        nothing,
                    ),
                ),
            ),
        ),
        turns=(
            Cell(f"Page {wording.paged(found.paging).text}"),
            *wording.turns(found.paging, "pending"),
        ),
    )


def _common(one: Common) -> tuple[Cell, ...]:
    return Cell(one.reason), Cell(str(one.pods)), Cell(str(one.nodes))


def _waiting(one: Waiting) -> tuple[Cell, ...]:
    first = one.refusals[0].reason if one.refusals else "not tried yet"
    return (
        wording.to_waiting(one.pod),
        wording.to_job(one.job),
        Cell(one.profile),
        Cell(one.since),
        Cell(first),
    )


def page(found: Asked, twin: str) -> Page:
    """The page of one; twin is the address of the same as JSON."""
    one = found.waiting
    return Page(
        here="pending",
        title=f"Pod {one.pod}",
        twin=twin,
        facts=Facts(
            (
                ("Waits since", Cell(one.since)),
                ("Profile", Cell(one.profile)),
                ("Job", wording.to_job(one.job)),
                ("Nodes that would do", Cell(str(found.able))),
            )
        ),
        sections=(_said(one), _misses(found), _tallies(found), _fits(found)),
    )


def _said(one: Waiting) -> Section:
    return Section(
        "What the scheduler says",
        one.words or "No scheduler has tried it yet.",
        drawing=_bars("Nodes by reason", [(why.reason, why.nodes) for why in one.refusals]),
        tables=(
            Table("Reasons", ("Reason", "Nodes"), tuple(_refusal(why) for why in one.refusals)),
        ),
    )


def _refusal(one: Refusal) -> tuple[Cell, ...]:
    return Cell(one.reason), Cell(str(one.nodes))


def _misses(found: Asked) -> Section:
    heads = ("Node", "Kind", "Why not", "Devices lacking", "What would help")
    rows = tuple(
        (
            wording.to_node(one.node),
            Cell(one.kind),
            Cell(one.reason),
            Cell(str(one.lacking) if one.lacking else "none"),
            Cell(one.help),
        )
        for one in found.misses
    )
    return Section(
        "Nearest misses",
        "By podrail's own rules, as podrail explain has them: taints, affinities, CPU and memory "
        "are left out.",
        tables=(Table("Nodes that come nearest", heads, rows, "No node is out by these rules."),),
    )


def _tallies(found: Asked) -> Section:
    rows = tuple((Cell(one.reason), Cell(one.kind), Cell(str(one.nodes))) for one in found.tallies)
    heads = ("Reason", "Kind", "Nodes")
    table = Table("Nodes that are out", heads, rows, "No node is out by these rules.")
    words = (
        f"No node offers {', '.join(found.absent)}: is the device plugin there, and is the name "
        "right in the pod or its profile?"
        if found.absent
        else ""
    )
    return Section("All nodes by podrail's rules", words, tables=(table,))


def _fits(found: Asked) -> Section:
    rows = tuple(
        (
            wording.to_node(one.node),
            Cell(f"{one.points} of 10"),
            Cell(wording.share(one.worth)),
            wording.tier(one.tier),
        )
        for one in found.fits
    )
    heads = ("Node", "Points", "Worth", "Distance")
    table = Table("The best nodes", heads, rows, "No node would do by these rules.")
    return Section("Nodes that would do", tables=(table,))


def _bars(title: str, counts: Sequence[tuple[str, int]]) -> Drawing | None:
    some = [one for one in counts if one[1]][:MOST_BARS]
    if not some:
        return None
    most = max(many for _, many in some)
    return Drawing(
        title=title,
        description="A bar for each reason, as long as it has many. The table beside it says the "
        "same.",
        width=sheet.room((words[:MOST_WORDS] for words, _ in some), least=BAR + 60),
        height=len(some) * HIGH + 4,
        boxes=tuple(
            Box(0, at * HIGH + 18, BAR * many / most, 14, tone="held", title=words)
            for at, (words, many) in enumerate(some)
        ),
        labels=tuple(
            label
            for at, (words, many) in enumerate(some)
            for label in (
                Label(0, at * HIGH + 13, words[:MOST_WORDS]),
                Label(BAR * many / most + 6, at * HIGH + 30, str(many)),
            )
        ),
    )
