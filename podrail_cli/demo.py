"""`podrail demo`: webhook and extender at work on a simulated cluster, without any Kubernetes.

The two programs are the real ones, in processes of their own, over TLS and HTTP; the API server is
a small one in memory, and the nodes, the scheduler's default rules and the jobs are simulated.
"""

import json
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

import click

from podrail import names
from podrail_cli import demo_programs, demo_stage, demo_world, library, output
from podrail_cli.demo_api import DemoApi
from podrail_cli.demo_programs import Program
from podrail_cli.demo_stage import Stage

Document = dict[str, Any]
Say = Callable[[str], None]
GPUS: Final = 8


def run(*, once: bool, as_json: bool) -> None:
    """Run the demo; it ends by itself with once or JSON, else with Ctrl-C.

    Raises:
        DemoError: a program did not start.
    """
    for number in demo_programs.ENDING:
        signal.signal(number, signal.default_int_handler)
    say: Say = (lambda _text: None) if as_json else click.echo
    shapes_folder = resources.files("podrail_cli") / "data" / "shapes"
    with (
        tempfile.TemporaryDirectory(prefix="podrail-demo-") as name,
        resources.as_file(shapes_folder) as shapes,
        DemoApi(time.time) as api,
    ):
        folder = Path(name)
        say("podrail demo: webhook and extender are the real programs; the cluster is simulated.\n")
        for document in demo_world.objects():
            demo_stage.create(api, document)
        demo_programs.certificates(folder)
        running: list[Program] = []
        try:
            running.append(Program("podrail-webhook", folder, _webhook_settings(folder, api.url)))
            running.append(Program("podrail-extender", folder, _extender_settings(shapes, api.url)))
            stage = Stage(api, running[0], running[1], library.shapes(shapes))
            told = _play(stage, say)
            if as_json:
                click.echo(output.as_json(told))
            elif not once:
                running.append(Program("podrail-controller", folder, _page_settings(shapes, stage)))
                _wait(stage, running[-1].told("page listening", "page"), say)
        finally:
            # A second Ctrl-C would leave programs behind; each ends in bounded time.
            for number in demo_programs.ENDING:
                signal.signal(number, signal.SIG_IGN)
            for program in reversed(running):
                program.stop()


def _webhook_settings(folder: Path, server: str) -> dict[str, str]:
    return {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_SERVER": server,
        "PODRAIL_CERT": str(folder / "tls.crt"),
        "PODRAIL_KEY": str(folder / "tls.key"),
    }


def _extender_settings(shapes: Path, server: str) -> dict[str, str]:
    return {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_SERVER": server,
        "PODRAIL_SHAPES": str(shapes),
    }


def _page_settings(shapes: Path, stage: Stage) -> dict[str, str]:
    """The controller has nothing to report here, but serves the rail map."""
    return {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_SERVER": stage.api.url,
        "PODRAIL_SHAPES": str(shapes),
        "PODRAIL_PAGE": "127.0.0.1:0",
        "PODRAIL_PAGE_WEBHOOK": stage.webhook.address,
    }


def _play(stage: Stage, say: Say) -> Document:
    """The whole story: one pod, then two jobs under either scheduler."""
    before = demo_world.workers(0)[0]
    after, warnings = demo_stage.admitted(stage, before)
    _tell_pod(before, after, warnings, say)
    jobs = [pod for job in range(demo_world.JOBS) for pod in demo_world.workers(job)]
    injected = [demo_stage.admitted(stage, pod)[0] for pod in jobs]
    default = demo_stage.by_default_rules(stage, injected)
    placed = demo_stage.with_extender(stage, injected)
    total = len(jobs) * GPUS
    shares = {
        "default": demo_stage.aligned(stage, default) / total,
        "podrail": demo_stage.aligned(stage, placed) / total,
        "best": demo_stage.best_possible(stage, len(jobs)) / total,
    }
    _tell_placement(placed, shares, len(jobs), say)
    return {
        "simulated": True,
        "nodes": len(demo_world.nodes()),
        "pod": {"before": before, "after": after, "warnings": warnings},
        "alignedPairs": shares,
        "placements": {
            pod["metadata"]["name"]: json.loads(pod["metadata"]["annotations"][names.PLACEMENT])
            for pod in placed
        },
        "defaultNodes": {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in default},
    }


def _tell_pod(before: Document, after: Document, warnings: Sequence[str], say: Say) -> None:
    say("1. One label, and the pod gets its rails. What its author wrote:\n")
    say(_indented(output.as_yaml([{"metadata": before["metadata"], "spec": before["spec"]}])))
    say("   What podrail adds to it:\n")
    annotations = after["metadata"]["annotations"]
    container = after["spec"]["containers"][0]
    say(f"   networks       {annotations[names.NETWORKS]}")
    rails = sorted(name for name in container["resources"]["limits"] if "rail" in name)
    say(f"   limits         {rails[0]} ... {rails[-1]}: 1 each")
    say(f"   env            {', '.join(entry['name'] for entry in container['env'])}")
    say(f"   /etc/nccl.conf {', '.join(annotations[names.NCCL_CONF].split())}")
    say(f"   scheduler      {after['spec']['schedulerName']}")
    for warning in warnings:
        say(f"   kubectl prints: {warning}")


def _tell_placement(
    placed: Sequence[Document], shares: Mapping[str, float], pods: int, say: Say
) -> None:
    say(f"\n2. {demo_world.JOBS} jobs of {demo_world.WORKERS} pods, {GPUS} GPUs each, on 16 nodes.")
    say("   All nodes have the same resources, but on half of them GPUs and NICs sit on opposite")
    say("   sockets, and those are the emptier ones. Where podrail puts the pods:\n")
    rows = []
    for pod in placed:
        told = json.loads(pod["metadata"]["annotations"][names.PLACEMENT])
        rows.append(
            (pod["metadata"]["name"], told["node"], told["tier"], f"{told['expected']:.0%}")
        )
    say(_indented(output.table(("POD", "NODE", "TIER", "ALIGNED"), rows)))
    say(f"\n3. GPU-NIC pairs that are aligned, of {pods * GPUS}:\n")
    for name, told in (
        ("default", "kube-scheduler's default rules"),
        ("podrail", "with podrail"),
        ("best", "best possible"),
    ):
        say(f"   {told:<31} {shares[name]:>4.0%}  {'#' * round(40 * shares[name])}")
    say("\nTry your own pod:  podrail inject -f your-pod.yaml --profile sriov-rails -o diff")


def _wait(stage: Stage, page: str, say: Say) -> None:
    say(f"\nwebhook  {stage.webhook.url}/mutate\nextender {stage.extender.url}")
    say(f"rail map http://{page}/  (nodes, rails, jobs: open it in a browser)")
    say("All keep running; Ctrl-C ends everything.")
    try:
        signal.pause()
    except KeyboardInterrupt:
        say("\nStopping.")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.rstrip().splitlines()) + "\n"
