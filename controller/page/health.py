"""The health of podrail as a page."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from controller.page import wording
from controller.page.sheet import BAD, FAIR, GOOD, PLAIN, Cell, Facts, Page, Section, Table
from podrail.doctor.finding import Finding, Verdict
from podrail.railmap.health import Health, Program, Silent

TONES: Final[Mapping[Verdict, str]] = {
    Verdict.OK: GOOD,
    Verdict.WARN: FAIR,
    Verdict.FAIL: BAD,
    Verdict.UNKNOWN: PLAIN,
}


def page(found: Health, twin: str) -> Page:
    """The page; twin is the address of the same as JSON."""
    agents = ((f"Agents {name}", Cell(str(many))) for name, many in found.agents.items())
    return Page(
        here="health",
        title="Health",
        twin=twin,
        facts=Facts((("In all", Cell(found.verdict.value, TONES[found.verdict])), *agents)),
        sections=(
            Section(
                "Findings",
                "podrail doctor looks at much more; this is what can be seen from here.",
                tables=(
                    Table(
                        "What was found",
                        ("About", "Verdict", "What is the case", "What to do"),
                        tuple(_finding(one) for one in found.findings),
                    ),
                ),
            ),
            Section("Programs", tables=(_programs(found.programs),)),
            Section("Agents that are not heard", tables=(_silent(found.silent),)),
        ),
    )


def _finding(one: Finding) -> tuple[Cell, ...]:
    verdict = Cell(one.verdict.value, TONES[one.verdict])
    return Cell(one.title), verdict, Cell(one.detail), Cell(one.remedy or "nothing")


def _programs(programs: tuple[Program, ...]) -> Table:
    rows = tuple(
        (
            Cell(one.pod),
            Cell(one.component),
            Cell(one.node or "none yet"),
            Cell("ready", GOOD) if one.ready else Cell("not ready", BAD),
        )
        for one in programs
    )
    heads = ("Pod", "Program", "Node", "State")
    return Table("Pods of podrail's programs", heads, rows, "None of them runs as a pod here.")


def _silent(silent: tuple[Silent, ...]) -> Table:
    rows = tuple(
        (
            wording.to_node(one.node),
            wording.voice(one.voice),
            Cell(
                "never"
                if one.since is None
                else f"{datetime.fromtimestamp(one.since, UTC):%Y-%m-%d %H:%M:%S UTC}"
            ),
            Cell(one.problem or "none"),
        )
        for one in silent
    )
    heads = ("Node", "Agent", "Last heard", "Problem")
    return Table("The first nodes whose agent is not heard", heads, rows, "All are heard.")
