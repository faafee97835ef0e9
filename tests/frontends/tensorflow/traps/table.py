"""What a trap is, the comparison of its graph with the original, and which of them are whose turn."""

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
ELSEWHERE = "elsewhere"  # every target but the framework that a program is written in
EVERYWHERE = "everywhere"


def drawn(rows: int = 4, columns: int = 3, seed: int = 0, scale: float = 1.0) -> Any:
    """Normal numbers."""
    return tf.constant(np.random.default_rng(seed).standard_normal((rows, columns)).astype("float32") * scale)


def whole(*shape: int, most: int = 5, seed: int = 0) -> Any:
    """Whole numbers from 0 on."""
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
    """``make()`` gives a fresh function, layer or module; ``calls`` give the arguments of one call each, the
    first is recorded.

    ``errors``: target, ELSEWHERE or EVERYWHERE -> words of the message of the error that is right there, and
    ``raises``: number of a call -> words of the message of the exception that both the original and the graph
    raise. ``changes``: number of a call -> what the user does to the function before that call. ``draws``:
    random numbers differ between targets, shapes and types alone are compared.
    ``is_half``: the layers compute in half precision, so numbers may be 4 times as far from float64 as the
    original's are.
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
        """The words of the error that is right in a target."""
        fallback = (
            self.errors.get(EVERYWHERE)
            if to == "tensorflow"
            else self.errors.get(ELSEWHERE, self.errors.get(EVERYWHERE))
        )
        return self.errors.get(to, fallback)


class Traps(dict[str, Trap]):
    """A table that the decorators fill: of functions, and of functions that make one."""

    def function(self, *calls: Call, **options: Any) -> Callable[[Any], Any]:
        """The decorated function is the program."""

        def add(function: Any) -> Any:
            self[getattr(function, "python_function", function).__name__] = Trap(
                lambda: function, calls or CALLS, **options
            )
            return function

        return add

    def made(self, *calls: Call, **options: Any) -> Callable[[Any], Any]:
        """What the decorated function returns is the program."""

        def add(make: Callable[[], Any]) -> Callable[[], Any]:
            self[make.__name__] = Trap(make, calls or CALLS, **options)
            return make

        return add

    def rows(self, *calls: Call, **options: Any) -> Callable[..., None]:
        """What is called with the functions, by their names, which are a program each."""

        def add(**functions: Any) -> None:
            for name, function in functions.items():
                self[name] = Trap(functools.partial(_itself, function), calls or CALLS, **options)

        return add


def _itself(function: Any) -> Any:
    return function


def check(trap: Trap, to: str) -> None:
    """Every call gives what the original gives, and leaves the same state behind."""
    original, function = (_fresh(trap) for _ in range(2))
    graph = graph_compiler.compile(function, to=to, source="tensorflow")
    for number, call in enumerate(trap.calls):
        for one in (original, function):
            trap.changes.get(number, _nothing)(one)
        exact = _exact(original, call()) if trap.is_half and number not in trap.raises else None
        try:
            found = _outcome(graph, call(), number in trap.raises)
        except GraphCompilerError:
            for held, before in zip(
                state_of(function), state_of(original)
            ):  # what is refused leaves nothing behind
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
            variable.assign(given)  # so that errors do not add up from call to call
    if trap.variants is not None:
        assert len(graph.variants) == trap.variants, graph.explain()


def _exact(original: Any, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """Return what a model gives in float64 from its present state, and what its variables hold afterwards."""
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
    """The last part of a call that are its keyword arguments."""


def _shapes(tree: Any) -> Any:
    return tf.nest.map_structure(
        lambda item: (tuple(item.shape), dtype_name(item)) if hasattr(item, "shape") else item, tree
    )


def named(modules: Iterable[str]) -> dict[str, Trap]:
    """The traps of some tables of this folder, by the table and the program."""
    tables = ((module, importlib.import_module(f".{module}", __package__)) for module in modules)
    return {f"{module}-{name}": trap for module, table in tables for name, trap in table.TRAPS.items()}


def cases(traps: dict[str, Trap]) -> list[tuple[str, str]]:
    """Return (name, target) for each trap in each target."""
    return pairs(traps, TARGETS)


def judge(trap: Trap, to: str) -> None:
    """The graph is as the original, or refuses what it has to."""
    words = trap.error(to)
    if words is None:
        check(trap, to)
        return
    with pytest.raises(GraphCompilerError) as caught:
        check(trap, to)
    assert words in str(caught.value)


def state_of(function: Any) -> list[Any]:
    """What the variables within reach of a function hold."""
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
    """What a function, a method or an object refers to."""
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


def _nothing(function: Any) -> None:
    """No change."""
