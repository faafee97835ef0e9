"""Programs that get modules as arguments, in turn; each call must use the weights of its own module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import Keywords, Program


class _Affine(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.linear = nn.Linear(3, 2)
        self.register_buffer("shift", torch.rand(2))

    def forward(self, x: Any) -> Any:
        return self.linear(x) + self.shift


class _Box:
    def __init__(self, module: Any) -> None:
        self.module = module


_FIRST, _SECOND = _Affine(0), _Affine(1)
_COPY = copy.deepcopy(_FIRST)
with torch.no_grad():
    _COPY.linear.weight.add_(1)
_MODULES = (_FIRST, _SECOND, _COPY, _FIRST, _SECOND, _COPY)
_BOXES = {id(module): _Box(module) for module in _MODULES}


def _calls(given: Callable[[Any, Any], tuple[Any, ...]]) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    x = [torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1 for rows in (2, 4, 1, 4, 2, 3)]
    return tuple(lambda module=module, rows=rows: given(module, rows) for module, rows in zip(_MODULES, x))


def _program(
    name: str, function: Callable[..., Any], given: Callable[[Any, Any], tuple[Any, ...]]
) -> Program:
    return Program(name, lambda: function, _calls(given), variants=3)


PROGRAMS = [
    _program("module", lambda module, x: module(x), lambda module, x: (module, x)),
    _program("keyword", lambda x, module: module(x), lambda module, x: (x, Keywords(module=module))),
    _program("list", lambda modules, x: modules[0](x), lambda module, x: ([module], x)),
    _program("dict", lambda modules, x: modules["a"][0](x), lambda module, x: ({"a": (module,)}, x)),
    _program("attribute", lambda box, x: box.module(x), lambda module, x: (_BOXES[id(module)], x)),
    _program("weight", lambda module, x: x @ module.linear.weight.T, lambda module, x: (module, x)),
    _program("bound_method", lambda call, x: call(x), lambda module, x: (module.forward, x)),
]
