"""A node as a page: GPUs and NICs below their switches, and the distance of each pair."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from controller.page import wording
from controller.page.sheet import Box, Cell, Drawing, Facts, Label, Line, Page, Section, Table
from podrail.railmap.node import Gpu, Held, Nic, Node
from podrail.topology import State

DEVICE: Final = (190.0, 30.0)
"""The width and height of a device's box, in pixels."""
STEP: Final = 44.0
TOP: Final = 30.0
LEFT: Final = 70.0
RIGHT: Final = 560.0
MIDDLE: Final = (330.0, 160.0)
"""Where a switch's box begins, and how wide it is."""
WIDTH: Final = RIGHT + DEVICE[0] + 70
MOST_NAME: Final = 24
LEGEND: Final = (
    Cell("PIX, PXB: below one PCIe switch", "near"),
    Cell("PHB, NODE: through the CPU", "middle"),
    Cell("SYS: across sockets", "far"),
)
_STATES: Final[Mapping[str, str]] = {State.DOWN: "down", State.SUSPECT: "degraded"}


def page(found: Node, twin: str) -> Page:
    """The page of a node; twin is the address of the same as JSON."""
    return Page(
        here="fleet",
        title=f"Node {found.name}",
        twin=twin,
        facts=_facts(found),
        sections=(_devices(found), _distances(found), _pods(found), _troubles(found)),
    )


def _facts(found: Node) -> Facts:
    host, place = found.host, found.place
    heard = "never"
    if host.observed_at is not None:
        heard = f"{datetime.fromtimestamp(host.observed_at, UTC):%Y-%m-%d %H:%M:%S UTC}"
    named = (("Zone", place.zone), ("Fabric", place.fabric), ("Block", place.block))
    more = (("Leaf", place.leaf), ("NVLink domain", place.domain))
    policy = f"{host.kubelet_policy or 'not known'} ({host.kubelet_scope or 'scope not known'})"
    return Facts(
        (
            ("GPUs free", Cell(f"{found.free} of {found.count}")),
            ("Use", wording.use(found.use)),
            ("Cordoned", Cell("yes", "fair") if found.cordoned else Cell("no")),
            *((name, Cell(text)) for name, text in (*named, *more) if text),
            ("Known by", Cell(found.evidence)),
            ("Agent", wording.voice(host.agent)),
            ("Agent last heard", Cell(heard)),
            ("Topology policy", Cell(policy)),
            ("GPUDirect RDMA", Cell(host.gpudirect or "not known")),
        )
    )


def _devices(found: Node) -> Section:
    heads = ("NIC", "Rail", "State", "NUMA node", "Gbit/s", "Device of", "PCI address", "Held by")
    return Section(
        "GPUs and NICs",
        "" if found.gpus else "Nothing is known of this node's devices.",
        drawing=_drawing(found) if found.gpus or found.nics else None,
        legend=LEGEND,
        tables=(
            Table(
                "GPUs",
                ("GPU", "NUMA node", "Product", "Health", "Held by"),
                tuple(_gpu(one) for one in found.gpus),
            ),
            Table("NICs", heads, tuple(_nic(at, one) for at, one in enumerate(found.nics))),
        ),
    )


def _gpu(one: Gpu) -> tuple[Cell, ...]:
    return (
        Cell(f"GPU {one.index}"),
        Cell(_number(one.numa)),
        Cell(one.product or "not known"),
        Cell("healthy") if one.healthy else Cell("not healthy", "down"),
        Cell(", ".join(one.pods) or "nobody known"),
    )


def _nic(at: int, one: Nic) -> tuple[Cell, ...]:
    return (
        Cell(_named(at, one)),
        Cell("none" if one.rail is None else str(one.rail)),
        Cell(one.state or "not known", _STATES.get(one.state, "")),
        Cell(_number(one.numa)),
        Cell(_number(one.gbps)),
        Cell(one.resource or one.role or "not known"),
        Cell(one.pci or "not known"),
        Cell(", ".join(one.pods) or "nobody known"),
    )


def _named(at: int, one: Nic) -> str:
    return one.name or (f"NIC {at}" if one.rail is None else f"NIC of rail {one.rail}")


def _number(value: int | None) -> str:
    return "not known" if value is None else str(value)


def _drawing(found: Node) -> Drawing:
    rows = max(len(found.gpus), len(found.nics))
    gpus, nics = _order(found)
    return Drawing(
        title=f"PCIe tree of {found.name}",
        description="GPUs at the left, NICs at the right, the switches that they share between "
        "them. A line joins each GPU with the NIC that serves it best and names their distance. "
        "The tables beside it say the same, and more.",
        width=WIDTH,
        height=TOP + rows * STEP + 10,
        boxes=(
            *_switches(found, gpus, nics),
            *(_gpu_box(found, found.gpus[gpu], row) for row, gpu in enumerate(gpus)),
            *(_nic_box(nic, found.nics[nic], row) for row, nic in enumerate(nics)),
        ),
        lines=tuple(_lines(found, gpus, nics)),
        labels=(
            Label(LEFT, 16, "GPUs"),
            Label(MIDDLE[0], 16, "PCIe switches"),
            Label(RIGHT, 16, "NICs"),
            *_numas([found.gpus[gpu].numa for gpu in gpus], 0, "start"),
            *_numas([found.nics[nic].numa for nic in nics], WIDTH, "end"),
        ),
    )


def _order(found: Node) -> tuple[list[int], list[int]]:
    """GPUs and NICs, each by NUMA node and switch, so that most lines are level."""
    gpu_at = {gpu: at for at, one in enumerate(found.switches) for gpu in one.gpus}
    nic_at = {nic: at for at, one in enumerate(found.switches) for nic in one.nics}
    last = len(found.switches)
    numas: list[tuple[int | None, int]] = [(one.numa, one.index) for one in found.gpus]
    gpus = sorted((_last(numa), gpu_at.get(gpu, last), gpu) for numa, gpu in numas)
    nics = sorted((_last(one.numa), nic_at.get(at, last), at) for at, one in enumerate(found.nics))
    return [gpu for *_, gpu in gpus], [nic for *_, nic in nics]


def _last(numa: int | None) -> float:
    return float("inf") if numa is None else numa


def _y(row: int) -> float:
    return TOP + row * STEP


def _gpu_box(found: Node, one: Gpu, row: int) -> Box:
    # Free is what the counts say too: a pod may hold GPUs of which nobody knows which.
    sure = sum(not gpu.pods for gpu in found.gpus) <= found.free
    holder = one.pods[0] if one.pods else "free" if sure else "not known"
    tone = "down" if not one.healthy else "held" if one.pods else "free" if sure else ""
    told = f"GPU {one.index}, {', '.join(one.pods) or 'held by nobody known'}"
    return Box(LEFT, _y(row), *DEVICE, _short(f"GPU {one.index} {holder}"), tone, told)


def _nic_box(at: int, one: Nic, row: int) -> Box:
    rail = "no rail" if one.rail is None else f"rail {one.rail}"
    tone = _STATES.get(one.state, "held" if one.pods else "free")
    told = f"{_named(at, one)}, {rail}, {', '.join(one.pods) or 'held by nobody known'}"
    text = f"{one.name or 'NIC'} {rail}" + (f" {one.state}" if tone in {"down", "degraded"} else "")
    return Box(RIGHT, _y(row), *DEVICE, _short(text), tone, told)


def _short(text: str) -> str:
    return text if len(text) <= MOST_NAME else f"{text[: MOST_NAME - 1]}…"


def _switches(found: Node, gpus: Sequence[int], nics: Sequence[int]) -> Iterator[Box]:
    for one in found.switches:
        rows = [*(gpus.index(gpu) for gpu in one.gpus), *(nics.index(nic) for nic in one.nics)]
        height = (max(rows) - min(rows)) * STEP + DEVICE[1]
        yield Box(MIDDLE[0], _y(min(rows)), MIDDLE[1], height, tone="switch")


def _lines(found: Node, gpus: Sequence[int], nics: Sequence[int]) -> Iterator[Line]:
    for pair in found.pairs:
        begin = (LEFT + DEVICE[0], _y(gpus.index(pair.gpu)) + DEVICE[1] / 2)
        end = (RIGHT, _y(nics.index(pair.nic)) + DEVICE[1] / 2)
        # Near its NIC, where lines that cross have come apart.
        at = (begin[0] + 0.85 * (end[0] - begin[0]), begin[1] + 0.85 * (end[1] - begin[1]) - 5)
        told = f"GPU {pair.gpu} and {_named(pair.nic, found.nics[pair.nic])}: {pair.tier or '?'}"
        tone = wording.tier(pair.tier).tone
        yield Line(*begin, *end, tone, told, pair.tier or "?", at)


def _numas(numas: Sequence[int | None], x: float, anchor: str) -> Iterator[Label]:
    """The number of each NUMA node, once where it begins."""
    for row, numa in enumerate(numas):
        if numa is not None and (not row or numas[row - 1] != numa):
            yield Label(x, _y(row) + 20, f"NUMA {numa}", anchor)


def _distances(found: Node) -> Section:
    heads = tuple(_named(at, one) for at, one in enumerate(found.nics))
    rows = tuple(
        (Cell(f"GPU {gpu}"), *(wording.tier(tier) for tier in row))
        for gpu, row in enumerate(found.tiers)
    )
    return Section(
        "Distances",
        "How far each GPU is from each NIC, by PCIe; ? is not known.",
        tables=(Table("Distance of each GPU and NIC", ("GPU", *heads), rows),),
    )


def _pods(found: Node) -> Section:
    heads = ("Pod", "Job", "Profile", "GPUs", "Rails", "Known by", "Outcome")
    rows = tuple(_held(one) for one in found.pods)
    return Section(
        "Pods",
        tables=(Table("Who holds what", heads, rows, "No pod has devices of this node."),),
    )


def _held(one: Held) -> tuple[Cell, ...]:
    return (
        Cell(one.pod),
        wording.to_job(one.job),
        Cell(one.profile or "none"),
        Cell(wording.numbers(one.gpus)),
        Cell(wording.numbers(one.rails)),
        Cell(one.known_by or "nothing"),
        wording.outcome(one.outcome),
    )


def _troubles(found: Node) -> Section:
    rows = tuple(
        (Cell(one.code, "fair"), Cell(one.device), Cell(one.message)) for one in found.host.troubles
    )
    if found.host.problem:
        rows = ((Cell("unreadable", "bad"), Cell("NodeRails"), Cell(found.host.problem)), *rows)
    table = Table("Troubles", ("Code", "Device", "Message"), rows, "The agent tells of none.")
    return Section("What the agent finds wrong", tables=(table,))
