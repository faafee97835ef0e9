"""Conversion time by the number of nodes, which has to be linear."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from .. import peers
from ..measure import Samples, interleave_once, ratio, seconds
from ..results import Results
from ..settings import Settings

SIZES = (1_000, 5_000, 10_000, 20_000)
QUICK_SIZES = (1_000, 10_000)
FIGURES = {"time for 10x the nodes": (10_000, 1_000), "time for 20x the nodes": (20_000, 1_000)}


def program(nodes: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function of about ``nodes`` different operations, in blocks that branch and join."""

    def run_it(x: Tensor, y: Tensor) -> Tensor:
        for place in range(nodes // 4):
            left = torch.sin(x) + y
            x = left * (1.0 + place / nodes) - x
        return x

    return run_it


def _timer(nodes: int, to: str, x: Tensor, y: Tensor) -> float:
    return seconds(lambda: peers.compile_graph(program(nodes), to=to, args=(x, y)))


def _figures(results: Results, case: str, samples: Samples) -> None:
    for name, (large, small) in FIGURES.items():
        if {str(large), str(small)} <= samples.keys():
            results.add_figure(case, name, ratio(samples, str(large), str(small)), "x")


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure conversions from torch to torch and to JAX."""
    results, x, y = Results("scaling"), torch.randn(8), torch.randn(8)
    for to in ("torch", "jax"):
        case = f"torch to {to}"
        with results.surviving(case, "graph"):
            # The first conversion also imports modules, and is not counted.
            _timer(100, to, x, y)
            timers = {
                str(nodes): partial(_timer, nodes, to, x, y)
                for nodes in (QUICK_SIZES if settings.quick else SIZES)
            }
            samples = interleave_once(timers, rounds=1 if settings.quick else 3)
            results.add_samples(case, "conversion, nodes", samples)
            _figures(results, case, samples)
    return results
