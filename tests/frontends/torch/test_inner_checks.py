"""Tests of elements that Python reads inside torch branches and loops: guards cover every iteration that
runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._higher_order_ops.scan import scan  # noqa: E402
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.torch_operators import loops_of_python  # noqa: E402

# torch itself gives this warning when ``torch.cond`` runs.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


def expected_of(function: Any, x: Any) -> Any:
    """Return the result with torch's operators replaced by Python loops and branches."""
    with loops_of_python(globals()):
        return function(x)


TARGETS = ("torch", "jax", "numpy", "tensorflow")


def rows(count: int, width: int = 3, shift: float = 0.0) -> Any:
    return ((torch.arange(count * width) * 0.61 + 0.3) % 1 - 0.45 + shift).reshape(count, width)


CALLS = (rows(2), rows(5, shift=-0.4), rows(1, shift=0.9), rows(7, shift=0.3), rows(4, shift=-2.0))


def inverse(x: Any) -> Any:
    return torch.linalg.inv(x).clone(memory_format=torch.contiguous_format)


def inverses(x: Any) -> Any:
    return scan(lambda c, row: (inverse(c) + row, c.sum()), x, x[None].expand(3, -1, -1) * 0.1)


def inverse_in_a_branch(x: Any) -> Any:
    return torch.cond(x.sum() > 0, inverse, lambda y: y * 2, (x,))


def inverse_in_a_condition(x: Any) -> Any:
    return while_loop(
        lambda i, y: inverse(y).abs().sum() < 30, lambda i, y: (i + 1, y / 2), (torch.tensor(0), x)
    )


def inverse_in_a_branch_in_a_loop(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, torch.cond(i < 2, lambda y: inverse(y) * 2, lambda y: y - y.mean(), (y,))

    return while_loop(lambda i, y: i < 4, body, (torch.tensor(0), x))


EYE = torch.eye(2) + 0.2
SINGULAR = torch.ones(2, 2)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "function", [inverses, inverse_in_a_branch, inverse_in_a_condition, inverse_in_a_branch_in_a_loop]
)
def test_elements_that_a_step_refuses(function: Any, to: str) -> None:
    """One variant serves all valid elements; invalid ones raise torch's own error."""
    graph = graph_compiler.compile(function, to=to, args=(EYE,))
    for x in (EYE, EYE * 2, EYE.flip(0) * 3):
        assert_same(graph(x), expected_of(function, x))
    with pytest.raises(torch.linalg.LinAlgError):
        graph(SINGULAR)
    assert_same(graph(EYE), function(EYE))
    assert len(graph.variants) == 1, graph.explain()


def test_a_branch_that_is_not_taken_refuses_nothing() -> None:
    graph = graph_compiler.compile(inverse_in_a_branch, to="jax", args=(EYE,))
    assert_same(graph(-SINGULAR), inverse_in_a_branch(-SINGULAR))
    assert len(graph.variants) == 1


def test_what_a_step_refuses_inside_of_compilers() -> None:
    """Under ``jit`` the result is NaN; an uncompiled call raises an error that names the line."""
    jax = pytest.importorskip("jax")
    graph = graph_compiler.compile(inverses, to="jax", args=(EYE,))
    compiled = jax.jit(lambda x: graph.functional(graph.parameters, x))
    assert_same(compiled(EYE.numpy()), inverses(EYE))
    assert all(np.isnan(item).all() for item in compiled(SINGULAR.numpy()))
    with pytest.raises(
        GuardFailed, match=r"a condition in `torch.linalg.inv\(.*` at .*test_inner_checks.py:\d+"
    ):
        graph.functional(graph.parameters, SINGULAR.numpy())


@pytest.mark.parametrize("way", ["graph", "XLA"])
def test_what_a_step_refuses_inside_of_tf_function(way: str) -> None:
    tf = pytest.importorskip("tensorflow")
    graph = graph_compiler.compile(clipped, to="tensorflow", args=(EYE,))
    traced = tf.function(
        lambda x: graph.functional(graph.parameters, x), jit_compile=way == "XLA", autograph=False
    )
    with as_python():
        assert_same(traced(tf.constant(EYE.numpy())), clipped(EYE))
    if way == "XLA":
        assert np.isnan(traced(tf.constant(-EYE.numpy()))).all()
    else:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"`if .*` at .*test_inner_checks.py:\d+ was True when recorded",
        ):
            traced(tf.constant(-EYE.numpy()))


def as_python() -> Any:
    """Disable torch's compiler, which rejects a Python ``if`` on elements in the operators."""
    return torch.compiler.set_stance("force_eager")


def clipped(x: Any) -> Any:
    return while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5 if y.mean() > 0.2 else y + 1), (torch.tensor(0), x)
    )[1]


def chosen_in_a_branch(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y * 2 if y.mean() > 0.2 else y + 1, lambda y: y - 1, (x,))


def as_lists(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        marks = (row > -9).tolist()
        scale = 2.0 if marks[0] and row.isnan().any() == False and row.max().item() < 5 else 3.0  # noqa: E712
        return c * scale + row, c.clone()

    return scan(step, torch.zeros(2), x)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    ("function", "same", "other"),
    [
        (clipped, EYE * 3, -EYE * 3),
        (chosen_in_a_branch, -EYE, EYE * 0.1),
        (as_lists, rows(5, 2), rows(4, 2) + torch.tensor([9.0, 0.0])),
    ],
)
def test_elements_that_decide_in_python_inside(function: Any, same: Any, other: Any, to: str) -> None:
    """The variant serves calls in which all iterations take the recorded branch; others are recorded again."""
    graph = graph_compiler.compile(function, to=to, args=(EYE,))
    with as_python():
        for x, variants in ((EYE, 1), (same, 1), (other, 2), (EYE, 2)):
            assert_same(graph(x), expected_of(function, x))
            assert len(graph.variants) == variants, graph.explain()


def test_elements_that_decide_under_the_compiler_of_torch() -> None:
    compiled = torch.compile(graph_compiler.compile(clipped, args=(EYE,)), fullgraph=True, backend="eager")
    with as_python():
        expected = clipped(EYE * 3)
    assert_same(compiled(EYE * 3), expected)
    with pytest.raises(RuntimeError, match=r"GuardFailed: .*`if .*` at .*test_inner_checks.py:\d+"):
        compiled(-EYE)
    torch._dynamo.reset()


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_number_that_decides_otherwise_in_each_step_is_refused(to: str) -> None:
    graph = graph_compiler.compile(
        lambda x: while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * 2 if i == 0 else y + 1), (torch.tensor(0), x)
        ),
        to=to,
    )
    with pytest.raises(
        GuardFailed, match=r"`if i == 0` at .*test_inner_checks.py:\d+ was .*compute with the array instead"
    ):
        graph(CALLS[0])


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_saved_graphs_keep_the_checks_in_their_blocks(to: str, tmp_path: Path) -> None:
    graph_compiler.compile(clipped, to=to, args=(EYE,)).save(tmp_path / "graph.zip")
    graph = graph_compiler.load(tmp_path / "graph.zip")
    with as_python():
        assert_same(graph(EYE * 2), clipped(EYE * 2))
    with pytest.raises(GuardFailed, match=r"__bool__ at .*test_inner_checks.py:\d+"):
        graph(-EYE)


def decided_twice(x: Any) -> Any:
    """The element is read first in a branch that is not taken, then outside of it."""

    def step(i: Any, y: Any) -> Any:
        most = y.max().item()
        made = torch.cond(i < 0, lambda y: y * 2 if most < 5 else y * 3, lambda y: y + 1, (y,))
        return i + 1, made * 0.5 if most < 5 else made * 0.25

    return while_loop(lambda i, y: i < 2, step, (torch.tensor(0), x))[1]


@pytest.mark.parametrize("to", TARGETS)
def test_a_check_in_a_branch_stands_for_none_outside_of_it(to: str) -> None:
    graph = graph_compiler.compile(decided_twice, to=to, args=(EYE,))
    with as_python():
        for x, variants in ((EYE * 2, 1), (EYE * 90, 2)):
            assert_same(graph(x), decided_twice(x))
            assert len(graph.variants) == variants, graph.explain()
