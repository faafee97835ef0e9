"""Reverse mode: ``grad``, ``value_and_grad``, ``vjp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..contracts.derivatives import Arrays
from ..errors import CallMismatch
from ..runtime.boundary import public
from .arguments import Call, positions, single
from .functions import Function, Transformed, found_for, where
from .strong import strongly
from .verifying import How


@public
def grad(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes the gradient of ``function``, whose result is one real number.

    The derivative is the framework's own (``jax.vjp``, ``torch.func.vjp``, ``tf.GradientTape``), and may be
    transformed again. The gradient has the structure of the argument, and is zero for arrays without
    derivatives in it (integers). With respect to a complex argument it is ``df/d(Re z) + i df/d(Im z)`` in
    every framework, so ``z - rate * gradient`` descends: torch's convention, the conjugate of ``jax.grad``'s.

    Args:
        function: Graph, ``functional`` of a graph, or function of torch, JAX, TensorFlow or NumPy. A NumPy
            function is recorded for another framework and returns NumPy arrays.
        argnums: Position of the differentiated argument, by default the first. For several, a tuple of
            gradients is returned.
        argnames: Name of the argument. For several, a dict of gradients; with ``argnums``, a pair of both.
        has_aux: ``function`` returns ``(value, aux)``, and ``(gradient, aux)`` is returned.
        strong_zero: Zero times anything is zero in the derivative: a branch not taken adds nothing even if
            its slope is infinite or NaN. The function is recorded for it.

    Raises:
        CallMismatch: At the call, if the result is not a real scalar or the argument has no derivative.
        NotCompilable: At the call, for a graph written in NumPy.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    >>> transforms.grad(transforms.grad(lambda x: x**3))(torch.tensor(2.0))
    tensor(12.)
    >>> root = lambda x: torch.where(x > 0, torch.sqrt(x), 0.0)
    >>> transforms.grad(root)(torch.tensor(0.0)), transforms.grad(root, strong_zero=True)(torch.tensor(0.0))
    (tensor(nan), tensor(0.))
    """
    function = strongly(function, strong_zero, chosen := positions(argnums, argnames))
    return Transformed(function, _rule("grad", argnums, argnames, has_aux, _gradient_alone), "grad", differences=How(chosen, has_aux))


@public
def value_and_grad(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes ``(value, gradient)``, or ``((value, aux), gradient)``. Takes the options
    of :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.value_and_grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(torch.ones(2), torch.full((2,), 3.0))
    (tensor(6.), (tensor([3., 3.]), tensor([1., 1.])))
    """
    function = strongly(function, strong_zero, chosen := positions(argnums, argnames))
    return Transformed(
        function,
        _rule("value_and_grad", argnums, argnames, has_aux, _value_and_gradient),
        "value_and_grad",
        differences=How(chosen, has_aux, has_value=True),
    )


@public
def vjp(function: Any, *primals: Any, has_aux: bool = False, strong_zero: bool = False) -> Any:
    """Call ``function`` and return ``(result, pull)``, with ``has_aux`` ``(result, pull, aux)``.

    ``pull`` maps a cotangent with the structure of the result to a tuple with one cotangent for each
    argument: the conjugate transpose of the derivative.

    Args:
        function: As in :func:`grad`.
        primals: Arguments.
        has_aux: ``function`` returns ``(result, aux)``.
        strong_zero: As in :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> result, pull = transforms.vjp(lambda x, y: x * y, torch.tensor(2.0), torch.tensor(5.0))
    >>> result, pull(torch.tensor(1.0))
    (tensor(10.), (tensor(5.), tensor(2.)))
    """
    found = found_for(strongly(function, strong_zero), primals, {})
    call = Call(found, "vjp", primals, {}, (range(len(primals)), ()), has_aux)
    results, handed, pull = call.pulled()

    def pulled(cotangent: Any) -> Any:
        arrays = pull(call.cotangents(cotangent, results))
        return tuple(found.hand_back(call.like_arguments(arrays)))

    result = found.hand_back(call.result(results, handed))
    return (result, pulled, found.hand_back(call.aux(handed))) if has_aux else (result, pulled)


Finished = Callable[[Call, Arrays, Arrays, Any], Any]


def _rule(words: str, argnums: Any, argnames: Any, has_aux: bool, finished: Finished) -> Callable[..., Any]:
    chosen = positions(argnums, argnames)

    def rule(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = Call(function, words, args, kwargs, chosen, has_aux)
        results, handed, pull = call.pulled()
        gradients = pull([_one(call, results, handed)])
        return finished(call, results, handed, single(call.like_arguments(gradients), argnums, argnames))

    return rule


def _one(call: Call, results: Arrays, handed: Arrays) -> Any:
    """The cotangent 1 of the only result; ``CallMismatch`` where it is not a real number."""
    derivatives = call.function.derivatives
    result = call.result(results, handed)
    is_number = len(results) == 1 and result is results[0] and tuple(result.shape) == ()
    if is_number and not derivatives.is_complex(result):
        return derivatives.basis(result)[0]
    remedy = "take jacrev, or sum or mean of it"
    what = f"an array of the shape {list(getattr(result, 'shape', []))}"
    if is_number:
        what, remedy = "a complex number", "take its real part or absolute value, or vjp"
    elif not hasattr(result, "shape"):
        what, remedy = f"a {type(result).__name__}", "return the number alone, and the rest with has_aux=True"
    raise CallMismatch(
        f"{call.words} of {call.function.name}: the result has to be one real number, and is {what}; {remedy}{where(call.function.call)}"
    )


def _gradient_alone(call: Call, results: Arrays, handed: Arrays, gradient: Any) -> Any:
    return (gradient, call.aux(handed)) if call.has_aux else gradient


def _value_and_gradient(call: Call, results: Arrays, handed: Arrays, gradient: Any) -> Any:
    value = call.result(results, handed)
    return ((value, call.aux(handed)), gradient) if call.has_aux else (value, gradient)
