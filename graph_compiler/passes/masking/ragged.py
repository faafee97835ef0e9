"""Padded arrays for axes whose size depends on a loop index, with the span of valid elements per axis.

Padding is replaced by harmless values where it could affect a result: by 0 before a sum, by 1 before a
quotient. The replacement is a ``where`` under a mask, whose gradient in the padding is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, Protocol, TypeVar

from ...errors import UnsupportedOperation
from ...ir.builder import Builder
from ...ir.node import Node, Value
from ...ops.axes import FULL_SLICE
from ...ops.dtypes import is_bool, is_floating, is_integer
from ...ops.registry import ArraySpec, Unknown
from ...ops.rules import nonnegative, normalise_axes, position
from ...sizes import Apply, Size, product

FINITE = "finite"
Label = TypeVar("Label", bound=Hashable)


class CannotPad(UnsupportedOperation):
    """Error for an operation on an array of changing size that has no equivalent on a padded array."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Span:
    """Range of the valid elements of a padded axis.

    low: index where the valid elements begin.
    high: index after their end.
    size: length of the axis, with the padding.
    """

    low: Any
    high: Any
    size: Any

    @property
    def width(self) -> Any:
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class PaddedArray:
    """Padded array: the elements of ``full`` inside ``spans`` are valid, the rest is padding.

    spans: one per axis of the represented array; None for an axis that needs no mask.
    padding: contents of the padding: a number if its elements equal it, ``FINITE`` if they are taken to be
        finite, or None if they are unknown.
    """

    full: Value
    spans: tuple[Span | None, ...]
    padding: Any = None


def _bound(span: Span) -> Any:
    """Return an upper bound for the mask of a span: its ``high``, or a simpler size that serves as well."""
    # For a slice that may be empty, with ``high = max(low, stop)``, ``stop`` suffices, because the mask for
    # ``low`` already excludes the elements before ``low``.
    alone = next(iter(span.high.atoms()), None) if isinstance(span.high, Size) else None
    if (
        isinstance(alone, Apply)
        and alone.function == "max"
        and span.high == Size.of(alone)
        and span.low in alone.arguments
    ):
        return next(item for item in alone.arguments if item != span.low)
    return span.high


class EqualSizesBuilder(Builder):
    """Builder that assumes that the sizes in ``Unknown.if_equal`` are equal.

    Sizes that were at most 1 while recording stay unknown, because another call may broadcast them.
    """

    def settled(self, spec: ArraySpec) -> ArraySpec:
        shape = (
            dim.if_equal[0] if isinstance(dim, Unknown) and dim.if_equal and dim.hint > 1 else dim
            for dim in spec.shape
        )
        return ArraySpec(tuple(shape), spec.dtype)


class PaddedBuilder:
    """Builder of operations on padded arrays (:class:`PaddedArray`), with masks for the padding.

    build: builder of the nodes.
    masks: cache of masks, for the current block.
    are_equal(a, b): True if two sizes are known to be equal in every iteration. It may add a guard.
    upper_bound(size): an upper bound of a size over all iterations; None if none is known.
    """

    def __init__(
        self, build: Builder, are_equal: Callable[[Any, Any], bool], upper_bound: Callable[[Any], Any]
    ) -> None:
        self.build, self.are_equal, self.upper_bound = build, are_equal, upper_bound
        self.masks: dict[Any, Value] = {}

    def mask(self, spans: Sequence[Span | None]) -> Value | None:
        """Return a boolean array that is True for valid elements; None if all are known to be valid.

        The mask broadcasts to the full array.
        """
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
            key = (*(None,) * axis, FULL_SLICE, *(None,) * (rank - axis - 1))
            self.masks[span, axis, rank] = self.build.getitem(made, key=key) if rank > 1 else made
        return self.masks[span, axis, rank]

    def _of(self, span: Span) -> Value | None:
        build = self.build
        places = build.arange(stop=span.size, dtype="int64")
        low = None if span.low == 0 else build.greater_equal(places, span.low)
        high = None if span.high == span.size else build.less(places, _bound(span))
        return high if low is None else low if high is None else build.logical_and(low, high)

    def where(self, spans: Sequence[Span | None], x: Any, other: Any) -> Value:
        mask = self.mask(spans)
        made: Value = x if mask is None else self.build.where(mask, x, other)
        return made

    def fill_padding(self, item: Any, number: Any) -> Any:
        if not isinstance(item, PaddedArray):
            return item
        number = _typed(number, item.full.dtype)
        is_there = item.padding is not None and item.padding != FINITE and item.padding == number
        return item.full if is_there else self.where(item.spans, item.full, number)

    def harmless(self, item: Any, number: Any) -> Any:
        return self.fill_padding(item, number)

    def finite(self, item: Any) -> Any:
        return (
            item.full
            if isinstance(item, PaddedArray) and item.padding is not None
            else self.harmless(item, 0)
        )

    # ------------------------------------------------------------------------------ several arrays
    def align(
        self, operands: Sequence[Any], labels: Sequence[Sequence[Label]]
    ) -> tuple[list[Any], Mapping[Label, Span]]:
        """Align operands along axes that have equal labels, and return them with the spans by label.

        ``labels`` has a label for each axis of each operand. Raise ``CannotPad`` if they cannot be aligned.
        """
        found: dict[Label, Span] = {}
        for operand, own in zip(operands, labels):
            for label, span in zip(own, spans_of(operand)):
                if span is not None and not self.are_equal(found.setdefault(label, span).width, span.width):
                    raise CannotPad
        return [
            self.move_to(operand, [found.get(label) for label in own])
            for operand, own in zip(operands, labels)
        ], found

    def move_to(self, item: Any, spans: Sequence[Span | None]) -> Any:
        """Return ``item`` with its valid elements moved to ``spans``.

        Raise ``CannotPad`` if the elements cannot be moved.
        """
        for axis, span in enumerate(spans):
            own = spans_of(item)[axis]
            if span is None or own is None:
                if own is not None or (
                    span is not None
                    and (item.full if isinstance(item, PaddedArray) else item).shape[axis] != 1
                ):
                    raise CannotPad
            elif not self._stand_alike(own, span):
                item = self._moved(item, axis, own, span)
        return item

    def _stand_alike(self, own: Span, span: Span) -> bool:
        return own == span or (own.low == span.low and self.are_equal(own.size, span.size))

    def _moved(self, item: PaddedArray, axis: int, own: Span, span: Span) -> PaddedArray:
        """Shift the elements of an axis from the span ``own`` to ``span``, with zeros in the padding."""
        if not self.are_equal(own.width, span.width):
            raise CannotPad
        build, full = self.build, self.fill_padding(item, 0)
        shape = (*full.shape[:axis], span.size, *full.shape[axis + 1 :])
        zeros = build.zeros(shape=shape, dtype=full.dtype)
        back, is_same = own.low - span.low, own.size == span.size
        before = [] if is_same and self._is_never_negative(back) else [zeros]
        behind = [] if is_same and self._is_never_negative(-back) else [zeros]
        first = span.size + back if before else back
        longer = build.concat(*before, full, *behind, axis=axis)
        moved = build.getitem(longer, key=(*(FULL_SLICE,) * axis, (first, first + span.size, 1)))
        return PaddedArray(moved, (*item.spans[:axis], span, *item.spans[axis + 1 :]), FINITE)

    def _is_never_negative(self, size: Any) -> bool:
        most = self.upper_bound(-size)
        return most is not None and nonnegative(-most)

    def of(self, spans: Sequence[Span | None], full: Value, padding: Any = FINITE) -> Any:
        return PaddedArray(full, tuple(spans), padding) if any(span is not None for span in spans) else full


def spans_of(operand: Any) -> tuple[Span | None, ...]:
    if isinstance(operand, PaddedArray):
        return operand.spans
    return (None,) * operand.ndim if isinstance(operand, Value) else ()


def flip_span(span: Span | None) -> Span | None:
    return None if span is None else replace(span, low=span.size - span.high, high=span.size - span.low)


def _typed(number: Any, dtype: str) -> Any:
    return bool(number) if is_bool(dtype) else int(number) if is_integer(dtype) else float(number)


class LoopIndexSizes(Protocol):
    """Source of bounds for sizes that depend on loop indices."""

    def reads_changing_number(self, size: Any) -> bool:
        """Return True if ``size`` is read from a number that may change between iterations."""

    def upper_bound(self, size: Any) -> Any:
        """Return an upper bound of ``size`` over all iterations; None if none is known."""

    def is_nonempty(self, width: Any) -> bool:
        """Return True if ``width`` is known to be at least 1 in every iteration. May add a guard."""


class PaddedRewrite:
    """Node to be rewritten for padded arrays.

    padded: builder of the new operations.
    operands: the replacements of the node's operands: values, padded arrays and numbers.
    steps: bounds of sizes that depend on loop indices.
    """

    def __init__(
        self, padded: PaddedBuilder, node: Node, operands: Sequence[Any], steps: LoopIndexSizes
    ) -> None:
        self.padded, self.build, self.node, self.params = padded, padded.build, node, node.params
        self.operands, self.steps = list(operands), steps

    def again(self, operands: Sequence[Any], **params: Any) -> Any:
        return getattr(self.build, self.node.op)(*operands, **{**self.params, **params})

    def require_elements(self, spans: Sequence[Span | None]) -> None:
        if not all(self.steps.is_nonempty(span.width) for span in spans if span is not None):
            raise CannotPad

    def span_of(self, width: Any) -> Span | None:
        """Return a span with ``width`` valid elements; None if ``width`` is the same in all iterations.

        Raise ``CannotPad`` if ``width`` may change and no upper bound is known.
        """
        if not self.steps.reads_changing_number(width):
            return None
        if (most := self.steps.upper_bound(width)) is None:
            raise CannotPad
        return Span(0, width, most)


Row = Callable[[PaddedRewrite], Any]


def _creation(rewrite: PaddedRewrite) -> Any:
    spans = [rewrite.span_of(size) for size in rewrite.params["shape"]]
    return rewrite.padded.of(
        spans, rewrite.again(rewrite.operands, shape=_full(rewrite.params["shape"], spans))
    )


def _full(shape: Sequence[Any], spans: Sequence[Span | None]) -> tuple[Any, ...]:
    return tuple(size if span is None else span.size for size, span in zip(shape, spans))


def _arange(rewrite: PaddedRewrite) -> Any:
    start, step = rewrite.params["start"], rewrite.params["step"]
    (span,) = map(rewrite.span_of, rewrite.node.outputs[0].shape)
    if span is None:
        return rewrite.again(())
    places: Any = rewrite.build.arange(stop=span.size, dtype=rewrite.params["dtype"])
    places = places if step == 1 else rewrite.build.multiply(places, step)
    return rewrite.padded.of([span], places if start == 0 else rewrite.build.add(places, start))


def _broadcast_to(rewrite: PaddedRewrite) -> Any:
    (x,), shape = rewrite.operands, rewrite.params["shape"]
    own = (*(None,) * (len(shape) - len(spans_of(x))), *spans_of(x))
    spans = [rewrite.span_of(size) if span is None else span for size, span in zip(shape, own)]
    if not all(
        rewrite.padded.are_equal(span.width, size) for size, span in zip(shape, spans) if span is not None
    ):
        raise CannotPad
    x = rewrite.padded.move_to(x, spans[len(shape) - len(spans_of(x)) :])
    made = rewrite.again([x.full if isinstance(x, PaddedArray) else x], shape=_full(shape, spans))
    return rewrite.padded.of(
        spans, made, x.padding if isinstance(x, PaddedArray) and list(own) == spans else None
    )


# ------------------------------------------------------------------------------------- elementwise operations
def _labels(operands: Sequence[Any], rank: int) -> list[range]:
    return [range(rank - len(spans_of(operand)), rank) for operand in operands]


def _by_element(rewrite: PaddedRewrite) -> Any:
    """Apply an elementwise operation for which finite elements in the padding suffice."""
    rank = rewrite.node.outputs[0].ndim
    operands, found = rewrite.padded.align(rewrite.operands, _labels(rewrite.operands, rank))
    made = rewrite.again([rewrite.padded.finite(operand) for operand in operands])
    return rewrite.padded.of([found.get(axis) for axis in range(rank)], made)


def _safe_by_element(rewrite: PaddedRewrite, safe: tuple[float, ...]) -> Any:
    """Apply an elementwise operation whose result and gradients are finite for the operands ``safe``."""
    rank, padded = rewrite.node.outputs[0].ndim, rewrite.padded
    operands, found = padded.align(rewrite.operands, _labels(rewrite.operands, rank))
    spans = [found.get(axis) for axis in range(rank)]
    chosen = [_safe(padded, operand, spans, number) for operand, number in zip(operands, safe)]
    return padded.of(spans, rewrite.again([*chosen, *operands[len(chosen) :]]))


def _safe(padded: PaddedBuilder, operand: Any, spans: Sequence[Span | None], number: float) -> Any:
    if isinstance(operand, PaddedArray) and all(
        own is not None for own, span in zip(operand.spans, spans) if span is not None
    ):
        return padded.harmless(operand, number)
    if not isinstance(operand, (PaddedArray, Value)):
        return operand
    full = padded.finite(operand)
    return padded.harmless(PaddedArray(full, tuple(spans)), number)


# ------------------------------------------------------------------------------------------------------- axes
def _getitem(rewrite: PaddedRewrite) -> Any:
    (x,), spans = rewrite.operands, iter(spans_of(rewrite.operands[0]))
    full = x.full if isinstance(x, PaddedArray) else x
    sizes = iter(full.shape)
    key: list[Any] = []
    kept: list[Span | None] = []
    for item in rewrite.params["key"]:
        if item is None:
            key.append(None)
            kept.append(None)
            continue
        still, span = _item(rewrite, item, next(spans), next(sizes))
        key.append(still)
        if isinstance(still, tuple):
            kept.append(span)
    made = full if all(item == FULL_SLICE for item in key) else rewrite.again([full], key=tuple(key))
    return rewrite.padded.of([*kept, *spans], made, x.padding if isinstance(x, PaddedArray) else None)


def _item(rewrite: PaddedRewrite, item: Any, own: Span | None, size: Any) -> tuple[Any, Span | None]:
    """Return the new item of a key, and the span of the axis in the result, if it has one.

    ``own`` is the span of the indexed axis, or None if all its ``size`` elements are valid.
    """
    if not isinstance(item, tuple):
        # A negative index counts from the last valid element, not from the end of the padding.
        is_behind = isinstance(item, int) and item < 0
        return (item if own is None else item + (own.high if is_behind else own.low)), None
    if item == FULL_SLICE:
        return item, own
    inside = Span(0, size, size) if own is None else own
    low, high = (
        inside.low + position(bound, inside.width, absent)
        for bound, absent in ((item[0], 0), (item[1], inside.width))
    )
    if not rewrite.steps.reads_changing_number(high - low):
        return (item, None) if own is None else ((low, high, item[2]), None)
    if item[2] != 1:
        raise CannotPad
    return FULL_SLICE, Span(low, high, size)


def _setitem(rewrite: PaddedRewrite) -> Any:
    """Write a value to the elements of an unpadded array that a key selects.

    A slice whose length depends on the loop index is replaced by the whole axis; elements outside of the
    slice keep their old values.
    """
    x, value = rewrite.operands
    if isinstance(x, PaddedArray):
        raise CannotPad
    keep, sizes = [], iter(x.shape)
    for item in rewrite.params["key"]:
        keep.append((None, None) if item is None else _item(rewrite, item, None, next(sizes)))
    key = tuple(still for still, _ in keep)
    part = x if all(still == FULL_SLICE for still in key) else rewrite.build.getitem(x, key=key)
    spans = [span for still, span in keep if still is None or isinstance(still, tuple)]
    spans += [None] * (part.ndim - len(spans))
    value = rewrite.padded.move_to(value, spans[len(spans) - len(spans_of(value)) :])
    written = rewrite.padded.where(spans, value.full if isinstance(value, PaddedArray) else value, part)
    return written if part is x else rewrite.build.setitem(x, written, key=key)


def _flip(rewrite: PaddedRewrite) -> Any:
    (x,) = rewrite.operands
    axes = normalise_axes(rewrite.params["axis"], len(x.spans))
    spans = [flip_span(span) if axis in axes else span for axis, span in enumerate(x.spans)]
    return rewrite.padded.of(spans, rewrite.again([x.full]), x.padding)


def _permuted(rewrite: PaddedRewrite) -> Any:
    (x,) = rewrite.operands
    return rewrite.padded.of(
        [x.spans[axis] for axis in rewrite.params["axes"]], rewrite.again([x.full]), x.padding
    )


def _reshaped(rewrite: PaddedRewrite) -> Any:
    """Insert and remove axes of size 1; raise ``CannotPad`` if the reshape changes other axes."""
    (x,), shape = rewrite.operands, rewrite.params["shape"]
    old = rewrite.node.inputs[0].shape
    left = [(size, span) for size, span in zip(x.full.shape, x.spans) if size != 1 or span is not None]
    if [size for size in old if size != 1] != [size for size in shape if size != 1] or len(left) != sum(
        size != 1 for size in shape
    ):
        raise CannotPad
    places = iter(left)
    parts = [(1, None) if size == 1 else next(places) for size in shape]
    made = rewrite.again([x.full], shape=tuple(size for size, _ in parts))
    return rewrite.padded.of([span for _, span in parts], made, x.padding)


def _copied(rewrite: PaddedRewrite) -> Any:
    (x,) = rewrite.operands
    return rewrite.padded.of(x.spans, rewrite.again([x.full]), None if x.padding is None else FINITE)


# ------------------------------------------------------------------------------------------ sums and products
def _reduced(rewrite: PaddedRewrite, neutral: Callable[[str], Any], needs_one: bool = False) -> Any:
    """Reduce the full array, with the identity element of the reduction in the padding.

    With ``needs_one``, raise ``CannotPad`` if a reduced axis may have no valid element.
    """
    (x,) = rewrite.operands
    axes = normalise_axes(rewrite.params["axis"], len(x.spans))
    if needs_one:
        rewrite.require_elements([x.spans[axis] for axis in axes])
    made = rewrite.again([rewrite.padded.fill_padding(x, neutral(x.full.dtype))])
    # The extreme of padding alone is infinite.
    return rewrite.padded.of(_left(rewrite, x, axes), made, None if needs_one else FINITE)


def _left(rewrite: PaddedRewrite, x: PaddedArray, axes: Sequence[int]) -> list[Span | None]:
    if rewrite.params["keepdims"]:
        return [None if axis in axes else span for axis, span in enumerate(x.spans)]
    return [span for axis, span in enumerate(x.spans) if axis not in axes]


def _mean(rewrite: PaddedRewrite) -> Any:
    (x,) = rewrite.operands
    axes = normalise_axes(rewrite.params["axis"], len(x.spans))
    count = product(rewrite.node.inputs[0].shape[axis] for axis in axes)
    # The padding must not count in the divisor.
    total = rewrite.build.sum(rewrite.padded.fill_padding(x, 0), dtype=x.full.dtype, **rewrite.params)
    spans = _left(rewrite, x, axes)
    return rewrite.padded.of(spans, rewrite.build.divide(total, count), None)


def _norm(rewrite: PaddedRewrite) -> Any:
    if rewrite.params["ord"] <= 0:
        raise CannotPad
    return _reduced(rewrite, lambda dtype: 0)


def _place(rewrite: PaddedRewrite, neutral: Callable[[str], Any]) -> Any:
    """Compute ``argmax`` or ``argmin``, with the index counted from the first valid element."""
    (x,), axis = rewrite.operands, rewrite.params["axis"]
    if axis is None:
        if len(x.spans) > 1:
            raise CannotPad
        axis = 0
    span = x.spans[axis]
    if span is None:
        return _reduced(rewrite, neutral)
    rewrite.require_elements([span])
    made, build = rewrite.again([rewrite.padded.fill_padding(x, neutral(x.full.dtype))]), rewrite.build
    # If all valid elements equal the neutral value, the index may lie in the padding.
    inside = build.minimum(build.maximum(made, span.low), span.high - 1)
    return rewrite.padded.of(_left(rewrite, x, [axis]), build.subtract(inside, span.low))


def _running(rewrite: PaddedRewrite, neutral: float) -> Any:
    (x,) = rewrite.operands
    return rewrite.padded.of(x.spans, rewrite.again([rewrite.padded.fill_padding(x, neutral)]))


def _contracted(rewrite: PaddedRewrite, labels: Sequence[Sequence[Any]], result: Sequence[Any]) -> Any:
    operands, found = rewrite.padded.align(rewrite.operands, labels)
    filled, build = [rewrite.padded.fill_padding(operand, 0) for operand in operands], rewrite.build
    is_of_vectors = not result and list(map(len, labels)) == [1, 1]
    if is_of_vectors and (is_floating(filled[0].dtype) or is_integer(filled[0].dtype)):
        return build.sum(build.multiply(*filled), dtype=filled[0].dtype)
    spans = [found.get(label) for label in result]
    summed = [_summed(operand, own, result) for operand, own in zip(operands, labels)]
    if summed == operands or not is_floating(filled[0].dtype):
        return rewrite.padded.of(spans, rewrite.again(filled))
    made = rewrite.again([rewrite.padded.fill_padding(operand, 0) for operand in summed])
    ones = build.ones(shape=made.shape, dtype=made.dtype)
    return rewrite.padded.of(spans, build.with_gradient(made, rewrite.again(filled), ones), None)


def _summed(operand: Any, own: Sequence[Any], result: Sequence[Any]) -> Any:
    # Padding along these axes only affects padding of the result. The caller takes gradients of the fully
    # masked operands instead, because a cotangent of 0 would be multiplied by the padding, which may be
    # infinite.
    if not isinstance(operand, PaddedArray) or len(own) <= len(result) or operand.padding == 0:
        return operand
    return replace(
        operand, spans=tuple(None if label in result else span for label, span in zip(own, operand.spans))
    )


def _matmul(rewrite: PaddedRewrite) -> Any:
    ranks = [len(spans_of(operand)) for operand in rewrite.operands]
    batches = [tuple(range(2 - rank, 0)) for rank in ranks]
    left = (*batches[0], *(("row", "sum") if ranks[0] > 1 else ("sum",)))
    right = (*batches[1], *(("sum", "column") if ranks[1] > 1 else ("sum",)))
    result = (
        *max(batches, key=len),
        *(("row",) if ranks[0] > 1 else ()),
        *(("column",) if ranks[1] > 1 else ()),
    )
    return _contracted(rewrite, (left, right), result)


def _outer(rewrite: PaddedRewrite) -> Any:
    return _contracted(rewrite, (("row",), ("column",)), ("row", "column"))


def _vecdot(rewrite: PaddedRewrite) -> Any:
    rank = max(len(spans_of(operand)) for operand in rewrite.operands)
    gone = rewrite.params["axis"] % rank
    labels = _labels(rewrite.operands, rank)
    return _contracted(rewrite, labels, [axis for axis in range(rank) if axis != gone])


def _tensordot(rewrite: PaddedRewrite) -> Any:
    pairs = [dict(zip(axes, range(len(axes)))) for axes in rewrite.params["axes"]]
    labels = [
        [places.get(axis, (side, axis)) for axis in range(len(spans_of(operand)))]
        for side, (operand, places) in enumerate(zip(rewrite.operands, pairs))
    ]
    return _contracted(
        rewrite, labels, [label for own in labels for label in own if isinstance(label, tuple)]
    )


def _einsum(rewrite: PaddedRewrite) -> Any:
    given, result = rewrite.params["equation"].split("->")
    labels = given.split(",")
    if "." in given or any(len(set(own)) < len(own) for own in labels):
        raise CannotPad
    return _contracted(rewrite, labels, result)


# -------------------------------------------------------------------------------------------- neutral numbers
def _always(number: float) -> Callable[[str], Any]:
    return lambda dtype: number


def _end(dtype: str, sign: int) -> Any:
    """Return the greatest value of an integer or floating-point dtype, or with ``sign`` -1 the least."""
    if is_floating(dtype):
        return sign * inf
    if not is_integer(dtype):
        raise CannotPad
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    least, greatest = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return greatest if sign > 0 else least


_GENTLE = (
    "abs", "add", "atan", "asinh", "bitwise_and", "bitwise_invert", "bitwise_or", "bitwise_xor", "ceil",
    "clip", "conj", "copysign", "cos", "equal", "erf", "floor", "fmax", "fmin", "greater", "greater_equal",
    "hard_tanh", "imag", "isfinite", "isinf", "isnan", "leaky_relu", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "not_equal",
    "positive", "real", "relu", "round", "sigmoid", "sign", "signbit", "silu", "sin", "softplus", "square",
    "stop_gradient", "subtract", "tanh", "trunc", "where",
)  # fmt: skip
"""Elementwise operations with finite results and derivatives for finite operands, apart from overflow."""

_SAFE: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "acosh"), (2,)),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh", "tan", "asin", "acos", "atanh"), (0,)),
    **dict.fromkeys(
        ("divide", "pow", "floor_divide", "remainder", "fmod", "trunc_divide", "hypot", "atan2"), (1, 1)
    ),
    **dict.fromkeys(("logaddexp", "logaddexp2"), (0, 0)),
}
"""Elementwise operations with operands for which their results and derivatives are finite."""

BY_ELEMENT = frozenset((*_GENTLE, *_SAFE, "copy", "astype"))
"""Operations in ``ROWS`` that compute each element from the same element of their operands."""

ROWS: Mapping[str, Row] = {
    **dict.fromkeys(_GENTLE, _by_element),
    **{name: partial(_safe_by_element, safe=safe) for name, safe in _SAFE.items()},
    **dict.fromkeys(("sum", "count_nonzero", "any"), partial(_reduced, neutral=_always(0))),
    **dict.fromkeys(("prod", "all"), partial(_reduced, neutral=_always(1))),
    "max": partial(_reduced, neutral=partial(_end, sign=-1), needs_one=True),
    "min": partial(_reduced, neutral=partial(_end, sign=1), needs_one=True),
    "argmax": partial(_place, neutral=partial(_end, sign=-1)),
    "argmin": partial(_place, neutral=partial(_end, sign=1)),
    "mean": _mean,
    "vector_norm": _norm,
    "cumulative_sum": partial(_running, neutral=0),
    "cumulative_prod": partial(_running, neutral=1),
    "matmul": _matmul,
    "outer": _outer,
    "vecdot": _vecdot,
    "tensordot": _tensordot,
    "einsum": _einsum,
    **dict.fromkeys(("zeros", "ones", "full"), _creation),
    "arange": _arange,
    "broadcast_to": _broadcast_to,
    "getitem": _getitem,
    "setitem": _setitem,
    "flip": _flip,
    "permute_dims": _permuted,
    "reshape": _reshaped,
    "copy": _copied,
    "astype": _copied,
}
