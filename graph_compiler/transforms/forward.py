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
    """Call ``function`` and return ``(result, tangent)``: the result and its directional derivative. With
    ``has_aux`` also aux.

    The tangent of a result without derivatives is zero.

    Args:
        function: As in :func:`grad`.
        primals: Tuple of the arguments.
        tangents: Tuple with a tangent for each argument, of the argument's structure and shapes.
        has_aux: ``function`` returns ``(result, aux)``.
        strong_zero: As in :func:`grad`.

    Raises:
        CallMismatch: ``primals`` or ``tangents`` is not a tuple, or their shapes differ.

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
    """Call ``function`` and return ``(result, push)``. ``push`` maps tangents, one for each argument, to the
    tangent of the result.

    Args:
        function: As in :func:`grad`.
        primals: Arguments.
        strong_zero: As in :func:`grad`.

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
    """Return the Hessian of a function with one real result, multiplied by ``tangents`` (forward over reverse).
    For several arguments, a tuple.

    Args:
        function: As in :func:`grad`.
        primals: Tuple of the arguments.
        tangents: Tuple with a tangent for each argument.
        strong_zero: As in :func:`grad`.

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
