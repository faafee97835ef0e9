"""What a frontend noted of a call that it recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .node import Value


class Extra(Protocol):
    """What one frontend alone notes of its calls, in a class of its own."""

    def mapped(self, function: Callable[[Any], Any]) -> Extra:
        """The same with ``function`` applied to the nested arguments in it, which may hold values."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """The properties of a recorded call that its name and arguments do not tell. A node of a canonical graph has none.

    ``key`` is the bare name of the call, by which the lifting table has its row. ``result`` is the structure that the call returned, with
    values in the place of arrays; it is None where it returned no array.

    ``writes`` are the values whose memory the call writes to, and ``views`` gives, for the index of an output that shares memory with an
    operand, this operand.
    """

    key: str = ""
    result: Any = None
    writes: tuple[Value, ...] = ()
    views: Mapping[int, Value] = field(default_factory=dict)
    random: bool = False  # it draws from a generator, and so advances it
    no_grad: bool = False  # it was made with gradients switched off
    aside: bool = False  # it writes elements, and leaves the gradients of the memory as they are
    strided: bool = False  # it reads the memory of a view by strides, which no other framework can
    itself: bool = False  # it returned its first operand
    wide: bool = False  # integers beyond the range of int32 came up in it
    weak: bool = (
        False  # numbers of Python (numpy) or weakly typed arrays (JAX), which take the dtype of the arrays beside them, come up in it
    )
    read: bool = False  # its result is a number that Python has read from an array, or computed from such
    errstate: tuple[tuple[str, str], ...] = ()  # how floating-point errors are treated, where it is not the default
    extra: Extra | None = None

    def mapped(self, function: Callable[[Any], Any]) -> CallRecord:
        """The record with ``function`` applied to the nested arguments in it."""
        return replace(
            self,
            result=function(self.result),
            writes=function(self.writes),
            views=function(self.views),
            extra=None if self.extra is None else self.extra.mapped(function),
        )
