"""Adapters that give every contender one of two interfaces.

``TORCH``: (model, keyword inputs) -> a call without arguments that runs the model in torch. ``JAX``:
(model, keyword inputs) -> ``Extracted``, the parameters and a pure function of (parameters, inputs) for
``jax.jit``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from .measure import Call

Inputs = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Extracted:
    """A model as a function for JAX.

    parameters: its arrays by name.
    function: function of parameters and inputs that returns a flat list of arrays.
    """

    parameters: dict[str, Any]
    function: Callable[[dict[str, Any], Inputs], list[Any]]


def to_jax(inputs: dict[str, Tensor]) -> Inputs:
    jnp = importlib.import_module("jax.numpy")
    return {name: jnp.asarray(tensor.numpy()) for name, tensor in inputs.items()}


def synchronised(call: Call) -> Call:
    jax = importlib.import_module("jax")
    return lambda: jax.block_until_ready(call())


# --------------------------------------------------------------------------------------------- graph_compiler
def compile_graph(model: nn.Module | Callable[..., Any], **options: Any) -> Any:
    return importlib.import_module("graph_compiler").compile(model, **options)


def bare_call(graph: Any, inputs: Inputs) -> Call:
    """Return a call of the flat function alone, without signature, guards and choice of a variant."""
    variant = graph.variants[0]
    given = {"parameters": variant.parameters(), "constants": variant.constants}
    arguments = (*(given[name] for name in variant.program.arguments), *variant.matching.match((), inputs))
    flat = variant.executable.function
    return lambda: flat(*arguments)


def guards_alone(graph: Any, inputs: Inputs) -> Call:
    """Return a call of ``graph`` whose flat function returns an earlier result instead of computing.

    ``graph`` itself is changed.
    """
    variant, outcome = graph.variants[0], bare_call(graph, inputs)()
    variant.executable.called = lambda *arrays: outcome
    # Earlier calls have cached functions that call the flat function.
    for made in ("_attempt", "attempt"):
        vars(variant).pop(made, None)
    return lambda: graph(**inputs)


def graph_call(model: nn.Module, inputs: Inputs) -> Call:
    graph = compile_graph(model, kwargs=inputs)
    return lambda: graph(**inputs)


def extract_graph(model: nn.Module, inputs: Inputs) -> Extracted:
    graph = importlib.import_module("graph_compiler").transpile(model, to="jax", kwargs=inputs)
    return Extracted(
        dict(graph.parameters),
        lambda parameters, given: pytree.tree_leaves(graph.functional(parameters, **given)),
    )


def compiled_call(to: str, model: nn.Module, inputs: Inputs) -> Call:
    """Return a call of the graph of a model in JAX or TensorFlow, compiled, on the framework's arrays."""
    graph = importlib.import_module("graph_compiler").transpile(
        model, to=to, kwargs=inputs, return_backend_compiled_fn=True
    )
    arrays = {
        name: native(to, given) if isinstance(given, Tensor) else given for name, given in inputs.items()
    }
    return lambda: graph(**arrays)


def native(to: str, tensor: Tensor) -> Any:
    if to == "jax":
        return importlib.import_module("jax.numpy").asarray(tensor.numpy())
    return importlib.import_module("tensorflow").constant(tensor.numpy())


def finished(call: Call) -> Call:
    """Return a function that makes the call and waits for its results, in JAX or TensorFlow."""
    jax = importlib.import_module("jax")

    def wait(leaf: Any) -> Any:
        return leaf.block_until_ready() if isinstance(leaf, jax.Array) else leaf.numpy()

    return lambda: [wait(leaf) for leaf in pytree.tree_leaves(call()) if hasattr(leaf, "shape")]


# ---------------------------------------------------------------------------------------------- torch's own
def eager(model: nn.Module, inputs: Inputs) -> Call:
    return lambda: model(**inputs)


def torch_compiled(model: nn.Module, inputs: Inputs) -> Call:
    """Return a call of the model under ``torch.compile``, whose caches are reset."""
    # torch limits how often it compiles a function, so earlier cases must not count.
    torch.compiler.reset()
    compiled = torch.compile(model)
    return lambda: compiled(**inputs)


def exported(model: nn.Module, inputs: Inputs) -> Call:
    module = torch.export.export(model, (), kwargs=inputs).module()
    return lambda: module(**inputs)


# ---------------------------------------------------------------------------------------------- torchax
class _MissingOverload:
    """Placeholder for an overload that this version of torch does not have. It is never called."""


@contextlib.contextmanager
def _missing_overloads_stubbed() -> Iterator[None]:
    """Return placeholders for overloads that torch does not have, inside the block.

    torchax 0.0.13 lists overloads for named tensors (``aten.prod.dim_Dimname``,
    ``aten.index_copy.dimname`` and twenty more), which torch 2.13 removed. It uses them only as keys of
    tables, so any object will do.
    """
    packet = torch._ops.OpOverloadPacket
    original = packet.__getattr__

    def lenient(self: Any, name: str) -> Any:
        try:
            return original(self, name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return _MissingOverload()

    packet.__getattr__ = lenient
    try:
        yield
    finally:
        packet.__getattr__ = original


@functools.cache
def import_torchax() -> Any:
    """Import torchax and create its environment, which fills its tables.

    Changes that it makes in torch for all code are undone: it switches a fast attention off, and announces
    an accelerator without streams, on which ``torch.compile`` raises.
    """
    fast_attention = torch.backends.mha.get_fastpath_enabled()
    with _missing_overloads_stubbed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torchax = importlib.import_module("torchax")
        torchax.default_env()
    # Eager torch is measured, too, and must be as fast as without torchax.
    torch.backends.mha.set_fastpath_enabled(fast_attention)
    torchax.device_module.is_available = lambda: False
    return torchax


def extract_torchax(model: nn.Module, _: Inputs) -> Extracted:
    """Convert a model by torchax, which traces it only when JAX does."""
    torchax = import_torchax()
    with warnings.catch_warnings():
        # It reads every attribute of the model, deprecated ones too.
        warnings.simplefilter("ignore")
        parameters, function = torchax.extract_jax(model)
    return Extracted(parameters, lambda states, given: pytree.tree_leaves(function(states, (), given)))


TORCH: dict[str, Callable[[nn.Module, Inputs], Call]] = {
    "torch eager": eager,
    "torch.compile": torch_compiled,
    "torch.export": exported,
}
JAX: dict[str, Callable[[nn.Module, Inputs], Extracted]] = {
    "graph": extract_graph,
    "torchax": extract_torchax,
}


# ----------------------------------------------------------------------------------- stages of a jax function
def _fresh(
    function: Callable[[dict[str, Any], Inputs], list[Any]],
) -> Callable[[dict[str, Any], Inputs], list[Any]]:
    """Return another function object, of which ``jax.jit`` has cached nothing."""

    def call(parameters: dict[str, Any], inputs: Inputs) -> list[Any]:
        return function(parameters, inputs)

    return call


def jitted(extracted: Extracted) -> Any:
    return importlib.import_module("jax").jit(_fresh(extracted.function))


def lower(extracted: Extracted, inputs: Inputs) -> Any:
    return jitted(extracted).trace(extracted.parameters, inputs).lower()


# ---------------------------------------------------------------------------------------------- results
def leaves(output: Any) -> list[Any]:
    return pytree.tree_leaves(output)


def assert_close(found: list[Any], expected: list[Any]) -> None:
    numpy = importlib.import_module("numpy")
    # A wrong result may be faster, so only right ones are timed.
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(numpy.array(ours)), theirs, rtol=1e-3, atol=1e-4)
