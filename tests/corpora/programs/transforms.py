"""Programs that use torch's transforms: gradients, vmap, checkpoints, custom rules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .table import ELSEWHERE, Program, quiet


def _x(*shape: int) -> torch.Tensor:
    size = 1
    for n in shape:
        size *= n
    return torch.linspace(-2, 3, size).reshape(shape)


def vmap(x: Any) -> Any:
    return torch.vmap(lambda row: row.sin() * row.sum())(x)


def vmap_two(x: Any) -> Any:
    return torch.vmap(torch.dot)(x, x * 2) + torch.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, x[0])


def vmap_out_dims(x: Any) -> Any:
    return torch.vmap(lambda row: row * 2, in_dims=1, out_dims=1)(x)


def vmap_nested(x: Any) -> Any:
    return torch.vmap(torch.vmap(lambda a, b: a * b + 1, in_dims=(0, None)), in_dims=(None, 0))(x[0], x[:, 0])


def vmap_of_sizes(x: Any) -> Any:
    return torch.vmap(lambda row: row / row.shape[0] + row.numel())(x)


def vmap_with_sizes_of_the_function(x: Any) -> Any:
    rows, columns = x.shape
    return torch.vmap(lambda row: row * rows - columns / 2)(x)


def vmap_of_a_loss_that_divides_by_a_size(x: Any) -> Any:
    return torch.vmap(
        lambda row: torch.nn.functional.multilabel_soft_margin_loss(row[None], row[None].sigmoid())
    )(x)


def gradient_with_sizes_of_the_function(x: Any) -> Any:
    rows, columns = x.shape
    return torch.func.grad(lambda y: (y * y / rows).sum() * columns)(x)


def vmap_chunks(x: Any) -> Any:
    return torch.vmap(lambda row: row.cumsum(0), chunk_size=2)(x)


def vmap_creates(x: Any) -> Any:
    return torch.vmap(lambda row: row + torch.arange(row.shape[0]))(x)


def vmap_writes(x: Any) -> Any:
    def body(row: Any) -> Any:
        y = row.clone()
        y[0] = 5.0
        y.mul_(2)
        return y

    return torch.vmap(body)(x)


def vmap_where(x: Any) -> Any:
    return torch.vmap(lambda row: torch.where(row > 0, row, row * 2))(x)


def vmap_closure(x: Any) -> Any:
    total = x.sum()
    return torch.vmap(lambda row: row * total)(x)


def vmap_matmul(x: Any) -> Any:
    return torch.vmap(lambda row: x @ row)(x)


def grad(x: Any) -> Any:
    return torch.func.grad(lambda y: (y.sin() * y).sum())(x)


def grad_and_value(x: Any) -> Any:
    return torch.func.grad_and_value(lambda y: (y**2).mean())(x)


def grad_of_grad(x: Any) -> Any:
    return torch.func.grad(lambda y: torch.func.grad(lambda z: (z**3).sum())(y).sum())(x)


def vmap_of_grad(x: Any) -> Any:
    return torch.vmap(torch.func.grad(lambda row: (row.tanh() * row).sum()))(x)


def jacrev(x: Any) -> Any:
    return torch.func.jacrev(lambda y: y.sin() * y.sum())(x[0])


def jacfwd(x: Any) -> Any:
    return torch.func.jacfwd(lambda y: y.sin() * y.sum())(x[0])


def hessian(x: Any) -> Any:
    return torch.func.hessian(lambda y: (y.sin() * y.sum()).sum())(x[0])


def jvp(x: Any) -> Any:
    return torch.func.jvp(torch.sin, (x,), (x * 2,))


def vjp(x: Any) -> Any:
    out, pull = torch.func.vjp(lambda y: y.exp() * 2, x)
    return out, pull(torch.ones_like(out))


@quiet
def linearize(x: Any) -> Any:
    out, push = torch.func.linearize(torch.sin, x)
    return out, push(x * 2)


def functionalize(x: Any) -> Any:
    return torch.func.functionalize(lambda y: y.clone().add_(1))(x)


def autograd_functional(x: Any) -> Any:
    return torch.autograd.functional.jacobian(lambda y: y.sin(), x[0])


def autograd_grad(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad((y.sin() * y).sum(), y)
    return g


def autograd_grad_twice(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), y)
    return g.detach(), h


def backward(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    (y.exp() * 2).sum().backward()
    return y.grad


def backward_with_graph(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    z = (y**2).sum()
    z.backward(retain_graph=True)
    z.backward()
    return y.grad * 2


def backward_branch(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    torch.where(y > 0, y * 2, y.sin()).sum().backward()
    return y.grad + x


def backward_of_sizes(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    (y.mean() + y[1:].sum() + y.reshape(-1).max()).backward()
    return y.grad


def gradient_penalty(x: Any) -> Any:
    with torch.enable_grad():
        y = x.detach().requires_grad_()
        (g,) = torch.autograd.grad((y**2).sum(), y, create_graph=True)
        return ((g.norm(2, dim=1) - 1) ** 2).mean().detach()


def requires_grad_in_place(x: Any) -> Any:
    y = (x * 2).detach().requires_grad_()
    return (y * 3).detach()


def requires_grad_of_argument(x: Any) -> Any:
    x.requires_grad_()
    return (x * 3).sum()


def detach_in_place(x: Any) -> Any:
    y = x * 2
    y.detach_()
    return y + 1


def retains_grad(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    z = y * 2
    z.retain_grad()
    z.sum().backward()
    return z.grad


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x * 5


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: float) -> Any:
        return (x * scale).round() / scale

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, None


class NewStyle(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x.exp(), x.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        x, e, _ = ctx.saved_tensors
        return first * e + second * x.cos()


class Marked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return -gradient


class Numpy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        import numpy as np

        return torch.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


def custom_function(x: Any) -> Any:
    return Square.apply(x) + 1


def custom_straight_through(x: Any) -> Any:
    return StraightThrough.apply(x, 4.0) * 2


def sizes_of_what_custom_rules_give(x: Any) -> Any:
    through, squares = StraightThrough.apply(x, 4.0), Square.apply(x)
    return through.view(through.size(-1), -1), squares.reshape(-1) * squares.shape[0]


def custom_new_style(x: Any) -> Any:
    a, b = NewStyle.apply(x)
    return a * b


def custom_dirty(x: Any) -> Any:
    y = x * 1
    return Marked.apply(y) + y


def custom_identity(x: Any) -> Any:
    return Identity.apply(x) + x


def custom_numpy(x: Any) -> Any:
    return Numpy.apply(x) + x


def custom_gradient_inside(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    Square.apply(y).sum().backward()
    return y.grad


def custom_in_grad(x: Any) -> Any:
    return torch.func.grad(lambda y: NewStyle.apply(y)[0].sum())(x)


def checkpointed(x: Any) -> Any:
    return checkpoint(lambda y: y.sin() * y, x, use_reentrant=False)


@quiet
def checkpointed_reentrant(x: Any) -> Any:
    return checkpoint(lambda y: y.sin() * y, x.requires_grad_(False), use_reentrant=True)


def checkpointed_with_gradient(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    checkpoint(lambda z: z.sin() * z, y, use_reentrant=False).sum().backward()
    return y.grad


def checkpointed_reentrant_with_gradient(x: Any) -> Any:
    y = x.detach().clone().requires_grad_()
    checkpoint(lambda z: z.sin() * z, y, use_reentrant=True).sum().backward()
    return y.grad


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.layers, self.reentrant = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)), reentrant

    def forward(self, x: Any) -> Any:
        return checkpoint(self.layers, x.clone().requires_grad_(), use_reentrant=self.reentrant).detach()


class CheckpointedSequential(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))

    def forward(self, x: Any) -> Any:
        return checkpoint_sequential(self.layers, 2, x, use_reentrant=False)


class FunctionalCall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        parameters = {name: p * 2 for name, p in self.layer.named_parameters()}
        return torch.func.functional_call(self.layer, parameters, (x,))


class FunctionalGradient(FunctionalCall):
    def forward(self, x: Any) -> Any:
        def loss(parameters: Any, x: Any) -> Any:
            return (torch.func.functional_call(self.layer, parameters, (x,)) ** 2).sum()

        return torch.func.grad(loss)(dict(self.layer.named_parameters()), x)


class Ensemble(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 2) for _ in range(3)])

    def forward(self, x: Any) -> Any:
        parameters, buffers = torch.func.stack_module_state(list(self.layers))
        return torch.vmap(lambda p, b: torch.func.functional_call(self.layers[0], (p, b), (x,)))(
            parameters, buffers
        )


class InnerStep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        weight = self.layer.weight.detach().clone().requires_grad_()
        with torch.enable_grad():
            (g,) = torch.autograd.grad((x @ weight.mT).pow(2).mean(), weight)
        return x @ (weight - 0.1 * g).detach().mT


class Optimises(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        optimiser = torch.optim.SGD(self.layer.parameters(), lr=0.1)
        optimiser.zero_grad()
        with torch.enable_grad():
            loss = self.layer(x.detach()).pow(2).mean()
        loss.backward()
        optimiser.step()
        return loss.detach()


class GradientOfParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        (g,) = torch.autograd.grad(self.layer(x).sum(), self.layer.weight)
        return g


class BackwardIntoParameter(GradientOfParameter):
    def forward(self, x: Any) -> Any:
        self.layer(x).sum().backward()
        return x * 2


def scripted_branch(x: Any) -> Any:
    return _branch(x) + 1


@torch.jit.script
def _branch(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):
        return x * 2
    return x - 1


@torch.jit.script
def _loop(x: torch.Tensor) -> torch.Tensor:
    for i in range(x.size(0)):
        x = x + i
    return x


def scripted_loop(x: Any) -> Any:
    return _loop(x)


@torch.jit.script
def _item(x: torch.Tensor) -> torch.Tensor:
    return x * float(x[0, 0].item())


def scripted_item(x: Any) -> Any:
    return _item(x)


_library = torch.library.Library("graph_compiler_tests", "DEF")
_library.define("triple(Tensor x) -> Tensor")
_library.impl("triple", lambda x: x * 3, "CPU")
# An operation and a write that are named as torch's own, and compute something else.
_library.define("relu(Tensor x) -> Tensor")
_library.impl("relu", lambda x: x * 100, "CPU")
_library.define("neg_(Tensor(a!) x) -> Tensor(a!)")
_library.impl("neg_", lambda x: x.mul_(5), "CPU")


@torch.library.custom_op("graph_compiler_tests::quadruple", mutates_args=())
def _quadruple(x: torch.Tensor) -> torch.Tensor:
    return x * 4


_quadruple.register_fake(torch.empty_like)


def library_operation(x: Any) -> Any:
    return torch.ops.graph_compiler_tests.triple(x) + 1


def operation_named_as_one_of_torch(x: Any) -> Any:
    return torch.ops.graph_compiler_tests.relu(x) + 1


def write_named_as_one_of_torch(x: Any) -> Any:
    y = x + 1
    torch.ops.graph_compiler_tests.neg_(y)
    return y * 2


def custom_operation(x: Any) -> Any:
    return _quadruple(x) + 1


def seeded(make: Any) -> Any:
    def made() -> Any:
        torch.manual_seed(0)
        return make()

    return made


_ROWS = (lambda: (_x(4, 3),), lambda: (_x(2, 3) + 1,), lambda: (_x(4, 3) - 3,), lambda: (_x(5, 3) * 2,))
_OTHER_COLUMNS = (lambda: (_x(4, 5),), lambda: (_x(2, 2) - 1,))
_FUNCTIONS = [
    f
    for name, f in list(globals().items())
    if getattr(f, "__module__", "") == __name__
    and type(f).__name__ == "function"
    and name not in ("_x", "seeded")
]
_MODULES = [
    (name, make)
    for name, make in {
        "Checkpointed": lambda: Checkpointed(False), "CheckpointedReentrant": lambda: Checkpointed(True),
        "CheckpointedSequential": CheckpointedSequential, "FunctionalCall": FunctionalCall, "FunctionalGradient": FunctionalGradient,
        "Ensemble": Ensemble, "InnerStep": InnerStep, "Optimises": Optimises,
        "GradientOfParameter": GradientOfParameter, "BackwardIntoParameter": BackwardIntoParameter,
    }.items()
]  # fmt: skip
_ERRORS = {
    "linearize": dict.fromkeys(("torch", ELSEWHERE), "takes? functions"),
    "custom_numpy": dict.fromkeys(("torch", ELSEWHERE), "hands the memory of a tensor"),
    "library_operation": {ELSEWHERE: "translated"},
    "custom_operation": {ELSEWHERE: "add a row named 'graph_compiler_tests.quadruple'"},
    "operation_named_as_one_of_torch": {ELSEWHERE: "translated"},
    "write_named_as_one_of_torch": {ELSEWHERE: "translated"},
}
PROGRAMS = [
    *(
        Program(f.__name__, lambda f=f: f, _ROWS + _OTHER_COLUMNS, _ERRORS.get(f.__name__, {}))
        for f in _FUNCTIONS
    ),
    *(Program(name, seeded(make), _ROWS, _ERRORS.get(name, {})) for name, make in _MODULES),
]
