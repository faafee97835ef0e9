"""A chain of 200 element-wise operations against the same chain written by hand, line by line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .. import peers
from ..measure import interleave, ratio
from ..results import Results
from ..settings import Settings

LENGTH = 200
SHAPE = (128, 128)
STEPS = (
    "torch.sin({})",
    "{} * 0.5",
    "torch.tanh({})",
    "{} + 1.0",
    "torch.relu({})",
    "{} - y",
    "torch.maximum({}, y)",
    "torch.sigmoid({})",
)
FUNCTIONS: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda x, y: torch.sin(x),
    lambda x, y: x * 0.5,
    lambda x, y: torch.tanh(x),
    lambda x, y: x + 1.0,
    lambda x, y: torch.relu(x),
    lambda x, y: x - y,
    torch.maximum,
    lambda x, y: torch.sigmoid(x),
)


def chain(x: Tensor, y: Tensor) -> Tensor:
    for place in range(LENGTH):
        x = FUNCTIONS[place % len(FUNCTIONS)](x, y)
    return x


def hand_flattened() -> Callable[[Tensor, Tensor], Tensor]:
    lines = [f"    x = {STEPS[place % len(STEPS)].format('x')}" for place in range(LENGTH)]
    namespace: dict[str, Any] = {"torch": torch}
    exec("\n".join(["def flat(x, y):", *lines, "    return x"]), namespace)
    function: Callable[[Tensor, Tensor], Tensor] = namespace["flat"]
    return function


@torch.no_grad()
def run(settings: Settings) -> Results:
    results, case = Results("chain"), f"{LENGTH} operations"
    x, y = torch.randn(SHAPE), torch.randn(SHAPE)
    flat = hand_flattened()
    calls = {"torch eager": lambda: chain(x, y), "hand-flattened": lambda: flat(x, y)}
    with results.surviving(case, "graph"):
        graph = peers.compile_graph(chain, args=(x, y))
        torch.testing.assert_close(graph(x, y), flat(x, y))
        calls["graph"] = lambda: graph(x, y)
    samples = interleave(calls, rounds=settings.rounds, batch=settings.batch)
    results.add_samples(case, "steady call", samples)
    if "graph" in samples:
        results.add_figure(case, "against hand-flattened", ratio(samples, "graph", "hand-flattened"), "x")
    return results
