"""Python's ``math``, ``int``, ``float``, ``len`` and ``type`` while a function of TensorFlow is recorded: sizes, and numbers that are read
from tensors, stay symbols."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ...sizes import Size, computed, expression_of, is_symbolic
from ...tracing.code_names import names_read
from ..conversions import conversions_in, places_of
from ..host_math import Symbols, math_shims
from ..reading import Reading
from ..shims import shimmed, under_any_name
from ..type_shim import type_shimmed
from .sizes import Sizes, symbolic


class Numbers(Sizes, Protocol):
    """What numbers ask of a recording."""

    reading: Reading

    def number(self, tensor: Any) -> Any:
        """The only element of a tensor as a symbolic number; the tensor where Python has to know it."""

    def length(self, tensor: Any) -> Any:
        """What ``len`` gives of a tensor; None of anything else."""


def symbols_of(trace: Numbers) -> Symbols:
    """The symbolic numbers of a trace."""

    def opened(operands: tuple[Any, ...]) -> tuple[Any, ...] | None:
        expressions = tuple(map(expression_of, operands))
        return expressions if all(isinstance(item, (Size, int, float)) for item in expressions) else None

    def made(function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        return symbolic(trace, computed(function, operands, trace.decide))

    return Symbols(is_symbolic, opened, made, trace.number)


@contextmanager
def numbers_seen(trace: Numbers, functions: Iterable[types.FunctionType]) -> Iterator[None]:
    """Inside of the block the code of these functions gets symbols from Python's functions of numbers."""
    symbols, functions = symbols_of(trace), list(functions)
    spaces = {id(function.__globals__): function.__globals__ for function in functions}.values()
    asked = [(function.__globals__, name) for function in functions for name in names_read(function.__code__)]
    with (
        shimmed(under_any_name((vars(math), *spaces), math_shims(symbols))),
        conversions_in(places_of(functions), symbols, trace.length),
        type_shimmed(asked, is_symbolic),
    ):
        yield
