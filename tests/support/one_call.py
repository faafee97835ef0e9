"""Test of one lifting row on concrete arrays, without recording: torch call, canonical graph, JAX source,
result.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from graph_compiler.backends import jax as jax_backend
from graph_compiler.codegen import write
from graph_compiler.frontends.torch.basics.tensors import dtype_name
from graph_compiler.frontends.torch.lifting import TorchBuilder, rows
from graph_compiler.ir import Graph, verify
from graph_compiler.ops import ArraySpec
from graph_compiler.trees import flatten, iterate_structure, map_structure


def spec_of(tensor: torch.Tensor) -> ArraySpec:
    return ArraySpec(tuple(tensor.shape), dtype_name(tensor.dtype))


def lift_call(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Graph:
    """Return the verified canonical graph of ``function(*args, **kwargs)``, lifted by the row ``name``."""
    expected = function(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    graph = Graph("call", "canonical")
    b = TorchBuilder(graph)
    b.recorded = tuple(
        spec_of(item) for item in iterate_structure(expected) if isinstance(item, torch.Tensor)
    )

    def enter(item: Any) -> Any:
        return b.input(f"x{len(graph.inputs)}", spec_of(item)) if isinstance(item, torch.Tensor) else item

    result = rows.get(name)(b, *map_structure(enter, args), **map_structure(enter, kwargs))  # type: ignore[misc]
    graph.outputs, graph.output_tree = flatten(result, is_leaf=lambda item: hasattr(item, "spec"))
    return verify(graph)


def run_call(
    name: str, function: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> tuple[list[Any], list[torch.Tensor], str]:
    """Return (results in JAX, results of torch, generated source) of one call. Both results are flat lists of
    arrays.
    """
    graph = lift_call(name, function, args, kwargs or {})
    program = write(graph, jax_backend.dialect, f"{name}, one call.")
    scope: dict[str, Any] = dict(program.globals)
    exec(compile(program.source, "<one call>", "exec"), scope)
    tensors = [item for item in iterate_structure((args, kwargs or {})) if isinstance(item, torch.Tensor)]
    constants = (
        ({key: _to_jax(array) for key, (_, array) in graph.constants.items()},)
        if "constants" in program.arguments
        else ()
    )
    result = scope[program.name](*constants, *map(_to_jax, tensors))
    expected = function(*copy.deepcopy(args), **copy.deepcopy(kwargs or {}))
    actual, _ = flatten(result, is_leaf=lambda item: hasattr(item, "dtype"))
    return (
        actual,
        [item for item in iterate_structure(expected) if isinstance(item, torch.Tensor)],
        program.source,
    )


def _to_jax(tensor: Any) -> Any:
    import jax.numpy as jnp

    if not isinstance(tensor, torch.Tensor):
        return jnp.asarray(tensor)
    if tensor.dtype == torch.bfloat16:
        return jnp.asarray(tensor.float().numpy()).astype(jnp.bfloat16)
    return jnp.asarray(tensor.detach().numpy())


def check_call(
    name: str, function: Callable[..., Any], *args: Any, rtol: float = 1e-5, atol: float = 1e-5, **kwargs: Any
) -> str:
    """Assert that the row ``name`` computes what ``function(*args, **kwargs)`` does in torch; return the JAX
    source.

    Shapes must be equal, dtypes equal or the 32-bit counterpart, elements within ``rtol`` and ``atol``.
    """
    actual, expected, source = run_call(name, function, args, kwargs)
    assert len(actual) == len(expected), f"{len(actual)} results for {len(expected)}\n{source}"
    narrowed = {"int64": "int32", "float64": "float32", "complex128": "complex64", "uint64": "uint32"}
    for got, want in zip(actual, expected):
        name_of = dtype_name(want.dtype)
        assert str(got.dtype) in (name_of, narrowed.get(name_of)), f"{got.dtype} for {name_of}\n{source}"
        assert tuple(got.shape) == tuple(want.shape), f"{got.shape} for {tuple(want.shape)}\n{source}"
        wanted = (
            want.detach().float().numpy()
            if want.dtype == torch.bfloat16
            else want.detach().resolve_conj().resolve_neg().numpy()
        )
        np.testing.assert_allclose(
            np.asarray(got).astype(wanted.dtype), wanted, rtol=rtol, atol=atol, err_msg=source
        )
    return source


def lowered(build: Callable[..., Any], args: tuple[torch.Tensor, ...]) -> Any:
    """Return what ``build(builder, *arrays)`` computes when it is written for torch and run on ``args``."""
    from graph_compiler.backends import torch as torch_backend

    graph = Graph("call", "canonical")
    b = TorchBuilder(graph)
    result = build(b, *(b.input(f"x{place}", spec_of(item)) for place, item in enumerate(args)))
    graph.outputs, graph.output_tree = flatten(result, is_leaf=lambda item: hasattr(item, "spec"))
    program = write(verify(graph), torch_backend.dialect, "One call.")
    scope: dict[str, Any] = dict(program.globals)
    exec(compile(program.source, "<one call>", "exec"), scope)
    return scope[program.name](*args)
