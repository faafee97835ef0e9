"""Corpus of the zoo of tiny models, at the recorded shapes and at others."""

from __future__ import annotations

import copy
from typing import Any

import torch

import graph_compiler
from tests.corpora.models import zoo

from .judging import assert_right
from .outcome import Outcome, Skipped, outcome_of

# In these targets to compile the whole graph is faster than to run a hundred operations for the first time.
COMPILED = ("jax",)


def names(file: str) -> list[str]:
    return [entry["id"] for entry in zoo.entries([file])]


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that the model is right at the recorded shapes.

    The facts tell the outcome at other shapes, and how many variants were recorded for them and why.
    """
    entry = zoo.entry_named(name)
    try:
        model, inputs, other = zoo.load(entry)
        expected = zoo.run(model, entry, inputs)
    except Exception as problem:
        raise Skipped(f"torch: {type(problem).__name__}: {problem}") from problem
    args, kwargs = zoo.arguments(entry, inputs)
    with torch.no_grad():
        graph = graph_compiler.compile(
            model, to=target, args=args, kwargs=kwargs, return_backend_compiled_fn=target in COMPILED
        )
    _compare(graph, model, entry, inputs, expected)
    nodes = len(graph.variants[0].graph.nodes)
    if other is None:
        return {"nodes": nodes}
    elsewhere = outcome_of(lambda: _at_others(graph, model, entry, other))
    return {
        "nodes": nodes,
        "other": elsewhere.status,
        "other_detail": elsewhere.detail,
        **_recorded_again(graph, elsewhere),
    }


def _recorded_again(graph: Any, elsewhere: Outcome) -> dict[str, Any]:
    return {"variants": len(graph.variants), "why": [variant.why for variant in graph.variants[1:]]}


def _at_others(graph: Any, model: torch.nn.Module, entry: zoo.Entry, other: Any) -> None:
    _compare(graph, model, entry, other, zoo.run(model, entry, other))


@torch.no_grad()
def _compare(
    graph: Any, model: torch.nn.Module, entry: zoo.Entry, inputs: Any, expected: dict[str, torch.Tensor]
) -> None:
    args, kwargs = zoo.arguments(entry, inputs)
    actual = _flat(graph(*args, **kwargs))
    assert_right(actual, expected, lambda: _in_float64(model, entry, inputs))


def _flat(output: Any, path: str = "") -> dict[str, Any]:
    """Return the arrays of an output by path, as ``zoo.flatten`` does for torch tensors."""
    if hasattr(output, "dtype"):
        return {path or "output": output}
    items = (
        output.items()
        if hasattr(output, "items")
        else enumerate(output)
        if isinstance(output, (list, tuple))
        else ()
    )
    found: dict[str, Any] = {}
    for key, child in items:
        found.update(
            _flat(
                child, f"{path}.{key}" if path else str(key) if hasattr(output, "items") else f"output.{key}"
            )
        )
    return found


def _in_float64(model: torch.nn.Module, entry: zoo.Entry, inputs: Any) -> dict[str, torch.Tensor]:
    def widened(item: Any) -> Any:
        if isinstance(item, list):
            return [widened(one) for one in item]
        return item.double() if isinstance(item, torch.Tensor) and item.is_floating_point() else item

    wide = copy.deepcopy(model).double()
    # The grouped product of experts, torch's default, has no kernel for float64.
    if hasattr(wide, "set_experts_implementation"):
        wide.set_experts_implementation("eager")
    return zoo.run(wide, entry, {name: widened(item) for name, item in inputs.items()})
