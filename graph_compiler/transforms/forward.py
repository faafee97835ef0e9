"""Forward mode: ``jvp``, ``linearize``, and forward over reverse: ``hvp``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import CallMismatch
from ..runtime.boundary import public
from .arguments import Call
from .functions import found_for, name_of, where
from .reverse import grad
from .strong import strongly


@public
def jvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False, strong_zero: bool = False) -> Any:
    """``(result, tangent)``: the result for these arguments, and its derivative in the direction of the tangents; with ``has_aux`` aux,
    too. ``strong_zero`` as :func:`grad`.

    ``primals`` are the arguments, ``tangents`` one for each with its structure. The tangent of a result without derivatives is zero.

    Raises:
        CallMismatch: primals or tangents are no tuple, or tangents have other shapes than the arguments.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.jvp(lambda x: x**2, (torch.tensor(3.0),), (torch.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    args, tangents = _arguments("jvp", function, primals=primals, tangents=tangents)
    found = found_for(strongly(function, strong_zero), args, {})
    call = Call(found, "jvp", args, {}, (range(len(args)), ()), has_aux)
    results, handed, out = call.pushed(call.tangents(tangents))
    given = call.result(results, handed), call.like_result(out, handed)
    return found.hand_back((*given, call.aux(handed)) if has_aux else given)


@public
def linearize(function: Any, *primals: Any, strong_zero: bool = False) -> tuple[Any, Callable[..., Any]]:
    """``(result, push)``: the result for these arguments, and the function from tangents, one for each argument, to the tangent of the
    result. ``strong_zero`` as :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> result, push = transforms.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(2.0))
    tensor(2.)
    """
    found = found_for(strongly(function, strong_zero), primals, {})
    call = Call(found, "linearize", primals, {}, (range(len(primals)), ()), False)
    results, handed, push = call.linearised()

    def pushed(*tangents: Any) -> Any:
        return found.hand_back(call.like_result(push(call.tangents(tangents)), handed))

    return found.hand_back(call.result(results, handed)), pushed


@public
def hvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any], strong_zero: bool = False) -> Any:
    """The Hessian of a function with one real result, times a vector: the derivative of the gradient in the direction of the tangents
    (forward over reverse). With several arguments a tuple. ``strong_zero`` as :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.hvp(lambda x: (x**3).sum(), (torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, 0.0]),))
    tensor([6., 0.])
    """
    primals, tangents = _arguments("hvp", function, primals=primals, tangents=tangents)
    gradient = grad(function, argnums=0 if len(primals) == 1 else tuple(range(len(primals))), strong_zero=strong_zero)
    return jvp(gradient, primals, tangents)[1]


def _arguments(words: str, function: Any, **given: Any) -> Iterator[tuple[Any, ...]]:
    """Arguments and tangents as tuples. ``CallMismatch`` for an array, whose rows would be taken for arguments."""
    for option, items in given.items():
        if not isinstance(items, (tuple, list)):
            raise CallMismatch(
                f"{words} of {name_of(function)}: {option} are a tuple with one for each argument, ({option[0]},) for one, and not a "
                f"{type(items).__name__}{where(function)}"
            )
    return map(tuple, given.values())
