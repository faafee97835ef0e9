"""Functions applied to lists that a loop has appended to, for those that work for any length.

Any other function receives the items one by one.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..code.syntax import Position
from .conversion import is_converted
from .grown import GrownList, StackedItems
from .regions import ArrayKind, Regions, regions
from .variables import AppendableList, ContainerForm, GrowingView, plain


class LoopStatements(Protocol):
    """Protocol of the runtime of rewritten statements, as far as functions of lists run loops by it."""

    def for_(self, items: Any, body: Any, exits: Any, guarded: Sequence[str], position: Position) -> None: ...


def with_grown_lists(statements: LoopStatements, found: Regions, function: Any, called: Any) -> Any:
    """Return a function to call for ``called`` that accepts lists which a loop has appended to.

    ``called`` is the traced form of ``function``. The result applies ``function`` to a list of any length
    if it can, and otherwise passes plain lists, under guards on their lengths. Return ``called`` itself if
    it is a traced function or a method of such a list.
    """
    inner = getattr(called, "__func__", called)
    if (
        isinstance(inner, types.FunctionType)
        and is_converted(inner)
        or isinstance(getattr(function, "__self__", None), AppendableList)
    ):
        return called

    def run(*args: Any, **kwargs: Any) -> Any:
        if not found.lists:
            return called(*args, **kwargs)
        if (
            args
            and isinstance(args[0], AppendableList)
            and not any(isinstance(each, AppendableList) for each in (*args[1:], *kwargs.values()))
        ):
            answer = _answer(statements, found, function, args, kwargs)
            if answer is not NotImplemented:
                return answer
        return called(*map(plain, args), **{name: plain(item) for name, item in kwargs.items()})

    return run


def with_plain_lists(function: Any) -> Any:
    """Return a function to call for ``function`` that receives plain lists, while Python runs unrecorded.

    Return ``function`` itself if it is a method of a list that loops append to.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        if function_of(function) is builtins.len and isinstance(args[0], GrowingView):
            return args[0].count()
        return function(*map(_seen, args), **{name: _seen(item) for name, item in kwargs.items()})

    return function if isinstance(getattr(function, "__self__", None), AppendableList) else run


def _seen(item: Any) -> Any:
    return item if isinstance(item, GrowingView) else plain(item)


def function_of(function: Any) -> Any:
    # A recording may have a shim under the name of the builtin.
    found = getattr(function, "__wrapped__", function)
    return found if isinstance(found, (types.BuiltinFunctionType, type)) else function


def _answer(statements: LoopStatements, found: Regions, function: Any, args: Any, kwargs: Any) -> Any:
    items, *others = args
    original = function_of(function)
    if (
        builtin := _BUILTINS.get(original)
        if isinstance(original, (types.BuiltinFunctionType, type))
        else None
    ) is not None:
        return (
            builtin(statements, found, items, *others, **kwargs)
            if _takes(builtin, 3, others, kwargs)
            else NotImplemented
        )
    use = _USES.get(getattr(function, "__name__", "")) if isinstance(items, GrownList) else None
    if use is None or not _is_public(found, function):
        return NotImplemented
    whole = items.whole()
    if (
        whole is None
        or whole.form.cls is not None
        and use is not _array
        or not _takes(use, 4, others, kwargs)
    ):
        return NotImplemented
    if not all(found.collects(function.__name__, kind) for kind in whole.kinds):
        return NotImplemented
    is_float = (
        found.takes_lists
        and use is _array
        and (whole.form, whole.kinds[0].dtype, whole.kinds[0].shape) == _FLOAT
    )
    if not is_float and not items.at_least(1):
        return NotImplemented
    rows = _rows_of(found, whole.form, map(functools.partial(_strong, found), whole.arrays, whole.kinds))
    return NotImplemented if rows is None else use(found, function, rows, whole, *others, **kwargs)


def _is_public(found: Regions, function: Any) -> bool:
    public = getattr(found.module, function.__name__, None)
    return public is not None and (public is function or public is getattr(function, "__wrapped__", None))


# A list of floats becomes such an array even if it is empty.
_FLOAT = ContainerForm(), "float64", ()


def _strong(found: Regions, array: Any, kind: ArrayKind) -> Any:
    return found.made(array, replace(found.kind(array), dtype=kind.dtype, number=False))


def _rows_of(found: Regions, form: ContainerForm, arrays: Iterator[Any]) -> Any:
    """Stack the arrays of leaves to rows with the shape of an item, as ``array`` does for nested lists.

    Return None for other forms than lists and tuples of equal shapes, which have no such rows.
    """
    if form.cls is None:
        return next(arrays)
    parts = [_rows_of(found, part, arrays) for part in form.parts]
    is_sequence = form.cls in (list, tuple) and parts and all(part is not None for part in parts)
    is_even = is_sequence and len({tuple(found.kind(part).shape) for part in parts}) == 1
    return found.module.stack(parts, 1) if is_even else None


def _takes(use: Callable[..., Any], first: int, others: Any, kwargs: Any) -> bool:
    try:
        inspect.signature(use).bind(*[None] * first, *others, **kwargs)
    except TypeError:
        return False
    return True


# ------------------------------------------------------------------------------------- Python's own
def _length(statements: LoopStatements, found: Regions, items: AppendableList) -> Any:
    return items.symbolic_length()


def _copied(statements: LoopStatements, found: Regions, items: AppendableList) -> Any:
    return items.copy() if isinstance(items, GrownList) else NotImplemented


def _sum(statements: LoopStatements, found: Regions, items: AppendableList, start: Any = 0) -> Any:
    if not isinstance(items, GrownList) or not items.at_least(1):
        return NotImplemented
    total = start

    def body(item: Any) -> None:
        nonlocal total
        total = total + item

    statements.for_(items, body, None, (), NOWHERE)
    return total


def _extreme(symbol: str) -> Callable[..., Any]:
    better = getattr(operator, symbol)

    def extreme(
        statements: LoopStatements, found: Regions, items: AppendableList, *others: Any, **options: Any
    ) -> Any:
        if not isinstance(items, GrownList) or others or options or not items.at_least(1):
            return NotImplemented
        best = items[0]

        def body(item: Any) -> None:
            nonlocal best
            is_better = better(item, best)
            is_open = regions() is not None and found.is_open(is_better)
            best = found.where(is_better, item, best) if is_open else item if is_better else best

        statements.for_(items[1:], body, None, (), NOWHERE)
        return best

    return extreme


NOWHERE = (0, 0, 0, 0)
_BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.len: _length, builtins.list: _copied, builtins.sum: _sum, builtins.max: _extreme("gt"),
    builtins.min: _extreme("lt"),
    builtins.isinstance: lambda statements, found, items, kinds: isinstance([], kinds),
    builtins.bool: lambda statements, found, items: bool(items),
    builtins.type: lambda statements, found, items: list,
}  # fmt: skip


# ------------------------------------------------------------------------------------- of frameworks
def _array(found: Regions, function: Any, rows: Any, whole: StackedItems, dtype: Any = None) -> Any:
    return found.cast(found.own(rows), dtype)


def _stack(
    found: Regions, function: Any, rows: Any, whole: StackedItems, axis: int = 0, *, dim: int | None = None
) -> Any:
    axis = axis if dim is None else dim
    return found.own(rows if axis == 0 else found.module.moveaxis(rows, 0, axis))


def _concatenate(
    found: Regions, function: Any, rows: Any, whole: StackedItems, axis: Any = 0, *, dim: int | None = None
) -> Any:
    axis = axis if dim is None else dim
    rank = len(whole.kinds[0].shape)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        return NotImplemented
    axis %= rank
    if axis == 0:
        return found.own(found.merged(rows))
    moved = found.module.moveaxis(rows, 0, axis)
    shape = (*moved.shape[:axis], moved.shape[axis] * moved.shape[axis + 1], *moved.shape[axis + 2 :])
    return found.own(moved.reshape(shape))


def _vstack(found: Regions, function: Any, rows: Any, whole: StackedItems) -> Any:
    rank = len(whole.kinds[0].shape)
    return (
        _concatenate(found, function, rows, whole)
        if rank > 1
        else found.own(rows)
        if rank
        else NotImplemented
    )


def _hstack(found: Regions, function: Any, rows: Any, whole: StackedItems) -> Any:
    rank = len(whole.kinds[0].shape)
    return _concatenate(found, function, rows, whole, int(rank > 1)) if rank else NotImplemented


def _of_array(
    found: Regions, function: Any, rows: Any, whole: StackedItems, *args: Any, **kwargs: Any
) -> Any:
    return function(rows, *args, **kwargs) if found.takes_lists else NotImplemented


_OF_ARRAYS = (
    "sum", "mean", "prod", "max", "min", "amax", "amin", "std", "var", "median",
    "argmax", "argmin", "cumsum", "any", "all", "diff",
)  # fmt: skip
_USES: dict[str, Callable[..., Any]] = {
    "array": _array, "asarray": _array, "tensor": _array, "stack": _stack, "concatenate": _concatenate,
    "cat": _concatenate,
    "concat": _concatenate, "vstack": _vstack, "hstack": _hstack, **dict.fromkeys(_OF_ARRAYS, _of_array),
}  # fmt: skip
