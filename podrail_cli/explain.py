"""`podrail explain`: what a pod got and why, and where it fits best and why, as plain text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podrail_cli import output

Document = Mapping[str, Any]


def text(found: Document) -> str:
    """The account of a pod for people; what there is nothing to say of is left out."""
    parts = ["\n".join(_injected(found))]
    if "job" in found:
        parts.append(_job(found["job"]))
        parts += [_summary(found["nodes"]), *(_best(one) for one in found["best"])]
        parts += ["\n".join(lines) for lines in (_misses(found), _refusals(found)) if lines]
    return "\n\n".join(parts)


def _injected(found: Document) -> Iterator[str]:
    given, name = found["injected"], f"pod {found['namespace']}/{found['pod']}"
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
    networks = (f"{one['name']} as {one['interface'] or '?'}" for one in given["networks"])
    resources = (f"{name}: {count}" for name, count in given["resources"].items())
    parts = {
        "rails": ", ".join(map(str, given["rails"])),
        "networks": ", ".join(networks),
        "resources": ", ".join(resources),
        "settings": ", ".join(given["env"]),
        "chosen late, when it is bound": ", ".join(given["late"]),
        "kept as you wrote it": ", ".join(given["kept"]),
    }
    yield from (f"  {part}: {listed}" for part, listed in parts.items() if listed)


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
