"""Names under which calls of torch are recorded and lifted, and the arguments that calls write to."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from ....ir.graph import Graph
from ....trees import iterate_structure
from ..compat import NN_KERNELS, VARIABLE_FUNCTIONS, OpOverload, OpOverloadPacket
from .tensors import version

# A function that is in several of these modules gets the name in the first one.
_PUBLIC: tuple[tuple[str, Any, str], ...] = (
    ("torch.nn.functional", torch.nn.functional, ""),
    ("torch", torch, ""),
    ("torch.linalg", torch.linalg, "linalg_"),
    ("torch.fft", torch.fft, "fft_"),
    ("torch.special", torch.special, "special_"),
    ("torch._C._nn", NN_KERNELS, ""),
    ("torch._VF", VARIABLE_FUNCTIONS, ""),
)
_names: dict[Any, str] = {}


def name_of(function: Any) -> str:
    name = _names.get(function)
    if name is None:
        name = _names[function] = _find_name(function)
    return name


def _find_name(function: Any) -> str:
    owner: Any = getattr(function, "__self__", None)
    # A property of Tensor is reported as its getter: ``Tensor.T.__get__``.
    if type(function).__name__ == "method-wrapper" and hasattr(owner, "__objclass__"):
        return f"torch.Tensor.{owner.__name__}.{function.__name__}"
    short = getattr(function, "__name__", type(function).__name__)
    if hasattr(function, "__objclass__") or getattr(function, "__qualname__", "").startswith(
        ("Tensor.", "TensorBase.")
    ):
        return f"torch.Tensor.{short}"
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{str(function).replace('::', '.')}"
    for path, module, prefix in _PUBLIC:
        # Some public functions have a private ``__name__``: ``threshold`` is defined as ``_threshold``.
        for candidate in (
            short.removeprefix("_"),
            short.removeprefix(prefix),
            short,
        ):
            if getattr(module, candidate, None) is function:
                return f"{path}.{candidate}"
    return f"{getattr(function, '__module__', None) or 'torch'}.{short}"


_GETTER = ".__get__"
_NAMESPACES = ("torch.linalg.", "torch.fft.", "torch.special.")
# Libraries of kernels (``torch.library``) that a bare name leaves out.
# Operators that take functions, such as ``torch.cond``, are in ``higher_order``.
# Kernels of other libraries keep the library as a prefix, since they may be named as torch's: ``toy.relu``.
_LIBRARIES = frozenset({"aten", "prims", "prim", "higher_order", "graph_compiler"})


@functools.cache
def row_key(name: str) -> str:
    """Return the bare name of a dotted name, under which lifting rows are found.

    >>> row_key("torch.nn.functional.linear"), row_key("torch.Tensor.T.__get__"), row_key("torch.fft.rfft")
    ('linear', 'T', 'fft_rfft')
    """
    if name.startswith("torch.ops."):
        _, _, library, bare, *_ = name.split(".")
        return bare if library in _LIBRARIES else f"{library}.{bare}"
    if name.endswith(_GETTER):
        return name.removesuffix(_GETTER).rpartition(".")[2]
    for namespace in _NAMESPACES:
        if name.startswith(namespace):
            return f"{namespace.split('.')[1]}_{name.removeprefix(namespace)}"
    return name.rpartition(".")[2]


_WISHES = {
    "scaled_dot_product_attention": "attended",
    "__getitem__": "part",
    "matmul": "product",
    "masked_fill": "masked",
}


def proposed_names(key: str, result: Any, made: list[torch.Tensor]) -> list[str]:
    """Propose a name for each tensor that a call made.

    >>> result = torch.ones(3).topk(2)
    >>> proposed_names("topk", result, list(result)), proposed_names("__getitem__", result[0], [result[0]])
    (['topk_values', 'topk_indices'], ['part'])
    """
    wish = _WISHES.get(key, key.strip("_"))
    if type(result).__module__ != "torch.return_types":
        return [wish] * len(made)
    named = {id(item): f"{wish}_{field}" for field, item in zip(type(result).__match_args__, result)}
    return [named.get(id(tensor), wish) for tensor in made]


@functools.cache
def is_in_place(key: str) -> bool:
    """Return True if the bare name ``key`` has the form of an in-place call, such as ``add_``.

    >>> is_in_place("add_"), is_in_place("__add__"), is_in_place("__ior__"), is_in_place("__setitem__")
    (True, False, True, True)
    """
    if key.startswith("__"):
        return key == "__setitem__" or key.startswith("__i") and key[3:-2] in _IN_PLACE_OPERATORS
    return key.endswith("_")


_IN_PLACE_OPERATORS = frozenset(
    {
        "add",
        "sub",
        "mul",
        "truediv",
        "div",
        "floordiv",
        "mod",
        "pow",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "matmul",
    }
)


@functools.cache
def pure_key(key: str) -> str:
    if key == "__setitem__" or not is_in_place(key):
        return key
    return f"__{key[3:]}" if key.startswith("__i") else key.rstrip("_")


def resolve(name: str) -> Any:
    """Return the object of torch with the dotted name ``name``, or raise ``AttributeError``.

    >>> resolve("torch.Tensor.T.__get__")(torch.ones(2, 3)).shape
    torch.Size([3, 2])
    """
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def name_by_module(graph: Graph, leaf_paths: set[str]) -> None:
    for node, following in zip(graph.nodes, [*graph.nodes[1:], None]):
        path = node.origin.module
        last = path.rpartition(".")[2]
        ends = following is None or following.origin.module != path
        if ends and path in leaf_paths and last and not last.isdigit() and len(node.outputs) == 1:
            node.outputs[0].name = last


# ---------------------------------------------------------------------------------------------------- writing
# Writes that the name of a call does not show.
#
# They are running statistics, and arguments that kernel schemas mark as written. Most writes increment the
# version of the tensor. Some calls do not, such as fused optimizers, which write to lists of weights, moments
# and steps, ``GradScaler``, which writes to its tracker, and quantization, which writes to its observers.

# Parameters with running statistics, which calls write to only while training. Not all schemas of these
# kernels mark them as written.
_STATISTICS: dict[str, tuple[tuple[int, str], ...]] = {
    "batch_norm": ((1, "running_mean"), (2, "running_var"), (3, "running_mean"), (4, "running_var")),
    "instance_norm": ((1, "running_mean"), (2, "running_var"), (3, "running_mean"), (4, "running_var")),
    "_batch_norm_with_update": ((3, "running_mean"), (4, "running_var")),
    "native_batch_norm": ((3, "running_mean"), (4, "running_var")),
    "_native_batch_norm_legit": ((3, "running_mean"), (4, "running_var")),
}

# Position of ``max_norm``, to which these calls rescale the rows of their weight that they look up.
_WITH_NORMS = {"embedding": 3, "embedding_bag": 3}
_RENORMED = ((1, "weight"),)


def statistics_order(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    running, affine = ("running_mean", "running_var"), ("weight", "bias")
    # ``torch.batch_norm`` and native kernels take weight and bias before the running statistics.
    native = "native" in key or key == "_batch_norm_with_update" or len(args) > 8 or "cudnn_enabled" in kwargs
    flag = "use_input_stats" if key == "instance_norm" else "training"
    flags = () if key == "_batch_norm_with_update" else (flag,)
    return (
        "input",
        *(affine + running if native else running + affine),
        *flags,
        "momentum",
        "eps",
        "cudnn_enabled",
    )


def _updates_statistic(tensor: Any, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if key == "_native_batch_norm_legit" and len(args) + len(kwargs) < 8:
        return False
    order = statistics_order(key, args, kwargs)
    given = {"training": False, "use_input_stats": True, **dict(zip(order, args)), **kwargs}
    trains = key == "_batch_norm_with_update" or given[order[5]]
    return bool(trains) and any(tensor is given.get(name) for name in ("running_mean", "running_var"))


@functools.cache
def written_arguments(key: str) -> tuple[tuple[int, str], ...]:
    """Return possible places (position, keyword) of parameters that ``key`` may write to.

    They do not include ``out`` and the tensor of an in-place call.

    >>> written_arguments("_amp_update_scale_"), written_arguments("add_")
    (((1, 'growth_tracker'),), ())
    >>> written_arguments("native_batch_norm")
    ((3, 'running_mean'), (4, 'running_var'))
    """
    return _STATISTICS.get(key) or tuple(dict.fromkeys(_schema_writes(key)))


def schemas(key: str) -> Iterator[Any]:
    packet = None if key.startswith("__") else getattr(torch.ops.aten, key, None)
    for name in packet.overloads() if isinstance(packet, OpOverloadPacket) else ():
        yield getattr(packet, name)._schema


def _schema_writes(key: str) -> Iterator[tuple[int, str]]:
    for schema in schemas(key):
        for position, argument in enumerate(schema.arguments):
            is_written = (
                argument.alias_info is not None and argument.alias_info.is_write and not argument.kwarg_only
            )
            if is_written and (position or is_in_place(key) and str(argument.type) == "List[Tensor]"):
                yield position, argument.name


def other_written_tensors(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Return candidates for written tensors, besides ``out`` and the tensor of an in-place call."""
    parameters = _RENORMED if _renormalizes(key, args, kwargs) else written_arguments(key)
    if not parameters:
        return []
    given = [
        args[position] if position < len(args) else kwargs.get(keyword) for position, keyword in parameters
    ]
    return [item for item in iterate_structure(given) if isinstance(item, torch.Tensor)]


def _renormalizes(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    position = _WITH_NORMS.get(key)
    norm = None if position is None else args[position] if position < len(args) else kwargs.get("max_norm")
    # ``torch.embedding`` and ``torch.embedding_bag`` have a bool at this position.
    return norm is not None and not isinstance(norm, bool)


def versions_before(
    key: str, operands: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int | None]:
    """Return ``version`` of each operand, or None if the call may write to it without a new version."""
    if key in _STATISTICS:
        return [None if _updates_statistic(one, key, args, kwargs) else version(one) for one in operands]
    uncounted = list(map(id, other_written_tensors(key, args, kwargs)))
    return [None if id(one) in uncounted else version(one) for one in operands]
