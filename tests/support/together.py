"""Calls of many JAX graphs compiled as one XLA program, which takes at most a third of the time of one
program for each.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graph_compiler.trees import Tree, flatten, unflatten

from .compare import is_array

# Set when a run records what each sample exercises.
EACH_ALONE = "GRAPH_COMPILER_TESTS_ALONE"
# Number of successive samples in a program, so that the tests of one program run in one process.
IN_ONE_PROGRAM = 12
# In place of a result: the call must be made separately, so that an error is about this call only.
ALONE = object()


@dataclass(frozen=True)
class Call:
    """A call ``graph(*args, **kwargs)`` with arrays of the source framework."""

    graph: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def results_of(calls: Sequence[Call]) -> list[Any]:
    """Return the result of each call, computed by one program.

    A result is ``ALONE`` if its call fails or writes to its state, and all are if the program cannot be
    compiled.
    """
    import jax

    from graph_compiler.backends.jax.native import JaxTarget

    given = [
        flatten((call.args, call.kwargs), lambda item: is_array(item) and not isinstance(item, type))
        for call in calls
    ]
    trees: list[Tree | None] = []

    def program(arrays: list[list[Any]]) -> list[list[Any]]:
        trees.clear()
        found: list[list[Any]] = []
        for call, (_, tree), leaves in zip(calls, given, arrays, strict=True):
            try:
                result, state = call.graph._functional(
                    call.graph.parameters, *unflatten(tree, leaves), rng=None
                )
                results, result_tree = flatten(result, lambda item: isinstance(item, jax.Array))
            except Exception:
                results, result_tree, state = [], None, {}
            found.append(results)
            trees.append(None if state else result_tree)
        return found

    try:
        found = jax.jit(program)([[JaxTarget().convert(array) for array in leaves] for leaves, _ in given])
    except Exception:
        return [ALONE] * len(calls)
    return [
        ALONE if tree is None else unflatten(tree, leaves) for tree, leaves in zip(trees, found, strict=True)
    ]


class Together:
    """The calls of many samples, in groups of 12 that are compiled as one program.

    samples: for each sample a function that returns its calls, or raises.
    """

    def __init__(self, samples: Sequence[Callable[[], list[Call]]]) -> None:
        self._samples = samples
        # The cache allows the tests to run in any order.
        self._of_number = functools.cache(self._results)

    def results(self, place: int) -> list[Any]:
        """Return the results of the calls of sample number ``place``, each an array structure or ``ALONE``.

        The first request for a sample of a group computes the whole group. Return ``[ALONE]`` if the
        sample raises, or if the environment variable of ``EACH_ALONE`` is set.
        """
        if os.environ.get(EACH_ALONE):
            return [ALONE]
        return self._of_number(place // IN_ONE_PROGRAM)[place % IN_ONE_PROGRAM]

    def _results(self, number: int) -> list[list[Any]]:
        samples = self._samples[number * IN_ONE_PROGRAM : (number + 1) * IN_ONE_PROGRAM]
        calls = [_calls(sample) for sample in samples]
        results = iter(results_of([call for each in calls for call in each]))
        return [[next(results) for _ in each] or [ALONE] for each in calls]


def _calls(sample: Callable[[], list[Call]]) -> list[Call]:
    try:
        return sample()
    except Exception:
        # The test of this sample reports the error.
        return []
