"""Tests of wrong uses of derivatives: the error says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import CallMismatch, GraphCompilerError, InvalidOption, NotCompilable

x = torch.ones(3)
ELSEWHERE = graph_compiler.transpile(torch.sin, to="jax", source="torch", args=(x,))


def with_a_keyword(*xs: Any, y: Any = 0) -> Any:
    return (xs[0] * 3 + xs[1] * 2).sum() + y


ERRORS: dict[str, tuple[Callable[[], Any], type[GraphCompilerError], str]] = {
    "not a number": (lambda: transforms.grad(torch.sin)(x), CallMismatch, r"shape \[3\]; take jacrev, or sum or mean"),
    "a pair": (lambda: transforms.grad(lambda x: (x.sum(), 1))(x), CallMismatch, r"is a tuple; .* has_aux=True \(.*test_wrong_uses.py:\d+\)"),
    "complex": (lambda: transforms.grad(lambda z: z.sum())(x + 1j), CallMismatch, "is a complex number; take its real part"),
    "an integer result": (lambda: transforms.grad(lambda x: x.sum().long())(x), CallMismatch, r"its result is int64\[\], which has no derivative"),
    "integers": (lambda: transforms.grad(torch.sum)(torch.arange(3)), CallMismatch, r"argument 0 is int64\[3\], which has no derivative"),
    "a Python integer": (lambda: transforms.grad(lambda n: n * x.sum())(3), CallMismatch, "argument 0 is 3, which has no derivative"),
    "no such argument": (lambda: transforms.grad(torch.sum, argnums=2)(x), CallMismatch, "there is no argument 2; given are 1 by position"),
    "no such name": (lambda: transforms.grad(lambda x: x.sum(), argnames="y")(x), CallMismatch, "there is no argument 'y'"),
    "a name behind further arguments": (lambda: transforms.grad(with_a_keyword, argnames="y")(x, x), CallMismatch, "there is no argument 'y'"),
    "the name of further arguments": (lambda: transforms.grad(with_a_keyword, argnames="xs")(x, x), CallMismatch, "there is no argument 'xs'"),
    "an argument twice": (lambda: transforms.grad(lambda x: x.sum(), argnums=(0, -1))(x), InvalidOption, "more than once"),
    "an argument by position and name": (lambda: transforms.grad(lambda x: x.sum(), argnums=0, argnames="x")(x), InvalidOption, "more than once"),
    "a wrong argnames": (lambda: transforms.grad(torch.sum, argnames=5), InvalidOption, "argnames= is 5"),  # type: ignore[arg-type]
    "no argument": (lambda: transforms.grad(torch.sum, argnums=())(x), InvalidOption, "say of which argument"),
    "a wrong argnums": (lambda: transforms.grad(torch.sum, argnums=1.5), InvalidOption, "argnums= is 1.5"),
    "no aux": (lambda: transforms.grad(lambda x: x.sum(), has_aux=True)(x), CallMismatch, r"a pair \(result, aux\), and returned Tensor"),
    "tangents": (lambda: transforms.jvp(torch.sin, (x,), (torch.ones(4),)), CallMismatch, r"tangent 0 has the shape \[4\]"),
    "primals": (lambda: transforms.jvp(torch.sin, x, x), CallMismatch, r"primals are a tuple with one for each argument, \(p,\) for one, and not a Tensor"),
    "directions": (lambda: transforms.hvp(torch.sum, (x,), x), CallMismatch, r"hvp of sum: tangents are a tuple"),
    "cotangents": (lambda: transforms.vjp(torch.sin, x)[1](torch.ones(4)), CallMismatch, r"cotangent 0 has the shape \[4\]"),
    "a NumPy result": (lambda: transforms.grad(lambda x: np.float32(2))(x), CallMismatch, "it gives numpy.float32, which has no derivative"),
    "a NumPy result under checkpoint": (
        lambda: transforms.grad(transforms.checkpoint(lambda x: np.float32(2)))(x),
        CallMismatch,
        "checkpoint of <lambda>: it gives numpy.float32",
    ),
    "a NumPy graph": (
        lambda: transforms.grad(graph_compiler.transpile(torch.sum, to="numpy", source="torch", args=(x,)))(x),
        NotCompilable,
        r"numpy has no derivatives: transform one of graph.to\('torch'\), graph.to\('jax'\)",
    ),
    "no function": (lambda: transforms.grad(3)(x), NotCompilable, "grad takes a function, a model or a graph, and was given 3"),
    "a policy": (lambda: transforms.checkpoint(torch.sin, "some"), InvalidOption, "'nothing', 'dots', 'everything'"),
    "a graph of another framework": (
        lambda: transforms.grad(lambda x: torch.sum(ELSEWHERE(x)))(x),
        CallMismatch,
        r"its code or its arrays are of torch, and it calls a graph that is written for jax.*graph.to\('torch'\)",
    ),
    "real results of a complex argument": (
        lambda: transforms.jacfwd(lambda z: z.abs() ** 2)(x + 1j),
        CallMismatch,
        r"jacfwd of <lambda>: an argument is complex and a result is real.* or take jacrev \(.*test_wrong_uses.py:\d+\)",
    ),
    "complex results of a real argument": (
        lambda: transforms.jacrev(lambda x: torch.complex(x, 2 * x))(x),
        CallMismatch,
        r"jacrev of <lambda>: an argument is real and a result is complex.* or take jacfwd \(.*test_wrong_uses.py:\d+\)",
    ),
    "a Hessian of a complex argument": (
        lambda: transforms.hessian(lambda z: (z.abs() ** 4).sum())(x + 1j),
        CallMismatch,
        r"hessian of <lambda>: an argument is complex and a result is real.*of their own \(.*test_wrong_uses.py:\d+\)",
    ),
    "a Hessian of a complex result": (
        lambda: transforms.hessian(lambda x: torch.complex(x, x**2))(x),
        CallMismatch,
        r"hessian of <lambda>: an argument is real and a result is complex.*of their own \(",
    ),
    "integers in a Jacobian": (lambda: transforms.jacrev(lambda x: (x, x.long()))(x), CallMismatch, "a result has no derivative"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


def test_a_gradient_that_numpy_cannot_stop_is_refused() -> None:
    def function(x: Any) -> Any:
        return (x * transforms.stop_gradient(x)).sum()

    assert function(np.ones(3)) == 3
    with pytest.raises(GraphCompilerError, match="a derivative in another framework would not stop there"):
        transforms.grad(function)(np.ones(3))


def test_a_transform_says_what_it_is() -> None:
    graph = graph_compiler.compile(torch.sin, args=(x,))
    transformed = transforms.grad(transforms.vmap(graph))
    assert repr(transformed) == "<grad(vmap(sin))>"
    assert transformed.source.startswith("# grad(vmap(sin))") and "torch.sin" in transformed.source
