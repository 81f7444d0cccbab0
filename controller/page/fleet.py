"""The fleet as a page: nodes by block and leaf, a box for each of their rails."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from controller.page import sheet, wording
from controller.page.sheet import Box, Cell, Drawing, Facts, Label, Page, Search, Section, Table
from podrail.railmap.fleet import UNKNOWN, Block, Fleet, Group, Line, Query, Show, Sum
from podrail.railmap.machine import Condition, Rail, Use

WIDE: Final = 26.0
HIGH: Final = 22.0
MOST_NAME: Final = 30
LEGEND: Final = (
    Cell("f: free", "free"),
    Cell("H: held", "held"),
    Cell("!: degraded", "degraded"),
    Cell("X: down", "down"),
)


def page(found: Fleet, twin: str) -> Page:
    """The page of a fleet; twin is the address of the same as JSON."""
    query = _asked(found.query)
    return Page(
        here="fleet",
        title="Fleet",
        twin=twin,
        facts=_facts(found.sum),
        sections=(
            _filters(found.query),
            *([_blocks(found)] if found.query == Query() else []),
            *(_group(group, found.numbers) for group in found.groups),
        ),
        search=Search("Node's name", "name", found.query.name, _kept(found.query)),
        turns=(
            Cell(f"Page {found.paging.page} of {found.paging.pages}, {found.paging.total} nodes"),
            *wording.turns(found.paging, "fleet", **query),
        ),
    )


def _asked(query: Query) -> dict[str, str]:
    found = {key: str(value) for key, value in asdict(query).items() if key != "page"}
    return found | {"show": "" if query.show is Show.ALL else query.show.value}


def _kept(query: Query) -> tuple[tuple[str, str], ...]:
    found = _asked(query)
    return tuple((key, value) for key, value in found.items() if value and key != "name")


def _facts(sums: Sum) -> Facts:
    uses = ((f"Nodes {use.value}", Cell(str(sums.use[use.value]))) for use in Use)
    rails = ((f"Rails {one.value}", Cell(str(sums.rails[one.value]))) for one in Condition)
    silent = ("Silent agents", Cell(str(sums.silent)))
    return Facts((("Nodes", Cell(str(sums.nodes))), *uses, *rails, silent))


def _filters(query: Query) -> Section:
    asked = _asked(query)
    links = [
        Cell(
            f"{one.value}",
            tone="here" if one is query.show else "",
            link=wording.address("fleet", **asked | {"show": "" if one is Show.ALL else one.value}),
        )
        for one in Show
    ]
    where = [f"block {query.block}"] * bool(query.block) + [f"leaf {query.leaf}"] * bool(query.leaf)
    words = f"Only {' and '.join(where)}." if where else ""
    if where:
        links.append(Cell("every block", link=wording.address("fleet", show=asked["show"])))
    return Section("Nodes to show", words, tuple(links))


def _group(group: Group, numbers: tuple[int, ...]) -> Section:
    where = _where(group)
    link = wording.address("fleet", block=group.block or UNKNOWN, leaf=group.leaf or UNKNOWN)
    return Section(
        heading=where,
        links=(Cell("this leaf alone", link=link),),
        drawing=_drawing(group, numbers, where),
        legend=LEGEND,
        tables=(_table(group, f"Nodes: {where}"),),
    )


def _where(group: Group) -> str:
    """The leaf's name holds its block's."""
    if group.leaf:
        return f"Leaf {group.leaf}"
    return f"Block {group.block}, leaf not known" if group.block else "Place not known"


def _drawing(group: Group, numbers: tuple[int, ...], where: str) -> Drawing:
    left = sheet.room(line.name[-MOST_NAME:] for line in group.nodes)
    heads = tuple(
        Label(left + (at + 0.5) * WIDE, 14, str(number), "middle")
        for at, number in enumerate(numbers)
    )
    names = tuple(
        Label(0, 20 + (at + 0.7) * HIGH, line.name[-MOST_NAME:])
        for at, line in enumerate(group.nodes)
    )
    return Drawing(
        title=f"Rails: {where}",
        description="A row for each node, a box for each rail: f free, H held, ! degraded, X down. "
        "The table beside it says the same.",
        width=left + len(numbers) * WIDE + 4,
        height=24 + len(group.nodes) * HIGH,
        boxes=tuple(_boxes(group, numbers, left)),
        labels=(Label(0, 14, "Rail"), *heads, *names),
    )


def _boxes(group: Group, numbers: tuple[int, ...], left: float) -> Iterator[Box]:
    column = {number: at for at, number in enumerate(numbers)}
    for row, line in enumerate(group.nodes):
        for rail in line.rails:
            yield Box(
                x=left + column[rail.number] * WIDE + 1,
                y=20 + row * HIGH + 1,
                width=WIDE - 2,
                height=HIGH - 2,
                text=wording.LETTERS[rail.condition],
                tone=rail.condition.value,
                title=_told(line, rail),
            )


def _told(line: Line, rail: Rail) -> str:
    cause = f" ({rail.cause})" if rail.cause else ""
    holders = f": {', '.join(rail.pods)}" if rail.pods else ""
    return f"{line.name}, rail {rail.number}, {rail.condition.value}{cause}{holders}"


def _table(group: Group, caption: str) -> Table:
    heads = ("Node", "GPUs free", "Use", *(f"Rails {one.value}" for one in Condition), "Agent")
    return Table(caption, (*heads, "Known by"), tuple(_row(line) for line in group.nodes))


def _row(line: Line) -> tuple[Cell, ...]:
    return (
        wording.to_node(line.name),
        Cell(f"{line.free} of {line.gpus}"),
        wording.use(line.use) if not line.cordoned else Cell(f"{line.use.value}, cordoned", "fair"),
        *(_rails(line, one) for one in Condition),
        wording.voice(line.agent),
        Cell(line.evidence),
    )


def _rails(line: Line, condition: Condition) -> Cell:
    some = tuple(rail.number for rail in line.rails if rail.condition is condition)
    return Cell(wording.numbers(some), condition.value) if some else Cell("none")


def _blocks(found: Fleet) -> Section:
    heads = ("Block", "Leaves", "Nodes", "Free", "Fragmented", "Full", "Rails down", "Degraded")
    rows = tuple(_block(one) for one in found.blocks)
    return Section(
        "Blocks",
        "Every node that has GPUs or rails, by the block that its labels tell.",
        tables=(Table("Blocks of the fleet", heads, rows),),
    )


def _block(one: Block) -> tuple[Cell, ...]:
    down, degraded = (one.sum.rails[kind.value] for kind in (Condition.DOWN, Condition.DEGRADED))
    name = wording.place(one.name, "block not known")
    return (
        Cell(name, link=wording.address("fleet", block=one.name or UNKNOWN)),
        Cell(str(one.leaves)),
        Cell(str(one.sum.nodes)),
        *(Cell(str(one.sum.use[use.value])) for use in (Use.FREE, Use.FRAGMENTED, Use.FULL)),
        Cell(str(down), "down" if down else ""),
        Cell(str(degraded), "degraded" if degraded else ""),
    )
