"""Tests of backward passes inside of a function, at other sizes than those of the recording.

Each row has the sizes of the arrays (letters stand for those that change), and the loss whose gradients
are taken or a whole function. The rows of ``ONE`` need one recording for all sizes above 1. Those of
``SEVERAL`` are recorded again, because torch's derivative computes with sizes in a way that cannot be
traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import transforms  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

Shapes = tuple[tuple[Any, ...], ...]
Row = tuple[Shapes, Callable[..., Any]]

RECORDED = {"n": 5, "m": 6, "k": 3}
LARGER = [{"n": 7, "m": 8, "k": 2}, {"n": 8, "m": 5, "k": 4}]
OTHERS = [
    {"n": 2, "m": 2, "k": 2},
    {"n": 1, "m": 6, "k": 3},
    {"n": 5, "m": 1, "k": 1},
    {"n": 4, "m": 4, "k": 4},
]

torch.manual_seed(0)
NET = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3)).requires_grad_(False)
LAYER_NORM, CONV, EMBEDDING = (
    torch.nn.LayerNorm(4),
    torch.nn.Conv1d(4, 5, 3, padding=1),
    torch.nn.Embedding(7, 4),
)
for module in (LAYER_NORM, CONV, EMBEDDING):
    module.requires_grad_(False)


def _physics(x: Any) -> Any:
    """Return the residual of a differential equation, with second derivatives of a network with respect to
    its inputs.
    """
    x = x.detach().requires_grad_()
    u = NET(x)
    (first,) = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
    (second,) = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)
    return (first[:, 1] - 0.1 * second[:, 0] + u[:, 0] * first[:, 0]).pow(2).mean()


def _forces(x: Any) -> Any:
    return ((x[:, None] - x[None]).pow(2).sum(-1) + 0.01).sqrt().sum()


def _penalty(x: Any) -> Any:
    (gradient,) = torch.autograd.grad(NET(x).sum(), x, create_graph=True)
    return ((gradient.norm(2, dim=1) - 1) ** 2).mean()


def _step(x: Any, y: Any) -> Any:
    """Return the loss after a gradient step."""
    weight = torch.ones(4, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(F.mse_loss(x @ weight, y), weight, create_graph=True)
    return F.mse_loss(x @ (weight - 0.1 * gradient), y)


# What the gradient of a loss is taken of, by torch.autograd.grad.
LOSSES: dict[str, Row] = {
    "forces": ((("n", 3),), _forces),
    "penalty": ((("n", 4),), _penalty),
    "step": ((("n", 4), ("n", 3)), _step),
    "network": ((("n", 4),), lambda x: NET(x).pow(2).mean()),
    "pairs": ((("n",), ("m",)), lambda x, y: (x[:, None] * y[None]).sum()),
    "means": ((("n", "m"),), lambda x: (x * x).mean() + (x**2).mean(1).pow(2).sum() + (x**3).mean((0, -1))),
    "variances": (
        (("n", "m", 4),),
        lambda x: x.std() + x.var(dim=(0, 1)).sum() + x.var(-1, unbiased=False).sum(),
    ),
    "standardised": ((("n", 4),), lambda x: ((x - x.mean(0)) / (x.std(0) + 1e-3)).pow(3).mean()),
    "a row for all": ((("n", "m"), ("m",)), lambda x, y: ((x - y) ** 2).mean()),
    "a column for all": ((("n", "m"), ("n", 1)), lambda x, y: (x / (y**2 + 1)).sum()),
    "expanded": (((1, "m"), ("n", "m")), lambda x, y: (x.expand(y.shape[0], -1) * y).sum()),
    "neighbours": (
        (("n", "m"),),
        lambda x: ((x[1:] - x[:-1]) ** 2).mean() + ((x[:, 1:] - x[:, :-1]) ** 2).mean(),
    ),
    "every second": (
        (("n", 4),),
        lambda x: (x[::2] ** 2).sum() + x[-2:].exp().sum() + (x[1:, 0] * x[1:, -1]).sum(),
    ),
    "half": ((("n", 4),), lambda x: (x[: x.shape[0] // 2] ** 2).sum()),
    "divided by sizes": ((("n", "m"),), lambda x: (x**2).sum() / x.shape[0] + (x * x.shape[1]).pow(2).mean()),
    "product": ((("n", 4), (4, "m")), lambda x, y: (x @ y).pow(2).sum()),
    "products": ((("k", "n", 4), ("k", 4, "m")), lambda x, y: (x @ y).pow(2).sum()),
    "by a vector": ((("n", "m"), ("m",)), lambda x, y: (x @ y).pow(2).sum()),
    "attention": (
        (("k", "n", 4), ("k", "m", 4)),
        lambda x, y: (torch.softmax(x @ y.mT / 2, -1) @ y).pow(2).mean(),
    ),
    "extremes": (
        (("n", 4),),
        lambda x: (
            x.max(0).values.pow(2).sum() + x.amax() + x.topk(2, 0).values.sum() + x.sort(0).values[0].sum()
        ),
    ),
    "norms": (
        (("n", "m"),),
        lambda x: (x / x.norm(dim=-1, keepdim=True)).sum() + x.norm() + torch.logsumexp(x, (0, 1)),
    ),
    "joined": (
        (("n", 4), ("m", 4)),
        lambda x, y: torch.cat([x, y, x]).pow(2).sum() + torch.stack([x, x * 2]).pow(3).sum(),
    ),
    "reshaped": (
        (("n", "m", 4),),
        lambda x: (x.permute(2, 0, 1).reshape(4, -1) ** 3).sum(1).pow(2).sum() + x.flatten(1).exp().mean(),
    ),
    "repeated": ((("n", "m"),), lambda x: (x[None].expand(3, -1, -1) * 2).pow(2).sum()),
    "chosen": (
        (("n", 4),),
        lambda x: x[torch.tensor([0, 1])].pow(2).sum() + x.gather(1, x.argmax(1, keepdim=True)).sum(),
    ),
    "masked": (
        (("n", "m"),),
        lambda x: torch.where(x > 0, x**2, x).clamp(min=-1).masked_fill(x > 2, 0.0).sum(),
    ),
    "losses": (
        (("n", 4), ("n", 4)),
        lambda x, y: F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y),
    ),
    "of classes": ((("n", 4),), lambda x: F.cross_entropy(x, torch.zeros(x.shape[0], dtype=torch.long))),
    "binary": ((("n", 4),), lambda x: F.binary_cross_entropy_with_logits(x, torch.ones_like(x))),
    "layer norm": ((("n", "m", 4),), lambda x: LAYER_NORM(x).pow(3).sum()),
    "activations": (
        (("n", "m"),),
        lambda x: (F.gelu(x) + F.silu(x) + F.softplus(x) + F.elu(x) + F.leaky_relu(x) + x.sigmoid()).sum(),
    ),
    "convolved": ((("n", 4, 6),), lambda x: F.relu(CONV(x)).pow(2).sum()),
    "moved": (
        (("n", 4),),
        lambda x: (
            (x * x.roll(1, 0) * x.flip(0)).sum() + F.pad(x, (1, 2)).pow(2).sum() + (x.cumsum(0) ** 2).sum()
        ),
    ),
}
# Functions that take gradients in another way.
FUNCTIONS: dict[str, Row] = {
    "physics": ((("n", 4),), _physics),
    "func.grad": ((("n", 4),), lambda x: torch.func.grad(lambda a: NET(a).pow(2).mean())(x)),  # noqa: PLW0108
    "func.grad of two": (
        (("n", 4), ("m", 4)),
        lambda x, y: torch.func.grad(lambda a, b: ((a[:, None] - b[None]) ** 2).mean(), argnums=(0, 1))(x, y),  # noqa: PLW0108
    ),
    "of each example": (
        (("n", 4), ("n",)),
        lambda x, y: torch.vmap(torch.func.grad(lambda a, b: (NET(a)[0] - b) ** 2))(x, y),  # noqa: PLW0108
    ),
    "vjp": ((("n", 4),), lambda x: torch.func.vjp(lambda a: NET(a).mean(0), x)[1](torch.ones(3))[0]),
    "jacrev": ((("n", 4),), lambda x: torch.func.jacrev(lambda a: (a**2).sum(0))(x)),  # noqa: PLW0108
    "value as well": (
        (("n", 4),),
        lambda x: torch.func.grad_and_value(lambda a: (a.std(0) * a.mean(0)).sum())(x),  # noqa: PLW0108
    ),
}
SEVERAL: dict[str, Row] = {
    "repeat": ((("n", "m"),), lambda x: (x.repeat(2, 1) ** 2).sum()),
    "prod": ((("n", 4),), lambda x: x.prod(0).sum()),
    "batch mean": (
        (("n", 4), ("n", 4)),
        lambda x, y: F.kl_div(F.log_softmax(x, -1), F.softmax(y, -1), reduction="batchmean"),
    ),
    "labels": ((("n", "m"),), lambda x: F.multilabel_soft_margin_loss(x, torch.ones_like(x))),
    "part by part": ((("n", 4),), lambda x: x[torch.arange(x.shape[0]), 0].pow(2).sum()),
    "diagonal": ((("n", "n"),), lambda x: x.diagonal().pow(2).sum()),
    "unfold": ((("n", 4),), lambda x: x.unfold(0, 2, 1).pow(2).sum()),
    "written": ((("n", 4),), lambda x: _written(x.clone()).pow(2).sum()),
    "transform": ((("n", 8),), lambda x: torch.fft.rfft(x).abs().pow(2).sum()),
    "weights of a convolution": ((("n", 4, 6), ("m", 4, 3)), lambda x, w: F.conv1d(x, w).pow(2).sum()),
}


def _written(x: Any) -> Any:
    x[:, 0] = x[:, 1] * 2
    return x


def _of(loss: Callable[..., Any]) -> Callable[..., Any]:
    def gradients(*arrays: Any) -> Any:
        arrays = tuple(array.detach().requires_grad_() for array in arrays)
        return torch.autograd.grad(loss(*arrays), arrays)

    return gradients


ONE = {**{name: (shapes, _of(loss)) for name, (shapes, loss) in LOSSES.items()}, **FUNCTIONS}
ALL = {**ONE, **{name: (shapes, _of(loss)) for name, (shapes, loss) in SEVERAL.items()}}


def _arrays(shapes: Shapes, sizes: dict[str, int], seed: int) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn([sizes.get(size, size) for size in shape], generator=generator) for shape in shapes]


def _same(graph: Any, program: Any, shapes: Shapes, sizes: dict[str, int], target: str) -> None:
    arrays = _arrays(shapes, sizes, 1)
    try:
        expected = program(*arrays)
    except (RuntimeError, IndexError):
        # torch itself raises at these sizes.
        return
    found = graph(*(array if target == "torch" else array.numpy() for array in arrays))
    assert_same(found, expected)


# torch warns of the standard deviation of one row too.
@pytest.mark.filterwarnings("ignore:std.*degrees of freedom")
@pytest.mark.parametrize("target", ["torch", "numpy"])
@pytest.mark.parametrize("name", ALL)
def test_gradients_are_right_at_other_sizes(name: str, target: str) -> None:
    shapes, program = ALL[name]
    graph = graph_compiler.compile(program, to=target, args=_arrays(shapes, RECORDED, 0))
    for sizes in (RECORDED, *LARGER):
        _same(graph, program, shapes, sizes, target)
    if name in ONE:
        assert len(graph.variants) == 1
    for sizes in OTHERS:
        _same(graph, program, shapes, sizes, target)


@pytest.mark.parametrize("name", ONE)
def test_equal_sizes_are_not_taken_for_one(name: str) -> None:
    """All sizes are 4 in the recorded call and differ later."""
    shapes, program = ONE[name]
    graph = graph_compiler.compile(program, to="numpy", args=_arrays(shapes, OTHERS[-1], 0))
    for sizes in (RECORDED, *LARGER):
        _same(graph, program, shapes, sizes, "numpy")


# Functions whose derivatives torch computes from their results.
SAVED_RESULTS: dict[str, Callable[[Any], Any]] = {
    "exp": torch.exp,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "sqrt": lambda x: (x * x + 1).sqrt(),
    "softmax": lambda x: x.softmax(-1) * x,
    "norm": lambda x: x.norm(2, dim=1),
    "in place": lambda x: (x * 2).tanh_(),
}


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
@pytest.mark.parametrize("name", SAVED_RESULTS)
def test_derivatives_of_inner_gradients(name: str, to: str) -> None:
    pytest.importorskip(to)

    def forces(x: Any, weight: Any) -> Any:
        x = x.detach().requires_grad_()
        energy = SAVED_RESULTS[name](x @ weight).pow(2).sum()
        return torch.autograd.grad(energy, x, create_graph=True)[0].pow(2).sum()

    def given(rows: int) -> Any:
        made = torch.Generator().manual_seed(rows)
        return [torch.randn(size, generator=made) for size in ((rows, 3), (3, 2))]

    graph = graph_compiler.compile(forces, to=to, args=(given(4)[0], given(4)[1].requires_grad_()))
    x, weight = given(5)
    (expected,) = torch.autograd.grad(forces(x, weight.requires_grad_()), weight)
    if to == "torch":
        (found,) = torch.autograd.grad(graph(x, weight), weight)
    else:
        found = transforms.grad(graph, argnums=1)(x, weight.detach())
    assert_same(np.asarray(found), expected.numpy())
