"""Functions that a transform returned, and comparison of derivatives with central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import CallMismatch, NotCompilable, VerificationFailed
from ..recording.faults import is_fault
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..runtime.options import require_function
from ..runtime.verify import has_ranges, synthetic_call
from ..trees import flatten, map_structure
from .functions import (
    Arguments,
    BoundRule,
    DifferentiatedCall,
    Function,
    FunctionWrapper,
    Rule,
    graph_of,
    is_array,
    is_functional,
    is_value,
    name_of,
    owner_of,
    resolve_function,
)

Chosen = tuple[Sequence[int], Sequence[str]]


@dataclass(frozen=True)
class DerivativeVerification:
    """Result of comparing a derivative with central differences.

    dtype: name of the dtype that determines the default tolerance.
    error: largest difference along a random direction, relative to the larger of both results or to 0.001.
    """

    dtype: str
    error: float


@dataclass(frozen=True)
class DerivativeOptions:
    """Options of the transform to verify.

    chosen: positions and names of the differentiated arguments.
    is_jacobian: True if the transform returns a Jacobian, False for a gradient.
    """

    chosen: Chosen
    has_aux: bool
    is_jacobian: bool = False
    has_value: bool = False


def verify_derivative(
    transformed: Transformed, args: Any, kwargs: Any, how: DerivativeOptions, rtol: float | None, seed: int
) -> DerivativeVerification:
    derivatives = resolve_function(
        transformed.function, *transformed.inner_arguments(*args, **kwargs)
    ).derivatives
    # Differences of float32 numbers have few correct digits, so float64 is tried first.
    with derivatives.allow_64_bits():
        try:
            wide_args, wide_kwargs = map_structure(
                lambda item: _to_64_bits(derivatives, item), (args, kwargs)
            )
            return _compare(transformed, wide_args, wide_kwargs, how, rtol, seed)
        except VerificationFailed:
            raise
        # The function may raise anything in float64: its weights are of another type, or it was recorded for
        # that alone.
        except Exception as problem:
            if is_fault(problem):
                raise
    return _compare(transformed, args, kwargs, how, rtol, seed)


def synthetic_arguments(transformed: Transformed) -> Arguments:
    """Return synthetic ``(args, kwargs)`` for a transform, like those that its graph was recorded with."""
    function = _innermost_function(transformed)
    graph = graph_of(function)
    variant = (
        next((variant for variant in graph.variants if has_ranges(variant)), None)
        if graph is not None
        else None
    )
    if graph is None or variant is None:
        raise CallMismatch(
            f"{transformed.__name__}.verify(): nothing is recorded that tells its arguments; pass some, as "
            "to a call of it"
        )
    args, kwargs = synthetic_call(variant, graph._pipeline.frontend.reference)
    return ((graph.parameters,) if is_functional(function) else ()) + args, kwargs


def _innermost_function(function: Any) -> Any:
    # All wrappers except transforms take the arguments of their function.
    while isinstance(function, FunctionWrapper) and not (
        isinstance(function, Transformed) and function.differences is None
    ):
        function = function.function
    return function


def _to_64_bits(derivatives: Any, item: Any) -> Any:
    if isinstance(item, (float, complex)) or not is_array(item):
        return item
    array = derivatives.array(item)
    if not derivatives.is_differentiable(array):
        return item
    return derivatives.array(
        _numpy(array).astype("complex128" if derivatives.is_complex(array) else "float64")
    )


def _numpy(array: Any) -> Any:
    owner = owner_of(array)
    return np.asarray(array) if owner is None else backend_of(owner).target.to_numpy(array)


def _compare(
    transformed: Transformed, args: Any, kwargs: Any, how: DerivativeOptions, rtol: float | None, seed: int
) -> DerivativeVerification:
    found = resolve_function(transformed.function, *transformed.inner_arguments(*args, **kwargs))
    call = DifferentiatedCall(found, f"{transformed.words}.verify", args, kwargs, how.chosen, how.has_aux)
    own = [_numpy(array) for array in call.arrays]
    random = np.random.default_rng(seed)
    directions = [_direction(random, array) for array in own]
    dtype = _least_precise_dtype(transformed, own, args, kwargs)
    expected = _central_differences(found, call, own, directions, float(np.finfo(dtype).eps))
    result = transformed.rule(found, args, kwargs)
    result = result[0] if how.has_aux and not how.has_value else result[1] if how.has_value else result
    leaves = [_numpy(found.derivatives.array(item)) for item in flatten(result, is_value)[0]]
    along = (
        _jacobian_along(leaves, call.differentiable_places(), directions, expected)
        if how.is_jacobian
        else [
            sum(
                np.real(np.vdot(leaves[place], one))
                for place, one in zip(call.differentiable_places(), directions)
            )
        ]
    )
    return _require_agreement(transformed, along, expected, dtype, rtol)


def _least_precise_dtype(transformed: Transformed, own: list[Any], args: Any, kwargs: Any) -> Any:
    found = resolve_function(_innermost_function(transformed), args, kwargs)
    results = [
        _numpy(found.derivatives.array(item)) for item in flatten(found.call(*args, **kwargs), is_value)[0]
    ]
    # JAX may compute in 32 bits with arguments of 64 bits.
    types = [np.result_type(*own), *(array.dtype for array in results if array.dtype.kind in "fc")]
    return max(types, key=lambda dtype: float(np.finfo(dtype).eps))


def _direction(random: np.random.Generator, array: Any) -> Any:
    made = random.standard_normal(array.shape)
    made = made + 1j * random.standard_normal(array.shape) if np.iscomplexobj(array) else made
    return np.asarray(made, array.dtype)


def _central_differences(
    found: Function, call: DifferentiatedCall, own: list[Any], directions: list[Any], precision: float
) -> list[Any]:
    largest = max((float(np.abs(array).max(initial=0)) for array in own), default=0.0)
    # This step balances the truncation error, of fourth order, and the rounding error.
    step = precision**0.2 * max(1.0, largest) * 0.5

    def at(times: float) -> list[Any]:
        moved = [np.asarray(array + times * step * one, array.dtype) for array, one in zip(own, directions)]
        results, _ = call([found.derivatives.array(array) for array in moved])
        return [_numpy(array) for array in results]

    near, far = zip(at(1), at(-1)), zip(at(2), at(-2))
    return [
        (8 * (up - down) - (above - below)) / (12 * step) for (up, down), (above, below) in zip(near, far)
    ]


def _jacobian_along(
    leaves: list[Any], places: list[int], directions: list[Any], expected: list[Any]
) -> list[Any]:
    count = len(leaves) // len(expected)
    rows = [leaves[result * count : (result + 1) * count] for result in range(len(expected))]
    return [
        sum(_product(row[place], one, np.iscomplexobj(result)) for place, one in zip(places, directions))
        for row, result in zip(rows, expected)
    ]


def _product(jacobian: Any, direction: Any, is_complex: bool) -> Any:
    if is_complex:
        return np.tensordot(jacobian, direction, direction.ndim)
    # The Jacobian of a real result is ``df/d(Re z) + i df/d(Im z)``, as a gradient is.
    return np.real(np.tensordot(np.conj(jacobian), direction, direction.ndim))


def _require_agreement(
    transformed: Transformed, found: list[Any], expected: list[Any], dtype: Any, rtol: float | None
) -> DerivativeVerification:
    wanted = rtol if rtol is not None else float(np.finfo(dtype).eps) ** 0.5 * 50
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        both = np.stack(np.broadcast_arrays(one, other))
        # Derivatives near zero are compared absolutely.
        size = max(1e-3, float(np.abs(both[np.isfinite(both)]).max(initial=0)))
        worst = max(worst, float(_distances(*both).max(initial=0)) / size)
    if not worst <= wanted:
        raise VerificationFailed(
            f"{transformed.__name__} differs from central differences by {worst:.2g} of the larger (allowed: "
            f"{wanted:.2g}, in {dtype}): at a kink, a jump or a point where it is steep no difference is a "
            "derivative; verify at other arguments"
        )
    return DerivativeVerification(str(dtype), worst)


def _distances(one: Any, other: Any) -> Any:
    """Return the absolute differences: 0 for two NaNs, infinity for NaN beside a number."""
    is_same = (one == other) | np.isnan(one) & np.isnan(other)
    with np.errstate(invalid="ignore"):
        return np.where(is_same, 0.0, np.nan_to_num(np.abs(one - other), nan=np.inf, posinf=np.inf))


class Transformed(FunctionWrapper):
    """Function that a transform returned. It may be transformed again.

    Attributes:
        function: The function that was transformed.
        rule: Computes the result of a call from a :class:`Function` and the arguments.
        words: Name of the transform, for messages.
        inner_arguments: Maps arguments of this function to those that ``function`` is resolved for.
        differences: ``DerivativeOptions`` for :meth:`verify`, or None.
    """

    def __init__(
        self,
        function: Any,
        rule: Rule,
        words: str,
        inner_arguments: Callable[..., Arguments] = lambda *args, **kwargs: (args, kwargs),
        differences: Any = None,
    ) -> None:
        # A wrapper is resolved by its arguments and need not be callable.
        if not isinstance(function, FunctionWrapper):
            require_function(words, function)
        self.function, self.rule, self.words, self.inner_arguments, self.differences = (
            function,
            rule,
            words,
            inner_arguments,
            differences,
        )
        self.__name__ = f"{words}({name_of(function)})"
        self.__doc__ = getattr(function, "__doc__", None)

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        found = resolve_function(self.function, *self.inner_arguments(*args, **kwargs))
        return found.convert_result(self.rule(found, args, kwargs))

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        inner = resolve_function(self.function, *self.inner_arguments(*args, **kwargs))
        return replace(inner, call=BoundRule(self.rule, inner), name=self.__name__)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    @public
    def verify(self, /, *args: Any, rtol: float | None = None, seed: int = 0, **kwargs: Any) -> Any:
        """Compare a derivative with central differences in a random direction.

        Works for ``grad``, ``value_and_grad``, ``jacrev``, ``jacfwd`` and ``hessian``, in float64 if the
        function takes it. Without arguments, random ones like those of a graph's recording are used.

        Returns:
            ``DerivativeVerification`` with the ``dtype`` that determines the default ``rtol``, and the
            relative ``error``.

        Raises:
            VerificationFailed: They differ by more than ``rtol``, by default 50 times the square root of the
                machine epsilon (7e-7 in float64).
            NotCompilable: The transform is not a derivative.
            CallMismatch: No arguments were passed, and no recording of a graph in this process tells them.

        >>> import torch
        >>> from graph_compiler import transforms
        >>> transforms.grad(lambda x: torch.sin(x).sum()).verify(torch.ones(3)).dtype
        'float64'
        """
        if self.differences is None:
            raise NotCompilable(
                f"{self.__name__} is no derivative: verify compares grad, value_and_grad, jacrev, jacfwd and "
                "hessian"
            )
        if not args and not kwargs:
            args, kwargs = synthetic_arguments(self)
        return verify_derivative(self, args, kwargs, self.differences, rtol, seed)

    @property
    def source(self) -> str:
        """Name of the transform as a comment, and the source of the function.

        The latter is empty unless the function is or wraps a graph (``jit``: after its first call). Raise
        ``NotTraced`` if that graph is not recorded yet.
        """
        return f"# {self.__name__}\n{super().source}"
