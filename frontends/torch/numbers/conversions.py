"""``float(x)`` and ``int(x)`` of tensors and of numbers that were read: Python wants numbers of these very classes, symbols are none.

While recording, the modules of the user's functions find functions under these names, which give symbols. Only where their code does nothing with
the names but call them: as a class (``isinstance(x, float)``, ``dtype=float``) a name is left as it is, and a conversion then guards the number.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import tokenize
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ....sizes import Size, apply
from ...python_arithmetic import computed
from .sizes import expression_of, is_symbolic, symbolic

if TYPE_CHECKING:
    from ..state.parameters import Weights

_TELLS_CALLS = sys.version_info >= (3, 11)  # an instruction that loads a global says whether it is to be called
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_FUNCTIONS: dict[type, str] = {int: "trunc", float: "float"}


@contextmanager
def conversions_seen(weights: Weights, symbolic: bool) -> Iterator[None]:
    """Inside of the block the user's conversions give symbols, where numbers are to be ``symbolic``."""
    spaces = _spaces(weights) if symbolic else ()
    swapped = [(space, name) for space in spaces for name in _CONVERSIONS if _only_called(space, name)]
    for space, name in swapped:
        space[name] = _CONVERSIONS[name]
    try:
        yield
    finally:
        for space, name in swapped:
            del space[name]


def _conversion(cls: type) -> Callable[..., Any]:
    def converted(*args: Any, **kwargs: Any) -> Any:
        item: Any = _element(args[0]) if len(args) == 1 and not kwargs else None
        expression = expression_of(item) if is_symbolic(item) else None
        if not (isinstance(expression, Size) and expression.reads_elements()):
            return cls(*args, **kwargs)
        if isinstance(item, cls):
            return item
        decide = item.node.decide
        return symbolic(computed(functools.partial(apply, _FUNCTIONS[cls]), (expression,), decide), decide)

    return converted


def _element(item: Any) -> Any:
    if not isinstance(item, torch.Tensor):
        return item
    try:
        return item.item()
    except (RuntimeError, ValueError):  # the class says what is wrong with it
        return None


_CONVERSIONS = {cls.__name__: _conversion(cls) for cls in _FUNCTIONS}


# ------------------------------------------------------------------------------------- where the names are only called
def _spaces(weights: Weights) -> Iterable[dict[str, Any]]:
    """The globals of the recorded function and of its modules' classes."""
    methods = [getattr(type(module), "forward", None) for module in weights.modules()]
    functions = [getattr(item, "__func__", item) for item in (weights.function, *methods)]
    spaces = [item.__globals__ for item in functions if isinstance(item, types.FunctionType)]
    return {id(space): space for space in spaces if not space.get("__name__", "").startswith("torch.")}.values()


def _only_called(space: dict[str, Any], name: str) -> bool:
    """Whether the functions of a module know this name as Python's own, and do nothing with it but call it."""
    if not _TELLS_CALLS or name in space:
        return False
    uses = [is_call for used, is_call in _uses_in(str(space.get("__file__", ""))) if used == name]
    return bool(uses) and all(uses)


@functools.lru_cache(maxsize=256)
def _uses_in(file: str) -> tuple[tuple[str, bool], ...]:
    """As :func:`_uses`, of all functions of a file of source; none where it cannot be read."""
    try:
        with tokenize.open(file) as source, warnings.catch_warnings(action="ignore"):
            return _uses(compile(source.read(), file, "exec", dont_inherit=True))
    except (OSError, SyntaxError, ValueError):
        return ()


def _uses(code: types.CodeType, runs: bool = False) -> tuple[tuple[str, bool], ...]:
    """The names of conversions that code loads, and whether it loads each to call it; what runs when the module is imported is left out."""
    runs = runs or bool(code.co_flags & inspect.CO_OPTIMIZED)
    loads = (step for step in dis.get_instructions(code) if runs and step.opname in _LOADS and step.argval in _CONVERSIONS)
    found = tuple((step.argval, step.opname == "LOAD_GLOBAL" and bool((step.arg or 0) & 1)) for step in loads)
    return sum((_uses(item, runs) for item in code.co_consts if isinstance(item, types.CodeType)), found)
