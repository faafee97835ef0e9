"""Rows that several frameworks share: calls of prelude helpers with the same names and signatures."""

from __future__ import annotations

from typing import Any

from ...ops.convolution import CHANNELS_FIRST
from .rows import Operand, Rows, call, unless, unless_all

rows = Rows("helper calls")


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
    options = [str(mask)] if mask is not None else []
    options += ["is_causal=True"] if is_causal else []
    options += [f"scale={scale!r}"] if scale is not None else []
    # Dropout applies to the weights, which the functions without dropout do not return.
    if random_key is not None:
        weights = (
            f"dropout({random_key}, attention_weights({', '.join([query, key, *options])}), {dropout_rate!r})"
        )
        return f"{weights}.astype({value}.dtype) @ {value}"
    function = "grouped_query_attention" if enable_gqa else "scaled_dot_product_attention"
    return f"{function}({', '.join([query, key, value, *options])})"


rows.table(
    {
        "im2col": "im2col({x}, {kernel}, {strides}, {padding}, {dilation})",
        "col2im": "col2im({x}, {size}, {kernel}, {strides}, {padding}, {dilation})",
    }
)


def conv_channels_last_call(
    helper: str,
    x: Operand,
    kernel: Operand,
    bias: Operand | None = None,
    *,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> str:
    options = {
        "strides": unless_all(strides, 1),
        "padding": unless_all(padding, (0, 0)),
        "dilation": unless_all(dilation, 1),
    }
    return call(helper, x, kernel, bias, **options, groups=unless(groups, 1))


@rows.row("conv_channels_last")
def _conv_channels_last(x: Operand, kernel: Operand, bias: Operand | None = None, **params: Any) -> str:
    return conv_channels_last_call("conv_channels_last", x, kernel, bias, **params)


@rows.row("conv", "conv_transpose")
def _conv(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    layout: str,
    output_padding: Any = None,
) -> str:
    return call(
        "conv" if output_padding is None else "conv_transpose",
        x,
        weight,
        bias,
        strides=unless_all(strides, 1),
        padding=unless_all(padding, (0, 0)),
        output_padding=unless_all(output_padding or (), 0),
        dilation=unless_all(dilation, 1),
        groups=unless(groups, 1),
        layout=unless(layout, CHANNELS_FIRST),
    )


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
    options = f"{mode!r}, {padding_idx!r}, {include_last_offset!r}"
    return f"embedding_bag({weight}, {indices}, {offsets}, {per_sample_weights}, {options})"


# Defaults of the helpers' parameters, which generated calls leave out.
_DEFAULTS = {
    "center": True,
    "pad_mode": "reflect",
    "normalized": False,
    "onesided": True,
    "length": None,
    "as_complex": False,
}


def _signal(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, window: Operand | None = None, **params: Any) -> str:
        inputs = [str(item) for item in (x, window) if item is not None]
        changed = [
            f"{key}={value!r}"
            for key, value in params.items()
            if key not in _DEFAULTS or value != _DEFAULTS[key]
        ]
        return f"{name}({', '.join(inputs + changed)})"


_signal("stft")
_signal("istft")


rows.table(
    {
        "vector_norm": "vector_norm({x}, {axis=}, {ord=}, {keepdims=})",
        "matrix_norm": "matrix_norm({x}, {ord=}, {keepdims=})",
        "cond": "condition_number({x}, {ord=})",
        "geqrf": "geqrf({x})",
        "ormqr": "ormqr({x}, {tau}, {x2}, {left=}, {transpose=})",
        "solve_triangular": "solve_triangular({x1}, {x2}, {upper=}, {left=}, {transpose=}, {unit_diagonal=})",
        "cholesky_ex": "cholesky_ex({x}, {upper=})",
        "cholesky_solve": "cholesky_solve({x1}, {x2}, {upper=})",
        "cholesky_inverse": "cholesky_inverse({x}, {upper=})",
        "lstsq": "lstsq({x1}, {x2}, {rcond=})",
        "tensorsolve": "tensor_solve({x1}, {x2})",
        "lu": "lu_decomposition({x})",
        "lu_factor": "lu_factor({x})",
        "lu_unpack": "lu_unpack({lu}, {pivots})",
    }
)


@rows.row("matrix_rank", "pinv")
def _by_singular_values(x: Operand, rtol: Any = None, atol: Any = None, *, hermitian: bool, out: Any) -> str:
    function = "matrix_rank" if out[0].dtype == "int64" else "pinv"
    given = "".join(
        f", {name}={value}" for name, value in (("rtol", rtol), ("atol", atol)) if value is not None
    )
    return f"{function}({x}{given}{', hermitian=True' if hermitian else ''})"


@rows.row("lu_solve")
def _lu_solve(lu: Operand, pivots: Operand, x2: Operand, *, left: bool, adjoint: bool) -> str:
    options = ("" if left else ", left=False") + (", adjoint_of=True" if adjoint else "")
    return f"lu_solve({lu}, {pivots}, {x2}{options})"


rows.table(
    {
        "binary_cross_entropy": "binary_cross_entropy({probability}, {target})",
        "ctc_loss": "ctc_loss({log_probabilities}, {targets}, {input_lengths}, {target_lengths}, {blank=})",
    }
)
# Defaults of the helpers' parameters, which generated calls leave out.
_LOSS_DEFAULTS = {"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0}


def _over_classes(name: str) -> None:
    @rows.row(name)
    def row(scores: Operand, target: Operand, weight: Operand | None = None, **options: Any) -> str:
        inputs = [str(item) for item in (scores, target, weight) if item is not None]
        changed = [f"{key}={value!r}" for key, value in options.items() if value != _LOSS_DEFAULTS[key]]
        return f"{name}({', '.join(inputs + changed)})"


_over_classes("nll_loss")
_over_classes("cross_entropy")


rows.table(
    {
        "local_response_norm": "local_response_norm({x}, size={size}, alpha={alpha}, beta={beta}, k={k})",
        "normalize": "normalize({x}, ord={ord}, axis={axis}, epsilon={epsilon})",
    }
)


def _last(x: Operand, axis: tuple[int, ...]) -> tuple[int, ...] | None:
    # The helpers normalize the last axis by default.
    return None if axis == (x.ndim - 1,) else axis


rows.table({
    "batch_norm": lambda x, mean, variance, weight=None, bias=None, *, epsilon, axis: call(
        "batch_norm", x, mean, variance, weight, bias, axis=unless(axis, 1), epsilon=epsilon
    ),
    "rms_norm": lambda x, weight=None, *, axis, epsilon: call(
        "rms_norm", x, weight, axis=_last(x, axis), epsilon=epsilon
    ),
})  # fmt: skip


@rows.row("layer_norm")
def _layer_norm(
    x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, axis: Any, epsilon: float
) -> str:
    return call("layer_norm", x, weight, bias, axis=_last(x, axis), epsilon=epsilon)


@rows.row("group_norm")
def _group_norm(
    x: Operand,
    weight: Operand | None = None,
    bias: Operand | None = None,
    *,
    groups: int,
    epsilon: float,
    axis: int,
) -> str:
    return call("group_norm", x, weight, bias, axis=unless(axis, 1), groups=groups, epsilon=epsilon)


@rows.row("instance_norm")
def _instance_norm(
    x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, epsilon: float, axis: int
) -> str:
    return call("instance_norm", x, weight, bias, axis=unless(axis, 1), epsilon=epsilon)


rows.table(
    {
        "lp_pool": "lp_pool({x}, {ord}, {kernel}, {strides}, {ceil_mode=})",
        "max_unpool": "max_unpool({x}, {indices}, {size})",
        "adaptive_avg_pool": "adaptive_avg_pool({x}, {size}, {layout=})",
        "adaptive_max_pool": "adaptive_max_pool({x}, {size})",
        "adaptive_max_pool_with_indices": "adaptive_max_pool_with_indices({x}, {size})",
        "fractional_max_pool": "fractional_max_pool({x}, {samples}, {kernel}, {size})",
    }
)


def max_pool_call(
    helper: str,
    x: Operand,
    *,
    kernel: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    layout: str = CHANNELS_FIRST,
) -> str:
    options = {
        "padding": unless_all(padding, (0, 0)),
        "dilation": unless_all(dilation, 1),
        "ceil_mode": unless(ceil_mode, False),
    }
    return call(helper, x, kernel=kernel, strides=strides, **options, layout=unless(layout, CHANNELS_FIRST))


@rows.row("max_pool")
def _max_pool(x: Operand, **params: Any) -> str:
    return max_pool_call("max_pool", x, **params)


@rows.row("max_pool_with_indices")
def _max_pool_with_indices(x: Operand, **params: Any) -> str:
    return max_pool_call("max_pool_with_indices", x, **params)


@rows.row("avg_pool")
def _avg_pool(
    x: Operand,
    *,
    kernel: Any,
    strides: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
    layout: str,
) -> str:
    options = {
        "padding": unless_all(padding, (0, 0)),
        "ceil_mode": unless(ceil_mode, False),
        "count_include_pad": unless(count_include_pad, True),
        "divisor_override": divisor_override,
        "layout": unless(layout, CHANNELS_FIRST),
    }
    return call("avg_pool", x, kernel=kernel, strides=strides, **options)


rows.table(
    {
        "interpolate": "interpolate({x}, {size}, {method}, {scales=}, "
        "{align_corners=}, {antialias=}, {layout=})",
        "grid_sample": "grid_sample({x}, {grid}, {method=}, {padding=}, {align_corners=})",
        "affine_grid": "affine_grid({theta}, {size}, {align_corners=})",
        "pixel_shuffle": "pixel_shuffle({x}, {factor})",
        "pixel_unshuffle": "pixel_unshuffle({x}, {factor})",
        "channel_shuffle": "channel_shuffle({x}, {groups})",
    }
)


rows.table(
    {
        "std": "standard_deviation({x}, {axis=}, {correction=}, {keepdims=})",
        "lower_median": "lower_median({x}, {axis=}, {keepdims=}, {skip_nan=})",
        "mode": "most_frequent({x}, {axis=}, {keepdims=})",
        "cummax": "cummax({x}, {axis=})",
        "cummin": "cummin({x}, {axis=})",
        "histc": "histc({x}, {bins=}, {min=}, {max=})",
        "cosine_similarity": "cosine_similarity({x1}, {x2}, {axis=}, {epsilon=})",
        "cdist": "cdist({x1}, {x2}, {p=})",
        "pdist": "pdist({x}, {p=})",
    }
)


@rows.row("histogram")
def _histogram(x: Operand, bin_edges: Operand, weights: Operand | None = None, *, density: bool) -> str:
    options = ("" if weights is None else f", {weights}") + (", density=True" if density else "")
    return f"histogram_counts({x}, {bin_edges}{options})"
