"""Vector mode: ``jacfwd``, ``jacrev``, ``hessian``. All directions are taken at once, by the framework's own vectorisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..contracts.derivatives import Arrays, Mapping
from ..errors import CallMismatch
from ..runtime.boundary import public
from .arguments import Call, positions, single
from .functions import Function, Transformed, where
from .strong import strongly
from .verifying import How


@public
def jacrev(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes the Jacobian in reverse mode, one pass for each element of the result: for
    few results of many numbers.

    The Jacobian has the structure of the result, with that of the argument inside, and arrays of shape
    [*result, *argument]. Options and errors are those of :func:`grad`. Each row of a complex result is the
    derivative of a holomorphic function.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.jacrev(lambda x: x * x.sum())(torch.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    function = strongly(function, strong_zero, chosen := positions(argnums, argnames))
    return Transformed(
        function, _rule("jacrev", _by_rows, argnums, argnames, has_aux), "jacrev", differences=How(chosen, has_aux, is_jacobian=True)
    )


@public
def jacfwd(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes the Jacobian in forward mode, one pass for each element of the argument:
    for many results of few numbers.

    Structure, options and errors are those of :func:`jacrev`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.jacfwd(lambda x: x * x.sum())(torch.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    function = strongly(function, strong_zero, chosen := positions(argnums, argnames))
    return Transformed(
        function, _rule("jacfwd", _by_columns, argnums, argnames, has_aux), "jacfwd", differences=How(chosen, has_aux, is_jacobian=True)
    )


@public
def hessian(
    function: Any, argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] | None = None, strong_zero: bool = False
) -> Transformed:
    """Return a function that computes second derivatives: ``jacfwd(jacrev(function))``.

    For several arguments, the structure of the arguments inside that of the arguments.

    Args:
        function: As in :func:`grad`.
        argnums: As in :func:`grad`.
        argnames: As in :func:`grad`.
        strong_zero: As in :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(function, argnums, argnames, strong_zero=strong_zero), argnums, argnames)


Columns = list[Arrays]
"""For each result with a derivative, its Jacobians by the arrays of the arguments."""


Shapes = list[tuple[int, ...]]


def _rule(
    words: str, jacobians: Callable[[Call], tuple[Columns, Shapes, Arrays]], argnums: Any, argnames: Any, has_aux: bool
) -> Callable[..., Any]:
    chosen = positions(argnums, argnames)

    def rule(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = Call(function, words, args, kwargs, chosen, has_aux)
        found, shapes, handed = jacobians(call)
        if call.results_without():
            raise CallMismatch(
                f"{words} of {function.name}: a result has no derivative, for it is no floating-point array{where(function.call)}"
            )
        arguments = [call.like_arguments(arrays, shape) for arrays, shape in zip(found, shapes)]
        jacobian = call.result([single(each, argnums, argnames) for each in arguments], [])
        return (jacobian, call.aux(handed)) if has_aux else jacobian

    return rule


def _by_rows(call: Call) -> tuple[Columns, Shapes, Arrays]:
    derivatives = call.function.derivatives
    results, handed, pull = call.pulled()
    zeros = list(map(derivatives.zeros_like, results))

    def rows(place: int) -> Arrays:
        basis = derivatives.basis(results[place])
        pulled = _mapped(derivatives, lambda given: pull([*zeros[:place], *given, *zeros[place + 1 :]]), basis)
        rows = [derivatives.split(array, 0, results[place]) for array in pulled]
        return list(map(derivatives.conjugate, rows)) if derivatives.is_complex(results[place]) else rows

    return [rows(place) for place in range(len(results))], _shapes(results), handed


def _by_columns(call: Call) -> tuple[Columns, Shapes, Arrays]:
    derivatives = call.function.derivatives
    zeros = list(map(derivatives.zeros_like, call.arrays))
    results, handed, _ = call.pushed(zeros)

    def columns(place: int) -> Arrays:
        def pushed(given: Arrays) -> Arrays:
            return call.pushed([*zeros[:place], *given, *zeros[place + 1 :]])[2]

        array = call.arrays[place]
        found = _mapped(derivatives, pushed, derivatives.basis(array))
        return [derivatives.split(derivatives.move_axis(item, 0, -1), -1, array) for item in found]

    by_argument = [columns(place) for place in range(len(call.arrays))]
    return [[column[place] for column in by_argument] for place in range(len(results))], _shapes(results), handed


def _shapes(arrays: Arrays) -> Shapes:
    return [tuple(array.shape) for array in arrays]


def _mapped(derivatives: Any, function: Callable[[Arrays], Arrays], basis: Any) -> Arrays:
    """The function of all directions at once; one direction is no reason to map."""
    if basis.shape[0] == 1:
        return [array[None] for array in function([basis[0]])]
    found: Arrays = derivatives.mapped(function, Mapping((0,), basis.shape[0]))([basis])
    return found
