"""Kinds of calls that the recording treats in their own way, by bare name."""

from __future__ import annotations

CREATES = frozenset(
    {
        "arange",
        "zeros",
        "ones",
        "full",
        "empty",
        "eye",
        "linspace",
        "logspace",
        "rand",
        "randn",
        "randperm",
        "hann_window",
        "hamming_window",
    }
)
TAKES_SIZES = CREATES | {
    "split", "split_with_sizes", "tensor_split", "chunk", "view", "reshape", "expand", "repeat", "narrow", "new_zeros", "new_ones",
    "new_full", "new_empty", "unflatten", "tile", "roll", "pad", "topk", "tril", "triu", "as_strided", "interpolate", "upsample", "unfold",
    "fold", "select", "diag", "diagonal", "diagflat", "diag_embed", "one_hot", "rot90", "flip", "kthvalue", "pixel_shuffle",
    "pixel_unshuffle", "vander", "flatten", "unsqueeze", "squeeze", "transpose", "permute", "movedim", "swapaxes", "unbind", "hsplit",
    "vsplit", "dsplit", "broadcast_to",
    "cat", "stack", "cumsum", "cumprod", "softmax", "log_softmax", "group_norm", "histc",
    *(f"{kind}_pool{rank}d" for kind in ("adaptive_avg", "adaptive_max", "avg", "max", "lp") for rank in (1, 2, 3)),
}  # fmt: skip
DATA_SIZED = frozenset(
    {"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "_unique2", "__getitem__", "repeat_interleave", "bincount"}
) | {"all_gather", "axis_indices"}
# Give back the tensor itself, a view or a copy, depending on its strides and sizes.
MAY_COPY = frozenset({"contiguous", "reshape", "broadcast_tensors", "sum_to_size"})
BY_STRIDES = frozenset({"reshape", "flatten", "ravel", "reshape_as", "contiguous"})  # give a view or a copy, depending on strides
CUT = frozenset({"detach", "data"})
RANDOM = frozenset({
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "bernoulli_", "multinomial", "normal",
    "normal_", "poisson", "uniform_", "exponential_", "geometric_", "cauchy_", "log_normal_", "random_", "dropout", "dropout_", "dropout1d",
    "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout", "rrelu", "rrelu_", "gumbel_softmax",
    "native_dropout", "_sample_dirichlet", "_standard_gamma", "binomial", "fractional_max_pool2d", "fractional_max_pool3d",
    "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_",
    "xavier_normal_", "trunc_normal_",
})  # fmt: skip
