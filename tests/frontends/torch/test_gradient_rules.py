"""Tests of gradients through custom rules: right in every target, or an error when one is taken; results are
always right.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GradientRefused, UnsupportedOperation  # noqa: E402
from tests.corpora.programs.transforms import NewStyle, Square, StraightThrough  # noqa: E402
from tests.support.canonical import lifted  # noqa: E402

Function = torch.autograd.Function
TARGETS = ("torch", "jax", "tensorflow", "lifted")


class Complexified(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.complex(x, x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.real * 5 + gradient.imag * 3


class ComplexBranching(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.complex(x, x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.real if gradient.real.sum() > 100 else gradient.imag


class Turned(Function):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        return z * (2 + 1j)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * (7 + 3j)


class Reversal(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: float) -> Any:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.neg() * ctx.scale, None


class Unchanged(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return -0.5 * gradient


class Rectified(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x < 0] = 0
        return gradient * 3


class Sign(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, gradient, torch.zeros_like(gradient))


class Sigmoid(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (y,) = ctx.saved_tensors
        return 2 * gradient * y * (1 - y)


class Product(Function):
    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, y = ctx.saved_tensors
        return gradient * y * 2, gradient * x * 3


class Clipped(Function):
    """A rule that is not linear in the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.clamp(-0.1, 0.1)


class Mixed(Function):
    """A rule that is linear in the gradient, but not element by element."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x @ x.mT

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient @ gradient.new_ones(gradient.shape[0], 3)


class Counting(Function):
    """A rule with a side effect, which must not happen during the recording, nor be lost later."""

    calls: ClassVar[list[int]] = []

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        Counting.calls.append(1)
        return gradient * 2


class Branching(Function):
    """A rule that branches on elements of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2 if gradient.sum() > 0 else gradient * 3


class Cube(Function):
    """A rule that differs from the derivative, so that a lost rule is noticed."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 5 * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * 5 * ctx.saved_tensors[0]


class OwnVmap(Cube):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return OwnVmap.apply(x), in_dims[0]


class Once(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 3


class Parts(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        first, second = x.sin(), x.cos()
        ctx.mark_non_differentiable(second)
        return first, second

    @staticmethod
    def backward(ctx: Any, gradient: Any, _: Any) -> Any:
        return gradient * 2


class Doubled(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 7


class Assigned(Function):
    """A write that autograd does not see, with the argument itself as the result."""

    @staticmethod
    def forward(ctx: Any, scratch: Any, value: Any, place: int) -> Any:
        ctx.place = place
        scratch.data[..., place] = value
        return scratch

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, gradient[..., ctx.place] * 2, None


class CountingView(Function):
    """A rule that cannot be recorded, of a view."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x[:1]

    backward = Counting.backward


def assigned_again(x: Any) -> Any:
    stages, total = torch.empty(*x.shape, 3), x.sum()
    for place, function in enumerate((torch.sin, torch.cos, torch.exp)):
        stages = Assigned.apply(stages, function(x) * total.detach(), place)
        total = total + (stages[..., : place + 1].sum(-1) * x).sum()
    return total


def older_results(x: Any) -> Any:
    """Results of a rule share memory: each keeps its gradient, and all have the latest elements."""
    scratch = x.detach().clone()
    first = Assigned.apply(scratch, x[..., 0].sin(), 0)
    row = first[0]
    second = Assigned.apply(first, x[..., 1].cos(), 1)
    return (first * x).sum() + (second * second.detach() * x).sum() + (row * x[0]).sum()


def a_view_written_to(x: Any) -> Any:
    y = x * 2
    row = CountingView.apply(y)
    row.data[0] = 5
    return (y * x).sum() + (row * x).sum()


def parts(x: Any) -> Any:
    first, second = Parts.apply(x)
    return (first * second).sum()


def under_vjp(x: Any) -> Any:
    y, pull = torch.func.vjp(Cube.apply, x)
    return (y * pull(torch.ones_like(y))[0]).sum()


def under_jvp(x: Any) -> Any:
    y, tangent = torch.func.jvp(Cube.apply, (x,), (torch.ones_like(x),))
    return (y * tangent).sum()


def gradient_as_a_number(x: Any) -> Any:
    """A backward pass without ``create_graph`` returns constants."""
    y = x.detach().requires_grad_()
    return (torch.autograd.grad(Cube.apply(y).sum(), y)[0] * x).sum()


def written_without_gradients(x: Any) -> Any:
    y = x * 2
    with torch.no_grad():
        y[0] = 0
    y.detach()[1] = 5
    y.data.mul_(3)
    return (y * x).sum()


def in_inference_mode(x: Any) -> Any:
    with torch.inference_mode():
        y = x * 2
    return (y.clone() * x).sum()


def rows_without_gradients(x: Any) -> Any:
    with torch.no_grad():
        rows = [row * 2 for row in x]
    return (torch.stack(rows) * x).sum()


def in_a_checkpoint(x: Any) -> Any:
    def inner(y: Any) -> Any:
        with torch.no_grad():
            scale = y * 2
        return Cube.apply(y) * scale

    return torch.utils.checkpoint.checkpoint(inner, x.sin(), use_reentrant=False).sum()


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.weight.register_hook(lambda gradient: gradient * 10)

    def forward(self, x: Any) -> Any:
        return (x * self.weight).sum()


# The bound method is taken before any recording patches it.
unchanged = Unchanged.apply


def hooked(x: Any) -> Any:
    y = x * 3
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient * 2)
    return (y * y).sum()


def clipping_hook(x: Any) -> Any:
    y = x * 3
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient.clamp(max=1))
    return (y * y).sum()


def both_of_new_style(x: Any) -> Any:
    first, second = NewStyle.apply(x)
    return (first * second).sum()


def of_complex(z: Any, x: Any) -> Any:
    return (z * torch.complex(x, x * 0 + 2)).abs().sum()


RIGHT: dict[str, Callable[[Any], Any]] = {
    "a complex result": lambda x: of_complex(Complexified.apply(x), x),
    "complex arguments": lambda x: of_complex(Turned.apply(torch.complex(x, x.sin())), x),
    "square": lambda x: Square.apply(x).sum(),
    "straight_through": lambda x: (StraightThrough.apply(x, 4.0) * x).sum(),
    "reversal": lambda x: (Reversal.apply(x, 2.0) ** 2).sum(),
    "unchanged": lambda x: (unchanged(x) ** 2).sum(),
    "rectified": lambda x: (Rectified.apply(x) * x).sum(),
    "sign": lambda x: (Sign.apply(x) * x).sum(),
    "sigmoid": lambda x: Sigmoid.apply(x).sum(),
    "product": lambda x: Product.apply(x, x.sin()).sum(),
    "two results": both_of_new_style,
    "written to afterwards": lambda x: Rectified.apply(x).add_(1).mul(x).sum(),
    "one in the other": lambda x: Unchanged.apply(Rectified.apply(x) * x).sum(),
    "assigned unseen": assigned_again,
    "older results": older_results,
    "by detach": lambda x: ((x + (x.round() - x).detach()) * x).sum(),
    "tensor hook": hooked,
    "under vmap": lambda x: (torch.vmap(Cube.apply)(x) * x).sum(),
    "under vmap by a rule of its own": lambda x: (torch.vmap(OwnVmap.apply)(x) * x).sum(),
    "under vmap of gradients": lambda x: torch.vmap(torch.func.grad(lambda row: Cube.apply(row).sum()))(
        x
    ).sum(),
    "under vjp": under_vjp,
    "under jvp": under_jvp,
    "once differentiable": lambda x: (Once.apply(x) * x).sum(),
    "a result without gradient": parts,
    "a gradient as a number": gradient_as_a_number,
    "written without gradients": written_without_gradients,
    "in inference mode": in_inference_mode,
    "views without gradients": rows_without_gradients,
    "in a checkpoint": in_a_checkpoint,
    "clipped": lambda x: (Clipped.apply(x) * 5).sum(),
    "mixed": lambda x: Mixed.apply(x).sum(),
    "clipping hook": clipping_hook,
}
HOOKS = {
    "tensor hook",
    "clipping hook",
}
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "counting": (
        lambda x: Counting.apply(x).sum(),
        r"the rule of Counting at test_gradient_rules.py:\d+, .*changes what it finds outside",
    ),
    "branching": (
        lambda x: Branching.apply(x).sum(),
        r"the rule of Branching at test_gradient_rules.py:\d+, .*elements.* decide in Python",
    ),
    "a complex result": (
        lambda x: of_complex(ComplexBranching.apply(x), x),
        r"the rule of ComplexBranching at test_gradient_rules.py:\d+, .*elements.* decide in Python",
    ),
    "written to by its rule": (lambda x: (Doubled.apply(x * 1) * x).sum(), "the rule of Doubled"),
    "written to again": (
        lambda x: (Doubled.apply(x * 1).add_(x).mul_(2) * x).sum(),
        "the rule of Doubled",
    ),
    "a view written to": (a_view_written_to, "the rule of CountingView"),
    "a subclass and back": (lambda x: x.as_subclass(Plain).sin().as_subclass(torch.Tensor).sum(), "made a"),
    "a subclass": (lambda x: x.as_subclass(Plain).sin().sum(), "made a Plain"),
}
FIRST = torch.tensor([[-1.5, 0.2, 0.7], [2.0, -0.3, 0.1]])
OTHER = torch.tensor([[-0.5, 1.2, 0.7], [2.0, -2.3, 0.1], [0.3, 0.4, -0.6]])


class Plain(torch.Tensor): ...


def by_torch(function: Any) -> Callable[[Any], tuple[Any, Any]]:
    def run(x: Any) -> tuple[Any, Any]:
        x = x.clone().requires_grad_()
        y = function(x)
        return y.detach().numpy(), torch.autograd.grad(y, x)[0].numpy()

    return run


def by_jax(graph: Any) -> Callable[[Any], tuple[Any, Any]]:
    import jax

    def run(x: Any) -> tuple[Any, Any]:
        return jax.value_and_grad(jax.jit(lambda array: graph.functional(graph.parameters, array)))(x.numpy())

    return run


def by_tensorflow(graph: Any) -> Callable[[Any], tuple[Any, Any]]:
    import tensorflow as tf

    def run(x: Any) -> tuple[Any, Any]:
        array = tf.constant(x.numpy())
        with tf.GradientTape() as tape:
            tape.watch(array)
            y = graph.functional(graph.parameters, array)
        return y.numpy(), tape.gradient(y, array).numpy()

    return run


def graph_of(function: Any, to: str) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    """Return (graph, function that computes its result and gradient)."""
    pytest.importorskip(to if to != "lifted" else "torch")
    if to in ("torch", "lifted"):
        graph = graph_compiler.compile(function, args=(FIRST.clone().requires_grad_(),))
        graph = lifted(graph) if to == "lifted" else graph
        return graph, by_torch(graph)
    graph = graph_compiler.compile(function, to=to, args=(FIRST,))
    return graph, by_jax(graph) if to == "jax" else by_tensorflow(graph)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", RIGHT)
def test_gradients_of_rules(name: str, to: str) -> None:
    if name in HOOKS and to not in ("torch", "lifted"):
        pytest.skip("only an array of torch can be asked whether it requires a gradient")
    graph, run = graph_of(RIGHT[name], to)
    for x in (FIRST, OTHER):
        # Inside of transforms and backward passes the recording is specialised to these sizes.
        graph(x)
        for found, expected in zip(run(x), by_torch(RIGHT[name])(x)):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", REFUSED)
def test_other_rules_are_refused_where_a_gradient_is_taken(name: str, to: str) -> None:
    function, words = REFUSED[name]
    graph, run = graph_of(function, to)
    given = OTHER.clone().requires_grad_() if to in ("torch", "lifted") else OTHER
    np.testing.assert_allclose(
        np.asarray(graph(given).detach() if hasattr(graph(given), "detach") else graph(given)),
        function(OTHER),
        rtol=1e-5,
    )
    with pytest.raises(GradientRefused, match=words):
        run(OTHER)
    assert not Counting.calls


@pytest.mark.parametrize("to", ["jax", "tensorflow", "torch"])
def test_a_refusal_is_kept_in_a_file(to: str, tmp_path: Path) -> None:
    function, words = REFUSED["counting"]
    graph, _ = graph_of(function, to)
    graph.save(tmp_path / "graph.zip")
    run = {"jax": by_jax, "tensorflow": by_tensorflow, "torch": by_torch}[to](
        graph_compiler.load(tmp_path / "graph.zip")
    )
    with pytest.raises(GradientRefused, match=words):
        run(FIRST)


@pytest.mark.parametrize("name", ["square", "mixed"])
def test_a_rule_is_kept_in_a_file(name: str, tmp_path: Path) -> None:
    graph, run = graph_of(RIGHT[name], "torch")
    graph.save(tmp_path / "graph.zip")
    for found, expected in zip(by_torch(graph_compiler.load(tmp_path / "graph.zip"))(FIRST), run(FIRST)):
        np.testing.assert_array_equal(found, expected)


def test_a_backward_hook_of_a_module_is_refused() -> None:
    layer = torch.nn.Linear(3, 3)
    layer.register_full_backward_hook(lambda module, given, made: (given[0] * 2,))
    x = FIRST.clone().requires_grad_()
    graph = graph_compiler.compile(layer, args=(x,))
    assert torch.equal(graph(x), layer(x))
    with pytest.raises(GradientRefused, match="a backward hook of Linear"):
        graph(x).sum().backward()


@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_a_backward_hook_of_a_module_is_refused_elsewhere(to: str) -> None:
    """The hook's input is detached, so both it and its origin must be remembered for the error."""
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 2))
    layers[1].register_full_backward_hook(lambda module, given, made: (given[0] * 2,))
    graph = graph_compiler.transpile(layers, to=to, args=(FIRST,))
    with pytest.raises(GradientRefused, match="a backward hook of Linear"):
        gradient_of(graph, to)


def gradient_of(graph: Any, to: str) -> Any:
    """Return the gradient of the sum of the results at ``FIRST`` in JAX or TensorFlow."""
    if to == "jax":
        import jax

        return jax.grad(lambda x: graph.functional(graph.parameters, x).sum())(FIRST.numpy())
    import tensorflow as tf

    x = tf.constant(FIRST.numpy())
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(graph(x))
    return tape.gradient(total, x)


def test_the_second_derivative_of_a_rule() -> None:
    """A rule that uses its result must be differentiated through itself, as in torch."""
    import jax

    graph = graph_compiler.compile(RIGHT["sigmoid"], to="jax", args=(FIRST,))
    found = jax.grad(lambda x: jax.grad(lambda y: graph.functional({}, y))(x).sum())(FIRST.numpy())
    given = FIRST.clone().requires_grad_()
    (first,) = torch.autograd.grad(RIGHT["sigmoid"](given), given, create_graph=True)
    np.testing.assert_allclose(found, torch.autograd.grad(first.sum(), given)[0], rtol=1e-5)
    square = graph_compiler.compile(RIGHT["square"], to="jax", args=(FIRST,))
    second = jax.grad(lambda x: jax.grad(lambda y: square.functional({}, y))(x).sum())(FIRST.numpy())
    np.testing.assert_allclose(second, np.full((2, 3), 5.0))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_checkpoint_that_enters_backward_again() -> None:
    """torch runs it without gradients first; where the function disables gradients itself, they must stay
    disabled.
    """

    def inner(y: Any) -> Any:
        with torch.no_grad():
            scale = y * 2
        return Cube.apply(y) * scale

    found, expected = OTHER.clone().requires_grad_(), OTHER.clone().requires_grad_()
    graph_compiler.compile(
        lambda x: torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=True).sum(), args=(FIRST,)
    )(found).backward()
    inner(expected).sum().backward()
    assert found.grad is not None and torch.equal(found.grad, expected.grad)


def test_a_hook_of_a_weight() -> None:
    import jax

    model = Scaled()
    gradient = jax.grad(
        lambda weights: graph_compiler.compile(model, to="jax", args=(FIRST,)).functional(
            weights, OTHER.numpy()
        )
    )
    np.testing.assert_allclose(
        gradient({"weight": np.ones(3, np.float32)})["weight"], 10 * OTHER.sum(0), rtol=1e-5
    )
    graph = graph_compiler.compile(model, args=(FIRST,))
    graph(OTHER).backward()
    assert model.weight.grad is not None
    np.testing.assert_allclose(model.weight.grad, 10 * OTHER.sum(0), rtol=1e-5)
    with pytest.raises(UnsupportedOperation, match="a weight with hooks"):
        graph.to("jax")


def test_functions_are_as_they_were_after_a_recording() -> None:
    before = {name: vars(Square).get(name) for name in ("forward", "setup_context", "backward")}
    graph_compiler.compile(RIGHT["square"], args=(FIRST,))
    with pytest.raises(ZeroDivisionError):
        graph_compiler.compile(lambda x: Square.apply(x) / (1 // 0), args=(FIRST,))
    assert {name: vars(Square).get(name) for name in before} == before
