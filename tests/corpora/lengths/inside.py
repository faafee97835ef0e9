"""Graphs inside compilers and under differentiation, at other lengths than the recorded one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.compare import assert_same_leaves, leaves

from .nested import FOLDED
from .programs import SIZED, WHILE, Program
from .running import LENGTHS, arguments, compiled
from .widths import READ, WRITTEN

Run = Callable[[Any, int], Any]


# ------------------------------------------------------------------------------------- compilers
def by_jit(graph: Run, x: Any, n: int) -> Any:
    jax = pytest.importorskip("jax")
    return jax.jit(lambda x: graph(x, n))(x)


def by_tf_function(graph: Run, x: Any, n: int) -> Any:
    return pytest.importorskip("tensorflow").function(lambda x: graph(x, n), autograph=False)(x)


def by_torch_compile(graph: Run, x: Any, n: int) -> Any:
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    return torch.compile(lambda x: graph(x, n), backend="eager")(x)


COMPILERS: dict[str, tuple[str, Callable[[Run, Any, int], Any]]] = {
    "jax.jit": ("jax", by_jit),
    "tf.function": ("tensorflow", by_tf_function),
    "torch.compile": ("torch", by_torch_compile),
}


def check_compiled(program: Program, source: str, way: str) -> None:
    """Assert that the graph, recorded before, gives the original's results at each length inside a compiler,
    with one variant.
    """
    to, call = COMPILERS[way]
    run, graph = compiled(program, source, to)
    graph(*arguments(*_lengths(program)[0], to))
    for lengths in _lengths(program):
        found, wanted = call(graph, *arguments(*lengths, to)), run(*arguments(*lengths, source))
        assert_same_leaves(found, wanted, f"of {lengths}")
    assert len(graph.variants) == 1, graph.explain()


# ------------------------------------------------------------------------------------- gradients
def by_torch(run: Run, x: Any, n: int) -> Any:
    """Return the gradient of the sum of squares of the results with respect to ``x``, as do the functions
    below.
    """
    torch = pytest.importorskip("torch")
    x = x.clone().requires_grad_()
    return torch.autograd.grad(_total(run(x, n)), [x])[0]


def by_jax(graph: Run, x: Any, n: int) -> Any:
    jax = pytest.importorskip("jax")
    return jax.grad(lambda x: _total(graph(x, n)))(x)


def by_jitted_jax(graph: Run, x: Any, n: int) -> Any:
    jax = pytest.importorskip("jax")
    return jax.jit(jax.grad(lambda x: _total(graph(x, n))))(x)


def by_forward_jax(graph: Run, x: Any, n: int) -> Any:
    """Return the gradient by forward mode: JAX has no reverse mode for a ``while`` loop."""
    jax = pytest.importorskip("jax")
    return jax.jit(jax.jacfwd(lambda x: _total(graph(x, n))))(x)


def by_tape(graph: Run, x: Any, n: int) -> Any:
    tf = pytest.importorskip("tensorflow")
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = sum(tf.reduce_sum(item * item) for item in tf.nest.flatten(graph(x, n)))
    return tape.gradient(total, x)


GRADIENTS: dict[str, tuple[str, Callable[[Run, Any, int], Any]]] = {
    "autograd": ("torch", by_torch),
    "jax.grad": ("jax", by_jax),
    "jax.grad in jax.jit": ("jax", by_jitted_jax),
    "tape": ("tensorflow", by_tape),
}


def check_gradients(program: Program, source: str, way: str) -> None:
    """Assert that the gradient at each length is that of the original in torch, with the one variant recorded
    without gradients.
    """
    to, taken = GRADIENTS[way]
    taken = by_forward_jax if to == "jax" and program.__name__ in WHILE else taken
    original, _ = compiled(program, "torch", "torch")
    _, graph = compiled(program, source, to)
    graph(*arguments(*_lengths(program)[0], to))
    for lengths in _lengths(program):
        found, wanted = (
            taken(graph, *arguments(*lengths, to)),
            by_torch(original, *arguments(*lengths, "torch")),
        )
        assert_same_leaves(found, wanted, f"of {lengths}")
    assert len(graph.variants) == 1, graph.explain()


def _total(result: Any) -> Any:
    return sum((item * item).sum() for item in leaves(result).values())


def _lengths(program: Program) -> tuple[tuple[int, int], ...]:
    """Return (rows, number) of each call. The number is the same for all calls if rows or elements determine
    the trip counts.
    """
    return tuple(
        (rows, 5 if program.__name__ in (*SIZED, *FOLDED, *READ, *WRITTEN) else number)
        for rows, number in LENGTHS[:3]
    )
