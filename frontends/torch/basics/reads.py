"""Calls that read facts of a tensor instead of computing a new one: a table of how each is answered while recording.

``FACTS`` never depend on the elements and, with rank and dtype fixed by the signature, never change. ``VALUES`` hand the
elements to Python; what Python does with them cannot be seen, so the recording holds only for the same elements.
"""

from __future__ import annotations

FACTS = frozenset({
    "dtype", "ndim", "dim", "layout", "requires_grad", "is_leaf", "grad_fn", "grad", "is_sparse",
    "is_quantized", "is_nested", "is_mkldnn", "names", "is_floating_point", "is_complex",
    "is_signed", "is_contiguous", "element_size", "itemsize", "is_conj", "is_neg", "is_inference", "has_names", "_is_view",
    "_version", "output_nr", "name", "retains_grad", "is_shared", "is_pinned", "is_sparse_csr",
    "type_name", "register_hook", "result_type", "can_cast", "promote_types", "get_default_dtype", "is_storage", "__hash__",
    "_backward_hooks", "_base", "_is_zerotensor", "is_tensor", "__reduce_ex__", "__dir__", "has_torch_function", "retain_grad", "_grad",
    "is_coalesced", "dense_dim", "sparse_dim",
    "_has_compatible_shallow_copy_type",
})  # fmt: skip

# Where a tensor is, which calls may differ in.
DEVICES = frozenset({
    "device", "get_device", "is_cuda", "is_cpu", "is_meta", "is_mps", "is_xpu", "is_xla", "is_vulkan", "is_maia", "is_ipu", "is_mtia",
})  # fmt: skip

VALUES = frozenset({"item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__complex__", "is_nonzero", "_local_scalar_dense"})

# Those of them that ask whether an element is 0, and nothing else of it.
TRUTHS = frozenset({"__bool__", "is_nonzero"})

# Those of them whose numbers may be symbols.
NUMBERS = frozenset({"item", "tolist"})

# Calls that tell a size; inside of a transform (vmap) the answer is a plain number.
SIZES = frozenset({"shape", "size", "numel", "nelement", "__len__", "stride"})

# Kernels that compare sizes: asked by transforms, after which sizes are what they are.
SAME_SIZES = frozenset({"is_same_size", "_has_same_storage_numel"})

# Calls that run backward passes: what happens inside of them is recorded kernel by kernel.
BACKWARD = frozenset({"torch.Tensor.backward", "torch.autograd.backward", "torch.autograd.grad"})

# Calls that answer a question about elements with a Python bool: the question is recorded as this chain of calls instead.
QUESTIONS = frozenset({"equal", "allclose", "_nested_tensor_from_mask_left_aligned"})

# Calls that let other code see the memory of a tensor: what it does there cannot be recorded.
FOREIGN = frozenset(
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
    *(f"_sym_{name}" for name in ("sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "log2")),
})  # fmt: skip

# Calls that change how torch works, not tensors.
GRAD_MODE = "_set_grad_enabled"
