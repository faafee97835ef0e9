"""Symbols for numbers that Python reads from tensors while recording, and guards on the numbers it needs."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from ...errors import GraphCompilerError, Signal, TracingError
from ...ir.graph import Graph
from ...ir.node import Origin, Value
from ...recording.code.error_texts import in_check
from ...recording.code.names import globals_read, names_read
from ...recording.patches.builtin_names import (
    CONVERTED,
    COUNTED,
    builtin_lookups,
    conversion_replacements,
    lines_passing_as_value,
    only_called,
    type_replacements,
)
from ...recording.patches.host_math import Symbols
from ...recording.patches.patch import Replacement
from ...recording.reachability.namespaces import ModuleNamespace
from ...recording.state.append_only_list import AppendOnlyList
from ...sizes import Size, Symbol, compute_guarded
from ...trees import Branch, Leaf, Tree, TypedLeaf, iterate_structure, map_structure
from ..common import read_numbers as reading
from ..common.read_numbers import DTYPES, can_be_symbols, record_read
from .sizes import Decide, SizeFloat, SizeInt, expression_of, is_symbolic, numbers_of_sizes, symbolic
from .trace import Trace

# ------------------------------------------------------------------------------------------------------- keys
# Sizes that must be plain numbers: keys of dicts and caches, and integers passed to C code.

_SYMBOLS = (SizeInt.__name__, SizeFloat.__name__)


# C code that refuses a symbol does not say which line called it.
_IN_C = Origin(call="code in C")


class UnhashableSize(TypeError, Signal):
    """Error for a symbolic size that code hashes, for example as a key of a dict.

    asked: the sizes that must become plain numbers, as :class:`KeySizes` stores them.
    """

    def __init__(self, message: str, asked: Iterable[Any]) -> None:
        super().__init__(message)
        self.asked = frozenset(asked)


class KeySizes:
    """Choice of the sizes that later attempts record as plain numbers, because code hashes or rejects them.

    A size is stored as pairs (input index, axis), or as the (file, line) of the code that hashed it.

    asked: sizes that were used as keys.
    fixed: sizes that are plain numbers.
    plain: True if all sizes are plain numbers.
    origins: for each size, the code that first hashed it.
    """

    def __init__(self) -> None:
        self.origins: dict[Any, Origin] = {}
        self.fixed: frozenset[Any] = frozenset()
        self.plain = False
        self.asked: set[Any] = set()
        self._caches: dict[int, Any] = {}

    def next_attempt(self, problem: Exception) -> bool:
        """Make plain numbers of the sizes that may have caused ``problem``; return True if that may help."""
        unhashable = next(
            (cause.asked for cause in _causes(problem) if isinstance(cause, UnhashableSize)), None
        )
        is_refused = (
            isinstance(problem, TypeError)
            and not isinstance(problem, GraphCompilerError)
            and unhashable is None
        )
        if not self.plain and (is_refused or any(name in str(problem) for name in _SYMBOLS)):
            self.plain = True
            return True
        # If another exception ended the attempt, each size that was used as a key may be the reason.
        needed = frozenset(self.asked) if unhashable is None else unhashable
        new = not needed <= self.fixed
        self.fixed |= needed
        return new

    def give_up(self) -> None:
        self.asked = set(self.fixed)

    def of(self, graph: Graph, value: Value) -> list[tuple[Size, Origin]]:
        """Return the sizes of the new input ``value`` that must be numbers, with the code that needs each."""
        if not (self.plain or self.fixed):
            return []
        position = graph.inputs.index(value)
        return [
            (Size.of(Symbol(value, axis, size)), self.origins.get((position, axis), _IN_C))
            for axis, size in enumerate(value.spec.shape)
            if self.plain or (position, axis) in self.fixed
        ]

    def number(self, size: Any, decide: Decide) -> Any:
        return decide(size) if self.plain and isinstance(size, Size) else symbolic(size, decide)

    def may_hash_symbol(self, graph: Graph, size: Size, origin: Origin, called: Any) -> bool:
        """Return False for a size in ``fixed``, and True if ``called`` is an ``lru_cache`` function.

        Raise ``UnhashableSize`` otherwise.
        """
        symbols = list(size.symbols())
        of_inputs = all(symbol.kind == "size" and symbol.source in graph.inputs for symbol in symbols)
        asked = (
            {(graph.inputs.index(symbol.source), symbol.axis) for symbol in symbols}
            if of_inputs
            else {(origin.file, origin.line)}
        )
        if asked <= self.fixed:
            return False
        self.asked |= asked
        self.origins.update((key, origin) for key in asked if key not in self.origins)
        # The function of a bound method.
        cache = getattr(called, "__func__", called)
        if not isinstance(cache, functools._lru_cache_wrapper):
            raise UnhashableSize(
                f"{size} is known only when the function runs, and has no hash while it is recorded", asked
            )
        # ``forget`` empties the cache after the recording.
        self._caches[id(cache)] = cache
        return True

    def forget(self) -> None:
        for cache in self._caches.values():
            cache.cache_clear()
        self._caches.clear()


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        problem = problem.__cause__ or problem.__context__


# ---------------------------------------------------------------------------------------------------- numbers
def type_leaves(tree: Tree, leaves: Iterator[object]) -> Tree:
    """Return ``tree`` with the classes of the numbers and generators among its leaves.

    ``leaves`` are the objects at the leaves of ``tree``, from left to right.
    """
    if isinstance(tree, Leaf):
        cls = type(next(leaves))
        return TypedLeaf(cls) if cls in DTYPES or cls is torch.Generator else tree
    if isinstance(tree, Branch):
        return Branch(tree.type, tree.keys, tuple(type_leaves(child, leaves) for child in tree.children))
    return tree


_NAME = type.__name__


def type_shims(spaces: Iterable[ModuleNamespace]) -> list[Replacement]:
    return type_replacements(
        ((space.held, _NAME) for space in spaces if space.looks_up(_NAME) and _only_calls(space)), _stands_in
    )


def _stands_in(item: Any) -> bool:
    return is_symbolic(item) or type(item) is AppendOnlyList


def asks_for_types_unseen(spaces: Iterable[ModuleNamespace], owners: Iterable[Any]) -> bool:
    """Return True if the code may use the builtin ``type`` in a way that no shim can replace."""
    return (
        any(_NAME in space.read_elsewhere and _NAME not in space.held for space in spaces)
        or any(_passes_type_on(function) for space in spaces for function in space.functions)
        or any(
            id(type) in map(id, held)
            for held in _attributes([getattr(owner, "__self__", owner) for owner in owners])
        )
    )


def _only_calls(space: ModuleNamespace) -> bool:
    file = space.file
    if _NAME in only_called(file, (_NAME,)):
        return True
    return not space.read_elsewhere and all(
        function.__code__.co_firstlineno not in lines_passing_as_value(file, _NAME)
        for function in space.functions
    )


def _passes_type_on(function: types.FunctionType) -> bool:
    code = function.__code__
    looked_up = _NAME in globals_read(code) and _NAME not in function.__globals__
    if looked_up and code.co_firstlineno in lines_passing_as_value(code.co_filename, _NAME):
        return True
    return (
        id(type) in map(id, _reachable_objects(function))
        or "builtins" in code.co_names
        and _NAME in names_read(code)
    )


def _attributes(owners: list[Any]) -> Iterator[list[Any]]:
    yield from ([*getattr(owner, "__dict__", {}).values()] for owner in owners)
    classes = dict.fromkeys(cls for owner in owners for cls in type(owner).__mro__)
    yield from ([*vars(cls).values()] for cls in classes)


def _reachable_objects(function: types.FunctionType) -> Iterator[Any]:
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        # The variable is not assigned yet.
        except ValueError:
            continue
    names = names_read(function.__code__)
    held = [function.__globals__[name] for name in names if name in function.__globals__]
    yield from held
    modules = [item for item in held if isinstance(item, types.ModuleType)]
    yield from (vars(module)[name] for module in modules for name in names if name in vars(module))


def read_numbers(capture: Trace, tensor: torch.Tensor, name: str) -> Any:
    """Return symbols for the result of ``item`` or ``tolist`` of ``tensor``, or None to read it as it is."""
    # Code such as ``type(number) is float`` would not recognize a symbol.
    if not capture.reading.symbolic or "type" in capture.locator.names_read():
        return None
    if (of_sizes := numbers_of_sizes(capture, capture.value(tensor))) is not None:
        return of_sizes[0] if name == "item" and isinstance(of_sizes, list) else of_sizes
    seen = capture.run(getattr(tensor, name), (), {})
    if not can_be_symbols(seen):
        return None
    capture.reading.any = True
    value = capture.value(tensor)
    # The list has a fixed length.
    if name == "tolist":
        decide_sizes(capture, value)
    record = capture.history.record_of(name, (value,), [])
    found = record_read(capture.recorder, f"torch.Tensor.{name}", value, seen, capture.here(), record)
    return map_structure(lambda size: symbolic(size, capture.decide), found)


def operand_expressions(capture: Trace, operands: Sequence[Any]) -> tuple[Any, ...] | None:
    expressions = tuple(map(expression_of, operands))
    sizes = [item for item in expressions if isinstance(item, Size)]
    if not (
        sizes
        and capture.reading.symbolic
        and all(isinstance(item, (Size, int, float)) for item in expressions)
    ):
        return None
    # Code that reads ``type`` would not recognize a symbol, as in ``read_numbers``.
    if not any(size.reads_elements() for size in sizes) and "type" in capture.locator.names_read():
        return None
    capture.reading.any = True
    return expressions


def decide_sizes(capture: Trace, value: Value, where: Origin | None = None) -> None:
    for axis in range(value.ndim):
        if isinstance(size := capture.size(value, axis), Size):
            decide(capture, size, where)


def decide(capture: Trace, size: Size, where: Origin | None = None) -> Any:
    for symbol in size.symbols():
        if symbol.kind == "number":
            refuse_random(capture, symbol.source)
    return reading.decide(capture.recorder, size, where or capture.here())


def decide_all(capture: Trace, structure: Any) -> None:
    for item in map(expression_of, iterate_structure(structure)):
        if isinstance(item, Size):
            capture.decide(item)


def decide_read(capture: Trace, structure: Any) -> None:
    for item in map(expression_of, iterate_structure(structure)):
        if isinstance(item, Size) and any(symbol.kind in ("item", "number") for symbol in item.symbols()):
            capture.decide(item)


def refuse_random(capture: Trace, value: Value) -> None:
    if not capture.for_torch and capture.recorder.is_random(value) and not in_check():
        raise TracingError(
            f"{capture.here()}: random elements are handed to Python, which would tie the graph to the "
            "numbers that torch drew, while its target draws its own. Compute with the tensor instead "
            "(torch.where)"
        )


# Layers of torch that convert an element of a buffer to a number: ``1.0 / float(self.num_batches_tracked)``.
_OF_TORCH = (torch.nn.BatchNorm1d.forward,)


def symbols_of(capture: Trace) -> Symbols:
    decide = capture.decide
    return Symbols(
        is_symbolic,
        functools.partial(operand_expressions, capture),
        lambda function, operands: symbolic(compute_guarded(function, operands, decide), decide),
        _element,
        _length,
    )


def conversion_shims(
    capture: Trace, symbols: Symbols, spaces: Iterable[ModuleNamespace]
) -> list[Replacement]:
    names = (*CONVERTED, *COUNTED) if capture.reading.symbolic else COUNTED
    places = (
        (space.held, name, file, tuple(space.functions))
        for space in spaces
        for name in names
        if space.looks_up(name)
        for file in space.files_with(name)
    )
    return conversion_replacements(
        [*places, *(place for place in builtin_lookups(_OF_TORCH) if place[1] in names)], symbols
    )


def _element(item: Any) -> Any:
    if not isinstance(item, torch.Tensor):
        return item
    try:
        return item.item()
    # The conversion to a number raises its own error then.
    except (RuntimeError, ValueError):
        return None


def _length(item: Any) -> Any:
    is_counted = isinstance(item, torch.Tensor) and type(item).__len__ is torch.Tensor.__len__ and item.ndim
    return item.shape[0] if is_counted else None
