"""Samples of public functions as data: arrays by the letters of their axes, which have one size while
recording and others later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graph_compiler.trees import map_structure
from tests.support.samples import Array, made

SIZES = {
    "b": (2, 3),
    "n": (3, 5),
    "m": (4, 2),
    "k": (5, 4),
    "s": (3, 4),
    "h": (6, 7),
    "w": (5, 8),
    "c": (2, 4),
    "t": (16, 22),
}
EDGES = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 7.25, 1e-5, 40.0],
    np.float32,
)
OTHERS = np.array(
    [1.0, np.nan, np.inf, -0.0, 0.0, -1.0, 1.0, -0.5, 0.25, 2.0, np.inf, 2.0, -np.inf, 3.0, 1.0, 1e30],
    np.float32,
)
WHOLE = np.array([0, 1, -1, 5, -5, 7, -7, 100, -128, 127], np.int32)


@dataclass(frozen=True)
class Drawn:
    """An array whose axes are letters of :data:`SIZES` or digits: ``"bn3"`` is (2, 3, 3) while recording,
    then (3, 5, 3).
    """

    axes: str
    dtype: str = "float32"
    kind: str = "normal"
    low: int = -5
    high: int = 5

    def at(self, place: int) -> Array:
        """Its description at the recorded (0) or the other sizes (1)."""
        shape = tuple(int(axis) if axis.isdigit() else SIZES[axis][place] for axis in self.axes)
        return Array(shape, self.dtype, self.kind, self.low, self.high)


@dataclass(frozen=True)
class Call:
    """Arguments of one function; ``by`` calls it otherwise than ``function(*args, **kwargs)``.

    ``gradients`` says whether they are compared too, ``drawn`` that results are random, and of one
    distribution.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    by: Callable[..., Any] | None = None
    gradients: bool = True
    drawn: bool = False

    def arrays(self, place: int) -> list[Any]:
        """The arrays of the call, in order: at the recorded sizes (0), or at others (1)."""
        described = [
            item.at(place) if isinstance(item, Drawn) else item for item in _arrays((self.args, self.kwargs))
        ]
        found: list[Any] = made(described, seed=place + 1)
        return found

    def function(self, called: Callable[..., Any]) -> Callable[..., Any]:
        """``called`` with these arguments, as a function of the arrays alone."""

        def call(*arrays: Any) -> Any:
            left = iter(arrays)
            args, kwargs = map_structure(
                lambda item: next(left) if _is_array(item) else item, (self.args, self.kwargs)
            )
            return called(*args, **kwargs) if self.by is None else self.by(called, *args, **kwargs)

        call.__name__ = getattr(called, "__name__", "call")
        return call


def _is_array(item: Any) -> bool:
    return isinstance(item, (Drawn, np.ndarray, np.generic))


def _arrays(structure: Any) -> Iterator[Any]:
    found: list[Any] = []
    map_structure(lambda item: found.append(item) if _is_array(item) else None, structure)
    return iter(found)


def call(*args: Any, **kwargs: Any) -> Call:
    """``function(*args, **kwargs)``."""
    return Call(args, kwargs)


def without(*args: Any, **kwargs: Any) -> Call:
    """A call whose gradients are not compared."""
    return Call(args, kwargs, gradients=False)


def drawn(*args: Any, **kwargs: Any) -> Call:
    """A call that draws random numbers."""
    return Call(args, kwargs, gradients=False, drawn=True)


def by(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    """``function(called, *args, **kwargs)``."""
    return Call(args, kwargs, function)


def f(axes: str, kind: str = "normal", dtype: str = "float32") -> Drawn:
    """Floats: ``kind`` is one of :class:`tests.support.samples.Array`."""
    return Drawn(axes, dtype, kind)


def p(axes: str, dtype: str = "float32") -> Drawn:
    """Positive floats, 0.5 to 2."""
    return Drawn(axes, dtype, "positive")


def u(axes: str, dtype: str = "float32") -> Drawn:
    """Floats between 0.05 and 0.95."""
    return Drawn(axes, dtype, "fraction")


def d(axes: str, dtype: str = "float32") -> Drawn:
    """Whole numbers, each once."""
    return Drawn(axes, dtype, "distinct")


def i(axes: str, low: int = -5, high: int = 5, dtype: str = "int32") -> Drawn:
    """Integers from ``low`` to below ``high``."""
    return Drawn(axes, dtype, "integers", low, high)


def t(axes: str) -> Drawn:
    """Truth values."""
    return Drawn(axes, "bool", "bools")


def z(axes: str, dtype: str = "complex64") -> Drawn:
    """Complex numbers."""
    return Drawn(axes, dtype)


def unary(kind: str = "normal", *more: Call, edges: bool = True) -> list[Call]:
    """Calls of a function of one array: floats of three types, edges, and ``more``."""
    found = [call(f("bn", kind)), call(f("n", kind, "float64")), call(f("nb", kind, "float16"))]
    found[2] = without(f("nb", kind, "float16"))
    return found + ([without(EDGES)] if edges else []) + list(more)


def binary(first: str = "normal", second: str = "normal", *more: Call, edges: bool = True) -> list[Call]:
    """Calls of a function of two arrays: broadcast, with a number, in another type, edges, and ``more``."""
    return [
        call(f("bn", first), f("n", second)), call(f("b1n", first), f("m1", second)),
        without(f("bn", first, "float16"), f("bn", second, "float16")),
        *([without(EDGES, OTHERS)] if edges else []), *more,
    ]  # fmt: skip


def each(names: str, calls: list[Call], prefix: str = "") -> dict[str, list[Call]]:
    """The same calls for several names: ``each("sin cos", unary(), "tf.math.")``."""
    return {f"{prefix}{name}": calls for name in names.split()}
