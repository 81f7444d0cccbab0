"""The kubelet model against the kubelet's own code (admit.go and prefer.go beside this file).

`make fuzz` asks about twenty times as many random nodes. The first build takes five to ten minutes on
two cores, since go-nvml needs cgo and so nothing of the control plane's build can be used again.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import fuzz
import pytest

from podrail.kubelet import model, partition
from podrail.kubelet.hints import Affinity
from podrail.kubelet.model import Code, Outcomes, Refused
from podrail.kubelet.node import (
    Card,
    Container,
    Kind,
    Kubelet,
    Machine,
    Node,
    Plugin,
    Policy,
    Resource,
    Scope,
)

pytestmark = pytest.mark.go

NODES = 300
PREFERENCES = 200
DRAWS = 3
SECONDS = 120

Ask = Callable[..., list[Any]]


@pytest.fixture(name="ask", scope="module")
def _ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """The Go program: its answers to questions, line by line."""
    for tool in ("go", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"NOT RUN: {tool} is missing, so the kubelet's own code cannot be asked")
    folder = tmp_path_factory.mktemp("kubelet")
    program = folder / "kubelet"
    subprocess.run(
        ["go", "build", "-p=2", "-o", program, "."], cwd=Path(__file__).parent, check=True
    )

    def ask(questions: list[Any], *command: str) -> list[Any]:
        told = "".join(json.dumps(one) + "\n" for one in questions)
        ran = subprocess.run(
            [program, *command],
            input=told,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return ask


@pytest.mark.parametrize("seed", range(fuzz.TIMES))
def test_the_preferred_gpus(ask: Ask, seed: int) -> None:
    """Each set of GPUs has the chance that go-gpuallocator gives it over all orders of naming."""
    dice = random.Random(f"preferences {seed}")
    asked = [_preference(dice) for _ in range(PREFERENCES)]
    for question, answer in zip(asked, ask(asked, "prefer"), strict=True):
        free, required = (_mask(question[key]) for key in ("free", "required"))
        found = partition.preferred(_pairs(question["links"]), free, required, question["size"])
        orders = sum(one["Orders"] for one in answer)
        expected = {_mask(one["Gpus"]): Fraction(one["Orders"], orders) for one in answer}
        assert (expected, True) == (dict(found.sets), found.exact), question


@pytest.mark.parametrize("seed", range(fuzz.TIMES))
def test_admission(ask: Ask, seed: int, tmp_path: Path) -> None:
    """A kubelet admits, aligns and hands out only what the model says that it may."""
    dice = random.Random(f"nodes {seed}")
    cases = [_case(dice) for _ in range(NODES)]
    answers = ask([_asked(*case) for case in cases], "admit", str(tmp_path))
    unsure = 0
    for (node, request), draws in zip(cases, answers, strict=True):
        found = model.outcomes(node, request)
        unsure += isinstance(found, Outcomes) and not found.exact
        for draw in draws:
            _agrees(node, request, draw, found)
    assert unsure < NODES / 10


def _agrees(
    node: Node,
    request: tuple[Container, ...],
    draw: Mapping[str, Any],
    found: Refused | Outcomes,
) -> None:
    told = f"{node} {request} {draw} {found}"
    first = model._aligned(node, request, model._start(node), request[0])
    if isinstance(first, Affinity) and draw["Admitted"]:
        assert draw["Masks"][0] == first.mask, told
    if isinstance(found, Refused):
        assert not draw["Admitted"], told
        # Too few devices show in the affinity of a policy that cares, else at allocation.
        if found.code is not Code.TOO_FEW_DEVICES:
            assert draw["Reason"] == "TopologyAffinityError", told
        return
    if not draw["Admitted"]:
        assert found.refused, told
        return
    if found.exact:
        assert _got(node, request, draw) in {(one.gpus, one.nics) for one in found.outcomes}, told


def _got(
    node: Node, request: tuple[Container, ...], draw: Mapping[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cards that the pod's lasting containers got."""
    gpus, nics = list[int](), list[int]()
    for resource in node.machine.resources:
        total = [0] * len(resource.cards)
        for container, got in zip(request, draw["Got"], strict=True):
            if container.kind is not Kind.INIT:
                total = [one + more for one, more in zip(total, got[resource.name], strict=True)]
        (gpus if resource.gpu else nics).extend(resource.numbers(tuple(total)))
    return tuple(sorted(gpus)), tuple(sorted(nics))


def _preference(dice: random.Random) -> dict[str, Any]:
    many = dice.randint(2, 6)
    free = sorted(dice.sample(range(8), many))
    size = dice.randint(2, many)
    required = dice.sample(free, dice.choice([0, 0, 0, dice.randint(0, size - 1)]))
    return {"links": _links(dice, 8), "free": free, "required": required, "size": size}


def _links(dice: random.Random, many: int) -> list[list[int]]:
    """Pairs worth one of a few values, so that ties are common; some machines have a structure."""
    groups = [dice.randint(0, 1) for _ in range(many)]
    same, other = (dice.choice([10, 20, 50, 110, 220, 1830]) for _ in range(2))
    odd = dice.choice([0, 0, 0.3])
    found = [[0] * many for _ in range(many)]
    for one in range(many):
        for two in range(one):
            worth = same if groups[one] == groups[two] else other
            worth = dice.choice([0, 20, 130]) if dice.random() < odd else worth
            found[one][two] = found[two][one] = worth
    return found


def _case(dice: random.Random) -> tuple[Node, tuple[Container, ...]]:
    numas = dice.choice([1, 2, 2, 3, 4, 4])
    resources = [_gpus(dice, numas), *_nics(dice, numas)]
    kubelet = Kubelet(dice.choice(list(Policy)), dice.choice(list(Scope)), dice.random() < 0.5)
    distances = [[10] * numas for _ in range(numas)]
    for one in range(numas):
        for two in range(one):
            distances[one][two] = distances[two][one] = dice.choice([12, 20, 32])
    machine = Machine(kubelet, tuple(range(numas)), tuple(resources), _pairs(distances))
    free = tuple(
        tuple(
            dice.randint(0, card.devices) if dice.random() < 0.4 else card.devices
            for card in one.cards
        )
        for one in resources
    )
    return Node(machine, free), _request(dice, Node(machine, free))


def _numa(dice: random.Random, numas: int) -> int | None:
    return None if dice.random() < 0.03 else dice.randrange(numas)


def _gpus(dice: random.Random, numas: int) -> Resource:
    many = dice.randint(1, 8)
    cards = tuple(Card(at, _numa(dice, numas)) for at in range(many))
    pairs = _pairs(_links(dice, many))
    return Resource("x.dev/gpu", cards, Plugin.ALIGNED, gpu=True, links=pairs)


def _nics(dice: random.Random, numas: int) -> list[Resource]:
    told = dice.random() < 0.8
    if dice.random() < 0.5:
        return [
            Resource(f"x.dev/rail{at}", (Card(at, _numa(dice, numas)),), publishes_numa=told)
            for at in range(dice.randint(0, 5))
        ]
    each = dice.randint(1, 3)
    cards = tuple(Card(at, _numa(dice, numas), each) for at in range(dice.randint(1, 4)))
    return [Resource("x.dev/vf", cards, publishes_numa=told)]


def _request(dice: random.Random, node: Node) -> tuple[Container, ...]:
    kinds = dice.choice(
        [[Kind.APP]] * 3
        + [[Kind.APP] * 2, [Kind.INIT, Kind.APP], [Kind.INIT, Kind.APP], [Kind.SIDECAR, Kind.APP]]
    )
    return tuple(Container(tuple(_wants(dice, node)), kind) for kind in kinds)


def _wants(dice: random.Random, node: Node) -> list[tuple[str, int]]:
    found = []
    for one, free in zip(node.machine.resources, node.free, strict=True):
        total = sum(card.devices for card in one.cards)
        # The program lists held devices as unhealthy, and of a resource that is all unhealthy a
        # kubelet does not even give none.
        least = 0 if dice.random() < 0.1 and any(free) else 1
        if dice.random() < 0.85:
            found.append((one.name, dice.randint(least, min(4, total))))
    return found


def _asked(node: Node, request: tuple[Container, ...]) -> dict[str, Any]:
    """The case as the Go program reads it."""
    machine = node.machine
    return {
        "policy": machine.kubelet.policy,
        "scope": machine.kubelet.scope,
        "closest": machine.kubelet.closest,
        "distances": machine.distances,
        "resources": [
            {
                "name": one.name,
                "cards": [
                    {"numa": numa, "devices": card.devices, "free": count}
                    for card, numa, count in zip(one.cards, one.numas, free, strict=True)
                ],
                "links": one.links,
                "aligned": one.plugin is Plugin.ALIGNED,
            }
            for one, free in zip(machine.resources, node.free, strict=True)
        ],
        "request": [{"wants": dict(one.wants), "kind": one.kind} for one in request],
        "draws": DRAWS,
    }


def _pairs(rows: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in rows)


def _mask(places: list[int]) -> int:
    return sum(1 << at for at in places)
