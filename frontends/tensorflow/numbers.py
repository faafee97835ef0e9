"""Python's ``math``, ``int``, ``float``, ``len`` and ``type`` while a function of TensorFlow is recorded: sizes, and numbers that are read
from tensors, stay symbols."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Protocol

import tensorflow as tf

from ...sizes import Size, computed, expression_of, is_symbolic
from ...tracing.probes.builtin_names import conversions, looked_up, types_asked
from ...tracing.probes.host_math import Symbols
from ...tracing.probes.replaced import Place
from ...tracing.source.code_names import names_read
from ..reading import Reading
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

    asked = (is_symbolic, opened, made, trace.number, trace.length)  # by shims that AutoGraph rewrites: it knows ``int`` inside of them
    return Symbols(*map(tf.autograph.experimental.do_not_convert, asked))


def number_shims(symbols: Symbols, functions: list[types.FunctionType]) -> list[Place]:
    """Where the code of these functions gets symbols from Python's functions of numbers."""
    asked = [(function.__globals__, name) for function in functions for name in names_read(function.__code__)]
    return [*conversions(looked_up(functions), symbols), *types_asked(asked, is_symbolic)]
