"""Properties of tensors, dtypes, and kinds of torch functions by bare name."""

from __future__ import annotations

import functools
from functools import lru_cache
from typing import Any

import torch

from ....ops.dtypes import DTYPES
from ....ops.registry import ArraySpec
from ....trees import map_structure
from ..compat import OpOverloadPacket, no_torch_function
from ..sizes import is_symbolic
from ..trace import Trace
from .refusals import check_layout


def is_captured(capture: Trace, tensor: torch.Tensor) -> bool:
    value = capture.recorder.find(tensor)
    return not capture.kernels.owns(tensor) if value is None else capture.is_weight(value)


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
    "split", "split_with_sizes", "tensor_split", "chunk", "view", "reshape", "expand", "repeat", "narrow",
    "new_zeros", "new_ones", "new_full", "new_empty", "unflatten", "tile", "roll", "pad", "topk", "tril",
    "triu", "as_strided", "interpolate", "upsample", "unfold", "fold", "select", "diag", "diagonal",
    "diagflat", "diag_embed", "one_hot", "rot90", "flip", "kthvalue", "pixel_shuffle", "pixel_unshuffle",
    "vander", "flatten", "unsqueeze", "squeeze", "transpose", "permute", "movedim", "swapaxes", "unbind",
    "hsplit", "vsplit", "dsplit", "broadcast_to", "cat", "stack", "cumsum", "cumprod", "softmax",
    "log_softmax", "group_norm", "histc",
    *(f"{kind}_pool{rank}d"
      for kind in ("adaptive_avg", "adaptive_max", "avg", "max", "lp") for rank in (1, 2, 3)),
}  # fmt: skip
DATA_SIZED = frozenset(
    {
        "nonzero",
        "argwhere",
        "masked_select",
        "unique",
        "unique_consecutive",
        "_unique2",
        "__getitem__",
        "repeat_interleave",
        "bincount",
    }
) | {"all_gather", "axis_indices"}
# These return the tensor itself, a view or a copy, depending on its strides and sizes.
MAY_COPY = frozenset({"contiguous", "reshape", "broadcast_tensors", "sum_to_size"})
# These return a view or a copy, depending on strides.
BY_STRIDES = frozenset({"reshape", "flatten", "ravel", "reshape_as", "contiguous"})
# Calls whose result is an alias without autograd history.
DETACHING = frozenset({"detach", "data"})
RANDOM = frozenset({
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli",
    "bernoulli_", "multinomial", "normal", "normal_", "poisson", "uniform_", "exponential_", "geometric_",
    "cauchy_", "log_normal_", "random_", "dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d",
    "alpha_dropout", "feature_alpha_dropout", "feature_dropout", "rrelu", "rrelu_", "gumbel_softmax",
    "native_dropout", "_sample_dirichlet", "_standard_gamma", "binomial", "fractional_max_pool2d",
    "fractional_max_pool3d", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_",
    "trunc_normal_",
})  # fmt: skip


_BY_NAME = {name: getattr(torch, name) for name in DTYPES if hasattr(torch, name)}
_OF_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_NAMES = {dtype: name for name, dtype in _BY_NAME.items()}


def dtype_name(dtype: torch.dtype | str | None) -> str:
    """Return the name of a dtype, such as ``"float32"``. None is torch's default dtype."""
    if isinstance(dtype, str):
        return dtype
    # torch also accepts Python's classes, as in ``dtype=float``.
    if isinstance(dtype, type):
        return _OF_PYTHON[dtype]
    return _NAMES.get(dtype or torch.get_default_dtype()) or str(dtype).removeprefix("torch.")


def torch_dtype(name: str) -> torch.dtype:
    return _BY_NAME[name]


@lru_cache(maxsize=4096)
def _result_type(kinds: tuple[Any, ...], default: torch.dtype) -> str:
    # Promotion depends on whether an array has axes, but not on its elements, so empty tensors suffice.
    examples = [
        _EXAMPLE[kind] if isinstance(kind, type) else torch.empty((0,) * kind[1], dtype=torch_dtype(kind[0]))
        for kind in kinds
    ]
    result: Any = examples[0]
    if len(examples) == 1:
        return dtype_name(torch.result_type(result, result))
    return dtype_name(_promote_all(examples))


_EXAMPLE: dict[type, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}


def _promote_all(examples: list[Any]) -> torch.dtype:
    # The operands of each category (arrays with axes, 0-d arrays, numbers) are promoted among themselves
    # first, as in torch.
    groups: dict[int, Any] = {}
    for example in examples:
        rank = 2 if not torch.is_tensor(example) else 0 if example.ndim else 1
        before = groups.get(rank)
        groups[rank] = example if before is None else _combine(before, example)
    ordered = [groups[rank] for rank in sorted(groups)]
    result = ordered[0]
    for example in ordered[1:]:
        kept = torch.result_type(result, example)
        result = torch.empty((0,) * (result.ndim if torch.is_tensor(result) else 0), dtype=kept)
    return torch.result_type(result, result)


def _combine(left: Any, right: Any) -> Any:
    kind = torch.result_type(left, right)
    return (
        torch.empty((0,) * (left.ndim if torch.is_tensor(left) else 0), dtype=kind)
        if torch.is_tensor(left)
        # The sum of two bools would be an int.
        else _EXAMPLE[max(type(left), type(right), key=list(_EXAMPLE).index)]
    )


def result_type(*operands: Any) -> str:
    kinds = tuple(
        (item.dtype, min(item.ndim, 1)) if hasattr(item, "ndim") else getattr(item, "type", type(item))
        for item in operands
    )
    return _result_type(kinds, torch.get_default_dtype())


PROPERTIES = frozenset({
    "dtype", "ndim", "dim", "layout", "requires_grad", "is_leaf", "grad_fn", "grad", "is_sparse",
    "is_quantized", "is_nested", "is_mkldnn", "names", "is_floating_point", "is_complex",
    "is_signed", "is_contiguous", "element_size", "itemsize", "is_conj", "is_neg", "is_inference",
    "has_names", "_is_view", "_version", "output_nr", "name", "retains_grad", "is_shared", "is_pinned",
    "is_sparse_csr", "type_name", "register_hook", "result_type", "can_cast", "promote_types",
    "get_default_dtype", "is_storage", "__hash__", "_backward_hooks", "_base", "_is_zerotensor", "is_tensor",
    "__reduce_ex__", "__dir__", "has_torch_function", "retain_grad", "_grad", "is_coalesced", "dense_dim",
    "sparse_dim", "_has_compatible_shallow_copy_type",
})  # fmt: skip

# Properties that tell the device of a tensor, in which calls of a graph may differ.
DEVICES = frozenset({
    "device", "get_device", "is_cuda", "is_cpu", "is_meta", "is_mps", "is_xpu", "is_xla", "is_vulkan",
    "is_maia", "is_ipu", "is_mtia",
})  # fmt: skip

VALUES = frozenset(
    {
        "item",
        "tolist",
        "__bool__",
        "__int__",
        "__float__",
        "__index__",
        "__complex__",
        "is_nonzero",
        "_local_scalar_dense",
    }
)

# Calls of ``VALUES`` that only ask whether an element is 0.
TRUTHS = frozenset({"__bool__", "is_nonzero"})

# Calls of ``VALUES`` whose results may be symbols.
NUMBERS = frozenset({"item", "tolist"})

# Calls that return sizes, numbers of elements or strides.
SIZES = frozenset({"shape", "size", "numel", "nelement", "__len__", "stride"})

# Kernels by which transforms compare sizes.
SAME_SIZES = frozenset({"is_same_size", "_has_same_storage_numel"})

# Calls that run backward passes, whose kernels are recorded one by one.
BACKWARD = frozenset({"torch.Tensor.backward", "torch.autograd.backward", "torch.autograd.grad"})

# Calls that return a Python bool computed from elements. Calls that compute it as a tensor are recorded
# instead.
COMPARISONS = frozenset({"equal", "allclose", "_nested_tensor_from_mask_left_aligned"})

# Calls that hand the memory of a tensor to other code, whose accesses cannot be recorded.
EXPORTING = frozenset(
    {
        "numpy",
        "__array__",
        "data_ptr",
        "storage",
        "untyped_storage",
        "_typed_storage",
        "__dlpack__",
        "__cuda_array_interface__",
        "apply_",
        "map_",
        "map2_",
    }
)

# Arithmetic on sizes, which a mode sees as well (``n * 0.5`` calls ``torch.sym_float``).
SYMBOLIC = frozenset({
    "sym_int", "sym_float", "sym_max", "sym_min", "sym_not", "sym_ite", "sym_sum",
    *(f"_sym_{name}"
      for name in ("sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "log2")),
})  # fmt: skip

# The call by which the grad mode is switched.
GRAD_MODE = "_set_grad_enabled"


_INTEGERS = frozenset({"int", "Optional[int]", "List[int]", "Optional[List[int]]"})
# A parameter of these types cannot be a tensor of integers in another overload, so it is ignored.
_SILENT = frozenset({"bool", "Optional[bool]", "str", "Optional[str]", "List[str]"})


@functools.lru_cache(maxsize=1024)
def integer_parameters(key: str, is_method: bool) -> frozenset[int | str]:
    """Return positions and keywords at which kernels named ``key`` take integers or lists of integers.

    Other types in one of the kernels may rule a parameter out. With ``is_method``, ``self`` has position 0.

    >>> sorted(integer_parameters("multinomial", False), key=str)
    [1, 'num_samples']
    >>> 0 in integer_parameters("polygamma", False), 1 in integer_parameters("polygamma", True)
    (True, True)
    >>> integer_parameters("pow", False), integer_parameters("nothing", False)
    (frozenset(), frozenset())
    """
    packet = getattr(torch.ops.aten, key, None)
    if not isinstance(packet, OpOverloadPacket):
        return frozenset()
    kinds: dict[int | str, set[bool]] = {}
    for overload in packet.overloads():
        for place, argument in _places(getattr(packet, overload)._schema.arguments, is_method):
            if (kind := str(argument.type)) not in _SILENT:
                kinds.setdefault(place, set()).add(kind in _INTEGERS)
    return frozenset(place for place, found in kinds.items() if found == {True})


def _places(arguments: Any, is_method: bool) -> list[tuple[int | str, Any]]:
    given = [one for one in arguments if not one.kwarg_only]
    # In the schema of ``polygamma(int n, Tensor self)`` the tensor of the method is not first.
    if is_method:
        given.sort(key=lambda one: one.name != "self")
    return [*enumerate(given), *((one.name, one) for one in arguments)]


TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
"""Classes of tensors that behave as torch's own."""
PLAIN = frozenset(
    {
        int,
        float,
        bool,
        str,
        complex,
        type(None),
        type(...),
        torch.dtype,
        torch.device,
        torch.memory_format,
        torch.layout,
    }
)
"""Classes of arguments that are recorded as they are."""
_WITHOUT_SIZES = TENSORS | PLAIN


def spec_of(tensor: torch.Tensor) -> ArraySpec:
    check_layout(tensor)
    return ArraySpec(tuple(tensor.shape), dtype_name(tensor.dtype))


def hints(structure: Any) -> Any:
    """Return nested arguments with the recorded numbers in place of symbolic ones."""
    # Most calls have no symbolic arguments, so ``map_structure`` is avoided for them.
    if type(structure) is tuple:
        return tuple(
            [item if type(item) in _WITHOUT_SIZES else map_structure(_hint, item) for item in structure]
        )
    return map_structure(_hint, structure)


def _hint(item: Any) -> Any:
    return item.node.hint if is_symbolic(item) else item


def version(tensor: torch.Tensor) -> int:
    # Inference tensors have no version counter.
    return -1 if tensor.is_inference() else tensor._version


def is_leaf(tensor: torch.Tensor) -> bool:
    try:
        return tensor.is_leaf
    # torch does so for a view that was made without gradients, once its base was written to.
    except RuntimeError:
        return False


def storage(tensor: torch.Tensor) -> int:
    """Return a number that identifies the storage of ``tensor``, or the object if it has no single one."""
    try:
        with no_torch_function():
            return tensor.untyped_storage()._cdata
    # Sparse tensors, among others, have no single storage.
    except (NotImplementedError, RuntimeError):
        return -id(tensor)


def fills_memory(tensor: torch.Tensor) -> bool:
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.itemsize
    return whole and tensor.is_contiguous() and tensor.storage_offset() == 0


def without_repeats(tensor: torch.Tensor) -> torch.Tensor:
    """Narrow the axes of ``tensor`` that are longer than 1 and have stride 0 to length 1.

    ``Tensor.copy_`` cannot write to expanded tensors.

    >>> without_repeats(torch.zeros(2, 1).expand(2, 3)).shape
    torch.Size([2, 1])
    """
    for axis, step in enumerate(tensor.stride()):
        if step == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def restore_elements(tensor: torch.Tensor, before: torch.Tensor) -> None:
    # As ``out=`` the tensor was resized to the result.
    if without_repeats(tensor).shape != before.shape:
        tensor.resize_(before.shape)
    without_repeats(tensor).copy_(before)
