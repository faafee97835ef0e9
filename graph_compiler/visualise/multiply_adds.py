"""Numbers of multiply-adds per operation, at the sizes of the recording.

Elementwise operations, reductions, normalisations and lookups count 0, as is usual when models are
compared. Loops count all iterations. Branches count as the most expensive one.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from ..ir.node import Node, Value
from ..sizes import hint_of

Shape = tuple[int, ...]


def _attention(out: Shape, query: Shape, key: Shape, value: Shape, *rest: Shape, **params: Any) -> int:
    return math.prod(out[:-1]) * key[-2] * (query[-1] + value[-1])


def _recurrent(out: Shape, x: Shape, hidden: Shape, ih: Shape, hh: Shape, *rest: Any, **params: Any) -> int:
    return _steps(x, ih, hh)


def _steps(x: Shape, *weights: Shape) -> int:
    return math.prod(x[:-1]) * sum(map(math.prod, weights))


def _multi_dot(out: Shape, *shapes: Shape) -> int:
    """Return the count for the cheapest order of products."""
    first, *_, end = shapes
    sizes = [
        first[0] if len(first) == 2 else 1,
        *(shape[-1] for shape in shapes[:-1]),
        end[1] if len(end) == 2 else 1,
    ]

    @functools.cache
    def least(i: int, j: int) -> int:
        return min(
            (least(i, k) + least(k, j) + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j)), default=0
        )

    return least(0, len(shapes))


def _einsum(out: Shape, *shapes: Shape, equation: str) -> int:
    """Return the count for contracting pairs from the left, summing labels as soon as possible."""
    left, _, result = equation.replace(" ", "").partition("->")
    terms = [_labels(term, len(shape)) for term, shape in zip(left.split(","), shapes)]
    sizes = {
        label: max(size, 1)
        for term, shape in zip(terms, shapes)
        # An axis of size 1 broadcasts, so the largest size of a label counts.
        for label, size in sorted(zip(term, shape), key=lambda pair: pair[1])
    }
    kept, total = set(terms[0]), 0
    for number, term in enumerate(terms[1:], 1):
        both = kept | set(term)
        total += math.prod(sizes[label] for label in both)
        kept = both & {*itertools.chain(*terms[number + 1 :]), *_labels(result, len(out))}
    return total


def _labels(term: str, ndim: int) -> list[str]:
    """Return the labels of the axes. Axes of ``...`` are numbered from the right."""
    before, dots, after = term.partition("...")
    return (
        [*before, *(f"...{place}" for place in range(ndim - len(before) - len(after), 0, -1)), *after]
        if dots
        else [*term]
    )


RULES: dict[str, Callable[..., int]] = {
    "linear": lambda out, x, weight, *rest: math.prod(out) * weight[-1],
    "bilinear": lambda out, x1, x2, weight, *rest: math.prod(out) * weight[-1] * weight[-2],
    "grouped_matmul": lambda out, x, weight, *rest: math.prod(x) * weight[-1],
    "matmul": lambda out, x1, x2: math.prod(out) * x1[-1],
    "conv": lambda out, x, weight, *rest, **params: math.prod(out) * math.prod(weight[1:]),
    "conv_channels_last": lambda out, x, kernel, *rest, **params: math.prod(out) * math.prod(kernel[:-1]),
    "conv_transpose": lambda out, x, weight, *rest, **params: math.prod(x) * math.prod(weight[1:]),
    "scaled_dot_product_attention": _attention,
    "lstm": lambda out, x, h, c, ih, hh, b=None, d=None, hr=None, *rest, **params: _steps(
        x, ih, hh, *((hr,) if hr else ())
    ),
    "gru": _recurrent,
    "rnn": _recurrent,
    "tensordot": lambda out, x1, x2, *, axes: math.prod(out) * math.prod(x1[axis] for axis in axes[0]),
    "vecdot": lambda out, x1, x2, *, axis=-1: math.prod(out) * x1[axis],
    "inner": lambda out, x1, x2: math.prod(out) * (x1[-1] if x1 and x2 else 1),
    "multi_dot": _multi_dot,
    "einsum": _einsum,
}


def multiply_adds(node: Node) -> int | None:
    """Return the count of a canonical operation, 0 if it contains no products.

    Return None for a `while_loop` with products, and for an operation that contains one, because its trip
    count depends on data.
    """
    if node.regions:
        return _of_blocks(node)
    rule = RULES.get(node.op)
    return rule(node.outputs[0].spec.hints, *_shapes(node.inputs), **node.params) if rule else 0


def _of_blocks(node: Node) -> int | None:
    each = [_sum(map(multiply_adds, region.block.nodes)) for region in node.regions]
    if node.op == "while_loop":
        return 0 if not any(each) and None not in each else None
    if node.op == "custom_derivative":
        # The first region is the function. The others only compute derivatives.
        return each[0]
    if None in each:
        return None
    return int(max(count or 0 for count in each) * _times(node))


def _times(node: Node) -> Fraction:
    """Return how often the regions of a node run.

    Those of `associative_scan` combine many pairs at once, so the result may be a fraction.
    """
    if node.op != "associative_scan":
        return Fraction(hint_of(node.params.get("length", 1)))
    axis, pair = node.params["axis"], node.regions[0].block.inputs[0]
    elements: int = node.outputs[0].spec.hints[axis]
    # Elements are first combined in pairs, then those at even indices with the results.
    combined = max(2 * elements - elements.bit_length() - 1, 0)
    return Fraction(combined, max(pair.spec.hints[axis], 1))


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _shapes(inputs: Iterable[Any]) -> Sequence[Any]:
    return [item.spec.hints if isinstance(item, Value) else None for item in inputs]
