"""Normalization layers, and their running statistics after a training step."""

from __future__ import annotations

from typing import Any

import torch

from .....ops.nn import pooled_response_norm, upcast_half
from .....sizes import apply, hint_of, product
from ...basics.tensors import torch_dtype
from ..elementwise import held
from ..table import TorchBuilder, axes, axis, rows
from .activations import optional


# ---------------------------------------------------------------------------------------------- batch
def _statistics(b: TorchBuilder, x: Any) -> tuple[Any, Any]:
    over = (0, *range(2, x.ndim))
    return b.mean(upcast_half(b, x), axis=over), b.var(upcast_half(b, x), axis=over)


def _count(x: Any) -> Any:
    return product((x.shape[0], *x.shape[2:]))


def _batch_norm(
    b: TorchBuilder, input: Any, mean: Any, variance: Any, weight: Any, bias: Any, training: bool, eps: float
) -> Any:
    # torch accepts an empty vector, and returns it.
    if input.ndim < 2:
        return input
    # Without running statistics, torch uses those of the batch in evaluation, too.
    if training or mean is None:
        if hint_of(count := _count(input)) == 0:
            # An empty batch has no statistics.
            b.guard(apply("eq", count, 0))
            return input
        mean, variance = _statistics(b, input)
    return b.batch_norm(*optional(input, mean, variance, weight, bias), epsilon=eps)


def _several(b: TorchBuilder, sizes: tuple[Any, ...]) -> None:
    # torch raises if these sizes have the product 1.
    b.guard(apply("ne", product(sizes), 1))


@rows.row("nn.functional.batch_norm")
def functional_batch_norm(
    b: TorchBuilder,
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Any:
    if training:
        b.guard(apply("ne", _count(input), 1))
    return _batch_norm(b, input, running_mean, running_var, weight, bias, training, eps)


rows.table({
    "batch_norm":
        lambda b, input, weight, bias, running_mean, running_var, training, momentum, eps,
        cudnn_enabled=False:
        _batch_norm(
        b, input, running_mean, running_var, weight, bias, training, eps
    ),
    "_native_batch_norm_legit_no_training":
        lambda b, input, weight, bias, running_mean, running_var, momentum, eps:
        _native_batch_norm(
        b, input, weight, bias, (running_mean, running_var), False, eps
    ),
})  # fmt: skip


def _moved(b: TorchBuilder, running: Any, new: Any, momentum: Any) -> Any:
    # torch computes running statistics without gradients.
    kept, part = (b.operand(number, running.dtype) for number in (1 - momentum, momentum))
    return b.stop_gradient(b.add(b.multiply(running, kept), b.multiply(b.cast(new, running.dtype), part)))


def batch_norm_statistics(
    b: TorchBuilder, input: Any, running_mean: Any, running_var: Any, momentum: Any
) -> tuple[Any, Any]:
    is_empty = hint_of(count := _count(input)) == 0
    b.guard(apply("eq" if is_empty else "ne", count, 0))
    if is_empty:
        return running_mean, running_var
    mean, variance = _statistics(b, input)
    # As torch computes it, the variance of one element is NaN.
    unbiased = b.divide(b.multiply(variance, count), count - 1)
    return _moved(b, running_mean, mean, momentum), _moved(b, running_var, unbiased, momentum)


def _as_recorded(b: TorchBuilder, *values: Any) -> tuple[Any, ...]:
    """Cast ``values`` to the recorded dtypes, or replace None by an empty array if torch returned one."""
    results = []
    for value, spec in zip(values, b.recorded):
        empty = spec.shape == (0,) and value is None
        results.append(b.zeros(shape=(0,), dtype=spec.dtype) if empty else b.cast(value, spec.dtype))
    return tuple(results)


def _native_batch_norm(
    b: TorchBuilder, x: Any, weight: Any, bias: Any, stats: tuple[Any, Any], training: bool, eps: float
) -> Any:
    mean, variance = _statistics(b, x) if training else stats
    output = b.batch_norm(*optional(x, mean, variance, weight, bias), epsilon=eps)
    if not training:
        return _as_recorded(b, output, None, None)
    return _with_statistics(b, output, mean, variance, eps)


def _with_statistics(b: TorchBuilder, output: Any, mean: Any, variance: Any, eps: float) -> Any:
    return _as_recorded(
        b, output, b.stop_gradient(mean), b.stop_gradient(b.divide(1.0, b.sqrt(b.add(variance, eps))))
    )


@rows.row("native_batch_norm")
def native_batch_norm(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: Any,
    eps: float,
) -> Any:
    return _native_batch_norm(b, input, weight, bias, (running_mean, running_var), training, eps)


@rows.row("_batch_norm_with_update")
def batch_norm_with_update(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: Any,
    eps: float,
) -> Any:
    results = native_batch_norm(b, input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*results, b.zeros(shape=(0,), dtype="uint8"))


@rows.row("_native_batch_norm_legit")
def native_batch_norm_legit(b: TorchBuilder, input: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    *stats, training, _, eps = rest
    return _native_batch_norm(b, input, weight, bias, tuple(stats) or (None, None), training, eps)


@rows.row("_native_batch_norm_legit_functional")
def native_batch_norm_functional(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: Any,
    eps: float,
) -> Any:
    stats = (running_mean, running_var)
    outputs = _native_batch_norm(b, input, weight, bias, stats, training, eps)
    return (*outputs, *(batch_norm_statistics(b, input, *stats, momentum) if training else stats))


# ---------------------------------------------------------------------------------------------- instance
def _instance_norm(
    b: TorchBuilder,
    x: Any,
    mean: Any,
    variance: Any,
    weight: Any,
    bias: Any,
    use_input_stats: bool,
    eps: float,
) -> Any:
    if use_input_stats:
        return b.instance_norm(*optional(x, weight, bias), epsilon=eps)
    return b.batch_norm(*optional(x, mean, variance, weight, bias), epsilon=eps)


@rows.row("nn.functional.instance_norm")
def functional_instance_norm(
    b: TorchBuilder,
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Any:
    if use_input_stats:
        _several(b, input.shape[2:])
    return _instance_norm(b, input, running_mean, running_var, weight, bias, use_input_stats, eps)


@rows.row("instance_norm")
def instance_norm(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: Any,
    eps: float,
    cudnn_enabled: bool = False,
) -> Any:
    return _instance_norm(b, input, running_mean, running_var, weight, bias, use_input_stats, eps)


def instance_norm_statistics(
    b: TorchBuilder, input: Any, running_mean: Any, running_var: Any, momentum: Any
) -> tuple[Any, Any]:
    x, over = upcast_half(b, input), tuple(range(2, input.ndim))
    mean, variance = b.mean(x, axis=over), b.var(x, axis=over, correction=1.0)
    return _moved(b, running_mean, b.mean(mean, axis=0), momentum), _moved(
        b, running_var, b.mean(variance, axis=0), momentum
    )


# -------------------------------------------------------------------------------------------- layer and group
def _last(b: TorchBuilder, x: Any, normalized_shape: Any, *affine: Any) -> tuple[int, ...]:
    """Return the last axes that ``normalized_shape`` spans, and guard the sizes of the arrays there."""
    shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    for array in (x, *affine):
        for size, wanted in zip(array.shape[array.ndim - len(shape) :] if array is not None else (), shape):
            b.guard(apply("eq", size, wanted))
    return tuple(range(x.ndim - len(shape), x.ndim))


@rows.row("layer_norm")
def layer_norm(
    b: TorchBuilder,
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    return b.layer_norm(
        *optional(input, weight, bias), axis=_last(b, input, normalized_shape, weight, bias), epsilon=eps
    )


@rows.row("native_layer_norm")
def native_layer_norm(
    b: TorchBuilder, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> Any:
    over, x = _last(b, input, normalized_shape, weight, bias), upcast_half(b, input)
    output = b.layer_norm(*optional(input, weight, bias), axis=over, epsilon=eps)
    return _with_statistics(
        b, output, b.mean(x, axis=over, keepdims=True), b.var(x, axis=over, keepdims=True), eps
    )


def _epsilon(eps: float | None, dtype: str) -> float:
    return torch.finfo(torch.promote_types(torch_dtype(dtype), torch.float32)).eps if eps is None else eps


@rows.row("rms_norm")
def rms_norm(
    b: TorchBuilder, input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    over = _last(b, input, normalized_shape, weight)
    return b.cast(
        b.rms_norm(*optional(input, weight), axis=over, epsilon=_epsilon(eps, input.dtype)),
        b.recorded[0].dtype,
    )


@rows.row("_fused_rms_norm")
def fused_rms_norm(b: TorchBuilder, input: Any, normalized_shape: Any, weight: Any, eps: float | None) -> Any:
    over, x = _last(b, input, normalized_shape), upcast_half(b, input)
    epsilon = _epsilon(eps, input.dtype)
    square = b.mean(b.multiply(x, x), axis=over, keepdims=True)
    output = b.rms_norm(*optional(input, weight), axis=over, epsilon=epsilon)
    return _as_recorded(b, output, b.divide(1.0, b.sqrt(b.add(square, epsilon))))


@rows.row("nn.functional.group_norm")
def functional_group_norm(
    b: TorchBuilder, input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    _several(b, (input.shape[0], input.shape[1] // num_groups, *input.shape[2:]))
    return group_norm(b, input, num_groups, weight, bias, eps)


@rows.row("group_norm")
def group_norm(
    b: TorchBuilder,
    input: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    return b.group_norm(*optional(input, weight, bias), groups=num_groups, epsilon=eps)


@rows.row("native_group_norm")
def native_group_norm(
    b: TorchBuilder, input: Any, weight: Any, bias: Any, N: Any, C: Any, HxW: Any, group: int, eps: float
) -> Any:
    for size, number in zip((*input.shape[:2], product(input.shape[2:])), (N, C, HxW), strict=True):
        if hint_of(size) != hint_of(number):
            raise NotImplementedError(
                "numbers that are not the sizes of the input: give torch.native_group_norm N, C and H * W of "
                "the array itself"
            )
        b.guard(apply("eq", size, number))
    output = b.group_norm(*optional(input, weight, bias), groups=group, epsilon=eps)
    grouped = b.reshape(upcast_half(b, input), shape=(N, group, product(input.shape[1:]) // group))
    return _as_recorded(
        b, output, b.mean(grouped, axis=2), b.divide(1.0, b.sqrt(b.add(b.var(grouped, axis=2), eps)))
    )


# ---------------------------------------------------------------------------------------------- others
@rows.row("local_response_norm")
def local_response_norm(
    b: TorchBuilder, input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    if "float" not in input.dtype:
        return pooled_response_norm(b, input, size=size, alpha=alpha, beta=beta, k=k)
    return b.local_response_norm(input, size=size, alpha=alpha, beta=beta, k=k)


@rows.row("normalize")
def normalize(b: TorchBuilder, input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    over = axes(dim, input.ndim)
    if input.ndim == 0:
        return b.reshape(
            b.normalize(b.reshape(input, shape=(1,)), ord=p, axis=(0,), epsilon=held(eps, input.dtype)),
            shape=(),
        )
    return b.normalize(
        input, ord=p, axis=tuple(range(input.ndim)) if over is None else over, epsilon=held(eps, input.dtype)
    )


@rows.row("norm_except_dim")
def norm_except_dim(b: TorchBuilder, v: Any, pow: int = 2, dim: int = 0) -> Any:
    if dim == -1:
        return b.vector_norm(v, ord=pow)
    kept = axis(dim, v.ndim)
    return b.vector_norm(v, axis=tuple(i for i in range(v.ndim) if i != kept), keepdims=True, ord=pow)


@rows.row("_weight_norm_interface")
def weight_norm_interface(b: TorchBuilder, v: Any, g: Any, dim: int = 0) -> Any:
    norm_dtype = b.recorded[1].dtype
    norm = norm_except_dim(b, b.cast(v, norm_dtype), 2, dim)
    return b.cast(b.multiply(b.cast(v, norm_dtype), b.divide(b.cast(g, norm_dtype), norm)), v.dtype), norm


@rows.row("_weight_norm")
def weight_norm(b: TorchBuilder, v: Any, g: Any, dim: int = 0) -> Any:
    return b.multiply(v, b.divide(g, norm_except_dim(b, v, 2, dim)))
