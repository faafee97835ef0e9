"""Programs with torch's higher-order operators: branches, loops, and attention with a function of its scores."""

from __future__ import annotations

from typing import Any

import torch

from .table import LIFTED, Program, quiet


def _x(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 0.61 + 0.3) % 1 - 0.4).reshape(shape)


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        made = torch.cond(
            x.sum() > 0, lambda d: {"made": self.layer(d["x"])}, lambda d: {"made": d["x"] - 1}, ({"x": x},)
        )
        return torch.cond(x.shape[0] > 3, lambda y: y * 2, lambda y: y.sin(), (made["made"],))


def loop(x: Any) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    steps, y = while_loop(
        lambda i, y: y.abs().sum() < 20, lambda i, y: (i + 1, y * 2 + 1), (torch.tensor(0), x)
    )
    none = while_loop(lambda y: y["y"].sum() < -1e9, lambda y: ({"y": y["y"] * 2},), ({"y": y},))
    count, z = while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z + i), (0, y))
    return steps, none, z * count


def scans(x: Any) -> Any:
    from torch._higher_order_ops.map import map as map_over
    from torch._higher_order_ops.scan import scan

    carry, made = scan(
        lambda c, y: ({"c": c["c"] + y[0]}, (y[0] * 2, y[1] + c["c"])),
        {"c": torch.zeros(x.shape[1])},
        (x, x + 1),
    )
    backwards = scan(lambda c, y: (c + y, c * y), torch.zeros(x.shape[0]), x, dim=1, reverse=True)
    mapped = map_over(lambda y, factor: {"r": y[0] * factor + y[1].sum()}, (x, x + 1), torch.tensor(3.0))
    return carry, made, backwards, mapped


def associative_scan(x: Any) -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    product = scan(lambda a, b: a * b, x, 0, combine_mode="generic")
    return product, scan(
        lambda a, b: {"y": a["y"] + b["y"]}, {"y": x}, 1, reverse=True, combine_mode="generic"
    )


def recurrence(x: Any) -> Any:
    """Compute ``h[t] = a[t] * h[t - 1] + b[t]`` by an associative scan, as state space models do."""
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    return scan(combine, (x.cos(), x), 0, combine_mode="generic")[1]


def turns(x: Any) -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    matrices = torch.stack([torch.stack([x.cos(), -x.sin()], -1), torch.stack([x.sin(), x + 1], -1)], -1)
    return scan(torch.matmul, matrices, 0, combine_mode="generic")


def rotations(x: Any) -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    angle = x.sum(1)
    matrices = torch.stack(
        [torch.stack([angle.cos(), -angle.sin()], -1), torch.stack([angle.sin(), angle + 1], -1)], -1
    )
    return scan(lambda a, b: a @ b, matrices, 0, combine_mode="generic"), scan(
        lambda a, b: b @ a, matrices, 0, True, "generic"
    )


def captured(x: Any) -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    scale, half = x.sum(0).cos(), 0.5

    def combine(left: Any, right: Any) -> Any:
        made = left["y"] + right["y"] + left["y"] * right["y"] * scale * half
        return {
            "y": made,
            "most": torch.maximum(left["most"], right["most"]),
            "any": left["any"] | right["any"],
        }

    return scan(combine, {"y": x, "most": x * 2, "any": x > 0.3}, 0, combine_mode="generic")


def of_operator(x: Any) -> Any:
    """Call the operator below the public function; its function takes single elements and a captured array."""
    from torch._higher_order_ops.associative_scan import associative_scan_op

    return associative_scan_op(
        lambda a, b, c, d, s: (a * c, torch.where(s > 2, b * c + d, b * c + d * 1)),
        [x.cos(), x],
        (x[0].exp(),),
    )


@quiet
def slope_of_recurrence(x: Any) -> Any:
    y = x.detach().requires_grad_()
    return torch.autograd.grad((recurrence(y) ** 2).sum(), y)[0]


@quiet
def slope_of_loop(x: Any) -> Any:
    from torch._higher_order_ops.scan import scan

    y = x.detach().requires_grad_()
    carry, _ = scan(lambda c, row: (c * row.cos() + row, c.clone()), torch.ones(x.shape[1]), y)
    result = torch.cond(x.sum() > 0, lambda c: c**2, lambda c: c**3, (carry,))
    return torch.autograd.grad(result.sum(), y)[0]


def solved(x: Any) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    matrix = x[:, :1] @ x[:, :1].mT + 2 * torch.eye(x.shape[0])

    def step(i: Any, y: Any) -> Any:
        halved = torch.cond(
            i < 2, lambda y: torch.linalg.solve(matrix, y), lambda y: torch.linalg.solve(matrix * 2, y), (y,)
        )
        # torch requires this layout of a carry.
        return i + 1, (halved + i).clone(memory_format=torch.contiguous_format)

    steps, y = while_loop(
        lambda i, y: torch.linalg.inv(matrix * (i + 1)).abs().sum() > 0.5, step, (torch.tensor(0), x)
    )
    return steps, y


@torch.no_grad()
def cached(x: Any) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    rows = torch.zeros(4, x.shape[1])

    def step(i: Any, y: Any) -> Any:
        y = y.sin() + rows.sum(0)
        rows.index_copy_(0, i[None], y[:1])
        return i + 1, y

    _, y = while_loop(lambda i, y: i < 4, step, (torch.tensor(0), x))
    return torch.cond(x.sum() > 0, lambda y: y + rows.mul_(2).mean(0), lambda y: y - rows.mean(0), (y,)), rows


_BIAS = torch.tensor([0.5, -1.0])


@quiet
def flex_attention(x: Any) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask
    from torch.nn.attention.flex_attention import flex_attention as attend

    q = (
        (x[:, :, None, None] * torch.arange(1.0, 17).reshape(2, 8)).transpose(1, 2).sin()
    )  # [batch, heads, tokens, width]
    k = q[:, :1]
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, q.shape[2], q.shape[2], device="cpu")
    biased, sums = attend(
        q,
        k,
        k,
        score_mod=lambda score, b, h, i, j: score * 2 + _BIAS[h] * (i - j),
        enable_gqa=True,
        return_lse=True,
    )
    causal = attend(q, q, q, block_mask=mask, scale=0.5)
    return biased.transpose(1, 2).view(x.shape[0], x.shape[1], 16), sums, causal


_CALLS = (lambda: (_x(2, 3),), lambda: (_x(2, 3) - 1,), lambda: (_x(4, 3) + 1,))
_LONGER = (
    lambda: (_x(5, 3),),
    lambda: (_x(1, 3) - 1,),
    lambda: (_x(8, 2) + 1,),
    lambda: (_x(10, 4),),
    lambda: (_x(3, 1),),
)
# The canonical graph is the same for all targets.
_TARGETS = ("torch", "jax", "numpy", LIFTED)
PROGRAMS = [
    Program("branches", Branches, _CALLS, targets=_TARGETS),
    *(
        Program(f.__name__, lambda f=f: f, _LONGER, targets=(*_TARGETS, "tensorflow"), variants=1)
        for f in (recurrence, rotations, captured, of_operator)
    ),
    *(
        Program(f.__name__, lambda f=f: f, _CALLS, targets=_TARGETS)
        for f in (
            loop,
            scans,
            associative_scan,
            turns,
            solved,
            cached,
            slope_of_recurrence,
            slope_of_loop,
            flex_attention,
        )
    ),
]
