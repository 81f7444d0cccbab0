"""The benchmark: `python tests/bench/run.py [--quick] [--out FILE] [--plot FILE]`.

Progress goes to standard error, one JSON document to standard output. Goals are told, never
asserted; the exit status is 1 only if a request failed or something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import blocks
import creation
import mutation
import page
import plot
import programs
import ranking
import scheduling
import storm
from blocks import Client, Effort
from controlplane import binaries
from controlplane.installed import Installed
from controlplane.plane import Cluster

FORMAT: Final = 1


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description="Measure podrail beside stand-ins.")
    parser.add_argument("--quick", action="store_true", help="a short run: about two minutes")
    parser.add_argument("--out", type=Path, help="write the JSON to this file too")
    parser.add_argument("--plot", type=Path, help="draw the growth by nodes into this SVG file")
    told = parser.parse_args()
    began = time.monotonic()
    found: dict[str, Any] = {"format": FORMAT, "quick": told.quick, "machine": machine()}
    with tempfile.TemporaryDirectory(prefix="podrail-bench-") as folder:
        try:
            client = blocks.build(Path(folder))
            found |= measured(Path(folder), client, blocks.QUICK if told.quick else blocks.FULL)
        except binaries.NotRun as missing:
            found["not_run"] = str(missing)
            print(f"!!! {missing}", file=sys.stderr)
    found["failed_requests"] = failed(found)
    found["seconds"] = round(time.monotonic() - began)
    text = json.dumps(found, indent=1)
    print(text)
    if told.out:
        told.out.write_text(text + "\n")
    if told.plot and "extender" in found:
        told.plot.write_text(plot.drawn(found["extender"]["growth"]))
    return int("not_run" in found or found["failed_requests"] > 0)


def measured(folder: Path, client: Client, effort: Effort) -> dict[str, Any]:
    """All figures. The webhook comes first, while no control plane shares the cores."""
    tell("1/6 the webhook beside a null handler")
    found = {"webhook": mutation.measure(folder / "mutation", client, effort)}
    tell(f"2/6 starting a control plane of Kubernetes {binaries.VERSION}")
    with Cluster() as cluster, programs.running(folder / "cluster") as started:
        installed = Installed(cluster)
        tell("2/6 pod creation without a webhook, with an allow-only one, with podrail's")
        found["pod_creation"] = creation.measure(installed, started, client, effort)
        pods = storm.PODS if effort is blocks.FULL else storm.FEW
        tell(f"3/6 {pods} pods at once")
        found["storm"] = storm.measure(installed, started, client, pods)
        scale = ranking.FULL if effort is blocks.FULL else ranking.QUICK
        tell(f"4/6 filter and prioritize beside a null handler, {scale.nodes} nodes")
        found["extender"] = ranking.measure(installed, started, client, effort, scale)
    tell("5/6 pods through a real kube-scheduler, with podrail and without")
    found["scheduling"] = scheduling.measure(folder / "scheduling", client, effort)
    tell("6/6 the rail map page")
    requests = page.REQUESTS if effort is blocks.FULL else page.FEW
    found["page"] = page.measure(requests=requests)
    return found


def tell(what: str) -> None:
    """Show what is being done now."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": [round(one, 2) for one in os.getloadavg()],
        "kubernetes": binaries.VERSION,
    }


def failed(found: object) -> int:
    """The failed requests of all comparisons."""
    if isinstance(found, list):
        return sum(failed(one) for one in found)
    if not isinstance(found, dict):
        return 0
    return int(found.get("errors", 0)) + sum(failed(one) for one in found.values())


if __name__ == "__main__":
    sys.exit(main())
