"""Guards on inputs for which a framework raises an error and a target computes a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...forwarding import forwards
from ...ir import Value
from ...ir.node import Node
from ...recording.patches.patch import Replacement
from .builder import LiftingBuilder

# ------------------------------------------------------------------------------------------ condition numbers
# Condition numbers of matrices that may be singular or have NaN, as LAPACK's inverse defines them.

_BY_SINGULAR_VALUES = (2, -2)


def condition_number(b: Any, x: Value, order: Any, *, keeps_nan: bool = False) -> Any:
    """Compute the condition numbers of the matrices ``x`` in the norm ``order``.

    With ``keeps_nan``, only a matrix that contains NaN has the number NaN.
    """
    has_nan = b.any(b.isnan(x), axis=(-2, -1))
    if order in _BY_SINGULAR_VALUES:
        number = b.cond(x, ord=order)
        return (
            _or_infinity(b, number, b.logical_and(b.isnan(number), b.logical_not(has_nan)))
            if keeps_nan
            else number
        )
    factors = b.lu_factor(x)[0]
    is_singular = b.any(b.equal(b.diagonal(factors), 0), axis=-1)
    is_broken = b.logical_or(is_singular, b.any(b.isnan(factors), axis=(-2, -1)))
    identity = b.eye(n_rows=x.shape[-1], n_cols=x.shape[-1], dtype=x.dtype)
    # Some targets raise an exception for matrices that have no inverse.
    regular = b.where(b.reshape(is_broken, shape=(*is_broken.shape, 1, 1)), identity, x)
    number = b.cond(regular, ord=order)
    number = _or_infinity(b, number, b.logical_or(is_broken, b.isnan(number)))
    return b.where(has_nan, math.nan, number) if keeps_nan else number


def nuclear_condition_number(b: Any, x: Value) -> Any:
    values = b.svdvals(x)
    return b.multiply(b.sum(values, axis=-1), b.sum(b.divide(1.0, values), axis=-1))


def _or_infinity(b: Any, number: Any, test: Any) -> Any:
    return b.where(test, b.full(shape=(), fill_value=math.inf, dtype=number.dtype), number)


# ----------------------------------------------------------------------------------------- element conditions
Conditions = Mapping[str, Callable[[Any, Node], Any]]


def inverse_exists(b: LiftingBuilder, node: Node) -> Any:
    given = [are_finite(b, x) for x in node.inputs]
    is_finite = are_finite(b, node.outputs[0])
    # An infinite or NaN result shows that the matrix is singular only if the operands are finite.
    return b.logical_or(is_finite, b.logical_not(given[0] if len(given) == 1 else b.logical_and(*given)))


def _power(b: LiftingBuilder, node: Node) -> Any:
    return inverse_exists(b, node) if node.params["n"] < 0 else None


def _positive_definite(b: LiftingBuilder, node: Node) -> Any:
    # The factorization takes square roots of what must be positive. Otherwise targets give NaN on the
    # diagonal, and TensorFlow 0 for complex numbers.
    roots = b.diagonal(node.outputs[0])
    return b.greater(b.real(roots) if "complex" in roots.dtype else roots, 0)


def _converges(b: LiftingBuilder, node: Node) -> Any:
    return None if node.params.get("hermitian") else b.logical_not(b.any(b.isnan(node.inputs[0])))


def _converges_by_order(b: LiftingBuilder, node: Node) -> Any:
    return _converges(b, node) if node.params.get("ord") in (2, -2, "nuc") else None


def are_finite(b: LiftingBuilder, x: Any) -> Any:
    return b.all(b.isfinite(x))


# Linear algebra: operation -> the condition, an array of bools, or None where there is nothing to check.
LINEAR_ALGEBRA: Conditions = {
    **dict.fromkeys(("inv", "solve", "tensorinv", "tensorsolve"), inverse_exists),
    "matrix_power": _power,
    "cholesky": _positive_definite,
    **dict.fromkeys(("svd", "svdvals", "pinv", "matrix_rank"), _converges),
    **dict.fromkeys(("cond", "matrix_norm"), _converges_by_order),
    "lstsq": lambda b, node: are_finite(b, node.inputs[0]),
}


def expect_elements(b: LiftingBuilder, made: Iterable[Node], conditions: Conditions) -> None:
    for node in made:
        condition = conditions[node.op](b, node) if node.op in conditions else None
        if condition is not None:
            b.expect(condition if condition.ndim == 0 else b.all(condition), True)


# --------------------------------------------------------------------------------------------- Keras' layers
# Checks that Keras' layers make of their inputs. Keras leaves unknown sizes out of these checks, so a
# recording would accept inputs that Keras rejects.


def input_check(
    keras: Any,
    is_unknown: Callable[[Any, int], bool],
    fixed_shape: Callable[[Any, Sequence[int]], Sequence[int]],
) -> Replacement:
    """Return a patch of ``keras.Layer`` that checks inputs at the sizes of the recorded call.

    is_unknown(array, axis): returns True for a size that Keras would leave out of the check.
    fixed_shape(array, axes): guards the sizes along ``axes``, and returns the shape in the recorded call.
    """
    before = keras.Layer._assert_input_compatibility

    @forwards
    def check(layer: Any, given: Any) -> None:
        specs = keras.tree.flatten(layer.input_spec or ())
        shown = {}
        for array, spec in zip(_in_order(keras, given, specs), specs):
            if spec is None or not hasattr(array, "shape"):
                continue
            if axes := [axis for axis in compared_axes(spec, len(array.shape)) if is_unknown(array, axis)]:
                shown[id(array)] = keras.KerasTensor(fixed_shape(array, axes), array.dtype)
        before(layer, keras.tree.map_structure(lambda item: shown.get(id(item), item), given))

    return keras.Layer, "_assert_input_compatibility", check


def _in_order(keras: Any, given: Any, specs: Sequence[Any]) -> list[Any]:
    # Keras orders the items of a dict by the names of the specifications.
    names = [getattr(spec, "name", None) for spec in specs]
    if isinstance(given, dict) and all(name in given for name in names):
        given = [given[name] for name in names]
    return list(keras.tree.flatten(given))


def compared_axes(spec: Any, rank: int) -> Iterator[int]:
    """Yield the axes of an input with ``rank`` axes whose sizes are compared with a ``keras.InputSpec``.

    >>> from types import SimpleNamespace
    >>> list(compared_axes(SimpleNamespace(axes={-1: 3, 1: None, 4: 2}, shape=None), 4))
    [-1]
    >>> list(compared_axes(SimpleNamespace(axes={}, shape=(None, 8)), 3))
    [1, 2]
    """
    yield from (axis for axis, size in spec.axes.items() if size is not None and -rank <= axis < rank)
    if spec.shape is not None:
        # Keras accepts a further axis, whose size is 1.
        stated = (*spec.shape, *(1,) * (rank - len(spec.shape)))
        yield from (axis for axis, size in enumerate(stated[:rank]) if size is not None)
