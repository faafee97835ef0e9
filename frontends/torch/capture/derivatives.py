"""Sizes that reach kernels of torch's derivatives as plain numbers, told by the autograd node that runs.

The rules follow torch's tools/autograd/derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from ....errors import Signal
from ....ir.node import Node, Value
from ....sizes import Size, hint_of, hints, product
from ....trees import iterate_structure
from ..sizes import symbolic
from .running import RunningTrace
from .unrecorded import guard_equal, guard_lengths, merged_sizes, shape_of

Shape = tuple[Any, ...]

# Nodes whose derivatives pass numbers that depend on sizes at most to kernels in ``RULES``, named as torch
# names them, without "Backward" and number.
_PLAIN = frozenset({
    "Abs", "Acos", "Acosh", "Add", "Addbmm", "Addcdiv", "Addcmul", "Addmm", "Addmv", "Amax", "Amin", "Asin",
    "Asinh", "Atan", "Atan2", "Atanh", "AvgPool2D", "Baddbmm", "BinaryCrossEntropy", "Bmm", "Celu", "Clamp",
    "ClampMax", "ClampMin", "Clone", "ConstantPadNd", "Cos", "Cosh", "Cumsum", "Div", "Dot", "Elu", "Erf",
    "Erfc", "Erfinv", "Exp", "Exp2", "Expm1", "Flip", "Fmod", "Gather", "Gelu", "GeluBackward", "HardShrink",
    "Hardsigmoid", "Hardswish", "Hardtanh", "HuberLoss", "Hypot", "Index", "IndexSelect", "LeakyRelu",
    "LeakyReluBackward", "Lerp", "Lgamma", "LinalgVectorNorm", "Log", "Log10", "Log1P", "Log2", "LogSigmoid",
    "LogSoftmax", "Logaddexp", "Logcumsumexp", "Logit", "Logsumexp", "MaskedFill", "MaxPool2DWithIndices",
    "Maximum", "Minimum", "Mm", "MseLoss", "MseLossBackward", "Mul", "Mv", "NativeBatchNorm", "NativeDropout",
    "NativeLayerNorm", "NllLoss", "Norm", "Permute", "Pow", "Reciprocal", "Relu", "Remainder", "Roll",
    "Rsqrt", "Rsub", "Scatter", "ScatterAdd", "Select", "Sigmoid", "SigmoidBackward", "Silu", "Sin", "Sinh",
    "Slice", "SmoothL1Loss", "Softmax", "Softplus", "SoftplusBackward", "Softshrink", "Sqrt", "Squeeze",
    "Stack", "Std", "Sub", "Sum", "T", "Tan", "Tanh", "TanhBackward", "Threshold", "ToCopy", "Transpose",
    "Tril", "Triu", "Unsqueeze", "Var", "Where", "Xlogy",
})  # fmt: skip

# Nodes whose derivatives bring the gradient to the shape of an input or of one of the results.
_SHAPED = frozenset({
    "Cummax", "Cummin", "Gather", "Index", "IndexSelect", "Kthvalue", "Max", "Mean", "Median", "Min",
    "Select", "Slice", "Sort", "Std", "Sum", "Topk", "Unbind", "UnsafeView", "Var", "View",
})  # fmt: skip
# Nodes that may divide by a number of elements.
_MEANS = frozenset({"Mean", "MseLossBackward", "BinaryCrossEntropyWithLogits"})
# Nodes that run the same kernels at all sizes.
KNOWN = _PLAIN | _SHAPED | _MEANS


class UnknownSize(Signal):
    """Signal that a rule raises if it cannot tell which size a number in a kernel is."""


@dataclass(frozen=True)
class BackwardKernel:
    """Call of a kernel in a backward pass, and what is known of the autograd node that makes it.

    name: name of the autograd node without ``Backward`` and number, or an empty string.
    input_shapes: shapes of the values that the node returns gradients for, None for an unknown one.
    result_shape: shape of the value whose gradient the node takes first, or None.
    call: the recorded call that the node belongs to, or None.
    is_whole_call: True if the node made a result of ``call``, and its edges lead to recorded values.
    is_batched: True if the backward pass runs inside of a transform.
    """

    capture: RunningTrace
    node: Any
    name: str
    args: tuple[Any, ...]
    input_shapes: list[Shape | None]
    result_shape: Shape | None
    call: Node | None
    is_whole_call: bool
    is_batched: bool

    def is_plain(self) -> bool:
        return self.is_known() and not any(isinstance(item, Size) for item in self.given())

    def is_known(self) -> bool:
        return (
            self.call is not None
            and self.name in _PLAIN
            and (self.is_whole_call or self.call.key == "__getitem__")
        )

    def given(self) -> list[Any]:
        return [] if self.call is None else list(iterate_structure((self.call.inputs, self.call.params)))

    def open_number(self, seen: Any) -> Any:
        fitting = [
            item for item in self.given() if isinstance(item, (Size, int, float)) and hint_of(item) == seen
        ]
        return _opened(guard_equal(self.capture, fitting), self.capture.decide) if fitting else seen

    def operand_shape(self) -> Shape:
        return shape_of(self.capture, self.capture.value(self.args[0]))

    def input(self) -> Shape:
        _only_if(len(self.input_shapes) == 1 and self.input_shapes[0] is not None)
        return self.input_shapes[0] or ()

    def count(self) -> Any:
        axes, shapes = (
            getattr(self.node, "_saved_dim", None),
            [shape for shape in self.input_shapes if shape is not None],
        )
        _only_if(bool(shapes))
        shape = max(shapes, key=len)
        # torch reports negative axes as unsigned numbers.
        signed = [axis - (1 << 64 if axis >= 1 << 63 else 0) for axis in axes or ()]
        return product([shape[axis] for axis in signed] if signed else shape)

    def with_shape(self, position: int) -> tuple[Any, ...]:
        wanted = tuple(self.args[position])
        known = [
            shape
            for shape in (*self.input_shapes, self.result_shape if self.name == "Unbind" else None)
            if shape is not None
        ]
        # vmap computes several gradients at once, with one more axis.
        if self.is_batched and self.operand_shape():
            known += [(self.operand_shape()[0], *shape) for shape in known]
        fitting = [shape for shape in known if hints(shape) == wanted]
        _only_if(bool(fitting))
        return self.with_arguments(
            position, tuple(guard_equal(self.capture, sizes) for sizes in zip(*fitting))
        )

    def with_arguments(self, position: int, *replaced: Any) -> tuple[Any, ...]:
        seen = [list(hints(item)) if isinstance(item, tuple) else hint_of(item) for item in replaced]
        _only_if(seen == list(self.args[position : position + len(replaced)]))
        opened = [_opened(item, self.capture.decide) for item in replaced]
        return (*self.args[:position], *opened, *self.args[position + len(replaced) :])


def _opened(item: Any, decide: Any) -> Any:
    return [symbolic(size, decide) for size in item] if isinstance(item, tuple) else symbolic(item, decide)


def _only_if(holds: bool) -> None:
    if not holds:
        raise UnknownSize


def _like(position: int) -> Callable[[BackwardKernel], tuple[Any, ...]]:
    def rule(derivative: BackwardKernel) -> tuple[Any, ...]:
        _only_if(derivative.name in _SHAPED or derivative.is_plain())
        return derivative.with_shape(position)

    return rule


def _expanded(derivative: BackwardKernel) -> tuple[Any, ...]:
    own = derivative.operand_shape()
    return (
        derivative.with_arguments(1, own)
        if list(hints(own)) == list(derivative.args[1])
        else _like(1)(derivative)
    )


def _view(derivative: BackwardKernel) -> tuple[Any, ...]:
    try:
        return _like(1)(derivative)
    except UnknownSize:
        shape = merged_sizes(derivative.operand_shape(), derivative.args[1])
        _only_if(shape is not None)
        return derivative.with_arguments(1, tuple(shape or ()))


def _scattered(derivative: BackwardKernel) -> tuple[Any, ...]:
    _only_if(derivative.is_known())
    return (*_widened(derivative)[:3], *map(derivative.open_number, derivative.args[3:]))


def _widened(derivative: BackwardKernel) -> tuple[Any, ...]:
    try:
        return derivative.with_shape(1)
    except UnknownSize:
        wanted, axis, own = derivative.args[1], derivative.args[2], list(derivative.operand_shape())
        arrays = [item for item in derivative.given() if isinstance(item, Value)][:1]
        fitting = [
            size
            for array in arrays
            for size in shape_of(derivative.capture, array)
            if hint_of(size) == wanted[axis]
        ]
        _only_if(bool(fitting))
        own[axis : axis + (len(own) == len(wanted))] = [guard_equal(derivative.capture, fitting)]
        return derivative.with_arguments(1, tuple(own))


def _divided(derivative: BackwardKernel) -> tuple[Any, ...]:
    return (
        derivative.with_arguments(1, derivative.count())
        if derivative.name in _MEANS
        else _multiplied(derivative)
    )


def _multiplied(derivative: BackwardKernel) -> tuple[Any, ...]:
    number = derivative.args[1]
    if derivative.name in ("Std", "Var") and type(number) is float:
        correction = derivative.node._saved_correction
        divisor = derivative.count() - (1 if correction is None else correction)
        _only_if(hint_of(divisor) != 0)
        return derivative.with_arguments(1, 2 / divisor)
    if derivative.name in ("Div", "Mul") and type(number) in (int, float):
        _only_if(derivative.is_known())
        return (derivative.args[0], derivative.open_number(number), *derivative.args[2:])
    return _as_it_is(derivative)


def _as_it_is(derivative: BackwardKernel) -> tuple[Any, ...]:
    _only_if(
        derivative.is_plain()
        or derivative.name in KNOWN
        and not any(type(item) in (int, float) for item in derivative.args)
    )
    return derivative.args


def _summed(derivative: BackwardKernel) -> tuple[Any, ...]:
    if derivative.name == "Expand":
        guard_lengths(derivative.capture, [derivative.input()])
        return derivative.args
    return _as_it_is(derivative)


def _convolution(derivative: BackwardKernel) -> tuple[Any, ...]:
    weights = [item for item in derivative.given() if isinstance(item, Value)][1:2]
    _only_if(
        derivative.is_whole_call
        and all(type(size) is int for weight in weights for size in shape_of(derivative.capture, weight))
    )
    _only_if(not any(isinstance(item, Size) for item in derivative.given()))
    return derivative.args


def _part(derivative: BackwardKernel) -> tuple[Any, ...]:
    _only_if(derivative.name == "Cat" and derivative.is_whole_call)
    axis, start, end = derivative.args[1:4]
    parts = [item for item in derivative.given() if isinstance(item, Value)]
    ends = list(accumulate((derivative.capture.size(part, axis % part.ndim) for part in parts), initial=0))
    fitting = [
        (one, other) for one, other in pairwise(ends) if (hint_of(one), hint_of(other)) == (start, end)
    ]
    _only_if(len(fitting) == 1)
    return derivative.with_arguments(2, *fitting[0])


def _vocabulary(derivative: BackwardKernel) -> tuple[Any, ...]:
    _only_if(derivative.name == "Embedding")
    return derivative.with_arguments(2, derivative.input()[0])


def _layer(derivative: BackwardKernel) -> tuple[Any, ...]:
    _only_if(derivative.name == "Stack")
    return derivative.args


RULES: dict[str, Callable[[BackwardKernel], tuple[Any, ...]]] = {
    "aten::expand": _expanded,
    "aten::view": _view,
    "aten::_unsafe_view": _view,
    "aten::new_zeros": _like(1),
    "aten::select_backward": _scattered,
    "aten::slice_backward": _scattered,
    "aten::div": _divided,
    "aten::div_": _divided,
    "aten::mul": _multiplied,
    "aten::mul_": _multiplied,
    "aten::sum": _summed,
    "aten::convolution_backward": _convolution,
    "aten::slice": _part,
    "aten::select": _layer,
    "aten::embedding_dense_backward": _vocabulary,
}
