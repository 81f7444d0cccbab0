"""The text of `rocm-smi --showtopo`: how many AMD GPUs there are and on which NUMA nodes.

It says nothing of NICs, so it only adds NUMA nodes to other evidence. Tables are read strictly, the
lines with errors that rocm-smi prints among them are passed over.
"""

import re
from collections.abc import Sequence
from typing import Final

from podrail.errors import MalformedError, Problem
from podrail.reading import shown
from podrail.topology import Evidence, Judged, Topology

WHAT: Final = "rocm-smi --showtopo"
_HEAD = re.compile(r"\s+GPU0(?:\s+GPU\d+)*\s*")
_ROW = re.compile(r"GPU(\d+)\s+(\S.*)")
_NUMA = re.compile(r"GPU\s*\[?(\d+)\]?\s*:\s*(?:\(Topology\) )?Numa Node:\s*(-?\d+)\s*")
_UNREADABLE: Final = frozenset({"XXXX", "N/A"})


def read(text: str, place: str) -> Topology:
    """The topology that the text shows: GPUs with NUMA nodes, no NICs, so never complete.

    Raises:
        MalformedError: no table, or one that is damaged; with the line of each problem.
    """
    lines = list(enumerate(text.splitlines(), 1))
    problems: list[Problem] = []
    counts = {len(line.split()): number for number, line in lines if _HEAD.fullmatch(line)}
    if len(counts) != 1:
        where = f"{place}:{max(counts.values())}" if counts else place
        wrong = "tables of different sizes" if counts else "no table of GPUs found"
        raise MalformedError(WHAT, [Problem(where, wrong)])
    (gpus,) = counts
    unreadable = sum(_unreadable(line, gpus, f"{place}:{at}", problems) for at, line in lines)
    numas = _numas(lines, gpus, place, problems)
    if problems:
        raise MalformedError(WHAT, problems)
    told = [f"{place}: rocm-smi could not read {unreadable} links"] if unreadable else []
    return Topology(
        shape="",
        gpus=tuple(numas.get(gpu) for gpu in range(gpus)),
        nics=(),
        tiers=((),) * gpus,
        judged=Judged.PCIE,
        evidence=Evidence.ROCM,
        partial=True,
        warnings=(f"{place}: rocm-smi shows no NICs", *told),
    )


def _unreadable(line: str, gpus: int, where: str, problems: list[Problem]) -> int:
    """The cells of a row that rocm-smi could not read; a wrong row is noted."""
    match = _ROW.fullmatch(line)
    if match is None or match[2].startswith("GPU"):
        return 0
    own, cells = int(match[1]), match[2].split()
    if len(cells) != gpus:
        problems.append(Problem(where, f"expected {gpus} cells, got {len(cells)}"))
    elif own >= gpus or [at for at, cell in enumerate(cells) if cell == "0"] != [own]:
        problems.append(Problem(where, f"expected 0 in the GPU's own column, got {shown(line)}"))
    return sum(cell in _UNREADABLE for cell in cells)


def _numas(
    lines: Sequence[tuple[int, str]], gpus: int, place: str, problems: list[Problem]
) -> dict[int, int | None]:
    found: dict[int, int | None] = {}
    for number, line in lines:
        match = _NUMA.fullmatch(line)
        if match is None:
            continue
        gpu, numa = int(match[1]), int(match[2])
        if gpu >= gpus or gpu in found:
            problems.append(
                Problem(f"{place}:{number}", f"GPU {gpu} is not in the table, or twice")
            )
        found[gpu] = numa if numa >= 0 else None
    return found
