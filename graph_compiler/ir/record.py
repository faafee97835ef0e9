"""Properties of a recorded call beyond its name and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .node import Value


class Extra(Protocol):
    """Properties of recorded calls that only one frontend needs."""

    def mapped(self, function: Callable[[Any], Any]) -> Extra:
        """Return a copy with `function` applied to the nested arguments in it."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Properties of a recorded call that its name and arguments do not show. Nodes of canonical graphs have
    none.

    key: name of the call without its module, under which the lifting table lists its row.
    result: structure that the call returned, with values instead of arrays; None if it returned no array.
    writes: values whose memory the call writes to.
    views: operand that an output aliases, by the index of the output.
    random: True if it advances a random generator.
    no_grad: True if gradients were disabled.
    aside: True if it writes elements without affecting gradients, as writes to `tensor.data` do.
    strided: True if it reads the storage of a view by strides, which other frameworks cannot.
    itself: True if it returned its first operand.
    wide: True if integers outside of the range of int32 occurred in it.
    weak: True if Python numbers (numpy) or weakly typed arrays (JAX), which adopt the dtype of other
        operands, occur in it.
    read: True if its result is a number that Python read from an array, or was computed from one.
    errstate: settings of `numpy.errstate` that differ from the default.
    extra: properties that only this frontend needs.
    """

    key: str = ""
    result: Any = None
    writes: tuple[Value, ...] = ()
    views: Mapping[int, Value] = field(default_factory=dict)
    random: bool = False
    no_grad: bool = False
    aside: bool = False
    strided: bool = False
    itself: bool = False
    wide: bool = False
    weak: bool = False
    read: bool = False
    errstate: tuple[tuple[str, str], ...] = ()
    extra: Extra | None = None

    def mapped(self, function: Callable[[Any], Any]) -> CallRecord:
        """Return a copy with `function` applied to the nested arguments in it."""
        return replace(
            self,
            result=function(self.result),
            writes=function(self.writes),
            views=function(self.views),
            extra=None if self.extra is None else self.extra.mapped(function),
        )
