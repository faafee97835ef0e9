"""The flat torch graph against eager torch and torch's compilers, and the cost of guards and dispatch."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from .. import cases, peers
from ..measure import Call, interleave, interleave_once, ratio, seconds, steady, steady_after
from ..results import Results
from ..settings import Settings

CASES = (cases.TINY_BERT, cases.TINY_LLAMA)
OF_GUARDS = (*CASES, cases.BERT_BASE)


def _ours(model: Any, inputs: dict[str, Any], options: dict[str, Any]) -> dict[str, Call]:
    graph = peers.compile_graph(model, kwargs={**inputs, **options})
    bare = peers.bare_call(graph, {**inputs, **options})
    return {"graph": lambda: graph(**inputs, **options), "graph: flat function alone": bare}


def _warm(make: Any, model: Any, inputs: dict[str, Any]) -> Call:
    call: Call = make(model, inputs)
    # torch.compile compiles, or fails, only at the first call.
    call()
    return call


def _contenders(results: Results, case: cases.Case) -> dict[str, Call]:
    loaded = case.load()
    inputs = {**loaded.inputs, **loaded.options}
    calls = results.attempt(
        case.name, {name: partial(_warm, make, loaded.model, inputs) for name, make in peers.TORCH.items()}
    )
    with results.surviving(case.name, "graph"):
        calls.update(_ours(loaded.model, loaded.inputs, loaded.options))
    return calls


def _measure_first(results: Results, case: cases.Case) -> None:
    """Measure conversion and first call together, because ``torch.compile`` compiles at its first call."""
    loaded = case.load()
    inputs = {**loaded.inputs, **loaded.options}

    def once(make: Any) -> float:
        def convert_and_call() -> object:
            return make(loaded.model, inputs)()

        return seconds(convert_and_call)

    makers = {"graph": peers.graph_call, **peers.TORCH}
    for name, make in makers.items():
        with results.surviving(case.name, name):
            results.add_samples(
                case.name, "conversion and first call", interleave_once({name: partial(once, make)}, rounds=1)
            )


def _measure(results: Results, case: cases.Case, settings: Settings) -> None:
    calls = _contenders(results, case)
    samples = interleave(calls, rounds=settings.rounds, batch=settings.batch)
    results.add_samples(case.name, "steady call", samples)
    if "graph" not in samples:
        return
    results.add_figure(case.name, "speed-up over eager", ratio(samples, "torch eager", "graph"), "x")


def _measure_guards(results: Results, case: cases.Case, settings: Settings) -> None:
    """Measure a call without the work of the flat function.

    The difference of two calls of a millisecond would drown in their noise.
    """
    loaded = case.load()
    inputs = {**loaded.inputs, **loaded.options}
    graph = peers.compile_graph(loaded.model, kwargs=inputs)
    flat, guards = peers.bare_call(graph, inputs), peers.guards_alone(graph, inputs)
    results.add_figure(
        case.name, "guards and dispatch, a call", steady(guards, batches=10 * settings.rounds) * 1e6, "µs"
    )
    after = steady_after(guards, flat, times=10 * settings.rounds)
    results.add_figure(
        case.name, "guards and dispatch, after the model has filled the caches", after * 1e6, "µs"
    )


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure tiny models, whose calls are mostly overhead, and the guards of BERT-base, too."""
    results = Results("overhead")
    for case in CASES:
        if not settings.quick:
            _measure_first(results, case)
        _measure(results, case, settings)
    for case in OF_GUARDS:
        with results.surviving(case.name, "guards"):
            _measure_guards(results, case, settings)
    return results
