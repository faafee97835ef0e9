"""Tests of ``torch.cond``, ``while_loop``, ``scan`` and ``map``: one recording serves all branches, lengths
and trip counts, in every target.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._higher_order_ops.map import map as map_rows  # noqa: E402
from torch._higher_order_ops.scan import scan  # noqa: E402
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GraphCompilerError  # noqa: E402
from graph_compiler.frontends.torch.basics.refusals import OperatorRefused  # noqa: E402
from graph_compiler.frontends.torch.capture import unrolled  # noqa: E402
from graph_compiler.frontends.torch.capture.unrecorded import UnrecordedMode  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.torch_operators import loops_of_python  # noqa: E402

# torch itself gives this warning when ``torch.cond`` runs.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")

TARGETS = ("torch", "jax", "numpy", "tensorflow")
WEIGHT = torch.linspace(-0.4, 0.6, 9).reshape(3, 3)


def rows(count: int, width: int = 3, shift: float = 0.0) -> Any:
    return ((torch.arange(count * width) * 0.61 + 0.3) % 1 - 0.45 + shift).reshape(count, width)


CALLS = (rows(2), rows(5, shift=-0.4), rows(1, shift=0.9), rows(7, shift=0.3), rows(4, shift=-2.0))


class Gated(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = (
            torch.nn.Linear(3, 4),
            torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4)),
        )

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: self.up(y).tanh(), self.down, (x,))


class Cell(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.given, self.kept = torch.nn.Linear(3, 16), torch.nn.Linear(4, 16, bias=False)

    def forward(self, x: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            hidden, cell = state
            first, second, third, last = (self.given(row) + self.kept(hidden)).chunk(4, -1)
            cell = second.sigmoid() * cell + first.sigmoid() * third.tanh()
            hidden = last.sigmoid() * cell.tanh()
            return (hidden, cell), hidden.clone()

        return scan(step, (torch.zeros(4), torch.zeros(4)), x)


def captured(x: Any) -> Any:
    y, count = x * 2, x.shape[0]
    return torch.cond(
        x.sum() > 0, lambda x: x @ WEIGHT + y, lambda x: (x / count).reshape(count, -1) - 1, (x,)
    )


def containers(x: Any) -> Any:
    def up(held: Any) -> Any:
        return {"y": held["x"] + held["z"][0], "z": [held["x"] * 2, held["x"].sum(0)]}

    def down(held: Any) -> Any:
        y = held["x"] - 1
        return {"y": y, "z": [y.clone(), held["z"][0][0].clone()]}

    return torch.cond(x.mean() > 0, up, down, ({"x": x, "z": (x.cos(),)},))


def branch_in_branch(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return torch.cond(y.max() > 1, lambda y: y - y.max(), lambda y: y * 3, (y,))

    return torch.cond(x.sum() > 0, inner, lambda y: y.exp(), (x,))


def steps(x: Any) -> Any:
    return while_loop(
        lambda count, y: y.abs().sum() < 9, lambda count, y: (count + 1, y * 1.5 + 0.1), (torch.tensor(0), x)
    )


def numbers(x: Any) -> Any:
    count, y = while_loop(lambda i, y: i < x.shape[0], lambda i, y: (i + 2, y + i), (0, x))
    return y * count, count


def nested_state(x: Any) -> Any:
    return while_loop(
        lambda state: state["n"] < 4,
        lambda state: ({"n": state["n"] + 1, "y": state["y"] * x.cos()},),
        ({"n": torch.tensor(1), "y": x},),
    )


def branch_in_loop(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, torch.cond(y.sum() > 1, lambda y: y / 2 - 0.1, lambda y: y * 3 + i, (y,))

    return while_loop(lambda i, y: i < 6, body, (torch.tensor(0), x))


def loop_in_loop(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        _, y = while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y + j * 0.5), (torch.tensor(0), y))
        return i + 1, y * 0.9

    return while_loop(lambda i, y: i < 4, body, (torch.tensor(0), x))


def carries(x: Any) -> Any:
    y = x.sum(0)
    return scan(lambda c, row: ((c[0] + row, c[1] * 0.5 + y), row * c[1]), (x[0], torch.ones(x.shape[1])), x)


def backwards(x: Any) -> Any:
    first = scan(lambda c, row: (c * 0.5 + row, c - row), torch.zeros(x.shape[1]), x, reverse=True)
    return first, scan(
        lambda c, row: (c * 0.5 + row, c * row), torch.zeros(x.shape[0]), x, dim=1, reverse=True
    )


def writes_inside(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        y = c * 0.5
        y[0] = row[0]
        y[1:].add_(row[1:])
        part = y.view(-1)
        part.mul_(2)
        return y, part + row

    return scan(step, torch.zeros(x.shape[1]), x)


def mapped(x: Any) -> Any:
    return map_rows(
        lambda held, factor: {"y": held["x"] * factor, "z": held["y"].sum()},
        {"x": x, "y": x + 1},
        torch.tensor(3.0),
    )


def scan_in_branch(x: Any) -> Any:
    def up(y: Any) -> Any:
        return scan(lambda c, row: (c + row, c * row), torch.zeros(3), y)[1]

    return torch.cond(x.sum() > 0, up, lambda y: y * 2, (x,))


def without_gradients(x: Any) -> Any:
    def up(y: Any) -> Any:
        with torch.no_grad():
            factor = y.sum()
        return y * factor

    return torch.cond(x.sum() > 0, up, lambda y: y * y.detach(), (x,))


PROGRAMS: dict[str, Callable[[], Any]] = {
    "weights": Gated,
    "cell": Cell,
    **{
        f.__name__: lambda f=f: f
        for f in (
            captured, containers, branch_in_branch, steps, numbers, nested_state, branch_in_loop, loop_in_loop, carries, backwards,
            writes_inside,
            mapped, scan_in_branch, without_gradients,
        )
    },
}  # fmt: skip


@functools.cache
def results(name: str) -> list[Any]:
    """Return the expected results of a program for all calls."""
    function = PROGRAMS[name]()
    with loops_of_python(globals()):
        return [function(x) for x in CALLS]


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_of_python_give_what_the_operators_give(name: str) -> None:
    """The reference of the other tests is compared with torch's operators here."""
    function = PROGRAMS[name]()
    for place in (0, 2, 3):
        assert_same(function(CALLS[place]), results(name)[place])
    for place in (0, 2) if name in GRADIENTS else ():
        assert_same(slopes(function, CALLS[place]), slopes_of(name)[place])


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_variant_serves_all_calls(name: str, to: str) -> None:
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, to=to, args=(CALLS[0],))
    for x, expected in zip(CALLS, results(name), strict=True):
        given = x.clone()
        assert_same(graph(given), expected)
        assert_same(given, x)
    assert len(graph.variants) == 1, graph.explain()


# ------------------------------------------------------------------------------------- gradients
GRADIENTS = [
    name
    for name in PROGRAMS
    if name not in ("steps", "numbers", "nested_state", "branch_in_loop", "loop_in_loop")
]


def total(tree: Any) -> Any:
    leaves = torch.utils._pytree.tree_leaves(tree)
    return sum((leaf * (leaf + 0.3)).sum() for leaf in leaves)


def slopes(function: Any, x: Any) -> Any:
    given = x.clone().requires_grad_()
    total(function(given)).backward()
    return given.grad


@functools.cache
def slopes_of(name: str) -> list[Any]:
    """Return the expected gradients of a program for all calls."""
    function = PROGRAMS[name]()
    with loops_of_python(globals()):
        return [slopes(function, x) for x in CALLS]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_in_torch(name: str) -> None:
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, args=(CALLS[0],))
    for x, expected in zip(CALLS, slopes_of(name), strict=True):
        assert_same(slopes(graph, x), expected)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_in_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, to="jax", args=(CALLS[0],))
    slope = jax.grad(
        lambda x: sum(
            (leaf * (leaf + 0.3)).sum()
            for leaf in jax.tree_util.tree_leaves(graph.functional(graph.parameters, x))
        )
    )
    for x, expected in zip(CALLS, slopes_of(name), strict=True):
        assert_same(slope(x.numpy()), expected)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_in_tensorflow(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, to="tensorflow", args=(CALLS[0],))
    for x, expected in zip(CALLS[:3], slopes_of(name)):
        given = tf.constant(x.numpy())
        with tf.GradientTape() as tape:
            tape.watch(given)
            result = sum(tf.reduce_sum(leaf * (leaf + 0.3)) for leaf in tf.nest.flatten(graph(given)))
        assert_same(tf.convert_to_tensor(tape.gradient(result, given)), expected)


@pytest.mark.parametrize("to", TARGETS)
def test_gradients_inside_are_those_of_the_branch_and_the_steps(to: str) -> None:
    """The loop is unrolled, because backward needs what its calls have saved."""

    def slope(x: Any) -> Any:
        y = x.detach().requires_grad_()
        last, _ = scan(lambda c, row: (c * row.cos() + row, c.clone()), torch.ones(3), y)
        chosen = torch.cond(last.sum() > 0, lambda c: c * 2, lambda c: c * 5, (last,))
        return torch.autograd.grad(chosen.sum(), y)[0]

    graph = graph_compiler.compile(slope, to=to, args=(CALLS[0],))
    for x in CALLS:
        with loops_of_python(globals()):
            expected = slope(x)
        assert_same(graph(x), expected)


# ------------------------------------------------------------------------------------- compiled
@pytest.mark.parametrize(
    "name", ["weights", "captured", "branch_in_branch", "steps", "branch_in_loop", "carries", "cell"]
)
def test_the_compiler_of_torch_takes_the_graph_whole(name: str) -> None:
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, args=(CALLS[0],))
    compiled = torch.compile(graph, fullgraph=True, backend="eager")
    for x, expected in zip(CALLS[:3], results(name)):
        assert_same(compiled(x), expected)
    torch._dynamo.reset()


# ------------------------------------------------------------------------------------- what is refused
seen: list[int] = []


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls, self.norm = 0, torch.nn.BatchNorm1d(3)

    def count(self, y: Any) -> Any:
        self.calls += 1
        return y + 1

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, self.count, lambda y: y - 1, (x,))


class Normalising(Counting):
    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, self.norm, lambda y: y - 1, (x,))


def writing(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y.add_(1), lambda y: y - 1, (x,))


def writing_outside(x: Any) -> Any:
    memory = x * 2
    return scan(lambda c, row: (c + row, memory.mul_(2)[0].clone()), torch.zeros(3), x)


def counting_elsewhere(x: Any) -> Any:
    calls = [0]

    def up(y: Any) -> Any:
        calls[0] += 1
        return y + 1

    return torch.cond(x.sum() > 0, up, lambda y: y - 1, (x,)) * calls[0]


def other_shapes(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y.sum(0), lambda y: y * 2, (x,))


def other_carry(x: Any) -> Any:
    return while_loop(lambda y: y.sum() < 3, lambda y: (y.double(),), (x,))


def seeding(x: Any) -> Any:
    def up(y: Any) -> Any:
        torch.manual_seed(0)
        return y + torch.rand(3)

    return torch.cond(x.sum() > 0, up, lambda y: y - 1, (x,))


REFUSED = {
    "writing": (writing, r"add_ at .*test_control_flow.py:\d+: x is written to"),
    "writing outside": (writing_outside, r"mul_ at .*test_control_flow.py:\d+: .* is written to"),
    "state": (
        Counting(),
        r"test_control_flow.py:\d+: calls is changed inside of a function that torch.cond runs",
    ),
    "buffers": (
        Normalising(),
        r"test_control_flow.py:\d+ \(in norm\): norm.num_batches_tracked is written to",
    ),
    "variables": (counting_elsewhere, r"calls\[0\] is changed inside of a function that torch.cond runs"),
    "shapes": (other_shapes, r"one branch gives float32\[3\] where float32\[2, 3\] is needed"),
    "carry": (other_carry, r"a step gives float64\[2, 3\] where float32\[2, 3\] is needed"),
    "seeds": (seeding, "was seeded, or put back, inside of a branch"),
}


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_operators_forbid_is_refused(name: str, to: str) -> None:
    function, words = REFUSED[name]
    given = CALLS[0].clone() + 1
    with pytest.raises(GraphCompilerError, match=words):
        graph_compiler.compile(function, to=to, args=(given,))
    assert_same(given, CALLS[0] + 1)


# ------------------------------------------------------------------------------------- memory
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_results_share_no_memory_with_arguments(to: str) -> None:
    graph = graph_compiler.compile(lambda x: steps(x)[1], to=to, args=(CALLS[0],))
    # The loop makes no iteration for these elements.
    x = CALLS[2] * 50
    x = x if to == "torch" else x.numpy()
    before = x + 0
    result = graph(x)
    result += 1
    assert_same(x, before)


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", ["cell", "branch_in_loop"])
def test_saved_graphs_keep_their_blocks(name: str, to: str, tmp_path: Path) -> None:
    """Guards on sizes inside the blocks must be saved, too."""
    function = PROGRAMS[name]()
    graph_compiler.compile(function, to=to, args=(CALLS[0],)).save(tmp_path / "graph.zip")
    graph = graph_compiler.load(tmp_path / "graph.zip")
    for x in CALLS:
        assert_same(graph(x if to == "torch" else x.numpy()), function(x))


@pytest.mark.parametrize("count", [0, 3])
def test_a_loop_without_its_public_function_returns_what_it_carries(count: int) -> None:
    loop = (
        lambda i, y, weight: i < count,
        lambda i, y, weight: (i + 1, y @ weight),
        (torch.tensor(0), rows(2)),
        (WEIGHT,),
    )
    assert_same(tuple(unrolled.while_loop(nullcontext(), loop)), torch.ops.higher_order.while_loop(*loop))


def test_an_operator_that_runs_unrecorded_and_is_unknown_is_refused() -> None:
    """An ``associative_scan`` of combine mode "pointwise", which needs a GPU, inside of a branch is one."""
    mode = UnrecordedMode(SimpleNamespace(here=lambda: "torch.cond at here"))
    with (
        pytest.raises(OperatorRefused, match="torch's operator out_dtype takes functions"),
        mode,
    ):
        torch.ops.higher_order.out_dtype(torch.ops.aten.mm.default, torch.int32, *[torch.ones(2, 2)] * 2)
