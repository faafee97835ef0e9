"""Tests of placeholders for missing packages, which raise at any attribute lookup, and of variables that are
not assigned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same

SOURCES = ["torch", "jax", "tensorflow", "numpy"]
PROBLEMS: list[type[Exception]] = [
    KeyError,
    ImportError,
    RuntimeError,
    ValueError,
    NotImplementedError,
    AttributeError,
]


def absent(problem: type[Exception]) -> tuple[type, Any]:
    """Return a class and a callable object that stand for those of a missing package; attribute lookups on
    both raise ``problem``.
    """

    class Raising(type):
        def __getattr__(cls, name: str) -> Any:
            raise problem(name)

    class Absent(metaclass=Raising):
        def __init__(self, *args: Any) -> None:
            raise problem("this class needs a package that is not installed")

    class Lazy:
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise problem(name)

        def __call__(self, x: Any) -> Any:
            return x

    return Absent, Lazy()


def by_class(absent: type, lazy: Any) -> Callable[[Any], Any]:
    return lambda x: x * 2 if not isinstance(x, absent) else x


def by_object(absent: type, lazy: Any) -> Callable[[Any], Any]:
    return lambda x: x * 2 if x is not lazy else lazy(x)


def by_attribute(absent: type, lazy: Any) -> Callable[[Any], Any]:
    class Model:
        quantizer = absent

        def __init__(self) -> None:
            self.lazy, self.kind, self.scale = lazy, absent, 2.0

        def __call__(self, x: Any) -> Any:
            if hasattr(self, "missing") or getattr(self, "other", None) is not None:
                return x
            return x * self.scale if self.kind is not None and self.lazy is not None else x

    return Model()


def by_hasattr(absent: type, lazy: Any) -> Callable[[Any], Any]:
    class Derived(absent):  # type: ignore[misc,valid-type]
        def __init__(self) -> None:
            pass

        def scaled(self, x: Any) -> Any:
            return x * 2 if not hasattr(self, "dtype") and not hasattr(self, "kind") else x

    return Derived().scaled


def by_try(absent: type, lazy: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        try:
            return x * absent.factor
        except Exception:
            return x * 2

    return function


def by_unassigned_variable(absent: type, lazy: Any) -> Callable[[Any], Any]:
    if lazy is None:
        later = 1.0

    def step(x: Any) -> Any:
        return x * 2 if x.shape[0] < 9 else x * later

    def function(x: Any) -> Any:
        result = x * later if x.shape[0] > 9 else x
        for _ in range(x.shape[0]):
            result = result + step(x)
        return result

    return function


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    "form", [by_class, by_object, by_attribute, by_hasattr, by_try, by_unassigned_variable]
)
def test_what_raises_on_lookup_is_left_alone(
    form: Callable[..., Any], problem: type[Exception], source: str
) -> None:
    framework = pytest.importorskip(source)
    function = form(*absent(problem))
    array = {"torch": "tensor", "jax": "numpy.asarray", "tensorflow": "constant", "numpy": "array"}[source]
    make: Any = framework
    for name in array.split("."):
        make = getattr(make, name)
    given = np.arange(3, dtype=np.float32)
    graph = graph_compiler.compile(function, source=source, args=(make(given),))
    more = make(np.arange(4, dtype=np.float32))
    assert_same(graph(more), function(more))
