"""Jobs as pages: all of them, and one with the rails and leaves of its pods."""

from collections.abc import Iterator
from typing import Final

from controller.page import sheet, wording
from controller.page.sheet import BAD, Box, Cell, Drawing, Facts, Label, Page, Section, Table
from podrail.railmap.job import Brief, Job, Jobs, Rank

WIDE: Final = 26.0
HIGH: Final = 22.0
MOST_NAME: Final = 34
LEGEND: Final = (
    Cell("=: the rails of most pods", "held"),
    Cell("x: other rails than most", "degraded"),
)


def every(found: Jobs, twin: str) -> Page:
    """The page of all jobs; twin is the address of the same as JSON."""
    heads = ("Job", "Pods", "Nodes", "Leaves", "Blocks", "Same rails", "Degraded pods")
    rows = tuple(_brief(one) for one in found.jobs)
    table = Table("Jobs with pods on nodes", heads, rows, "No pod with rails is on a node.")
    return Page(
        here="jobs",
        title="Jobs",
        twin=twin,
        facts=Facts((("Jobs", Cell(str(found.paging.total))),)),
        sections=(
            Section(
                "Jobs",
                "Same rails is the share of pairs of pods that have the same rails: between others "
                "traffic crosses from one rail to another.",
                tables=(table,),
            ),
        ),
        turns=(
            Cell(f"Page {wording.paged(found.paging).text}"),
            *wording.turns(found.paging, "jobs"),
        ),
    )


def _brief(one: Brief) -> tuple[Cell, ...]:
    size = str(one.pods) if one.size is None else f"{one.pods} of {one.size}"
    return (
        wording.to_job(one.key),
        Cell(size),
        Cell(str(one.nodes)),
        Cell(str(one.leaves) if one.leaves else "not known"),
        Cell(str(one.blocks) if one.blocks else "not known"),
        Cell("one pod" if one.same_rails is None else wording.share(one.same_rails)),
        Cell(str(one.degraded), BAD if one.degraded else ""),
    )


def page(found: Job, twin: str) -> Page:
    """The page of a job; twin is the address of the same as JSON."""
    brief = found.brief
    link = wording.to_job(brief.key).link
    return Page(
        here="jobs",
        title=f"Job {brief.key}",
        twin=twin,
        facts=_facts(found),
        sections=(
            Section(
                "Pods and rails",
                drawing=_drawing(found),
                legend=LEGEND,
                tables=(_table(found),),
            ),
            Section("What the controller says", tables=(_told(found),)),
            Section("Leaf switches", tables=(_leaves(found),)),
        ),
        turns=(
            Cell(f"Page {wording.paged(found.paging).text}"),
            *wording.turns(found.paging, link),
        ),
    )


def _facts(found: Job) -> Facts:
    brief = found.brief
    _, pods, nodes, leaves, blocks, same, degraded = _brief(brief)
    return Facts(
        (
            ("Found by", Cell(brief.rule)),
            ("Pods", pods),
            ("Nodes", nodes),
            ("Leaves crossed", leaves),
            ("Blocks crossed", blocks),
            ("Pairs on the same rails", same),
            ("Degraded pods", degraded),
            ("Expected worth", Cell(wording.share(found.expected))),
            ("Observed worth", Cell(wording.share(found.observed))),
        )
    )


def _drawing(found: Job) -> Drawing | None:
    numbers = sorted(found.rails)
    if not numbers:
        return None
    left = sheet.room(one.pod[-MOST_NAME:] for one in found.ranks)
    heads = tuple(
        Label(left + (at + 0.5) * WIDE, 14, str(number), "middle")
        for at, number in enumerate(numbers)
    )
    names = tuple(
        Label(0, 20 + (at + 0.7) * HIGH, one.pod[-MOST_NAME:]) for at, one in enumerate(found.ranks)
    )
    return Drawing(
        title=f"Rails of {found.brief.key}",
        description="A row for each pod, a box for each rail that it has: = where its rails are "
        "those of most pods, x where it has others. The table beside it says the same.",
        width=left + len(numbers) * WIDE + 4,
        height=24 + len(found.ranks) * HIGH,
        boxes=tuple(_boxes(found, numbers, left)),
        labels=(Label(0, 14, "Rail"), *heads, *names),
    )


def _boxes(found: Job, numbers: list[int], left: float) -> Iterator[Box]:
    for row, one in enumerate(found.ranks):
        for rail in one.rails:
            yield Box(
                x=left + numbers.index(rail) * WIDE + 1,
                y=20 + row * HIGH + 1,
                width=WIDE - 2,
                height=HIGH - 2,
                text="=" if one.common else "x",
                tone="held" if one.common else "degraded",
                title=f"{one.pod} on {one.node}, rail {rail}",
            )


def _table(found: Job) -> Table:
    heads = ("Pod", "Index", "Node", "Leaf", "GPUs", "Rails", "To most pods")
    more = ("Expected", "Observed", "Outcome")
    rows = tuple(_rank(one) for one in found.ranks)
    return Table("Pods of the job", (*heads, *more), rows)


def _rank(one: Rank) -> tuple[Cell, ...]:
    tiers = (one.expected_tier or "?", one.observed_tier or "?")
    return (
        Cell(one.pod),
        Cell("none" if one.index is None else str(one.index)),
        wording.to_node(one.node),
        Cell(wording.place(one.leaf, "not known")),
        Cell(wording.numbers(one.gpus)),
        Cell(wording.numbers(one.rails)),
        Cell("same rails") if one.common else Cell("cross rail", "degraded"),
        Cell(f"{wording.share(one.expected)}, {tiers[0]}"),
        Cell(f"{wording.share(one.observed)}, {tiers[1]}"),
        wording.outcome(one.outcome),
    )


def _told(found: Job) -> Table:
    rows = tuple(
        (Cell(one.pod), Cell(one.told or "Nothing yet: its kubelet has not taken it up."))
        for one in found.ranks
    )
    return Table("What each pod got of what was expected", ("Pod", "Report"), rows)


def _leaves(found: Job) -> Table:
    rows = tuple(
        (Cell(wording.place(name, "not known")), Cell(str(pods)))
        for name, pods in found.leaves.items()
    )
    return Table("Pods by leaf", ("Leaf", "Pods"), rows)
