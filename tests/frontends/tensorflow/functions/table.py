"""Samples of public functions as data, with arrays described by the letters of their axes.

The names of the short functions: ``f`` floats, ``p`` positive floats, ``u`` floats between 0 and 1, ``d``
distinct integers, ``i`` integers, ``t`` booleans, ``z`` complex numbers.
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
    """Description of a random array.

    axes: a letter of :data:`SIZES` or a digit for each axis: ``"bn3"`` is (2, 3, 3) in the recorded call
        and (3, 5, 3) in the other one.
    kind: as in :class:`tests.support.samples.Array`.
    """

    axes: str
    dtype: str = "float32"
    kind: str = "normal"
    low: int = -5
    high: int = 5

    def at(self, place: int) -> Array:
        """Return the description at the recorded (0) or other sizes (1)."""
        shape = tuple(int(axis) if axis.isdigit() else SIZES[axis][place] for axis in self.axes)
        return Array(shape, self.dtype, self.kind, self.low, self.high)


@dataclass(frozen=True)
class Call:
    """The arguments of a call.

    by: ``by(function, *args, **kwargs)`` makes the call, if it is not ``function(*args, **kwargs)``.
    gradients: True if gradients are compared too.
    drawn: True if results are random, so that their distributions are compared.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    by: Callable[..., Any] | None = None
    gradients: bool = True
    drawn: bool = False

    def arrays(self, place: int) -> list[Any]:
        """Return the arrays of the call in order, at the recorded (0) or other sizes (1)."""
        described = [
            item.at(place) if isinstance(item, Drawn) else item for item in _arrays((self.args, self.kwargs))
        ]
        found: list[Any] = made(described, seed=place + 1)
        return found

    def function(self, called: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call of ``called`` as a function of the arrays alone."""

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
    return Call(args, kwargs)


def without(*args: Any, **kwargs: Any) -> Call:
    """Return a call whose gradients are not compared."""
    return Call(args, kwargs, gradients=False)


def drawn(*args: Any, **kwargs: Any) -> Call:
    """Return a call whose results are random."""
    return Call(args, kwargs, gradients=False, drawn=True)


def by(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    """Return the call ``function(called, *args, **kwargs)``."""
    return Call(args, kwargs, function)


def f(axes: str, kind: str = "normal", dtype: str = "float32") -> Drawn:
    return Drawn(axes, dtype, kind)


def p(axes: str, dtype: str = "float32") -> Drawn:
    return Drawn(axes, dtype, "positive")


def u(axes: str, dtype: str = "float32") -> Drawn:
    return Drawn(axes, dtype, "fraction")


def d(axes: str, dtype: str = "float32") -> Drawn:
    return Drawn(axes, dtype, "distinct")


def i(axes: str, low: int = -5, high: int = 5, dtype: str = "int32") -> Drawn:
    return Drawn(axes, dtype, "integers", low, high)


def t(axes: str) -> Drawn:
    return Drawn(axes, "bool", "bools")


def z(axes: str, dtype: str = "complex64") -> Drawn:
    return Drawn(axes, dtype)


def unary(kind: str = "normal", *more: Call, edges: bool = True) -> list[Call]:
    """Return calls of a function of one array: floats of three dtypes, special values if ``edges``, and
    ``more``.
    """
    found = [call(f("bn", kind)), call(f("n", kind, "float64")), call(f("nb", kind, "float16"))]
    found[2] = without(f("nb", kind, "float16"))
    return found + ([without(EDGES)] if edges else []) + list(more)


def binary(first: str = "normal", second: str = "normal", *more: Call, edges: bool = True) -> list[Call]:
    """Return calls of a function of two arrays: broadcasting, half precision, special values if ``edges``,
    and ``more``.
    """
    return [
        call(f("bn", first), f("n", second)), call(f("b1n", first), f("m1", second)),
        without(f("bn", first, "float16"), f("bn", second, "float16")),
        *([without(EDGES, OTHERS)] if edges else []), *more,
    ]  # fmt: skip


def each(names: str, calls: list[Call], prefix: str = "") -> dict[str, list[Call]]:
    """Map each name, such as ``tf.math.sin`` for ``each("sin cos", unary(), "tf.math.")``, to ``calls``."""
    return {f"{prefix}{name}": calls for name in names.split()}
