"""The kernels of ``tests/corpora/kernels`` against a version by hand (JAX) and the original (NumPy, torch).

Each is recorded at a small size and timed at a large one. A kernel whose recording at the small size does
not serve the large one is recorded again and timed at a middle size, because its loops are unrolled.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from graph_compiler.errors import GraphCompilerError
from tests.corpora.kernels.in_torch import IN_TORCH
from tests.corpora.kernels.running import Function, arrays_of, of_arrays, pure, transpiled
from tests.corpora.kernels.table import KERNELS, Arguments, Kernel
from tests.support.compare import assert_same_leaves

from ..measure import Call, interleave, interleave_once, ratio, seconds
from ..results import Results
from ..settings import Settings

OURS, THEIRS, ORIGINAL = "graph", "hand-written", "original"
SMALL, MIDDLE = 10, 20
QUICK = ("heat_1d", "gemm", "edit_distance", "softmax", "checksum")


def _as_torch(argument: Any) -> Any:
    return torch.tensor(argument) if isinstance(argument, np.ndarray) else argument


def _copied(arguments: Arguments) -> Arguments:
    return tuple(
        # A kernel may write to its arguments.
        copy.copy(item) if isinstance(item, np.ndarray) else item.clone() if torch.is_tensor(item) else item
        for item in arguments
    )


def _call(function: Function, arguments: Arguments) -> Call:
    return lambda: function(*_copied(arguments))


def _in_jax(kernel: Kernel) -> tuple[Function, Arguments]:
    """Return the graph for JAX as a function of arrays, and the arguments with which it is timed."""
    jax = importlib.import_module("jax")
    graph, arguments = transpiled(kernel.function, kernel.at(SMALL), "jax"), kernel.at(kernel.large)
    try:
        # Tracing shows whether the recording serves the large size, and computes nothing.
        jax.eval_shape(of_arrays(pure(graph, kernel), arguments), *arrays_of(arguments))
    except GraphCompilerError:
        # Unrolled loops of the large size would take too long to compile.
        arguments = kernel.at(min(kernel.large, MIDDLE))
        graph = transpiled(kernel.function, arguments, "jax")
    return of_arrays(pure(graph, kernel), arguments), arguments


def _first_call(function: Function, arrays: list[Any]) -> float:
    jax = importlib.import_module("jax")
    # JAX would use the program of an earlier round.
    jax.clear_caches()
    compiled = jax.jit(function)
    return seconds(lambda: jax.block_until_ready(compiled(*arrays)))


def _against_hand_written(results: Results, kernel: Kernel, settings: Settings) -> None:
    jax = importlib.import_module("jax")
    ours, arguments = _in_jax(kernel)
    functions, arrays = {OURS: ours, THEIRS: of_arrays(kernel.by_hand, arguments)}, arrays_of(arguments)
    firsts = interleave_once(
        {name: partial(_first_call, one, arrays) for name, one in functions.items()},
        rounds=settings.few_rounds,
    )
    calls: dict[str, Callable[..., Any]] = {name: jax.jit(one) for name, one in functions.items()}
    for name, call in calls.items():
        assert_same_leaves(call(*arrays), kernel.function(*_copied(arguments)), f"{kernel.name}, {name}")
    steady = {
        name: partial(lambda call: jax.block_until_ready(call(*arrays)), call) for name, call in calls.items()
    }
    samples = interleave(steady, rounds=settings.rounds, batch=settings.batch / 3)
    for stage, taken in (("first", firsts), ("steady", samples)):
        results.add_samples(kernel.name, f"{stage} call in JAX", taken)
        results.add_figure(
            kernel.name, f"{stage} call of a kernel against hand-written", ratio(taken, OURS, THEIRS), "x"
        )


def _against_original(
    results: Results,
    case: str,
    function: Function,
    arguments: tuple[Arguments, Arguments],
    settings: Settings,
) -> None:
    """Measure the graph against ``function`` in its own framework, torch or NumPy.

    ``arguments`` are those of the recording and those of the timed calls.
    """
    framework = (
        "torch" if torch.is_tensor(next(item for item in arguments[0] if hasattr(item, "shape"))) else "numpy"
    )
    graph = transpiled(function, arguments[0], framework, framework)
    assert_same_leaves(graph(*_copied(arguments[1])), function(*_copied(arguments[1])), case)
    samples = interleave(
        {OURS: _call(graph, arguments[1]), ORIGINAL: _call(function, arguments[1])},
        rounds=settings.rounds,
        batch=settings.batch / 3,
    )
    results.add_samples(case, f"steady call in {framework}", samples)
    results.add_figure(case, "flat graph against its function", ratio(samples, OURS, ORIGINAL), "x")


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure all kernels, or some if ``quick``."""
    results = Results("kernels")
    for name in QUICK if settings.quick else KERNELS:
        kernel = KERNELS[name]
        sizes = kernel.at(SMALL), kernel.at(kernel.large)
        stages: dict[str, Callable[[], Any]] = {
            OURS: partial(_against_hand_written, results, kernel, settings),
            "numpy": partial(_against_original, results, name, kernel.function, sizes, settings),
        }
        if name in IN_TORCH:
            tensors = tuple(tuple(map(_as_torch, given)) for given in sizes)
            stages["torch"] = partial(
                _against_original,
                results,
                f"{name}, torch",
                IN_TORCH[name],
                (tensors[0], tensors[1]),
                settings,
            )
        results.attempt(name, stages)
    return results
