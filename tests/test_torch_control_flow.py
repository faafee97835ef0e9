"""torch.cond, while_loop, scan, map: one recording for all branches, lengths and numbers of steps, in every target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._higher_order_ops.map import map as map_rows  # noqa: E402
from torch._higher_order_ops.scan import scan  # noqa: E402
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GraphCompilerError, GuardFailed  # noqa: E402

from .support.compare import assert_same  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch's own, where torch.cond is run

TARGETS = ("torch", "jax", "numpy", "tensorflow")
WEIGHT = torch.linspace(-0.4, 0.6, 9).reshape(3, 3)


def rows(count: int, width: int = 3, shift: float = 0.0) -> Any:
    return ((torch.arange(count * width) * 0.61 + 0.3) % 1 - 0.45 + shift).reshape(count, width)


CALLS = (rows(2), rows(5, shift=-0.4), rows(1, shift=0.9), rows(7, shift=0.3), rows(4, shift=-2.0))


class Gated(torch.nn.Module):
    """Weights of each branch."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = torch.nn.Linear(3, 4), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4))

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: self.up(y).tanh(), self.down, (x,))


class Cell(torch.nn.Module):
    """The step of an LSTM, with pieces of one product."""

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
    """A branch that reads what was computed outside, and its sizes."""
    y, count = x * 2, x.shape[0]
    return torch.cond(x.sum() > 0, lambda x: x @ WEIGHT + y, lambda x: (x / count).reshape(count, -1) - 1, (x,))


def containers(x: Any) -> Any:
    """Operands and results in containers, two of which are the same array."""

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
    """Until it is large enough: no step for some calls."""
    return while_loop(lambda count, y: y.abs().sum() < 9, lambda count, y: (count + 1, y * 1.5 + 0.1), (torch.tensor(0), x))


def numbers(x: Any) -> Any:
    """Numbers of Python that are carried, one of them to a size."""
    count, y = while_loop(lambda i, y: i < x.shape[0], lambda i, y: (i + 2, y + i), (0, x))
    return y * count, count


def nested_state(x: Any) -> Any:
    """State in containers."""
    return while_loop(
        lambda state: state["n"] < 4, lambda state: ({"n": state["n"] + 1, "y": state["y"] * x.cos()},), ({"n": torch.tensor(1), "y": x},)
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
    """A carry that is an input of its own, and one that reads an outer array."""
    y = x.sum(0)
    return scan(lambda c, row: ((c[0] + row, c[1] * 0.5 + y), row * c[1]), (x[0], torch.ones(x.shape[1])), x)


def backwards(x: Any) -> Any:
    """From the last row to the first, and along the other axis."""
    first = scan(lambda c, row: (c * 0.5 + row, c - row), torch.zeros(x.shape[1]), x, reverse=True)
    return first, scan(lambda c, row: (c * 0.5 + row, c * row), torch.zeros(x.shape[0]), x, dim=1, reverse=True)


def writes_inside(x: Any) -> Any:
    """Writes to what a step has made itself, through views too."""

    def step(c: Any, row: Any) -> Any:
        y = c * 0.5
        y[0] = row[0]
        y[1:].add_(row[1:])
        part = y.view(-1)
        part.mul_(2)
        return y, part + row

    return scan(step, torch.zeros(x.shape[1]), x)


def mapped(x: Any) -> Any:
    return map_rows(lambda held, factor: {"y": held["x"] * factor, "z": held["y"].sum()}, {"x": x, "y": x + 1}, torch.tensor(3.0))


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
            captured, containers, branch_in_branch, steps, numbers, nested_state, branch_in_loop, loop_in_loop, carries, backwards, writes_inside,
            mapped, scan_in_branch, without_gradients,
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_variant_serves_all_calls(name: str, to: str) -> None:
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, to=to, args=(CALLS[0],))
    for x in CALLS:
        given = x.clone()
        assert_same(graph(given), function(x))
        assert_same(given, x)
    assert len(graph.variants) == 1, graph.explain()


# ------------------------------------------------------------------------------------- gradients
GRADIENTS = [name for name in PROGRAMS if name not in ("steps", "numbers", "nested_state", "branch_in_loop", "loop_in_loop")]


def total(tree: Any) -> Any:
    leaves = torch.utils._pytree.tree_leaves(tree)
    return sum((leaf * (leaf + 0.3)).sum() for leaf in leaves)


def slopes(function: Any, x: Any) -> Any:
    given = x.clone().requires_grad_()
    total(function(given)).backward()
    return given.grad


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_in_torch(name: str) -> None:
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, args=(CALLS[0],))
    for x in CALLS:
        assert_same(slopes(graph, x), slopes(function, x))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_in_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, to="jax", args=(CALLS[0],))
    slope = jax.grad(
        lambda x: sum((leaf * (leaf + 0.3)).sum() for leaf in jax.tree_util.tree_leaves(graph.functional(graph.parameters, x)))
    )
    for x in CALLS:
        assert_same(slope(x.numpy()), slopes(function, x))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_in_tensorflow(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, to="tensorflow", args=(CALLS[0],))
    for x in CALLS[:3]:
        given = tf.constant(x.numpy())
        with tf.GradientTape() as tape:
            tape.watch(given)
            result = sum(tf.reduce_sum(leaf * (leaf + 0.3)) for leaf in tf.nest.flatten(graph(given)))
        assert_same(tf.convert_to_tensor(tape.gradient(result, given)), slopes(function, x))


@pytest.mark.parametrize("to", TARGETS)
def test_gradients_inside_are_those_of_the_branch_and_the_steps(to: str) -> None:
    """Written out: what the calls of a branch keep aside is needed."""

    def slope(x: Any) -> Any:
        y = x.detach().requires_grad_()
        last, _ = scan(lambda c, row: (c * row.cos() + row, c.clone()), torch.ones(3), y)
        chosen = torch.cond(last.sum() > 0, lambda c: c * 2, lambda c: c * 5, (last,))
        return torch.autograd.grad(chosen.sum(), y)[0]

    graph = graph_compiler.compile(slope, to=to, args=(CALLS[0],))
    for x in CALLS:
        assert_same(graph(x), slope(x))


# ------------------------------------------------------------------------------------- compiled
@pytest.mark.parametrize("name", ["weights", "captured", "branch_in_branch", "steps", "branch_in_loop", "carries", "cell"])
def test_the_compiler_of_torch_takes_the_graph_whole(name: str) -> None:
    function = PROGRAMS[name]()
    graph = graph_compiler.compile(function, args=(CALLS[0],))
    compiled = torch.compile(graph, fullgraph=True, backend="eager")
    for x in CALLS[:3]:
        assert_same(compiled(x), function(x))
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
    "writing": (writing, r"add_ at .*test_torch_control_flow.py:\d+: x is written to"),
    "writing outside": (writing_outside, r"mul_ at .*test_torch_control_flow.py:\d+: .* is written to"),
    "state": (Counting(), r"test_torch_control_flow.py:\d+: calls is changed inside of a function that torch.cond runs"),
    "buffers": (Normalising(), r"test_torch_control_flow.py:\d+ \(in norm\): norm.num_batches_tracked is written to"),
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


# ------------------------------------------------------------------------------------- random numbers
def drawing(x: Any) -> Any:
    last, _ = scan(lambda c, row: (c + torch.rand(3) * row, c.clone()), torch.zeros(3), x)
    return torch.cond(x.sum() > 0, lambda c: c + torch.rand(3), lambda c: c - 1, (last,)), torch.rand(2)


def test_draws_in_torch_are_those_of_the_branch_and_the_steps_of_the_call() -> None:
    graph = graph_compiler.compile(drawing, args=(CALLS[0],))
    for x in CALLS:
        torch.manual_seed(5)
        found = graph(x)
        torch.manual_seed(5)
        assert_same(found, drawing(x))
    assert len(graph.variants) == 1


RANDOM = ("jax", "numpy", "tensorflow")


def noise(x: Any) -> Any:
    """Draws in steps, in steps of steps, in the condition of a loop, and outside; each row is drawn."""

    def outer(c: Any, row: Any) -> Any:
        _, inner = scan(lambda c, row: (c + row, torch.rand(50)), torch.zeros(()), torch.ones(2))
        return c + row.sum(), torch.cat([inner, torch.rand(1, 50), torch.rand(1, 50)])

    _, scanned = scan(outer, torch.zeros(()), x)
    start = (torch.tensor(0), torch.zeros(3, 50))
    _, looped = while_loop(lambda i, y: (i < 3) & (torch.rand(()) < 2), lambda i, y: (i + 1, torch.cat([y[1:], torch.rand(1, 50)])), start)
    return torch.cat([scanned.reshape(-1, 50), looped, torch.rand(1, 50)])


@pytest.mark.parametrize("to", RANDOM)
def test_every_step_draws_numbers_of_its_own(to: str) -> None:
    graph = graph_compiler.compile(noise, to=to, args=(CALLS[0],))
    drawn = [np.asarray(graph(x)) for x in CALLS]
    rows_drawn = np.concatenate(drawn)
    assert [len(one) for one in drawn] == [4 * len(x) + 4 for x in CALLS] and len(graph.variants) == 1
    assert len(np.unique(rows_drawn, axis=0)) == len(rows_drawn)
    assert ((rows_drawn >= 0) & (rows_drawn < 1)).all() and abs(rows_drawn.mean() - 0.5) < 0.02 and abs(rows_drawn.var() - 1 / 12) < 0.01
    graph.seed(3)
    first = np.asarray(graph(CALLS[1]))
    graph.seed(3)
    assert_same(np.asarray(graph(CALLS[1])), first)


class Dropping(torch.nn.Module):
    """A recurrence whose state is dropped out in each step."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            made = torch.nn.functional.dropout(self.layer(c + row).tanh(), 0.25)
            return made, made.clone()

        return scan(step, torch.zeros(8, 3), x)[1]


def test_dropout_in_a_step_trains() -> None:
    jax = pytest.importorskip("jax")
    graph = graph_compiler.compile(Dropping().train(), to="jax", args=(torch.ones(4, 8, 3),))
    x = np.random.default_rng(0).normal(size=(6, 8, 3)).astype("float32")

    def loss(parameters: Any, key: Any) -> Any:
        made = graph.functional(parameters, x, rng=key)
        return ((made - 0.5) ** 2).mean(), (made == 0).mean()

    step = jax.jit(jax.value_and_grad(loss, has_aux=True))
    parameters, losses, dropped = dict(graph.parameters), [], []
    for key in jax.random.split(jax.random.key(0), 60):
        (value, share), slopes = step(parameters, key)
        parameters = {name: parameters[name] - 0.2 * slopes[name] for name in parameters}
        losses.append(float(value))
        dropped.append(float(share))
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:3])
    assert abs(np.mean(dropped) - 0.25) < 0.02


@pytest.mark.parametrize("to", ["jax", "numpy", "tensorflow"])
def test_draws_in_a_branch_are_fresh(to: str) -> None:
    graph = graph_compiler.compile(
        lambda x: torch.cond(x.sum() > 0, lambda y: torch.rand(3) + 7, lambda y: y[0] * 0, (x,)), to=to, args=(CALLS[0],)
    )
    first, second = (np.asarray(graph(CALLS[2])) for _ in range(2))
    assert ((first >= 7) & (first < 8)).all() and (first != second).all()
    assert (np.asarray(graph(CALLS[4])) == 0).all()


# ------------------------------------------------------------------------------------- memory
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_results_share_no_memory_with_arguments(to: str) -> None:
    graph = graph_compiler.compile(lambda x: steps(x)[1], to=to, args=(CALLS[0],))
    x = CALLS[2] * 50  # takes no step
    x = x if to == "torch" else x.numpy()
    before = x + 0
    result = graph(x)
    result += 1
    assert_same(x, before)


# ------------------------------------------------------------------------------------- elements that are looked at inside
def inverse(x: Any) -> Any:
    return torch.linalg.inv(x).clone(memory_format=torch.contiguous_format)


def inverses(x: Any) -> Any:
    return scan(lambda c, row: (inverse(c) + row, c.sum()), x, x[None].expand(3, -1, -1) * 0.1)


def inverse_in_a_branch(x: Any) -> Any:
    return torch.cond(x.sum() > 0, inverse, lambda y: y * 2, (x,))


def inverse_in_a_condition(x: Any) -> Any:
    return while_loop(lambda i, y: inverse(y).abs().sum() < 30, lambda i, y: (i + 1, y / 2), (torch.tensor(0), x))


def inverse_in_a_branch_in_a_loop(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, torch.cond(i < 2, lambda y: inverse(y) * 2, lambda y: y - y.mean(), (y,))

    return while_loop(lambda i, y: i < 4, body, (torch.tensor(0), x))


EYE = torch.eye(2) + 0.2
SINGULAR = torch.ones(2, 2)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", [inverses, inverse_in_a_branch, inverse_in_a_condition, inverse_in_a_branch_in_a_loop])
def test_elements_that_a_step_refuses(function: Any, to: str) -> None:
    """One variant for what it takes; torch's own error for what it does not."""
    graph = graph_compiler.compile(function, to=to, args=(EYE,))
    for x in (EYE, EYE * 2, EYE.flip(0) * 3):
        assert_same(graph(x), function(x))
    with pytest.raises(torch.linalg.LinAlgError):
        graph(SINGULAR)
    assert_same(graph(EYE), function(EYE))
    assert len(graph.variants) == 1, graph.explain()


def test_a_branch_that_is_not_taken_refuses_nothing() -> None:
    graph = graph_compiler.compile(inverse_in_a_branch, to="jax", args=(EYE,))
    assert_same(graph(-SINGULAR), inverse_in_a_branch(-SINGULAR))
    assert len(graph.variants) == 1


def test_what_a_step_refuses_inside_of_compilers() -> None:
    """As outside of loops: jit gives NaN, and the call that is not compiled names the line."""
    jax = pytest.importorskip("jax")
    graph = graph_compiler.compile(inverses, to="jax", args=(EYE,))
    compiled = jax.jit(lambda x: graph.functional(graph.parameters, x))
    assert_same(compiled(EYE.numpy()), inverses(EYE))
    assert all(np.isnan(item).all() for item in compiled(SINGULAR.numpy()))
    with pytest.raises(GuardFailed, match=r"read by torch.linalg.inv at .*test_torch_control_flow.py:\d+"):
        graph.functional(graph.parameters, SINGULAR.numpy())


@pytest.mark.parametrize("way", ["graph", "XLA"])
def test_what_a_step_refuses_inside_of_tf_function(way: str) -> None:
    tf = pytest.importorskip("tensorflow")
    graph = graph_compiler.compile(clipped, to="tensorflow", args=(EYE,))
    traced = tf.function(lambda x: graph.functional(graph.parameters, x), jit_compile=way == "XLA", autograph=False)
    with as_python():
        assert_same(traced(tf.constant(EYE.numpy())), clipped(EYE))
    if way == "XLA":
        assert np.isnan(traced(tf.constant(-EYE.numpy()))).all()
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"read by torch.Tensor.__bool__ at .*test_torch_control_flow.py:\d+"):
            traced(tf.constant(-EYE.numpy()))


def as_python() -> Any:
    """Inside of the block torch's operators run the functions as they are: its compiler takes no Python ``if`` on elements."""
    return torch.compiler.set_stance("force_eager")


def clipped(x: Any) -> Any:
    """An ``if`` that goes one way in all steps of most calls."""
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5 if y.mean() > 0.2 else y + 1), (torch.tensor(0), x))[1]


def chosen_in_a_branch(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y * 2 if y.mean() > 0.2 else y + 1, lambda y: y - 1, (x,))


def as_lists(x: Any) -> Any:
    """Elements of all kinds, and a number that decides."""

    def step(c: Any, row: Any) -> Any:
        marks = (row > -9).tolist()
        scale = 2.0 if marks[0] and row.isnan().any() == False and row.max().item() < 5 else 3.0  # noqa: E712
        return c * scale + row, c.clone()

    return scan(step, torch.zeros(2), x)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    ("function", "same", "other"),
    [(clipped, EYE * 3, -EYE * 3), (chosen_in_a_branch, -EYE, EYE * 0.1), (as_lists, rows(5, 2), rows(4, 2) + torch.tensor([9.0, 0.0]))],
)
def test_elements_that_decide_in_python_inside(function: Any, same: Any, other: Any, to: str) -> None:
    """The variant serves calls where all steps decide as the recorded one did; others are recorded again."""
    graph = graph_compiler.compile(function, to=to, args=(EYE,))
    with as_python():
        for x, variants in ((EYE, 1), (same, 1), (other, 2), (EYE, 2)):
            assert_same(graph(x), function(x))
            assert len(graph.variants) == variants, graph.explain()


def test_elements_that_decide_under_the_compiler_of_torch() -> None:
    compiled = torch.compile(graph_compiler.compile(clipped, args=(EYE,)), fullgraph=True, backend="eager")
    with as_python():
        expected = clipped(EYE * 3)
    assert_same(compiled(EYE * 3), expected)
    with pytest.raises(RuntimeError, match=r"GuardFailed: .*__bool__ at .*test_torch_control_flow.py:\d+"):
        compiled(-EYE)
    torch._dynamo.reset()


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_number_that_decides_otherwise_in_each_step_is_refused(to: str) -> None:
    graph = graph_compiler.compile(
        lambda x: while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2 if i == 0 else y + 1), (torch.tensor(0), x)), to=to
    )
    with pytest.raises(GuardFailed, match=r"read by .*test_torch_control_flow.py:\d+.*compute with the array instead"):
        graph(CALLS[0])


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", ["cell", "branch_in_loop"])
def test_saved_graphs_keep_their_blocks(name: str, to: str, tmp_path: Path) -> None:
    """And the conditions on sizes in them: a cell asks how many pieces a product has."""
    function = PROGRAMS[name]()
    graph_compiler.compile(function, to=to, args=(CALLS[0],)).save(tmp_path / "graph.zip")
    graph = graph_compiler.load(tmp_path / "graph.zip")
    for x in CALLS:
        assert_same(graph(x if to == "torch" else x.numpy()), function(x))
