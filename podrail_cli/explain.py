"""`podrail explain`: what a pod got and why, and where it fits best and why, as plain text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from podrail_cli import output

Document = Mapping[str, Any]
_NO_NODES: Final = (
    "Where it fits is not known here: ask a live cluster, or give one with --cluster."
)
MOST_ROWS: Final = 20
"""The nodes that are listed for people."""


def text(found: Document) -> str:
    """The account of a pod for people; what there is nothing to say of is left out."""
    parts = ["\n".join(_injected(found))]
    if found.get("fate") is not None:
        parts.append("\n".join(_fate(found["fate"])))
    if not found["nodesKnown"]:
        parts.append(_NO_NODES)
    if "job" in found:
        parts.append(_job(found["job"]))
        parts += [_summary(found["nodes"]), *(_best(one) for one in found["best"])]
        last = (_absent(found), _misses(found), _refusals(found), _ranked(found))
        parts += ["\n".join(lines) for lines in last if lines]
    return "\n\n".join(parts)


def _injected(found: Document) -> Iterator[str]:
    given, name = found["injected"], f"pod {found['namespace']}/{found['pod']}"
    if found["refused"]:
        yield f"{name}: refused by the API server"
        yield f"  {found['refused']}"
        return
    if given is None:
        yield f"{name}: not injected"
        yield from (f"  {warning}" for warning in found["warnings"])
        return
    into = f" into container {given['container']}" if given["container"] else ""
    yield f"{name}: {given['outcome']} by profile {given['profile']}{into}"
    if given["outcome"] == "injected":
        yield from _got(given)
    for one in given["reasons"]:
        yield f"  {one['severity'] or 'note'} {one['code']}: {one['path']}: {one['message']}"
        if one["remedy"]:
            yield f"    what to do ({one['who']}): {one['remedy']}"


def _got(given: Document) -> Iterator[str]:
    interfaces: dict[str, list[str]] = {}
    for one in given["networks"]:
        interfaces.setdefault(one["name"], []).append(one["interface"] or "?")
    networks = (f"{name} as {', '.join(some)}" for name, some in interfaces.items())
    resources = (f"{name}: {count}" for name, count in given["resources"].items())
    parts = {
        "rails": ", ".join(map(str, given["rails"])),
        "networks": "; ".join(networks),
        "resources": ", ".join(resources),
        "settings": ", ".join(given["env"]),
        "chosen late, when it is bound": ", ".join(given["late"]),
        "kept as you wrote it": ", ".join(given["kept"]),
    }
    yield from (f"  {part}: {listed}" for part, listed in parts.items() if listed)


def _fate(found: Document) -> Iterator[str]:
    """Where the pod is and why, or what it waits for."""
    phase = f" ({found['phase']})" if found["phase"] else ""
    placed = found["placement"]
    if not found["node"]:
        by = f" for scheduler {found['scheduler']}" if found["scheduler"] else ""
        yield f"not bound yet, it waits{by}{phase}" + (":" if found["waiting"] else "")
        if found["waiting"]:
            yield f"  {found['waiting']}"
        return
    yield f"bound to node {found['node']}{phase}"
    if placed is None:
        yield "  not placed by podrail: nothing was written at the bind (podrail doctor says why)"
        return
    share = "unknown" if placed["expected"] is None else f"{placed['expected']:.0%}"
    points = "not scored" if placed["points"] is None else f"{placed['points']} of {placed['of']}"
    yield f"  placed by podrail: {points}, rails {_numbers(placed['rails'])}"
    yield (
        f"  expected then: {share} of the rails' bandwidth, worst pair {placed['tier'] or '?'}; "
        f"evidence: {placed['evidence']}"
    )
    if placed["conflict"]:
        yield "  its rails were to be its own, and others use them too: too few were free"


def _job(job: Document) -> str:
    size = job["size"] or (f"at least {job['atLeast']}" if job["atLeast"] > 1 else "unknown")
    index = "" if job["index"] is None else f", this one is number {job['index']}"
    return (
        f"job {job['key']}: found by rule {job['rule']}; pods: {size}, bound: {job['bound']}{index}"
    )


def _summary(nodes: Document) -> str:
    return f"{nodes['fit']} of {nodes['total']} nodes can run it" + (
        "; the best:" if nodes["fit"] else ""
    )


def _best(one: Document) -> str:
    if one["worth"] is None:
        return f"{_name(one)}: {one['points']} of {one['of']}; nothing is known of its devices"
    rows = [
        (
            f"  {part['part']}",
            f"{part['value']:.2f}",
            str(part["weight"]),
            f"{part['adds']:.3f}",
            part["means"],
        )
        for part in one["parts"]
    ]
    head = f"{_name(one)}: {one['points']} of {one['of']}, worth {one['worth']:.3f}{_hopes(one)}"
    return f"{head}\n{output.table(('  PART', 'VALUE', 'WEIGHT', 'ADDS', 'WHAT IT SAYS'), rows)}"


def _name(one: Document) -> str:
    told = [one["shape"], *(f"{level} {at}" for level, at in one["place"].items() if at)]
    listed = ", ".join(filter(None, told))
    return f"{one['node']} ({listed})" if listed else str(one["node"])


def _hopes(one: Document) -> str:
    """What to expect there: bandwidth, the worst pair, rails, and how sure the GPUs are."""
    if one["expected"] is None:
        return ""
    sets: Sequence[Document] = one["gpuSets"]
    sure = len(sets) == 1 and sets[0]["p"] == 1
    gpus = f"GPUs {_numbers(sets[0]['gpus'])}" if sure else "which GPUs is the kubelet's choice"
    share, rails = f"{one['expected']:.0%}", _numbers(one["rails"])
    return (
        f"\n  {share} of the rails' bandwidth, worst pair {one['tier'] or '?'}, rails {rails}, "
        f"{gpus}; evidence: {one['evidence']}"
    )


def _numbers(found: Sequence[int]) -> str:
    return ",".join(map(str, found)) or "none"


def _absent(found: Document) -> list[str]:
    """What no node offers, by who asks for it."""
    asked: dict[str | None, list[str]] = {}
    for one in found["absent"]:
        asked.setdefault(one["profile"], []).append(one["resource"])
    return [
        line
        for profile, names in asked.items()
        for line in (
            f"no node offers {', '.join(names)} (asked for by {_asker(profile)}):",
            "  is the device plugin there, is the name right? [ResourceNotAdvertised]",
        )
    ]


def _asker(profile: str | None) -> str:
    return "the pod itself" if profile is None else f"profile {profile}"


def _misses(found: Document) -> list[str]:
    lines = [
        line
        for one in found["misses"]
        for line in (f"  {_name(one)}: {one['reason']}", f"    what would help: {one['help']}")
    ]
    return ["nearest misses:", *lines] if lines else []


def _refusals(found: Document) -> list[str]:
    rows = [(f"  {one['kind']}", str(one["nodes"]), one["reason"]) for one in found["refusals"]]
    return [output.table(("  REFUSED", "NODES", "WHY"), rows)] if rows else []


def _ranked(found: Document) -> list[str]:
    """Every node with its score, as far as anybody reads on."""
    listed = found.get("ranked") or ()
    rows = [
        (f"  {one['node']}", "-" if one["reason"] else str(one["score"]), one["reason"])
        for one in listed[:MOST_ROWS]
    ]
    more = len(listed) - MOST_ROWS
    rest = [f"  and {more} more: podrail rank, or -o json"] if more > 0 else []
    return [output.table(("  EVERY NODE", "SCORE", "WHY NOT"), rows), *rest] if rows else []
