"""Neural-network operations in torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ....errors import UnsupportedOperation
from ....ops import ArraySpec
from ....ops.convolution import CHANNELS_FIRST
from ....ops.dtypes import is_floating
from ....ops.text import Text, factor
from ...common.rows import Operand, call, operand, unless
from ...common.rows import Row as LoweringRow
from .table import rows

Row = Callable[..., str]


def _move_to_axis_1(x: Operand, axis: int) -> Operand:
    """Return the text of ``x`` with ``axis`` moved to position 1. A number is returned unchanged."""
    if x.spec is None:
        return x
    shape = [dim for place, dim in enumerate(x.shape) if place != axis % x.ndim]
    return operand(
        f"{x}.movedim({axis}, 1)", ArraySpec((shape[0], x.shape[axis], *shape[1:]), x.spec.dtype), x.given
    )


def channels_first(row: Row) -> Row:
    """Wrap ``row``, which expects channels first, in a row with a further parameter ``layout``."""

    @wraps(row)
    def either(x: Operand, *operands: Any, layout: str, **params: Any) -> str:
        if layout == CHANNELS_FIRST:
            return row(x, *operands, **params)
        return f"{row(_move_to_axis_1(x, -1), *operands, **params)}.movedim(1, -1)"

    return either


def channels_in_axis_1(row: Row) -> Row:
    """Wrap ``row``, which expects channels in axis 1, in a row with a further parameter ``axis``."""

    @wraps(row)
    def either(x: Operand, *operands: Any, axis: int, **params: Any) -> str:
        if axis == 1:
            return row(x, *operands, **params)
        return f"{row(_move_to_axis_1(x, axis), *operands, **params)}.movedim(1, {axis})"

    return either


def tensor(item: Operand, beside: Operand) -> str:
    return str(item) if item.spec is not None else f"{beside}.new_tensor({item})"


def tensors(*items: Operand) -> tuple[str, ...]:
    like = next(item for item in items if item.spec is not None)
    return tuple(tensor(item, like) for item in items)


def index(indices: Operand) -> str:
    return str(indices) if indices.dtype == "int64" else f"{indices}.long()"


def reduction_arguments(x: Operand | str, axis: Any, keepdims: bool) -> str:
    """Return the text of the arguments ``input``, ``dim`` and ``keepdim`` of a reduction of ``x``."""
    # torch takes an empty tuple for all axes.
    if axis == ():
        return f"torch.unsqueeze({x}, -1), dim=-1"
    dim = "" if axis is None and not keepdims else f", dim={axis!r}"
    return f"{x}{dim}" + (", keepdim=True" if keepdims else "")


_FUNCTIONS = {
    "relu6": "relu6", "hard_sigmoid": "hardsigmoid", "hard_swish": "hardswish", "selu": "selu",
    "silu": "silu", "mish": "mish",
    "soft_sign": "softsign", "log_sigmoid": "logsigmoid",
}  # fmt: skip

rows.table({name: f"F.{function}({{x}})" for name, function in _FUNCTIONS.items()})
rows.table(
    {
        "relu": "torch.relu({x})",
        "hard_tanh": "F.hardtanh({x}, {minimum}, {maximum})",
        "prelu": "torch.where({x} > 0, {x}, {slope} * {x})",
        "elu": "F.elu({x}, {alpha=})",
        "celu": "F.celu({x}, {alpha=})",
        "softplus": "F.softplus({x}, {beta=}, {threshold=})",
        "soft_shrink": "F.softshrink({x}, {lambd=threshold})",
        "hard_shrink": "F.hardshrink({x}, {lambd=threshold})",
        "threshold": "F.threshold({x}, {threshold}, {value})",
        "glu": "F.glu({x}, {dim=axis})",
        "softmax": "torch.softmax({x}, {dim=axis})",
        "log_softmax": "torch.log_softmax({x}, {dim=axis})",
    }
)


@rows.row("leaky_relu")
def _leaky_relu(x: Operand, *, negative_slope: Any, right: bool) -> str:
    if right:
        return f"leaky_relu({x}, {negative_slope!r})"
    return call("F.leaky_relu", x, negative_slope=unless(negative_slope, 0.01))


rows.table(
    {
        "gelu": lambda x, *, approximate: call(
            "F.gelu", x, approximate=unless("tanh" if approximate else "none", "none")
        )
    }
)


rows.table({"grouped_matmul": "grouped_matmul({x}, {weight}, {offsets})"})


rows.table({"linear": lambda x, weight, bias=None: call("F.linear", x, weight, bias)})


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    # F.bilinear does not broadcast.
    if x1.shape[:-1] == x2.shape[:-1]:
        return call("F.bilinear", x1, x2, weight, bias)
    product = f'torch.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2})'
    return product if bias is None else f"{product} + {bias}"


@rows.row("scaled_dot_product_attention")
def _attention(
    query: Operand,
    key: Operand,
    value: Operand,
    mask: Operand | None = None,
    random_key: Operand | None = None,
    *,
    is_causal: bool,
    scale: Any,
    enable_gqa: bool,
    dropout_rate: float,
) -> str:
    # The function of torch takes either a mask or is_causal, and no generator for its dropout.
    options = {"is_causal": is_causal or None, "scale": scale, "enable_gqa": enable_gqa or None}
    if random_key is None and (mask is None or not is_causal):
        return call("F.scaled_dot_product_attention", query, key, value, attn_mask=mask, **options)
    weights = call("attention_weights", query, key, mask, **options)
    if random_key is not None:
        weights = f"dropout({random_key}, {weights}, {dropout_rate!r})"
    heads = f"{value}.repeat_interleave({query}.shape[-3] // {value}.shape[-3], -3)" if enable_gqa else value
    return f"{weights} @ {heads}"


def alike(values: tuple[Any, ...], default: Any) -> Any:
    return unless(values[0], default) if len(set(values)) == 1 else values


def symmetric(padding: tuple[tuple[Any, Any], ...]) -> tuple[Any, ...] | None:
    same = all(before == after and (not isinstance(before, int) or before >= 0) for before, after in padding)
    return tuple(before for before, _ in padding) if same else None


def flat(padding: tuple[tuple[Any, Any], ...]) -> tuple[Any, ...]:
    return tuple(amount for pair in reversed(padding) for amount in pair)


def check_rank(operation: str, rank: int) -> None:
    if not 1 <= rank <= 3:
        raise UnsupportedOperation(
            f"torch has {operation} over one, two or three axes, not over {rank}: reshape before it"
        )


@rows.row("conv")
@channels_first
def _conv(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> str:
    check_rank("conv", rank := x.ndim - 2)
    amounts = symmetric(padding)
    array = str(x) if amounts is not None else f"F.pad({x}, {flat(padding)})"
    options = {
        "stride": alike(strides, 1),
        "padding": alike(amounts or (0,), 0),
        "dilation": alike(dilation, 1),
        "groups": unless(groups, 1),
    }
    return call(f"F.conv{rank}d", array, weight, bias, **options)


@rows.row("conv_transpose")
@channels_first
def _conv_transpose(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    strides: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
) -> str:
    check_rank("conv_transpose", rank := x.ndim - 2)
    amounts = symmetric(padding)
    options = {"stride": alike(strides, 1), "groups": unless(groups, 1), "dilation": alike(dilation, 1)}
    if amounts is not None:
        padded = {"padding": alike(amounts, 0), "output_padding": alike(output_padding, 0)}
        return call(f"F.conv_transpose{rank}d", x, weight, bias, **padded, **options)
    # Asymmetric padding is removed from the result.
    cuts = tuple(
        (_less(0, before), _less(more, after)) for (before, after), more in zip(padding, output_padding)
    )
    text = f"F.pad({call(f'F.conv_transpose{rank}d', x, weight, **options)}, {flat(cuts)})"
    return text if bias is None else f"({text} + {bias}.reshape{(-1, *(1,) * rank)})"


def _less(more: Any, amount: Any) -> Any:
    return (
        more - amount if isinstance(more, int) and isinstance(amount, int) else Text(f"{more} - ({amount})")
    )


@rows.row("im2col")
def _im2col(x: Operand, *, kernel: Any, strides: Any, padding: Any, dilation: Any) -> str:
    amounts = symmetric(padding)
    # F.unfold supports two spatial axes with symmetric padding only.
    if x.ndim == 4 and amounts is not None:
        options = {"dilation": alike(dilation, 1), "padding": alike(amounts, 0), "stride": alike(strides, 1)}
        return call("F.unfold", x, kernel, **options)
    return f"im2col({x}, {kernel!r}, {strides!r}, {padding!r}, {dilation!r})"


@rows.row("col2im")
def _col2im(x: Operand, *, size: Any, kernel: Any, strides: Any, padding: Any, dilation: Any) -> str:
    amounts = symmetric(padding)
    # F.fold supports two spatial axes with symmetric padding only.
    if len(size) == 2 and amounts is not None:
        options = {"dilation": alike(dilation, 1), "padding": alike(amounts, 0), "stride": alike(strides, 1)}
        return call("F.fold", x, size, kernel, **options)
    return f"col2im({x}, {size!r}, {kernel!r}, {strides!r}, {padding!r}, {dilation!r})"


@rows.row("embedding")
def _embedding(weight: Operand, indices: Operand, *, padding_idx: int | None) -> str:
    return call(
        "F.embedding",
        indices if indices.dtype == "int32" else index(indices),
        weight,
        padding_idx=padding_idx,
    )


@rows.row("one_hot")
def _one_hot(indices: Operand, *, num_classes: Any, dtype: str) -> str:
    return f"({indices}[..., None] == torch.arange({num_classes!r}, device={indices}.device)).to({dtype})"


@rows.row("embedding_bag")
def _embedding_bag(
    weight: Operand,
    indices: Operand,
    offsets: Operand,
    per_sample_weights: Operand | None = None,
    *,
    mode: str,
    include_last_offset: bool,
    padding_idx: Any,
) -> str:
    options = {
        "mode": unless(mode, "mean"),
        "per_sample_weights": per_sample_weights,
        "include_last_offset": include_last_offset or None,
    }
    return call("F.embedding_bag", indices, weight, offsets, **options, padding_idx=padding_idx)


_DEFAULTS = {"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0}

rows.table({"binary_cross_entropy": 'F.binary_cross_entropy({probability}, {target}, reduction="none")'})


def _over_classes(name: str) -> None:
    @rows.row(name)
    def row(scores: Operand, target: Operand, weight: Operand | None = None, **options: Any) -> str:
        return call(
            f"F.{name}",
            scores,
            index(target),
            weight,
            **{key: unless(value, _DEFAULTS[key]) for key, value in options.items()},
        )


_over_classes("nll_loss")
_over_classes("cross_entropy")


@rows.row("ctc_loss")
def _ctc_loss(
    log_probabilities: Operand,
    targets: Operand,
    input_lengths: Operand,
    target_lengths: Operand,
    *,
    blank: int,
) -> str:
    lengths = (index(targets), index(input_lengths), index(target_lengths))
    return call("F.ctc_loss", log_probabilities, *lengths, blank=unless(blank, 0), reduction="none")


rows.table(
    {
        "local_response_norm": "F.local_response_norm({x}, {size}, {alpha}, {beta}, {k})",
        "normalize": "F.normalize({x}, {p=ord}, {dim=axis}, {eps=epsilon})",
    }
)


@rows.row("batch_norm")
def _batch_norm(
    x: Operand,
    mean: Operand,
    variance: Operand,
    weight: Operand | None = None,
    bias: Operand | None = None,
    *,
    epsilon: float,
    axis: int,
) -> str:
    # No gradient flows through the statistics of F.batch_norm, so it is used only if they are inputs.
    if not (mean.given and variance.given):
        return call("normalised_by", x, mean, variance, weight, bias, axis=unless(axis, 1), epsilon=epsilon)
    array = str(x) if axis == 1 else f"{x}.movedim({axis}, 1)"
    text = call("F.batch_norm", array, mean, variance, weight, bias, eps=unless(epsilon, 1e-5))
    return text if axis == 1 else f"{text}.movedim(1, {axis})"


def _last(x: Operand, weight: Operand | None, axis: tuple[int, ...]) -> str:
    if weight is not None and all(isinstance(size, int) for size in weight.shape):
        return repr(weight.shape)
    return f"{x}.shape[-{len(axis)}:]"


@rows.row("layer_norm")
def _layer_norm(
    x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, axis: Any, epsilon: float
) -> str:
    return call("F.layer_norm", x, _last(x, weight, axis), weight, bias, eps=unless(epsilon, 1e-5))


rows.table(
    {
        "rms_norm": lambda x, weight=None, *, axis, epsilon: call(
            "F.rms_norm", x, _last(x, weight, axis), weight, eps=epsilon
        )
    }
)


@rows.row("group_norm")
@channels_in_axis_1
def _group_norm(
    x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, groups: int, epsilon: float
) -> str:
    return call("F.group_norm", x, groups, weight, bias, eps=unless(epsilon, 1e-5))


@rows.row("instance_norm")
@channels_in_axis_1
def _instance_norm(
    x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, epsilon: float
) -> str:
    return call("F.instance_norm", x, weight=weight, bias=bias, eps=unless(epsilon, 1e-5))


rows.table({"max_unpool": "max_unpool({x}, {indices}, {size})"})
_LEAST = {"int8": -(2**7), "int16": -(2**15), "int32": -(2**31), "int64": -(2**63)}


def _pool_call(function: str, x: Operand, array: str, *arguments: Any, rank: int, **options: Any) -> str:
    check_rank(function, rank)
    if x.ndim - rank in (1, 2):
        return call(f"F.{function}{rank}d", array, *arguments, **options)
    return call("over_leading_axes", f"F.{function}{rank}d", array, rank, *arguments, **options)


def _lowest(dtype: str) -> Any:
    return Text("-math.inf") if is_floating(dtype) else _LEAST.get(dtype, 0)


def _pad_before(x: Operand, padding: Any, ceil_mode: bool, value: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the text of the array to pool, and the padding of each axis for the pooling itself.

    Raise ``UnsupportedOperation`` for asymmetric or negative padding with ``ceil_mode``.
    """
    amounts = symmetric(padding)
    if amounts is not None:
        return str(x), amounts
    if ceil_mode:
        raise UnsupportedOperation(
            "torch has no pooling with ceil_mode whose padding differs between the sides"
        )
    return f"F.pad({x}, {flat(padding)}, value={value!r})", (0,) * len(padding)


def _max_pool(with_indices: bool) -> LoweringRow:
    def row(x: Operand, *, kernel: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool) -> str:
        if with_indices and symmetric(padding) is None:
            return _pool_with_indices(x, kernel, strides, padding, dilation, ceil_mode)
        array, amounts = _pad_before(x, padding, ceil_mode, _lowest(x.dtype or ""))
        options = {
            "padding": alike(amounts, 0),
            "dilation": alike(dilation, 1),
            "ceil_mode": ceil_mode or None,
        }
        indices = {"return_indices": True} if with_indices else {}
        return _pool_call(
            "max_pool",
            x,
            array,
            alike(kernel, None),
            alike(strides, None),
            rank=len(kernel),
            **options,
            **indices,
        )

    return row


def _pool_with_indices(
    x: Operand, kernel: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> str:
    array, amounts = _pad_before(x, padding, ceil_mode, _lowest(x.dtype or ""))
    options = {"padding": alike(amounts, 0), "dilation": alike(dilation, 1)}
    pooled = _pool_call(
        "max_pool",
        x,
        array,
        alike(kernel, None),
        alike(strides, None),
        rank=len(kernel),
        **options,
        return_indices=True,
    )
    gaps = f", {tuple(dilation)!r}" if alike(dilation, 1) is not None else ""
    return f"with_unpadded_indices({pooled}, {x}, {list(padding)!r}{gaps})"


rows.row("max_pool")(channels_first(_max_pool(False)))
rows.row("max_pool_with_indices")(_max_pool(True))


@rows.row("avg_pool")
@channels_first
def _avg_pool(
    x: Operand,
    *,
    kernel: Any,
    strides: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> str:
    # torch has no CPU kernel for half precision over three axes.
    if len(kernel) == 3 and x.dtype in (
        "float16",
        "bfloat16",
    ):
        wide = operand(f"{x}.float()", ArraySpec(x.shape, "float32"))
        options = {
            "ceil_mode": ceil_mode,
            "count_include_pad": count_include_pad,
            "divisor_override": divisor_override,
        }
        text = _avg_pool_text(wide, kernel=kernel, strides=strides, padding=padding, **options)
        return f"{text}.to(torch.{x.dtype})"
    return _avg_pool_text(
        x,
        kernel=kernel,
        strides=strides,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )


def _avg_pool_text(
    x: Operand,
    *,
    kernel: Any,
    strides: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> str:
    array, amounts = _pad_before(x, padding, ceil_mode, 0)
    if not count_include_pad and divisor_override is None and symmetric(padding) is None:
        check_rank("avg_pool", len(kernel))
        return (
            f"avg_pool_inside(F.avg_pool{len(kernel)}d, {x}, {flat(padding)}, {alike(kernel, None)!r}, "
            f"{alike(strides, None)!r})"
        )
    if divisor_override is not None and len(kernel) == 1:
        return _avg_pool_over_one_axis(
            x, array, kernel, strides, amounts, ceil_mode, count_include_pad, divisor_override
        )
    options = {
        "padding": alike(amounts, 0),
        "ceil_mode": ceil_mode or None,
        "count_include_pad": unless(count_include_pad, True),
    }
    arguments = (alike(kernel, None), alike(strides, None))
    return _pool_call(
        "avg_pool", x, array, *arguments, rank=len(kernel), **options, divisor_override=divisor_override
    )


def _avg_pool_over_one_axis(
    x: Operand, array: str, kernel: Any, strides: Any, amounts: Any, *options: Any
) -> str:
    # `F.avg_pool1d` takes no divisor, so the pooling is over two axes, the first of size 1.
    ceil_mode, count_include_pad, divisor = options
    spec = ArraySpec((*x.shape[:-1], 1, x.shape[-1]), x.dtype or "")
    found = {
        "ceil_mode": ceil_mode or None,
        "count_include_pad": unless(count_include_pad, True),
        "divisor_override": divisor,
    }
    padding = alike((0, *amounts), 0)
    pooled = _pool_call(
        "avg_pool",
        operand("", spec),
        f"{factor(array)}.unsqueeze(-2)",
        (1, *kernel),
        (1, *strides),
        rank=2,
        padding=padding,
        **found,
    )
    return f"{pooled}.squeeze(-2)"


@rows.row("lp_pool")
def _lp_pool(x: Operand, *, ord: Any, kernel: Any, strides: Any, ceil_mode: bool) -> str:
    arguments = (ord, alike(kernel, None), alike(strides, None))
    return _pool_call("lp_pool", x, str(x), *arguments, rank=len(kernel), ceil_mode=ceil_mode or None)


def _adaptive(function: str, **options: Any) -> LoweringRow:
    def row(x: Operand, *, size: tuple[Any, ...]) -> str:
        return _pool_call(function, x, str(x), alike(size, None), rank=len(size), **options)

    return row


rows.row("adaptive_avg_pool")(channels_first(_adaptive("adaptive_avg_pool")))
rows.row("adaptive_max_pool")(_adaptive("adaptive_max_pool"))
rows.row("adaptive_max_pool_with_indices")(_adaptive("adaptive_max_pool", return_indices=True))


@rows.row("fractional_max_pool")
def _fractional_max_pool(x: Operand, samples: Operand, *, kernel: Any, size: Any) -> str:
    options = {"output_size": size, "return_indices": True, "_random_samples": samples}
    return _pool_call("fractional_max_pool", x, str(x), alike(kernel, None), rank=len(size), **options)


def _layer(
    text: str, state: list[Operand], x: Operand, weights: tuple[Operand | None, ...], reverse: bool
) -> str:
    held = ", ".join(weight for weight in weights if weight is not None)
    start = f"({', '.join(state)}{',' if len(state) == 1 else ''})"
    return call(
        "recurrent_layer", text, x, start, f"[{held}]", weights[2] is not None, reverse=reverse or None
    )


def _lstm_runs_whole(*arrays: Any, **params: Any) -> bool:
    return _is_whole(*arrays[5:])


def _runs_whole(*arrays: Any, **params: Any) -> bool:
    bias_ih, bias_hh, length = (*arrays[4:], None, None, None)[:3]
    return _is_whole(bias_ih, bias_hh, None, length)


def _is_whole(bias_ih: Any = None, bias_hh: Any = None, weight_hr: Any = None, length: Any = None) -> bool:
    return length is None and (bias_ih is None) == (bias_hh is None)


@rows.row("lstm", only=_lstm_runs_whole)
def _lstm(x: Operand, hidden: Operand, cell: Operand, *weights: Operand | None, reverse: bool) -> str:
    return _layer("torch.lstm", [hidden, cell], x, (*weights, None, None)[:5], reverse)


@rows.row("gru", only=_runs_whole)
def _gru(x: Operand, hidden: Operand, *weights: Operand | None, reverse: bool) -> str:
    return _layer("torch.gru", [hidden], x, (*weights, None, None)[:4], reverse)


@rows.row("rnn", only=_runs_whole)
def _rnn(x: Operand, hidden: Operand, *weights: Operand | None, activation: str, reverse: bool) -> str:
    return _layer(f"torch.rnn_{activation}", [hidden], x, (*weights, None, None)[:4], reverse)


_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
_SAMPLED = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}

rows.table(
    {
        "pixel_shuffle": "F.pixel_shuffle({x}, {factor})",
        "pixel_unshuffle": "F.pixel_unshuffle({x}, {factor})",
        "channel_shuffle": "F.channel_shuffle({x}, {groups})",
    }
)


def _mode(method: str, rank: int, antialias: bool) -> str:
    if method.startswith("nearest") and 1 <= rank <= 3 and not antialias:
        return method
    if method == "linear" and rank in ((2,) if antialias else _LINEAR):
        return _LINEAR[rank]
    if method == "cubic" and rank == 2:
        return "bicubic"
    if method == "lanczos" and rank == 2 and antialias:
        return method
    raise UnsupportedOperation(
        f"torch has no {method} interpolation over {rank} axes {'with' if antialias else 'without'} antialias"
    )


@rows.row("interpolate")
@channels_first
def _interpolate(
    x: Operand, *, size: Any, method: str, scales: Any, align_corners: bool, antialias: bool
) -> str:
    mode = _mode(method, len(size), antialias)
    if x.ndim != len(size) + 2:
        raise UnsupportedOperation(
            f"torch interpolates arrays [batch, channels, *space]; this one has {x.ndim} axes, {len(size)} "
            "of space"
        )
    if scales is None:
        options = {
            "mode": unless(mode, "nearest"),
            "align_corners": align_corners or None,
            "antialias": antialias or None,
        }
        return call("F.interpolate", x, size, **options)
    # F.interpolate takes either scales or a size, and the kernel that it calls takes both.
    private = "_" if antialias or mode == "nearest-exact" else ""
    name = f"{private}upsample_{mode.replace('-', '_')}{len(size)}d{'_aa' if antialias else ''}"
    corners = () if mode.startswith("nearest") else (align_corners,)
    return f"torch.ops.aten.{name}({', '.join(map(repr, (x, size, *corners, *scales)))})"


@rows.row("grid_sample")
def _grid_sample(x: Operand, grid: Operand, *, method: str, padding: str, align_corners: bool) -> str:
    options = {"mode": unless(_SAMPLED[method], "bilinear"), "padding_mode": unless(padding, "zeros")}
    # torch warns if ``align_corners`` is left out.
    return call("F.grid_sample", x, grid, **options, align_corners=align_corners)


@rows.row("affine_grid")
def _affine_grid(theta: Operand, *, size: Any, align_corners: bool) -> str:
    sizes = ", ".join(map(repr, size))
    return f"F.affine_grid({theta}, ({theta}.shape[0], 1, {sizes}), align_corners={align_corners})"
