"""The converted model under ``jax.jit`` against that of torchax.

The first call (trace, lower, compile, run) and steady calls are measured.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .. import cases, peers
from ..measure import Call, Samples, interleave_anew, interleave_once, ratio, seconds
from ..results import Results
from ..settings import Settings

CASES = (cases.TINY_BERT, cases.TINY_LLAMA, cases.TINY_VIT, cases.BERT_BASE, cases.LLAMA_100M, cases.VIT_BASE)
OURS, THEIRS = "graph", "torchax"


class Options:
    """Keyword arguments that are no arrays, which are bound before JAX gets the function."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def bind(self, extracted: peers.Extracted) -> peers.Extracted:
        return peers.Extracted(
            extracted.parameters, lambda states, given: extracted.function(states, {**given, **self.options})
        )


def _extract(results: Results, case: cases.Case, loaded: cases.small.Case) -> dict[str, peers.Extracted]:
    given, bind = {**loaded.inputs, **loaded.options}, Options(loaded.options).bind
    makers: dict[str, Callable[[], Any]] = {
        name: partial(make, loaded.model, given) for name, make in peers.JAX.items()
    }
    return {name: bind(extracted) for name, extracted in results.attempt(case.name, makers).items()}


def _first_call(extracted: peers.Extracted, arrays: dict[str, Any]) -> float:
    # JAX would use the program of an earlier round.
    importlib.import_module("jax").clear_caches()
    function = peers.jitted(extracted)
    return seconds(peers.synchronised(lambda: function(extracted.parameters, arrays)))


def _steady_call(extracted: peers.Extracted, arrays: dict[str, Any], expected: list[Any]) -> Call:
    function = peers.jitted(extracted)
    peers.assert_close(function(extracted.parameters, arrays), expected)
    return peers.synchronised(lambda: function(extracted.parameters, arrays))


def _figure(results: Results, case: cases.Case, name: str, samples: Samples) -> None:
    if {OURS, THEIRS} <= samples.keys():
        results.add_figure(
            case.name, f"{name} jitted call against torchax", ratio(samples, OURS, THEIRS), "x"
        )


def _measure(results: Results, case: cases.Case, settings: Settings) -> None:
    loaded = case.load()
    arrays = peers.to_jax(loaded.inputs)
    expected = peers.leaves(loaded.model(**loaded.inputs, **loaded.options))
    extracted = _extract(results, case, loaded)
    steady = {name: partial(_steady_call, one, arrays, expected) for name, one in extracted.items()}
    # Contenders whose result is wrong are not timed.
    steady = {name: steady[name] for name in results.attempt(case.name, steady)}
    first = {name: partial(_first_call, extracted[name], arrays) for name in steady}
    firsts = interleave_once(first, rounds=settings.few_rounds)
    results.add_samples(case.name, "first call", firsts)
    _figure(results, case, "first", firsts)
    steadies = interleave_anew(steady, goes=settings.goes, rounds=settings.rounds // 2, batch=settings.batch)
    results.add_samples(case.name, "steady call", steadies)
    _figure(results, case, "steady", steadies)


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure tiny and full-size models, or two tiny ones and a full-size one if ``quick``."""
    results = Results("jitted")
    for case in (cases.TINY_BERT, cases.TINY_LLAMA, cases.BERT_BASE) if settings.quick else CASES:
        _measure(results, case, settings)
    return results
