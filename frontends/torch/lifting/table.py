"""The table of rows, the builder that rows write with, and conditions on sizes that torch checks.

A row is registered under the bare name of a call: ``add`` lifts ``torch.add``, ``Tensor.add`` and
``aten.add.Tensor``.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ....ir import Graph, Value
from ....ir.node import Node
from ....ops.dtypes import UNSIGNED
from ....ops.registry import get
from ....sizes import Size, Symbol, apply, hint_of
from ...common.builder import LiftingBuilder
from ...common.lifter import LiftingTable
from ...common.read_numbers import is_read
from ..basics.tensors import dtype_name, result_type

rows = LiftingTable("torch")


class TorchBuilder(LiftingBuilder):
    """Builder of canonical operations with torch's dtype promotion, which rows write with.

    has_floats: True if calls take floats that are computed from sizes.
    states: for each result of ``get_rng_state`` and ``get_state``, the stream of random numbers that it
        represents, or the index of the last key.
    """

    masks = ("bool", "uint8")
    lists_are_tuples = True

    def __init__(self, graph: Graph, has_floats: bool = False) -> None:
        super().__init__(graph)
        self.has_floats = has_floats
        self.states: dict[Value, Any] = {}

    def result_type(self, *operands: Any) -> str:
        return result_type(*operands)

    def cast(self, x: Any, dtype: Any) -> Any:
        return super().cast(x, dtype_name(dtype)) if isinstance(x, Value) else x

    def promote(self, *operands: Any, dtype: Any = None) -> tuple[Any, ...]:
        """Promote the operands to a common dtype as torch does, or to ``dtype``.

        Python numbers beside an array stay Python numbers.
        """
        name = dtype_name(dtype) if dtype is not None else result_type(*operands)
        if not any(isinstance(item, Value) or is_read(item) for item in operands):
            return tuple(self.array(item, name) for item in operands)
        return tuple(self.operand(item, name) for item in operands)

    def combined(self, name: str, x: Any, y: Any) -> Any:
        return getattr(self, name)(*self.promote(x, y))

    def sum(self, x: Any, **params: Any) -> Value:
        """Emit a sum. Without a dtype, unsigned integers are summed as int64."""
        if x.dtype in UNSIGNED:
            params["dtype"] = params.get("dtype") or "int64"
        total: Value = self.apply(get("sum"), (x,), params)
        return total

    def floating(self, x: Any) -> Any:
        kind = result_type(x, 1.0) if isinstance(x, Value) else dtype_name(None)
        return self.array(x, kind)


def axes(dim: Any, rank: int) -> tuple[int, ...] | None:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return None
    return tuple(axis(d, rank) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def axis(dim: int, rank: int) -> int:
    return int(dim) % max(rank, 1)


# ---------------------------------------------------------------------------------------------------- demands
# Conditions on sizes that torch checks and a target may not.
#
# Examples are a window that fits, a nonempty axis for a maximum, and size 3 for a cross product. They are
# derived from the canonical operations that a call becomes. A demand is ``(relation, size, number)``:
# ``("ge", x.shape[2], 3)``.

_OF_CLASSES = ("input=c target= weight=c", "input=nc* target=n* weight=c", "input=nc* target=nc* weight=c")
_BY_CHANNEL = ("input=nc* running_mean=c running_var=c weight=c bias=c",)
_ELEMENT_BY_ELEMENT = ("input=* target=*",)
_WEIGHT_BY_ELEMENT = ("input=* weight=*",)
# Sizes that torch requires to be equal, by the bare name of the call. Each string is an alternative:
# ``name=letters`` has a letter for each axis of the argument ``name``, and the same letter means the same
# size. ``*`` is any number of axes, which all arguments with ``*`` share; ``~`` is any number of axes without
# a demand. Arguments that are not given are skipped.
AGREEMENTS: dict[str, tuple[str, ...]] = {
    "nll_loss": _OF_CLASSES,
    "nll_loss_nd": _OF_CLASSES,
    "nll_loss2d": _OF_CLASSES,
    "cross_entropy": _OF_CLASSES,
    "cross_entropy_loss": _OF_CLASSES,
    "multi_margin_loss": (
        "input=c target= weight=c",
        "input=c target=a weight=c",
        "input=nc target=n weight=c",
    ),
    "multilabel_margin_loss": _ELEMENT_BY_ELEMENT,
    "binary_cross_entropy": _ELEMENT_BY_ELEMENT,
    "binary_cross_entropy_with_logits": _ELEMENT_BY_ELEMENT,
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), _WEIGHT_BY_ELEMENT),
    "batch_norm": _BY_CHANNEL,
    "native_batch_norm": _BY_CHANNEL,
    "instance_norm": _BY_CHANNEL,
    "group_norm": ("input=nc* weight=c bias=c",),
    "bilinear": ("input1=*i input2=*j weight=oij bias=o",),
    **dict.fromkeys(
        ("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), ("input=n~ grid=n~",)
    ),
    "searchsorted": ("sorted_sequence=a input=~", "sorted_sequence=*a input=*b"),
    "dot": ("input=n tensor=n",),
    "vdot": ("input=n other=n",),
    "ctc_loss": (
        "log_probs=tbc targets=bl input_lengths=b target_lengths=b",
        "log_probs=tbc targets=~ input_lengths=b target_lengths=b",
    ),
    "cov": ("input=~n fweights=n aweights=n",),
    "cdist": ("x1=~m x2=~m",),
    **{f"conv{rank}d": ("weight=oi* bias=o",) for rank in (1, 2, 3)},
    "conv_tbc": ("weight=kio bias=o",),
    "embedding_bag": ("input=* per_sample_weights=*",),
    "cholesky_solve": ("input=~nk input2=~nn",),
    "linalg_lu_solve": ("LU=~nn pivots=~n",),
    "lu_solve": ("b=~nk LU_data=~nn LU_pivots=~n",),
    "rnn_tanh_cell": ("input=ni hx=nh w_ih=gi w_hh=gh b_ih=g b_hh=g",),
    "rnn_relu_cell": ("input=ni hx=nh w_ih=gi w_hh=gh b_ih=g b_hh=g",),
    "gru_cell": ("input=ni hx=nh w_ih=gi w_hh=gh b_ih=g b_hh=g",),
}


def assume_agreement(
    b: TorchBuilder, key: str, row: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> None:
    alternatives = AGREEMENTS.get(key)
    if alternatives is None:
        return
    given = _given(row, args, kwargs)
    for alternative in alternatives:
        if (named := _named(alternative, given)) is not None:
            for sizes in named.values():
                _assume_equal(b, sizes)
            return


def _given(row: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> dict[str, Value]:
    bound = dict(zip(_parameters(row), args))
    return {name: item for name, item in {**bound, **kwargs}.items() if isinstance(item, Value)}


@functools.lru_cache(maxsize=512)
def _parameters(row: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(row).parameters)[1:]


def _named(alternative: str, given: dict[str, Value]) -> dict[Any, list[Any]] | None:
    """Map the letters of an alternative in :data:`AGREEMENTS` to sizes, or return None if it does not fit."""
    found: dict[Any, list[Any]] = {}
    extent: int | None = None
    for name, letters in (part.split("=") for part in alternative.split()):
        if name not in given:
            continue
        rest = given[name].ndim - len(letters.strip("*~"))
        if (
            rest < 0
            or rest
            and not set(letters) & {"*", "~"}
            or "*" in letters
            and extent not in (None, rest)
        ):
            return None
        extent = rest if "*" in letters else extent
        for letter, size in zip(_letters(letters, rest), given[name].shape, strict=True):
            if letter is not None:
                found.setdefault(letter, []).append(size)
    return found


def _letters(letters: str, rest: int) -> Iterator[Any]:
    for letter in letters:
        if letter == "*":
            yield from range(rest)
        elif letter == "~":
            yield from (None for _ in range(rest))
        else:
            yield letter


def _assume_equal(b: TorchBuilder, sizes: list[Any]) -> None:
    if len({hint_of(size) for size in sizes}) > 1:
        for size in sizes:
            b.fix(size)
        return
    for other in sizes[1:]:
        b.guard(apply("eq", sizes[0], other))


Demand = tuple[str, Any, Any]
Demands = Iterator[Demand]


# ---------------------------------------------------------------------------------------------- windows
def _of_pooling(node: Node) -> Demands:
    x, kernel, params = node.inputs[0], node.params["kernel"], node.params
    rank = len(kernel)
    padding, dilation = params.get("padding", ((0, 0),) * rank), params.get("dilation", (1,) * rank)
    for size, width, stride, pads, step in zip(x.shape[-rank:], kernel, params["strides"], padding, dilation):
        yield "ge", size, _least(width, pads, step) - (stride - 1 if params.get("ceil_mode") else 0)
        # torch raises if the padding is more than half of the window.
        yield from (("le", 2 * pad, step * (width - 1) + 1) for pad in pads if node.op != "lp_pool")
        yield "gt", stride, 0
    # Only in three dimensions torch requires a window to fit without the padding.
    if rank == 3 and node.op == "avg_pool":
        yield from (("ge", size, width) for size, width in zip(x.shape[-rank:], kernel))
    if x.ndim > rank:
        yield "ge", x.shape[-rank - 1], 1


def _of_fractional_pooling(node: Node) -> Demands:
    yield from _of_channels(node)
    kernel = node.params["kernel"]
    for size, width, count in zip(node.inputs[0].shape[-len(kernel) :], kernel, node.params["size"]):
        # In three dimensions torch requires one element more than the random windows need.
        yield "gt" if len(kernel) == 3 else "ge", size, count + width - 1


def _of_channels(node: Node) -> Demands:
    space = node.params["size"]
    if node.inputs[0].ndim > len(space) and (node.op != "adaptive_avg_pool" or len(space) == 3):
        yield "ge", node.inputs[0].shape[-len(space) - 1], 1


def _of_convolution(node: Node) -> Demands:
    x, weight, params = node.inputs[0], node.inputs[1], node.params
    yield "eq", x.shape[1], weight.shape[1] * params["groups"]
    yield from _fits(x.shape[2:], weight.shape[2:], params, fewest=1)


def _of_transposed_convolution(node: Node) -> Demands:
    x, weight, *bias = node.inputs
    yield "eq", x.shape[1], weight.shape[0]
    yield from (("eq", one.shape[0], weight.shape[1] * node.params["groups"]) for one in bias)


def _of_columns(node: Node) -> Demands:
    yield from _fits(node.inputs[0].shape[2:], node.params["kernel"], node.params)


def _fits(
    space: tuple[Any, ...], kernel: tuple[Any, ...], params: dict[str, Any], fewest: int = 0
) -> Demands:
    for size, width, pads, step in zip(space, kernel, params["padding"], params["dilation"]):
        least = _least(width, pads, step)
        yield "ge", size, apply("max", least, fewest) if fewest else least


def _least(width: Any, pads: tuple[Any, Any], step: Any) -> Any:
    return step * (width - 1) + 1 - pads[0] - pads[1]


def _of_sliding_window(node: Node) -> Demands:
    x = node.inputs[0]
    if x.ndim:
        yield "ge", x.shape[node.params["axis"]], node.params["size"]


def _of_padding(node: Node) -> Demands:
    mode = node.params["mode"]
    for size, pair in zip(node.inputs[0].shape, node.params["padding"]):
        if all(isinstance(amount, int) for amount in pair):
            most = {"reflect": max(pair) + 1 if any(pair) else 0, "wrap": max(pair)}.get(mode, 0)
            yield "ge", size, max(most, -sum(min(amount, 0) for amount in pair))
        elif mode in ("reflect", "wrap"):
            yield from (("gt" if mode == "reflect" else "ge", size, amount) for amount in pair)


# ---------------------------------------------------------------------------------------------- signals
def _of_transform(node: Node) -> Demands:
    params, x = node.params, node.inputs[0]
    several = "axes" in params
    axes = params["axes"] if several else (params["axis"],)
    sizes = params.get("s") if several else None if params.get("n") is None else (params["n"],)
    for axis, size in zip(axes, sizes or [x.shape[axis] for axis in axes]):
        makes_half = sizes is None and axis == axes[-1] and node.op in ("irfft", "irfftn", "hfft")
        yield "ge", size, 2 if makes_half else 1


def _of_stft(node: Node) -> Demands:
    points, params = node.params["n_fft"], node.params
    if not params["center"]:
        yield "ge", node.inputs[0].shape[-1], points
    elif params["pad_mode"] == "reflect":
        yield "ge", node.inputs[0].shape[-1], points // 2 + 1


def _of_istft(node: Node) -> Demands:
    spectrum, points = node.inputs[0], node.params["n_fft"]
    yield "ge", spectrum.shape[-1], 1
    yield "eq", spectrum.shape[-2], points // 2 + 1 if node.params["onesided"] else points


# ---------------------------------------------------------------------------------------------- one axis
def _of_extremum(node: Node) -> Demands:
    x, axis = node.inputs[0], node.params.get("axis")
    for place in range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis:
        yield "ge", x.shape[place], 1


def _of_cross(node: Node) -> Demands:
    for x in node.inputs:
        yield "eq", x.shape[node.params["axis"]], 3


def _of_reflections(node: Node) -> Demands:
    *_, rows, columns = node.inputs[0].shape
    yield "ge", rows, columns
    yield "ge", columns, node.inputs[1].shape[-1]


def _of_whole_reflections(node: Node) -> Demands:
    *_, rows, columns = node.inputs[0].shape
    yield "eq", node.inputs[1].shape[-1], apply("min", rows, columns)


def _of_triangle(node: Node) -> Demands:
    matrix, sides = node.inputs
    yield "eq", matrix.shape[-1], matrix.shape[-2]
    yield "eq", matrix.shape[-1], sides.shape[-2 if node.params["left"] else -1]


def _of_swapped_rows(node: Node) -> Demands:
    factors, pivots = node.inputs[:2]
    yield "eq", pivots.shape[-1], apply("min", *factors.shape[-2:])


def _of_norm(node: Node) -> Demands:
    order = node.params["ord"]
    # A norm of a negative or infinite order is undefined for an empty axis.
    yield from _of_extremum(node) if order < 0 or order == math.inf else ()


def _of_matrix_norm(node: Node) -> Demands:
    rows, columns = node.inputs[0].shape[-2:]
    wanted = {-2: (rows, columns), -1: (columns,), -math.inf: (rows,)}
    yield from (("ge", size, 1) for size in wanted.get(node.params["ord"], ()))


def _of_attention(node: Node) -> Demands:
    # The default scale divides by the root of this size.
    if node.params.get("scale") is None:
        yield "ge", node.inputs[0].shape[-1], 1


def _of_samples(node: Node) -> Demands:
    for place in node.inputs[1:]:
        yield (
            "eq",
            place.shape[node.params["axis"] if place.ndim > 1 else 0],
            node.inputs[0].shape[node.params["axis"]],
        )


def _of_resampling(node: Node) -> Demands:
    space = node.params["size"]
    for size in (*node.inputs[0].shape[1:], *space):
        yield "ge", size, 1
    yield from (
        # A factor below 1 may leave no element; ``assume`` ignores ("ge", size, 1) for a size that is
        # computed.
        ("gt", size, 0)
        for size, factor in zip(space, node.params["scales"] or ())
        if isinstance(factor, float) and factor < 1
    )


def _of_grid(node: Node) -> Demands:
    x, grid = node.inputs
    yield "eq", grid.shape[-1], x.ndim - 2
    yield from (("ge", size, 1) for size in x.shape[2:])


DEMANDS: dict[str, Callable[[Node], Demands]] = {
    **dict.fromkeys(("max_pool", "max_pool_with_indices", "avg_pool", "lp_pool"), _of_pooling),
    "fractional_max_pool": _of_fractional_pooling,
    **dict.fromkeys(
        ("adaptive_avg_pool", "adaptive_max_pool", "adaptive_max_pool_with_indices"), _of_channels
    ),
    "conv": _of_convolution,
    "conv_transpose": _of_transposed_convolution,
    "im2col": _of_columns,
    "sliding_window": _of_sliding_window,
    "pad": _of_padding,
    **dict.fromkeys(
        ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft"), _of_transform
    ),
    "stft": _of_stft,
    "istft": _of_istft,
    **dict.fromkeys(("max", "min", "argmax", "argmin", "lower_median", "mode", "quantile"), _of_extremum),
    "cross": _of_cross,
    "scaled_dot_product_attention": _of_attention,
    "vector_norm": _of_norm,
    "matrix_norm": _of_matrix_norm,
    "householder_product": _of_reflections,
    "ormqr": _of_whole_reflections,
    "solve_triangular": _of_triangle,
    "lu_unpack": _of_swapped_rows,
    "grid_sample": _of_grid,
    "interpolate": _of_resampling,
    **dict.fromkeys(("trapezoid", "cumulative_trapezoid"), _of_samples),
}


def assume_demands(b: TorchBuilder, made: Iterable[Node]) -> None:
    for node in made:
        for demand in DEMANDS[node.op](node) if node.op in DEMANDS else ():
            assume(b, *demand)


def assume(b: TorchBuilder, relation: str, size: Any, number: Any) -> None:
    """Guard on a relation of two sizes, such as ``"ge"``, if it matters and the recorded ones satisfy it."""
    # For other sizes, the guard would only exclude an empty array.
    if relation == "ge" and isinstance(number, int) and number <= 1 and (number < 1 or not _is_given(size)):
        return
    if apply(relation, hint_of(size), hint_of(number)):
        b.guard(apply(relation, size, number))


def _is_given(size: Any) -> bool:
    return isinstance(size, Size) and [type(atom) for atom in size.atoms()] == [Symbol]
