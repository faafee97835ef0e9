"""Graphs as they run by default against their function under the target's compiler.

The first call and later ones are measured. In JAX the function is ``jax.jit(graph.functional)``. In
TensorFlow it is the faster of ``tf.function`` with and without XLA.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from graph_compiler.runtime import frameworks

from .. import cases, peers
from ..cases import Case
from ..measure import Call, interleave, interleave_once, ratio, seconds
from ..results import Results
from ..settings import Settings

ROWS = ("bert", "gpt2", "llama", "t5", "vit", "convnext", "whisper", "clip", "mixtral")
CASES = tuple(Case(f"tiny {row}", row, cases.small.BY_NAME[row].sizes) for row in ROWS)
OURS = "graph"
Maker = Callable[[Any, dict[str, Any], dict[str, Any]], Call]


def _graph(graph: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Call:
    return lambda: graph(**arrays, **options)


def _jitted(graph: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Call:
    function = importlib.import_module("jax").jit(
        lambda parameters, arrays: graph.functional(parameters, **arrays, **options)
    )
    parameters = dict(graph.parameters)
    return lambda: function(parameters, arrays)


def _tf_function(with_xla: bool, graph: Any, arrays: dict[str, Any], options: dict[str, Any]) -> Call:
    tf = importlib.import_module("tensorflow")

    def tensors(parameters: Any, arrays: Any) -> list[Any]:
        return [
            leaf
            for leaf in peers.leaves(graph.functional(parameters, **arrays, **options))
            if tf.is_tensor(leaf)
        ]

    function = tf.function(tensors, autograph=False, jit_compile=with_xla)
    parameters = dict(graph.parameters)
    return lambda: function(parameters, arrays)


TARGETS: dict[str, dict[str, Maker]] = {
    "jax": {OURS: _graph, "jax.jit": _jitted},
    "tensorflow": {
        OURS: _graph,
        "tf.function": partial(_tf_function, False),
        "tf.function with XLA": partial(_tf_function, True),
    },
}


def _waited_for(target: str, call: Call) -> Call:
    if target == "jax":
        return peers.synchronised(lambda: peers.leaves(call()))
    return lambda: [leaf.numpy() for leaf in peers.leaves(call()) if hasattr(leaf, "numpy")]


def _arrays(target: str, inputs: dict[str, Any]) -> dict[str, Any]:
    if target == "jax":
        return peers.to_jax(inputs)
    return {
        name: importlib.import_module("tensorflow").constant(tensor.numpy())
        for name, tensor in inputs.items()
    }


def _first(target: str, model: torch.nn.Module, loaded: Any, maker: Maker) -> float:
    """Return the seconds of the first call of a graph that was converted anew."""
    graph = importlib.import_module("graph_compiler").transpile(
        model, to=target, kwargs={**loaded.inputs, **loaded.options}
    )
    if target == "jax":
        # JAX would use the program of an earlier round.
        importlib.import_module("jax").clear_caches()
    return seconds(_waited_for(target, maker(graph, _arrays(target, loaded.inputs), loaded.options)))


def _measure(results: Results, case: Case, target: str, settings: Settings) -> None:
    loaded = case.load()
    makers, name = TARGETS[target], f"{case.name}, {target}"
    first = {what: partial(_first, target, loaded.model, loaded, maker) for what, maker in makers.items()}
    graph = importlib.import_module("graph_compiler").transpile(
        loaded.model, to=target, kwargs={**loaded.inputs, **loaded.options}
    )
    arrays = _arrays(target, loaded.inputs)
    later = {
        what: _waited_for(target, maker(graph, arrays, loaded.options)) for what, maker in makers.items()
    }
    for stage, samples in (
        ("first", interleave_once(first, rounds=settings.few_rounds)),
        ("later", interleave(later, rounds=settings.rounds, batch=settings.batch)),
    ):
        results.add_samples(name, f"{stage} call", samples)
        # The largest ratio is that to the fastest contender.
        worst = max(ratio(samples, OURS, other) for other in makers if other != OURS)
        results.add_figure(name, f"{stage} call by default against the target's compiler", worst, "x")


@contextlib.contextmanager
def _nothing_kept() -> Iterator[None]:
    """Switch the cache of compiled programs off inside the block.

    Programs of earlier runs would make only the graph faster.
    """
    before, os.environ["GRAPH_COMPILER_CACHE"] = os.environ.get("GRAPH_COMPILER_CACHE"), "off"
    try:
        yield
    finally:
        del os.environ["GRAPH_COMPILER_CACHE"]
        if before is not None:
            os.environ["GRAPH_COMPILER_CACHE"] = before


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure tiny models in each target that compiles by default, or two models if ``quick``."""
    results = Results("default")
    with _nothing_kept():
        for case in CASES[:2] if settings.quick else CASES:
            for target in (
                name for name in TARGETS if frameworks.backend_of(name).target.compiles_by_default
            ):
                with results.surviving(f"{case.name}, {target}", OURS):
                    _measure(results, case, target, settings)
    return results
