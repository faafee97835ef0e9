"""Torch models with equal layers, and arguments at two shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

WIDTH = 8


class Block(nn.Module):
    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.norm, self.query, self.key = (
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(WIDTH, WIDTH),
        )
        self.out, self.scale = nn.Linear(WIDTH, WIDTH), scale
        self.register_buffer("shift", torch.randn(WIDTH))

    def forward(self, x: Any, mask: Any) -> Any:
        y = self.norm(x) + self.shift
        query, key = (
            self.query(y).view(*y.shape[:2], 2, 4).transpose(1, 2),
            self.key(y).view(*y.shape[:2], 2, 4).transpose(1, 2),
        )
        assert query.shape[2] > 1
        bias = torch.where(mask[:, None, None] > 0, 0.0, -5.0)
        weights = torch.softmax(query @ key.transpose(-1, -2) * self.scale + bias, dim=-1)
        return x + torch.relu(self.out((weights @ key).transpose(1, 2).reshape(x.shape)))


class Stack(nn.Module):
    def __init__(self, layers: int = 4, shared: bool = False) -> None:
        super().__init__()
        block = Block()
        self.layers = nn.ModuleList([block if shared else Block() for _ in range(layers)])
        self.first, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x: Any, mask: Any) -> Any:
        x = self.first(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.last(x)


class Hidden(Stack):
    def forward(self, x: Any, mask: Any) -> Any:
        found = [self.first(x)]
        for layer in self.layers:
            found.append(layer(found[-1], mask))
        return found


class Skips(Stack):
    """Adds the results of the first layers to the inputs of the last ones, as a U-Net does."""

    def forward(self, x: Any, mask: Any) -> Any:
        found = [self.first(x)]
        for layer in self.layers:
            found.append(layer(found[-1], mask))
        for layer in self.layers:
            found.append(layer(found[-1] + found.pop(0), mask))
        return self.last(found[-1])


class Alternating(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList([Block(1.0 + place % 2) for place in range(8)])

    def forward(self, x: Any, mask: Any) -> Any:
        x = self.first(x)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Backwards(Stack):
    def forward(self, x: Any, mask: Any) -> Any:
        for layer in reversed(self.layers):
            x = layer(x, mask)
        return x


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        make = lambda: nn.Sequential(  # noqa: E731
            nn.Conv2d(4, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.Conv2d(4, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
        )
        self.blocks = nn.ModuleList([make() for _ in range(4)])

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = torch.relu(x * 0.5 + block(x)) + 0.1 * torch.tanh(x)
        return x


class Experts(Block):
    """Sorts rows, and writes them back in their order to a new tensor."""

    def forward(self, x: Any, mask: Any) -> Any:
        rows = self.query(self.norm(x)).flatten(0, 1)
        order = torch.argsort(rows.sum(-1))
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        found = torch.zeros_like(rows)
        found.index_add_(0, order, torch.tanh(self.key(rows[order])) * mask.flatten()[order][:, None])
        return x + self.out(found[back].view(x.shape) + self.shift)


class InPlace(Block):
    """Writes to the result of the previous layer."""

    def forward(self, x: Any, mask: Any) -> Any:
        x += torch.tanh(self.query(self.norm(x)))
        x.mul_(mask[..., None] * 0.5 + 0.5)
        return x + torch.relu(self.out(self.key(x) + self.shift)) * super().forward(x, mask)


class Views(Block):
    """Returns a view of a tensor that it has written to."""

    def forward(self, x: Any, mask: Any) -> Any:
        wide = torch.zeros(*x.shape[:2], 2 * WIDTH)
        wide[..., :WIDTH] = torch.tanh(self.query(self.norm(x)))
        wide[..., WIDTH:] = self.key(x) + self.out(x) * self.shift
        return wide[..., WIDTH // 2 : -WIDTH // 2]


class Own(Stack):
    def __init__(self, kind: type[Block]) -> None:
        super().__init__()
        self.layers = nn.ModuleList([kind() for _ in range(4)])


class Cached(Stack):
    """Each layer writes to its own part of a tensor that existed before."""

    def forward(self, x: Any, mask: Any) -> Any:
        kept = torch.zeros(len(self.layers), *x.shape)
        for place, layer in enumerate(self.layers):
            kept[place] = layer(x, mask)
            x = kept[place] * 0.5 + x
        return self.last(x), kept


class Later(Stack):
    """The results of layers are written to again after all layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Experts() for _ in range(4)])

    def forward(self, x: Any, mask: Any) -> Any:
        found = []
        for layer in self.layers:
            x = layer(x, mask).clone()
            x[:, 0] = x[:, 0] * 0.5
            found.append(x)
        found[1][:, -1] = 3.0
        return self.last(x), sum(found)


class Filtered(Block):
    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Conv1d(WIDTH, WIDTH, 3, padding=1, groups=2)

    def forward(self, x: Any, mask: Any) -> Any:
        rows = torch.relu(self.filter(self.query(self.norm(x)).transpose(1, 2)))
        return x + self.out(self.key((rows * self.shift[:, None]).transpose(1, 2))) * mask[..., None]


class Dropped(Block):
    def forward(self, x: Any, mask: Any) -> Any:
        return torch.dropout(super().forward(torch.dropout(x, 0.25, self.training), mask), 0.5, self.training)


class Turns(Stack):
    def __init__(self, *turns: int) -> None:
        super().__init__(len(turns))
        self.turns = turns

    def forward(self, x: Any, mask: Any) -> Any:
        masks = mask, 1 - mask, mask * torch.tril(torch.ones_like(mask))
        x = self.first(x)
        for turn, layer in zip(self.turns, self.layers):
            x = layer(x, masks[turn])
        return self.last(x)


def sequences(batch: int, length: int) -> tuple[Any, Any]:
    mask = torch.ones(batch, length)
    mask[:, -1] = 0
    return torch.randn(batch, length, WIDTH), mask


def images(batch: int, size: int) -> tuple[Any]:
    return (torch.randn(batch, 4, size, size),)


@dataclass(frozen=True)
class Case:
    """A model with its arguments.

    calls: number of calls of layer functions that remain in the program.
    canonical: that number in targets that prefer channels last, if it differs.
    """

    make: Callable[[], Any]
    arguments: Callable[[int, int], tuple[Any, ...]]
    calls: int
    canonical: int | None = None

    def expected(self, to: str) -> int:
        return self.calls if to in ("torch", "numpy") or self.canonical is None else self.canonical


CASES = {
    "stack": Case(Stack, sequences, 4),
    # The layers share their weights, so that none can be told from the others.
    "shared weights": Case(lambda: Stack(shared=True), sequences, 0),
    "hidden states": Case(Hidden, sequences, 4),
    "skips": Case(Skips, sequences, 8),
    "alternating": Case(Alternating, sequences, 4),
    "backwards": Case(Backwards, sequences, 4),
    "two layers": Case(lambda: Stack(2), sequences, 0),
    "two by turns": Case(lambda: Turns(0, 1, 0, 1, 0), sequences, 5),
    "two of three turns": Case(lambda: Turns(0, 0, 1, 0, 0, 1), sequences, 6),
    "as it comes": Case(lambda: Turns(0, 2, 1, 1, 2), sequences, 5),
    "writes of its own": Case(lambda: Own(Experts), sequences, 4),
    "writes to the layer before": Case(lambda: Own(InPlace), sequences, 0),
    "views of what is written": Case(lambda: Own(Views), sequences, 0),
    "writes to a cache": Case(Cached, sequences, 0),
    "writes behind the layers": Case(Later, sequences, 0),
    "convolutions inside": Case(lambda: Own(Filtered), sequences, 4),
    "convolutions": Case(Convolutions, images, 4, 0),
}
