"""Seconds of a conversion from torch to JAX, without compilation, beyond one eager forward."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from .. import cases, peers
from ..measure import difference, interleave_once, ratio, seconds
from ..results import Results
from ..settings import Settings

CASES = (cases.TINY_BERT, cases.BERT_BASE)
LOWERED = " and trace, lower"


def _warm_up(results: Results) -> None:
    """Convert a tiny model by each contender, so that lazy imports and tables do not count later."""
    loaded = cases.TINY_BERT.load()
    for name, extract in peers.JAX.items():
        with results.surviving("warm-up", name):
            extracted = extract(loaded.model, loaded.inputs)
            peers.lower(extracted, peers.to_jax(loaded.inputs))


def _timers(loaded: cases.small.Case) -> dict[str, Callable[[], float]]:
    """Return timers by contender: of the conversion, and of the conversion with tracing and lowering."""
    inputs, arrays = loaded.inputs, peers.to_jax(loaded.inputs)
    timers: dict[str, Callable[[], float]] = {"torch eager": lambda: seconds(lambda: loaded.model(**inputs))}
    for name, extract in peers.JAX.items():
        convert = partial(extract, loaded.model, inputs)
        timers[name] = partial(seconds, convert)
        timers[name + LOWERED] = partial(seconds, lambda convert=convert: peers.lower(convert(), arrays))
    return timers


def _measure(results: Results, case: cases.Case, settings: Settings) -> None:
    loaded = case.load()
    # The first call of a model allocates memory and starts threads, which must not count.
    loaded.model(**loaded.inputs)
    # A contender that failed to warm up would fail in each round.
    failed = {failure.contender for failure in results.failures}
    timers = {
        name: timer for name, timer in _timers(loaded).items() if name.removesuffix(LOWERED) not in failed
    }
    samples = interleave_once(timers, rounds=settings.few_rounds)
    results.add_samples(case.name, "conversion", samples)
    if "graph" in samples:
        results.add_figure(
            case.name, "conversion beyond one eager forward", difference(samples, "graph", "torch eager"), "s"
        )
    if {"graph", "torchax"} <= samples.keys():
        results.add_figure(
            case.name,
            "until XLA, against torchax",
            ratio(samples, "graph" + LOWERED, "torchax" + LOWERED),
            "x",
        )


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure BERT-base, and a tiny BERT for the part that does not grow with the weights."""
    results = Results("conversion")
    _warm_up(results)
    for case in CASES:
        _measure(results, case, settings)
    return results
