"""Tests of writes through chains of torch views, which become new values of the base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import graph_compiler
from graph_compiler.backends import jax as jax_backend
from graph_compiler.codegen import write
from graph_compiler.frontends.common.views import write_through
from graph_compiler.frontends.torch.lifting import TorchBuilder, rows
from graph_compiler.ir import Graph, verify
from tests.support.one_call import spec_of

Chain = list[tuple[Any, ...]]
_ALL = slice(None)

# These chains are inverted view by view.
INVERTED: list[Chain] = [
    [],
    [("view", (6, 4), {})],
    [("transpose", (0, 2), {})],
    [("unsqueeze", (1,), {}), ("squeeze", (1,), {})],
    [("select", (0, -1), {})],
    [("select", (1, 2), {}), ("select", (0, 0), {})],
    [("__getitem__", (slice(1, None),), {})],
    [("__getitem__", ((_ALL, slice(None, None, 2), None),), {})],
    [("__getitem__", ((..., slice(1, -1)),), {}), ("__getitem__", ((1, 0),), {})],
    [("narrow", (2, 1, 2), {}), ("permute", (2, 0, 1), {}), ("__getitem__", (0,), {})],
    [
        ("view", (2, 12), {}),
        ("t", (), {}),
        ("__getitem__", (slice(3, 7),), {}),
        ("T", (), {}),
        ("unflatten", (1, (2, 2)), {}),
    ],
    [("split", (2,), {"dim": 2}, 1)],
    [("split", ([1, 3],), {"dim": -1}, 0), ("transpose", (0, 1), {})],
    [("chunk", (2,), {"dim": 0}, 0)],
    [("unbind", (1,), {}, 2)],
    [("flatten", (), {}), ("__getitem__", (slice(2, 20, 3),), {})],
    [("view", (torch.int32,), {})],
]

# These chains are inverted by the positions of the elements.
SCATTERED: list[Chain] = [
    [("diagonal", (), {"dim1": 1, "dim2": 2})],
    [("diagonal", (1, 0, 1), {}), ("__getitem__", (slice(1, 3),), {})],
    [("__getitem__", (1,), {}), ("diagonal", (), {}), ("__getitem__", (0,), {})],
    [("unfold", (2, 2, 2), {})],
    [("unfold", (2, 2, 2), {}), ("select", (2, 1), {})],
    [("as_strided", ((2, 3), (12, 1), 4), {})],
    [("split", (2,), {"dim": 2}, 1), ("diagonal", (), {"dim1": 1, "dim2": 2})],
    [
        ("select", (2, 0), {}),
        ("unsqueeze", (2,), {}),
        ("expand", (2, 3, 3), {}),
        ("__getitem__", ((_ALL, _ALL, 1),), {}),
    ],
]

_CALLS = {"__getitem__": torch.Tensor.__getitem__, "T": lambda x: x.T}


def view_in_torch(x: torch.Tensor, chain: Chain) -> torch.Tensor:
    """Return the view that a chain takes."""
    for name, args, kwargs, *output in chain:
        viewed: Any = _CALLS.get(name, getattr(torch.Tensor, name, None))
        x = viewed(x, *args, **kwargs)
        x = x[output[0]] if output else x
    return x


def replayed(b: TorchBuilder, chain: Chain) -> Callable[[Any], Any]:
    """Return a function that takes the views of ``chain``: (name of the row, arguments after the array,
    keywords[, number of the output]).
    """

    def replay(array: Any) -> Any:
        for name, args, kwargs, *output in chain:
            array = rows.get(name)(b, array, *args, **kwargs)  # type: ignore[misc]
            array = array[output[0]] if isinstance(array, (tuple, list)) else array
        return array

    return replay


def written(base: torch.Tensor, chain: Chain, value: Any) -> tuple[Any, Graph]:
    """Return (the new base, computed in JAX; its graph)."""
    graph = Graph("written", "canonical")
    b = TorchBuilder(graph)
    x = b.input("x", spec_of(base))
    given = b.input("value", spec_of(value)) if isinstance(value, torch.Tensor) else value
    graph.outputs = [write_through(b, x, replayed(b, chain), given)]
    program = write(verify(graph), jax_backend.dialect, "A write through a view.")
    scope: dict[str, Any] = dict(program.globals)
    exec(compile(program.source, "<write through a view>", "exec"), scope)
    arrays = [jnp.asarray(item.numpy()) for item in (base, value) if isinstance(item, torch.Tensor)]
    return scope[program.name](*arrays), graph


def check(chain: Chain, make: Callable[[torch.Tensor], Any]) -> Graph:
    """Assert that the new base is what torch has after the write; return the graph."""
    base = torch.arange(24.0).reshape(2, 3, 4)
    expected = base.clone()
    view = view_in_torch(expected, chain)
    value = make(view)
    view.copy_(value) if isinstance(value, torch.Tensor) else view.fill_(value)
    found, graph = written(base, chain, value)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(found), expected.numpy())
    return graph


def _name(chain: Chain) -> str:
    return "-".join(step[0] for step in chain) or "whole"


VALUES = {
    "array": lambda view: (-1 - torch.arange(view.numel())).reshape(view.shape).to(view.dtype),
    "number": lambda view: 7,
    "broadcast": lambda view: torch.tensor(5).to(view.dtype),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("chain", INVERTED, ids=_name)
def test_views_are_undone_step_by_step(chain: Chain, value: str) -> None:
    graph = check(chain, VALUES[value])
    assert not any(node.op == "scatter_nd" for node in graph.nodes)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("chain", SCATTERED, ids=_name)
def test_other_views_are_written_by_position(chain: Chain, value: str) -> None:
    graph = check(chain, VALUES[value])
    assert any(node.op == "scatter_nd" for node in graph.nodes)


IN_MEMORY: list[Callable[[Any], Any]] = [
    lambda x: x.t().as_strided((2, 3), (1, 2)),
    lambda x: x[:, 1:].as_strided((2, 2), (1, 2), 0),
    lambda x: x[:, 1:].as_strided((2, 2), (1, 2)),
    lambda x: x[:1].as_strided((4, 3), (3, 1)),
    lambda x: (x * 2).t().as_strided((x.shape[1], x.shape[0] - 1), (1, x.shape[1])),
    lambda x: (y := (x * 2).view(2, -1, 3).transpose(0, 1)).as_strided(y.shape, y.stride()),
    lambda x: x.as_strided((x.shape[0] - 1, 4), (3, 1)),
    lambda x: x.as_strided(size=(2, 3), stride=(1, 2), storage_offset=1),
    lambda x: torch.as_strided(size=(2, 2), stride=(1, 2), input=x[:, 1:]),
    lambda x: (y := x.clone(), y[1:].as_strided((2, 2), (1, 2)).mul_(3))[0],
]


@pytest.mark.parametrize("view", IN_MEMORY)
@pytest.mark.parametrize("to", ["jax", "numpy"])
def test_places_in_memory_are_those_of_the_tensor_that_owns_it(view: Any, to: str) -> None:
    graph = graph_compiler.transpile(view, args=(torch.arange(12.0).reshape(4, 3),), to=to)
    for size in (4, 6):
        x = torch.arange(3.0 * size).reshape(size, 3) + 1
        np.testing.assert_array_equal(graph(x), view(x))


def test_places_in_memory_of_other_arrays_are_refused_outside_of_torch() -> None:
    """The arrays have other strides than the recorded one, or are too small, or are views of unknown arrays."""
    view = lambda x: x.as_strided((2, 3), (1, 2), 1)  # noqa: E731
    graph = graph_compiler.transpile(view, args=(torch.arange(12.0).reshape(4, 3),))
    for x in (torch.arange(12.0).reshape(3, 4).t(), torch.arange(18.0).reshape(6, 3)[2:]):
        assert torch.equal(graph_compiler.compile(view, args=(x,))(x), view(x))
        with pytest.raises(graph_compiler.errors.UnsupportedOperation, match="contiguous"):
            graph(x)
    with pytest.raises(RuntimeError, match="out of bounds"):
        graph(torch.arange(6.0).reshape(2, 3))
