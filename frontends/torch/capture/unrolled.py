"""Higher-order operators unrolled to the calls that they make: one branch, and the iterations of a loop."""

from __future__ import annotations

import functools
import importlib
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..basics.refusals import refuse_operator

# The mode that records or observes the calls.
Mode = AbstractContextManager[Any]


def cond(mode: Mode, args: Any) -> Any:
    predicate, true_branch, false_branch, operands = args
    with mode:
        return (true_branch if predicate else false_branch)(*operands)


def while_loop(mode: Mode, args: Any) -> Any:
    goes_on, body, carried, additional = args
    with mode:
        if not goes_on(*carried, *additional):
            # Results of the operator never alias its operands.
            copies = [item.clone() if isinstance(item, torch.Tensor) else item for item in carried]
            return _as_given(goes_on, tuple(copies), additional)
        while True:
            result = body(*carried, *additional)
            carried = pytree.tree_leaves(result)
            if not goes_on(*carried, *additional):
                return result


def _as_given(flat: Any, carried: tuple[Any, ...], additional: tuple[Any, ...]) -> Any:
    # The public function flattens what it is given, and its condition restores the containers.
    kept = dict(zip(flat.__code__.co_freevars, flat.__closure__ or ()))
    if "in_spec" not in kept:
        return carried
    return pytree.tree_unflatten((*carried, *additional), kept["in_spec"].cell_contents)[0]


def scan(mode: Mode, args: Any) -> Any:
    combine, carried, arrays = args[:3]
    with mode:
        results = []
        for step in range(arrays[0].shape[0]):
            carry, result = combine(*carried, *(array[step] for array in arrays))
            carried = pytree.tree_leaves(carry)
            results.append(result)
        return carry, _stacked(results)


def map_rows(mode: Mode, args: Any) -> Any:
    inner, arrays, additional = args
    with mode:
        return _stacked(
            [inner(*(array[step] for array in arrays), *additional) for step in range(arrays[0].shape[0])]
        )


def _stacked(results: list[Any]) -> Any:
    return pytree.tree_map(lambda *items: None if items[0] is None else torch.stack(items), *results)


def flex_attention(mode: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Compute attention by torch's reference formula, which computes the whole matrix of scores."""
    order = sorted(range(args[0].ndim), key=args[0].stride().__getitem__, reverse=True)
    formula = found("torch._higher_order_ops.flex_attention", "math_attention") or refuse_operator(
        function, mode.here
    )
    with mode:
        result, *statistics = formula(*args, **kwargs)
        if order != sorted(order):
            result = (
                result.permute(order).contiguous().permute([order.index(axis) for axis in range(len(order))])
            )
        return (result, *statistics)


def found(module: str, name: str) -> Any:
    return getattr(_module(module), name, None)


@functools.cache
def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


UNROLLED = {"cond": cond, "while_loop": while_loop, "scan": scan, "map_impl": map_rows}
