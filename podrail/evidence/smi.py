"""The matrix of `nvidia-smi topo -m` (and -mp), as pasted into logs and issues.

Glued words are split where only one split is possible. A row that does not come out with exactly
the header's cells, its own X in its own column, is refused with its line: shifted columns would be
a wrong topology that looks right. The tail (CPU and NUMA affinity) is read where it is certain.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from podrail.errors import MalformedError, Problem
from podrail.reading import shown
from podrail.topology import Evidence, Judged, Nic, Tier, Topology

WHAT: Final = "nvidia-smi topo -m"
MOST_COLUMNS: Final = 192
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TAIL_HEADS = re.compile(r"(CPU\s*Affinity)|(NUMA\s*Affinity)|(GPU\s*NUMA\s*ID)")
_NAME = re.compile(
    r"GPU\d{1,3}|NIC\d{1,3}|mlx\d_\d+(?=mlx\d_|[A-Z\s]|$)|(?=[\w.-]*\d)[a-z][a-z0-9_.-]*"
)
_CELL = re.compile(r"X|NV\d{1,2}(?!\d)|PIX|PXB|PHB|NODE|SYS|SOC")
_CELL_WORD = re.compile(rf"(?<![\w-])(?:{_CELL.pattern})(?![\w#-])")
_ROW_START = re.compile(r"\s*GPU\d")
_TAIL = re.compile(r"(?![,-])[\s\d,-]*(?:N/A[\s\d,-]*)*")
_CAP = re.compile(r"(\d+) NICs found in the topology, only displaying (\d+)")
_LEGEND = re.compile(r"\s*(NIC\d+)\s*:\s*(\S+)\s*")
_EXPLAINED = re.compile(r"\s*[A-Z]+#?\s+=")
_NUMBERED = re.compile(r"(GPU|NIC)(\d+)")
_OLD: Final = {"SOC": Tier.SYS}
"""SOC is what drivers of 2017 called SYS."""


@dataclass(frozen=True, slots=True)
class _Header:
    """The columns, GPUs first, and the heads of the tail."""

    line: int
    columns: tuple[str, ...]
    tail: tuple[str, ...]

    @property
    def gpus(self) -> int:
        return sum(name.startswith("GPU") for name in self.columns)


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: tuple[str, ...]
    tail: str


def read(text: str, place: str) -> Topology:
    """The topology that the text shows; rails are not numbered yet.

    Raises:
        MalformedError: no matrix, or one that is damaged; with the line of each problem.
    """
    lines = [(number, _plain(line)) for number, line in enumerate(text.splitlines(), 1)]
    header = _header(lines, place)
    below = [(number, line) for number, line in lines if number > header.line]
    problems: list[Problem] = []
    rows = _rows(header, below, place, problems)
    if not problems:
        problems += _asymmetries(header, rows, place)
    if problems:
        raise MalformedError(WHAT, problems)
    return _topology(header, rows, _devices(below), _capped(lines, place), place)


def _plain(line: str) -> str:
    """The line without colours, comment signs and the bars of a Markdown table."""
    text = re.sub(r"^\s*#", "", _ESCAPE.sub("", line))
    return text.replace("|", " ") if text.lstrip().startswith("|") else text


def _header(lines: Sequence[tuple[int, str]], place: str) -> _Header:
    found = next((head for number, line in lines if (head := _scan(number, line))), None)
    if found is not None:
        _check(found, place)
        return found
    for number, line in lines:
        cells = bool(_CELL_WORD.search(line))
        if _ROW_START.match(line) if cells else len(_ROW_START.findall(line)) > 1:
            told = "expected a header of GPUn, NICn or device names"
            raise MalformedError(WHAT, [Problem(f"{place}:{number}", told)])
    raise MalformedError(WHAT, [Problem(place, "no matrix found")])


def _scan(number: int, line: str) -> _Header | None:
    """The header in a line; None if anything in it belongs to no header."""
    columns, tail, at = list[str](), list[str](), 0
    while len(columns) <= MOST_COLUMNS and (rest := line[at:].lstrip()):
        at = len(line) - len(rest)
        head = _TAIL_HEADS.match(line, at)
        name = None if head or tail else _NAME.match(line, at)
        match = head or name
        if match is None:
            return None
        (tail if head else columns).append(" ".join(match[0].split()))
        at = match.end()
    lone = len(columns) == 1 and not tail
    if lone or not columns or not columns[0].startswith("GPU"):
        return None
    return _Header(number, tuple(columns), tuple(tail))


def _check(header: _Header, place: str) -> None:
    """Refuse a header that lost or doubled a column: nvidia-smi counts without gaps."""
    counts = {"GPU": 0, "NIC": 0}
    expected = []
    for name in header.columns:
        kind = match[1] if (match := _NUMBERED.fullmatch(name)) else ""
        expected.append(f"{kind}{counts[kind]}" if kind else name)
        if kind:
            counts[kind] += 1
    gpus = header.columns[: header.gpus]
    wrong = next((n for n, e in zip(header.columns, expected, strict=True) if n != e), None)
    if wrong or len(set(header.columns)) < len(header.columns) <= MOST_COLUMNS:
        told = f"expected columns without gaps or repeats, got {shown(wrong or header.columns)}"
    elif len(header.columns) > MOST_COLUMNS or not all(name.startswith("GPU") for name in gpus):
        told = f"expected at most {MOST_COLUMNS} columns, GPUs first"
    else:
        return
    raise MalformedError(WHAT, [Problem(f"{place}:{header.line}", told)])


def _rows(
    header: _Header, lines: Sequence[tuple[int, str]], place: str, problems: list[Problem]
) -> Mapping[str, _Row]:
    rows: dict[str, _Row] = {}
    for number, line in _matrix(lines):
        label = _label(header.columns, line)
        row = None
        if _scan(number, line):
            told = "a second matrix; expected one"
        elif label is None:
            told = _stray(line)
        elif label in rows:
            told = f"{label} has a row already, in line {rows[label].line}"
        else:
            row, told = _row(header, label, number, line)
        if row is not None and label is not None:
            rows[label] = row
        elif told:
            problems.append(Problem(f"{place}:{number}", told))
    if not rows and not problems:
        problems.append(Problem(f"{place}:{header.line}", "a header without rows"))
    return rows


def _matrix(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines up to the legend that are more than blanks and dashes."""
    for number, line in lines:
        if line.strip() == "Legend:" or _EXPLAINED.match(line):
            return
        if line.strip(" \t-:+="):
            yield number, line


def _label(columns: Sequence[str], line: str) -> str | None:
    """The column whose row this is; a cell may be glued to it, since cells are in upper case."""
    text = line.lstrip()
    found = [name for name in columns if re.match(rf"{re.escape(name)}(?![a-z0-9_.:-])", text)]
    return max(found, key=len, default=None)


def _stray(line: str) -> str:
    """What is wrong with a line that is no row; nothing if it is not about the matrix."""
    if _CELL_WORD.search(line) or re.match(r"\s*(?:GPU|NIC)\d+(?!\d*\s*:)", line):
        return f"expected a row that begins with one of the columns, got {shown(line.strip())}"
    return ""


def _row(header: _Header, label: str, number: int, line: str) -> tuple[_Row | None, str]:
    """The row, or what is wrong with it."""
    text = line.lstrip()[len(label) :]
    cells, rest = _cells(text, len(header.columns))
    if len(cells) < len(header.columns):
        got = f"got {len(cells)}, then {shown(rest.strip())}"
        return None, f"{label}: expected {len(header.columns)} cells, {got}"
    if not _TAIL.fullmatch(rest):
        told = f"expected {len(header.columns)} cells and CPU and NUMA affinity"
        return None, f"{label}: {told}, got {shown(rest.strip())} after them"
    own = header.columns.index(label)
    if [at for at, cell in enumerate(cells) if cell == "X"] != [own]:
        return None, f"{label}: expected X in its own column and nowhere else"
    wired = [at for at, cell in enumerate(cells) if cell.startswith("NV")]
    if wired and (own >= header.gpus or wired[-1] >= header.gpus):
        return None, f"{label}: NVLink joins GPUs, not NICs"
    return _Row(number, cells, rest), ""


def _cells(text: str, most: int) -> tuple[tuple[str, ...], str]:
    """At most so many cells from the front, and the rest."""
    cells, at = list[str](), 0
    while len(cells) < most:
        at = len(text) - len(text[at:].lstrip())
        match = _CELL.match(text, at)
        if match is None:
            break
        cells.append(match[0])
        at = match.end()
    return tuple(cells), text[at:]


def _asymmetries(header: _Header, rows: Mapping[str, _Row], place: str) -> Iterator[Problem]:
    """Pairs whose two rows disagree: one of the two is damaged."""
    at = {name: index for index, name in enumerate(header.columns)}
    for name, row in rows.items():
        for other in list(rows)[: list(rows).index(name)]:
            here, there = row.cells[at[other]], rows[other].cells[at[name]]
            if here != there:
                told = f"{name} to {other} is {here}, but {there} in line {rows[other].line}"
                yield Problem(f"{place}:{row.line}", told)


def _devices(lines: Sequence[tuple[int, str]]) -> Mapping[str, str]:
    """The device behind each NICn, from the NIC legend."""
    return {match[1]: match[2] for _, line in lines if (match := _LEGEND.fullmatch(line))}


def _capped(lines: Sequence[tuple[int, str]], place: str) -> list[str]:
    """The warning that nvidia-smi left NICs out, as it does on hosts with many VFs."""
    return [
        f"{place}:{number}: nvidia-smi shows {match[2]} of {match[1]} NICs; sysfs has them all"
        for number, line in lines
        if (match := _CAP.search(line))
    ]


def _topology(
    header: _Header,
    rows: Mapping[str, _Row],
    devices: Mapping[str, str],
    capped: list[str],
    place: str,
) -> Topology:
    gpus, names = header.columns[: header.gpus], header.columns[header.gpus :]
    tiers = tuple(_tiers(header, rows, gpu) for gpu in gpus)
    absent = [at for at, gpu in enumerate(gpus) if gpu not in rows]
    missing = [at for at in absent if not any(tiers[at])]
    told = [f"{place}: {gpus[at]} has no row" for at in absent]
    told = [
        line if at in missing else f"{line}; it is filled in from the NICs' rows"
        for at, line in zip(absent, told, strict=True)
    ]
    return Topology(
        shape="",
        gpus=tuple(_numa(header.tail, rows[gpu].tail) if gpu in rows else None for gpu in gpus),
        nics=tuple(_nic(name, devices) for name in names),
        tiers=tiers,
        judged=Judged.PCIE,
        evidence=Evidence.SMI,
        missing=tuple(missing),
        partial=bool(capped),
        warnings=(*capped, *told),
    )


def _nic(label: str, devices: Mapping[str, str]) -> Nic:
    """Older drivers head the columns with the devices themselves."""
    device = devices.get(label, "" if _NUMBERED.fullmatch(label) else label)
    return Nic(device or label, None, None, label=label, device=device)


def _tiers(header: _Header, rows: Mapping[str, _Row], gpu: str) -> tuple[Tier | None, ...]:
    """A GPU's distances: its own row, else its column in the rows of the NICs."""
    names = header.columns[header.gpus :]
    at = header.columns.index(gpu)
    if gpu in rows:
        return tuple(_tier(cell) for cell in rows[gpu].cells[header.gpus :])
    return tuple(_tier(rows[name].cells[at]) if name in rows else None for name in names)


def _tier(cell: str) -> Tier:
    return _OLD.get(cell) or Tier(cell)


def _numa(heads: Sequence[str], tail: str) -> int | None:
    """The NUMA node in a row's tail; None where blanks leave open which column a word is in."""
    if "NUMA Affinity" not in heads:
        return None
    at = heads.index("NUMA Affinity")
    for words in (tail.split("\t")[1:], re.sub(r"(?<=\d)N/A", " N/A", tail).split()):
        # A driver with GPU NUMA ID puts two tabs before it.
        if len(heads) <= len(words) <= len(heads) + 1 and " " not in words[0].strip():
            word = words[at].strip()
            return int(word) if word.isdecimal() and len(word) <= 4 else None  # noqa: PLR2004 - MAX_NUMNODES is 1024
    return None
