"""Arrays that are as wide as the number of a step says, as whole arrays and the part of each axis that counts.

What stands beside this part is made harmless where it could do harm: before a sum it is 0, before a quotient 1. It is chosen by a mask, so
that no gradient flows through what does not count, were it infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import UnsupportedOperation
from ..ir.builder import Builder
from ..ir.node import Value
from ..ops.axes import WHOLE
from ..ops.bounds import nonnegative
from ..ops.dtypes import is_bool, is_integer
from ..ops.registry import ArraySpec, Unknown
from ..sizes import Apply, Size

FINITE = "finite"
Label = TypeVar("Label", bound=Hashable)


class NotWhole(UnsupportedOperation):
    """Something becomes of an array of changing width that a whole array has no part in."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Span:
    """The elements from ``low`` to ``high`` of an axis that has ``size`` elements."""

    low: Any
    high: Any
    size: Any

    @property
    def width(self) -> Any:
        """How many elements count."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Ragged:
    """Of ``full`` the elements that count: along each axis a span, or, where there is None, all.

    ``outside`` is what stands elsewhere: one number, ``FINITE`` numbers, or anything (None).
    """

    full: Value
    spans: tuple[Span | None, ...]
    outside: Any = None


def _bound(span: Span) -> Any:
    """What is behind the span. Of a slice that may be empty (``max(low, stop)``) the mask for ``low`` leaves out what is not behind."""
    alone = next(iter(span.high.atoms()), None) if isinstance(span.high, Size) else None
    if isinstance(alone, Apply) and alone.function == "max" and span.high == Size.of(alone) and span.low in alone.arguments:
        return next(item for item in alone.arguments if item != span.low)
    return span.high


class Agreed(Builder):
    """A builder for arrays whose sizes were found equal."""

    def settled(self, spec: ArraySpec) -> ArraySpec:
        """Sizes that have to be equal are the first one of them."""
        shape = (dim.if_equal[0] if isinstance(dim, Unknown) and dim.if_equal else dim for dim in spec.shape)
        return ArraySpec(tuple(shape), spec.dtype)


class Wide:
    """Writes whole arrays with ``build``. Masks are made once in a block, and known in the blocks inside.

    ``are_equal`` says whether two sizes are one, from here on perhaps under a guard; ``greatest`` gives no less than a size in any step.
    """

    def __init__(self, build: Builder, are_equal: Callable[[Any, Any], bool], greatest: Callable[[Any], Any]) -> None:
        self.build, self.are_equal, self.greatest = build, are_equal, greatest
        self.masks: dict[Any, Value] = {}

    def mask(self, spans: Sequence[Span | None]) -> Value | None:
        """Where the elements are that count; None where all do."""
        found: Value | None = None
        for axis, span in enumerate(spans):
            one = None if span is None else self._along(span, axis, len(spans))
            found = one if found is None else found if one is None else self.build.logical_and(found, one)
        return found

    def _along(self, span: Span, axis: int, rank: int) -> Value | None:
        if (span, axis, rank) not in self.masks:
            made = self._of(span)
            if made is None:
                return None
            key = (*(None,) * axis, WHOLE, *(None,) * (rank - axis - 1))
            self.masks[span, axis, rank] = self.build.getitem(made, key=key) if rank > 1 else made
        return self.masks[span, axis, rank]

    def _of(self, span: Span) -> Value | None:
        build = self.build
        places = build.arange(stop=span.size, dtype="int64")
        low = None if span.low == 0 else build.greater_equal(places, span.low)
        high = None if span.high == span.size else build.less(places, _bound(span))
        return high if low is None else low if high is None else build.logical_and(low, high)

    def chosen(self, spans: Sequence[Span | None], x: Any, other: Any) -> Value:
        """``x`` where the elements count, ``other`` elsewhere."""
        mask = self.mask(spans)
        made: Value = x if mask is None else self.build.where(mask, x, other)
        return made

    def filled(self, item: Any, number: Any) -> Any:
        """The whole array with a number in the place of what does not count; of other operands nothing is changed."""
        if not isinstance(item, Ragged):
            return item
        number = _typed(number, item.full.dtype)
        is_there = item.outside is not None and item.outside != FINITE and item.outside == number
        return item.full if is_there else self.chosen(item.spans, item.full, number)

    def harmless(self, item: Any, number: Any) -> Any:
        """The whole array as a function of elements takes it: no gradient goes to what does not count."""
        return self.filled(item, number)

    def finite(self, item: Any) -> Any:
        """The whole array, in which nothing is infinite that does not count."""
        return item.full if isinstance(item, Ragged) and item.outside is not None else self.harmless(item, 0)

    # ------------------------------------------------------------------------------ several arrays
    def together(self, operands: Sequence[Any], labels: Sequence[Sequence[Label]]) -> tuple[list[Any], Mapping[Label, Span]]:
        """Operands whose axes of one label stand side by side, and the spans of these: where one array begins elsewhere, its elements are
        moved."""
        found: dict[Label, Span] = {}
        for operand, own in zip(operands, labels):
            for label, span in zip(own, spans_of(operand)):
                if span is not None and not self.are_equal(found.setdefault(label, span).width, span.width):
                    raise NotWhole
        return [self.fitted(operand, [found.get(label) for label in own]) for operand, own in zip(operands, labels)], found

    def fitted(self, item: Any, spans: Sequence[Span | None]) -> Any:
        """An operand with its elements where the spans say; one that has a single element along an axis is repeated there."""
        for axis, span in enumerate(spans):
            own = spans_of(item)[axis]
            if span is None or own is None:
                if own is not None or (span is not None and (item.full if isinstance(item, Ragged) else item).shape[axis] != 1):
                    raise NotWhole
            elif not self._stand_alike(own, span):
                item = self._moved(item, axis, own, span)
        return item

    def _stand_alike(self, own: Span, span: Span) -> bool:
        """Whether two spans of one width begin at one place, of axes of one size."""
        return own == span or (own.low == span.low and self.are_equal(own.size, span.size))

    def _moved(self, item: Ragged, axis: int, own: Span, span: Span) -> Ragged:
        """The elements of an axis where another span says, with zeros beside the axis."""
        if not self.are_equal(own.width, span.width):
            raise NotWhole
        build, full = self.build, self.filled(item, 0)
        shape = (*full.shape[:axis], span.size, *full.shape[axis + 1 :])
        zeros = build.zeros(shape=shape, dtype=full.dtype)
        back, is_same = own.low - span.low, own.size == span.size
        before = [] if is_same and self._is_never_negative(back) else [zeros]
        behind = [] if is_same and self._is_never_negative(-back) else [zeros]
        first = span.size + back if before else back
        longer = build.concat(*before, full, *behind, axis=axis)
        moved = build.getitem(longer, key=(*(WHOLE,) * axis, (first, first + span.size, 1)))
        return Ragged(moved, (*item.spans[:axis], span, *item.spans[axis + 1 :]), FINITE)

    def _is_never_negative(self, size: Any) -> bool:
        most = self.greatest(-size)
        return most is not None and nonnegative(-most)

    def of(self, spans: Sequence[Span | None], full: Value, outside: Any = FINITE) -> Any:
        """What was made of ragged arrays; an array where all of it counts."""
        return Ragged(full, tuple(spans), outside) if any(span is not None for span in spans) else full


def spans_of(operand: Any) -> tuple[Span | None, ...]:
    """The spans of an operand; of a number there are none."""
    if isinstance(operand, Ragged):
        return operand.spans
    return (None,) * operand.ndim if isinstance(operand, Value) else ()


def turned(span: Span | None) -> Span | None:
    """The span of an axis that is read from its end."""
    return None if span is None else replace(span, low=span.size - span.high, high=span.size - span.low)


def _typed(number: Any, dtype: str) -> Any:
    """A number as arrays of a type have it."""
    return bool(number) if is_bool(dtype) else int(number) if is_integer(dtype) else float(number)
