"""One recording of a function, from its arguments to a graph and what the graph relies on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from ...ir.graph import Graph
from ...tracing import Recorder, Surroundings
from ...tracing.updates import Containers
from ...trees import call_of, flatten, statics
from .arguments import input_names, is_array, opens, to_tensor
from .capture import Capture
from .compiling import compiling
from .modes import without
from .outside import outside_of
from .parameters import Weights
from .refusals import refusing
from .state import State
from .surroundings import surroundings_of
from .training import TrainingReads
from .unseen import Unseen


@dataclass
class Recording:
    """A recorded graph with what is needed to run it beside the original: where the parameters live, and what it relies on."""

    graph: Graph
    weights: Weights
    surroundings: Surroundings


def record(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str, for_torch: bool = True) -> Recording:
    """Runs ``function(*args, **kwargs)`` once and records it; ``for_torch`` is whether the graph will run in torch."""
    weights = Weights(function)
    with weights.exclusive():
        return _record(function, args, kwargs, Recorder(name, "torch"), weights, nullcontext() if for_torch else compiling())


def _record(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    recorder: Recorder,
    weights: Weights,
    context: AbstractContextManager[None],
) -> Recording:
    leaves, tree = flatten((args, kwargs), is_array, opens)
    tensors = [to_tensor(leaf) for leaf in leaves]
    capture = Capture(recorder, weights)
    for leaf_name, tensor in zip(input_names(function, args, kwargs, tree), tensors):
        capture.add_input(leaf_name, tensor)
    again_args, again_kwargs = call_of(tree, tensors)
    containers, state = Containers((again_args, again_kwargs), is_array), State(weights)
    try:
        with refusing(recorder.graph.name), capture.isolated(), TrainingReads() as asked, context:
            result = function(*again_args, **again_kwargs)
            state.finish(capture)
        graph = capture.finish(result, tree, containers)
    finally:
        state.restore()
        capture.forget_arrays()
    only_without_grad = capture.grad_mode_changed and not torch.is_grad_enabled()
    surroundings = surroundings_of(weights, graph, asked.modules(), only_without_grad)
    return Recording(graph, weights, outside_of((function, *statics(tree))).added_to(surroundings))


def unrecorded() -> AbstractContextManager[None]:
    """Inside of the block no recording of this thread sees what is done."""
    return without(Capture, Unseen)
