"""Rows of the tables of traps, and the comparison of a trap's graph with the original."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import graph_compiler
from graph_compiler.errors import GraphCompilerError
from tests.corpora.coverage.judging import assert_metadata
from tests.frontends.keras.judging import exactly
from tests.support.compare import assert_no_further, assert_same, dtype_name
from tests.support.selection import pairs

TARGETS = ("tensorflow", "torch", "jax", "numpy")
# Every target but the framework that a program is written in.
ELSEWHERE = "elsewhere"
EVERYWHERE = "everywhere"


def drawn(rows: int = 4, columns: int = 3, seed: int = 0, scale: float = 1.0) -> Any:
    return tf.constant(np.random.default_rng(seed).standard_normal((rows, columns)).astype("float32") * scale)


def whole(*shape: int, most: int = 5, seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).integers(0, most, shape).astype("int32"))


Call = Callable[[], tuple[Any, ...]]
CALLS: tuple[Call, ...] = (
    lambda: (drawn(),),
    lambda: (drawn(),),
    lambda: (drawn(6, seed=1),),
    lambda: (drawn(5, seed=2) - 3,),
)


@dataclass(frozen=True)
class Trap:
    """A TensorFlow program with its calls and the expected errors.

    make: returns a new function, layer or module.
    calls: functions that return the arguments of one call each; the first is recorded.
    errors: target, ``ELSEWHERE`` or ``EVERYWHERE`` to words of the message of the expected error.
    raises: number of a call to words of the message of the exception that both the original and the graph
        raise.
    changes: number of a call to a function that changes the program before that call.
    variants: number of variants after all calls; None if it does not matter.
    draws: True if random numbers differ between targets, so that only shapes and dtypes are compared.
    is_half: True if layers compute in half precision, so that results may be 4 times as far from float64
        as the original's.
    """

    make: Callable[[], Any]
    calls: tuple[Call, ...] = CALLS
    errors: dict[str, str] = field(default_factory=dict)
    raises: dict[int, str] = field(default_factory=dict)
    changes: dict[int, Callable[[Any], Any]] = field(default_factory=dict)
    variants: int | None = None
    draws: bool = False
    is_half: bool = False

    def error(self, to: str) -> str | None:
        """Return words of the message of the error that is expected in a target, or None."""
        fallback = (
            self.errors.get(EVERYWHERE)
            if to == "tensorflow"
            else self.errors.get(ELSEWHERE, self.errors.get(EVERYWHERE))
        )
        return self.errors.get(to, fallback)


class Traps(dict[str, Trap]):
    """A table of traps, filled by decorators."""

    def function(self, *calls: Call, **options: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a function as a program."""

        def add(function: Any) -> Any:
            self[getattr(function, "python_function", function).__name__] = Trap(
                lambda: function, calls or CALLS, **options
            )
            return function

        return add

    def made(self, *calls: Call, **options: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds the result of a function as a program."""

        def add(make: Callable[[], Any]) -> Callable[[], Any]:
            self[make.__name__] = Trap(make, calls or CALLS, **options)
            return make

        return add

    def rows(self, *calls: Call, **options: Any) -> Callable[..., None]:
        """Return a function that adds each of its keyword arguments, a function, as a program."""

        def add(**functions: Any) -> None:
            for name, function in functions.items():
                self[name] = Trap(functools.partial(_itself, function), calls or CALLS, **options)

        return add


def _itself(function: Any) -> Any:
    return function


def check(trap: Trap, to: str) -> None:
    """Assert that each call gives the original's result and leaves the same values in variables.

    A call that graph_compiler refuses must leave the variables unchanged; its error is raised.
    """
    original, function = (_fresh(trap) for _ in range(2))
    graph = graph_compiler.compile(function, to=to, source="tensorflow")
    for number, call in enumerate(trap.calls):
        for one in (original, function):
            trap.changes.get(number, _nothing)(one)
        exact = _exact(original, call()) if trap.is_half and number not in trap.raises else None
        try:
            found = _outcome(graph, call(), number in trap.raises)
        except GraphCompilerError:
            # A call that is refused must leave nothing behind.
            for held, before in zip(state_of(function), state_of(original)):
                assert_same(held, before)
            raise
        right = _outcome(original, call(), number in trap.raises)
        if number in trap.raises:
            assert trap.raises[number] in found, found
            assert trap.raises[number] in right, right
        else:
            _assert_result(
                *(_shapes(item) if trap.draws else item for item in (found, right)), exact and exact[0]
            )
        if not trap.draws:
            _assert_result(state_of(function), state_of(original), exact and exact[1])
        for variable, given in (
            zip(_variables(function, set()), _variables(original, set())) if trap.is_half else ()
        ):
            # Otherwise rounding errors would add up from call to call.
            variable.assign(given)
    if trap.variants is not None:
        assert len(graph.variants) == trap.variants, graph.explain()


def _exact(original: Any, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """Return (result, variables after the call) of a model in float64, from its present state."""
    function, variables = exactly(original)()
    return _outcome(
        function,
        tf.nest.map_structure(
            lambda item: tf.cast(item, tf.float64) if getattr(item, "dtype", None) == tf.float32 else item,
            args,
        ),
        False,
    ), [np.array(variable.value) for variable in variables]


def _assert_result(found: Any, right: Any, exact: Any) -> None:
    try:
        assert_same(found, right)
    except AssertionError:
        if exact is None:
            raise
        assert_metadata(found, right)
        assert_no_further(found, right, exact, factor=4.0)


def _fresh(trap: Trap) -> Any:
    keras.utils.set_random_seed(1)
    return trap.make()


def _outcome(function: Any, args: tuple[Any, ...], raises: bool) -> Any:
    keywords = args[-1] if args and isinstance(args[-1], Keywords) else Keywords()
    args = args[:-1] if keywords or args and isinstance(args[-1], Keywords) else args
    if not raises:
        return function(*args, **keywords)
    try:
        function(*args, **keywords)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "nothing was raised"


class Keywords(dict[str, Any]):
    """The keyword arguments of a call, as its last item."""


def _shapes(tree: Any) -> Any:
    return tf.nest.map_structure(
        lambda item: (tuple(item.shape), dtype_name(item)) if hasattr(item, "shape") else item, tree
    )


def named(modules: Iterable[str]) -> dict[str, Trap]:
    """Return the traps of the modules ``modules`` of this folder, by ``module-name``."""
    tables = ((module, importlib.import_module(f".{module}", __package__)) for module in modules)
    return {f"{module}-{name}": trap for module, table in tables for name, trap in table.TRAPS.items()}


def cases(traps: dict[str, Trap]) -> list[tuple[str, str]]:
    return pairs(traps, TARGETS)


def judge(trap: Trap, to: str) -> None:
    """Assert that the graph agrees with the original, or raises the expected error."""
    words = trap.error(to)
    if words is None:
        check(trap, to)
        return
    with pytest.raises(GraphCompilerError) as caught:
        check(trap, to)
    assert words in str(caught.value)


def state_of(function: Any) -> list[Any]:
    """Return the values of all variables that are reachable from ``function``."""
    return [np.array(variable) for variable in _variables(function, set())]


def _variables(item: Any, seen: set[int]) -> Iterator[Any]:
    if id(item) in seen:
        return
    seen.add(id(item))
    if isinstance(item, tf.Variable):
        yield item
    elif isinstance(item, (keras.Layer, keras.Metric, keras.optimizers.Optimizer)):
        for variable in item.variables:
            yield from _variables(variable.value, seen)
    elif isinstance(item, keras.Variable):
        yield from _variables(item.value, seen)
    elif isinstance(item, (list, tuple, dict)):
        for part in item.values() if isinstance(item, dict) else item:
            yield from _variables(part, seen)
    else:
        for part in _parts(item):
            yield from _variables(part, seen)


def _parts(item: Any) -> Iterator[Any]:
    """Yield the objects to which a function, method or object refers."""
    for name in ("python_function", "__self__", "__wrapped__", "__func__"):
        if (
            not isinstance(item, type)
            and (
                part := vars(item).get(name)
                if hasattr(item, "__dict__") and name in vars(item)
                else getattr(item, name, None)
            )
            is not None
        ):
            yield part
    for cell in getattr(item, "__closure__", None) or ():
        yield cell.cell_contents
    if isinstance(item, tf.Module):
        yield from item.variables
    elif (
        isinstance(item, tf.__internal__.tracking.AutoTrackable)
        or type(item).__module__.startswith("tests.")
        and hasattr(item, "__dict__")
    ):
        yield from vars(item).values()


def _nothing(function: Any) -> None: ...
