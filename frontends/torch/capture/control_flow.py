"""torch's operators that take functions (``torch.cond``, ``while_loop``, ``scan``, ``map``, ``flex_attention``): the functions are run, and recorded.

A branch is the one that is taken and a loop has the steps that it takes: what decided is guarded, as for Python's ``if`` and ``while``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from ..basics.refusals import refuse_operator
from ..process.compiler import is_loaded
from .prefixes import prefixes

if TYPE_CHECKING:
    from .capture import Capture

# Operators that look at their operands before a mode sees them, and take none that are nested: torch's compiler would have taken these apart.
_CHECKING = (("torch._higher_order_ops.cond", "CondOp"),)
# Algorithms in Python that would tie a recording to one size, and those that take their place.
_REPLACED = (("torch._higher_order_ops.associative_scan", "generic_associative_scan", prefixes),)


@contextmanager
def in_eager() -> Iterator[None]:
    """Inside of the block ``torch.compile`` compiles nothing: what it would have hidden, these operators too, is run, and seen."""
    with ExitStack() as stack:
        if is_loaded() and hasattr(torch.compiler, "set_stance"):  # since torch 2.6
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for cls in filter(None, (_found(*place) for place in _CHECKING)):
            stack.callback(setattr, cls, "__call__", cls.__call__)
            cls.__call__ = torch._ops.HigherOrderOperator.__call__
        for module, name, ours in _REPLACED:
            if theirs := _found(module, name):
                scans = importlib.import_module(module)
                stack.callback(setattr, scans, name, theirs)
                setattr(scans, name, ours)
        yield


def _found(module: str, name: str) -> Any:
    """What other versions of torch may not have, or not there."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _cond(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    predicate, true_branch, false_branch, operands = args
    with capture:
        return (true_branch if predicate else false_branch)(*operands)


def _while_loop(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    goes_on, body, carried, additional = args
    with capture:
        if not goes_on(*carried, *additional):
            copies = [item.clone() if isinstance(item, torch.Tensor) else item for item in carried]
            return _as_given(goes_on, (*copies, *additional))
        while True:
            result = body(*carried, *additional)
            carried = pytree.tree_leaves(result)
            if not goes_on(*carried, *additional):
                return result


def _as_given(flat: Any, leaves: tuple[Any, ...]) -> Any:
    """The operands of a loop in the containers that the user gave them in, which torch keeps in the closure of the flat function."""
    kept = dict(zip(flat.__code__.co_freevars, flat.__closure__ or ()))
    return pytree.tree_unflatten(leaves, kept["in_spec"].cell_contents)[0] if "in_spec" in kept else leaves


def _scan(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    combine, carried, arrays = args[:3]
    with capture:
        results = []
        for step in range(arrays[0].shape[0]):
            carry, result = combine(*carried, *(array[step] for array in arrays))
            carried = pytree.tree_leaves(carry)
            results.append(result)
        return carry, _stacked(results)


def _map(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    inner, arrays, additional = args
    with capture:
        return _stacked([inner(*(array[step] for array in arrays), *additional) for step in range(arrays[0].shape[0])])


def _stacked(results: list[Any]) -> Any:
    return pytree.tree_map(lambda *items: None if items[0] is None else torch.stack(items), *results)


def _flex_attention(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    """torch's own formula, which computes all scores; the result lies in memory as the query does."""
    order = sorted(range(args[0].ndim), key=args[0].stride().__getitem__, reverse=True)
    formula = _found("torch._higher_order_ops.flex_attention", "math_attention") or refuse_operator(function, capture.here)
    with capture:
        result, *statistics = formula(*args, **kwargs)
        if order != sorted(order):
            result = result.permute(order).contiguous().permute([order.index(axis) for axis in range(len(order))])
        return (result, *statistics)


OPERATORS: dict[str, Callable[[Capture, Any, Any, Any], Any]] = {
    "cond": _cond,
    "while_loop": _while_loop,
    "scan": _scan,
    "map_impl": _map,
    "flex_attention": _flex_attention,
}
