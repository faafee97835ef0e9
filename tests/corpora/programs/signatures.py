"""Programs called with other structures, dtypes, ranks and Python values, each of which needs another
variant.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from typing import Any, NamedTuple

import numpy as np
import torch

from .table import ELSEWHERE, Keywords, Program


def _x(*shape: int, dtype: Any = torch.float32) -> torch.Tensor:
    return torch.linspace(-2, 3, int(torch.tensor(shape).prod())).reshape(shape).to(dtype)


class Mode(enum.Enum):
    ADD = 1
    MUL = 2


@dataclasses.dataclass
class Batch:
    x: Any
    scale: Any = 1.0
    mode: Mode = Mode.ADD


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    y: Any


SHARED = dict.fromkeys(("torch", ELSEWHERE), "shares memory with another argument")


class Pair(NamedTuple):
    a: Any
    b: Any


class Plain:
    def __init__(self, x: Any, scale: float = 2.0) -> None:
        self.x, self.scale = x, scale

    def double(self) -> Any:
        return self.x * 2


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


def add(x: Any, y: Any = 1) -> Any:
    return x + y


def keyword(x: Any, *, scale: Any = 2, bias: Any = None) -> Any:
    return x * scale if bias is None else x * scale + bias


def variadic(*xs: Any, **named: Any) -> Any:
    return sum(xs) * 2 + sum(named.values())


def keyword_order(x: Any, a: Any = 0, **more: Any) -> Any:
    return x * a + sum((i + 1) * item for i, item in enumerate(more.values())), list(more)


def write_to_keywords(x: Any, a: Any, b: Any) -> Any:
    a.add_(x)
    b.mul_(3)
    return a - b


def mapping_order(data: Any) -> Any:
    return {key: item * (i + 1) for i, (key, item) in enumerate(data.items())}


def write_to_mapping(data: Any) -> Any:
    data["b"].mul_(3)
    return data["a"] - data["b"]


def write_flattened(x: Any) -> Any:
    x.reshape(-1).add_(1)
    return x * 2, x.flatten().mul_(3)


def namespace(x: Any) -> Any:
    return types.SimpleNamespace(double=x * 2, size=x.shape[0])


def tree(data: Any) -> Any:
    return {"sum": data["a"] + data["b"][0], "rest": [y * 2 for y in data["b"]]}


def switch(x: Any, mode: Any) -> Any:
    return x + 1 if mode is Mode.ADD else x * 3


def batch(data: Any) -> Any:
    return data.x + data.scale if data.mode is Mode.ADD else data.x * data.scale


def frozen(data: Any) -> Any:
    return Frozen(data.y, data.x + 1)


def pair(data: Any) -> Any:
    return Pair(data.b, data.a + data.b)


def plain(data: Any) -> Any:
    return data.double() + data.scale


def slotted(data: Any) -> Any:
    return data.x * 2


def apply(function: Any, x: Any) -> Any:
    return function(x)


def dtypes(x: Any, dtype: Any) -> Any:
    return x.to(dtype) + 1


def dtype_branch(x: Any) -> Any:
    return x * 2 if x.is_floating_point() else x + 1


def rank_branch(x: Any) -> Any:
    return x.sum(-1) if x.dim() == 2 else x * 2


def isinstance_branch(x: Any) -> Any:
    return x * 2 if isinstance(x, torch.Tensor) else torch.tensor(x) * 3


def python_number(x: Any, n: Any) -> Any:
    return x * n


def number_type(x: Any, n: Any) -> Any:
    return x * 2 if isinstance(n, bool) else x * 3 if isinstance(n, int) else x * 4


def slices(x: Any, where: Any) -> Any:
    return x[where]


def strings(x: Any, how: str) -> Any:
    return getattr(torch, how)(x)


def shape_argument(x: Any, shape: Any) -> Any:
    return x.reshape(shape)


def requires_grad(x: Any) -> Any:
    return x * 2 if x.requires_grad else x * 3


def grad_enabled(x: Any) -> Any:
    return x * 2 if torch.is_grad_enabled() else x * 3


def returns_argument(x: Any, y: Any) -> Any:
    return y, x, None, "text", (x, [x])


def none_result(x: Any) -> Any:
    return None


def constant_result(x: Any) -> Any:
    return 3, [torch.ones(2)], {"k": None}


def two_same(x: Any, y: Any) -> Any:
    x.add_(1)
    return x + y


def two_views(x: Any, y: Any) -> Any:
    x.mul_(2)
    return y + 1


def two_pure(x: Any, y: Any) -> Any:
    return x - y * 2


def two_is(x: Any, y: Any) -> Any:
    return x * 2 if x is y else x * 3


def alias_list(xs: Any) -> Any:
    xs[0].add_(1)
    return xs[1] * 2


def _same() -> tuple[Any, ...]:
    x = _x(2, 3)
    return (x, x)


def _views() -> tuple[Any, ...]:
    x = _x(4, 3)
    return (x[1:], x[:2].sum(0))[:1] + (x[:2],)


def _apart() -> tuple[Any, ...]:
    return (_x(2, 3), _x(2, 3) + 1)


def _overlap() -> tuple[Any, ...]:
    x = _x(3, 3)
    return (x[:2], x[1:])


def _twins() -> tuple[Any, ...]:
    x = _x(2, 3)
    return ([x, x],)


class Switched(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: Any, y: Any = None) -> Any:
        out = self.linear(x) if self.training else -self.linear(x)
        return out if y is None else out + y


def seeded(make: Any) -> Any:
    def made() -> Any:
        torch.manual_seed(0)
        return make()

    return made


def program(function: Any, *rows: Any, name: str = "", errors: Any = None) -> Program:
    return Program(name or function.__name__, lambda: function, rows, errors or {})


def numpy_argument(a: Any, x: Any) -> Any:
    tensor = torch.from_numpy(a)
    tensor.add_(x)
    return tensor * 2, torch.as_tensor(a) + x


def _numbers(length: int) -> Any:
    return np.arange(length, dtype=np.float32)


PROGRAMS = [
    program(
        numpy_argument,
        lambda: (_numbers(3), _x(3)),
        lambda: (_numbers(4), _x(4)),
        lambda: (_numbers(3)[:, None] * np.float32(2), _x(1)),
    ),
    program(
        add,
        lambda: (_x(2, 3), _x(2, 3)),
        lambda: (_x(2, 3),),
        lambda: (_x(2, 3), 2),
        lambda: (_x(2, 3), 2.5),
        lambda: (_x(3), _x(2, 3)),
        lambda: (_x(2, 3, dtype=torch.int64), 2),
        lambda: (_x(2, 3), Keywords(y=5)),
    ),
    program(
        add,
        lambda: (_x(2), 1),
        lambda: (_x(2), 1.0),
        lambda: (_x(2), True),
        lambda: (_x(2, dtype=torch.int32), 1),
        lambda: (_x(2, dtype=torch.int32), 1.0),
        lambda: (_x(2, dtype=torch.bool), True),
        name="add_numbers",
    ),
    program(
        keyword,
        lambda: (_x(2),),
        lambda: (_x(2), Keywords(scale=3)),
        lambda: (_x(2), Keywords(bias=_x(2))),
        lambda: (Keywords(x=_x(2), scale=_x(2)),),
        lambda: (_x(2), Keywords(bias=None)),
    ),
    program(
        variadic,
        lambda: (_x(2), _x(2)),
        lambda: (_x(2),),
        lambda: (_x(2), _x(2), _x(2), Keywords(a=_x(2))),
        lambda: (_x(2), Keywords(b=1, a=_x(2))),
    ),
    program(
        keyword_order,
        lambda: (_x(2), Keywords(b=_x(2), c=2)),
        lambda: (_x(2), Keywords(c=_x(2), b=2)),
        lambda: (_x(2), Keywords(c=_x(2), b=2, a=5)),
        lambda: (_x(2), Keywords(a=5, c=_x(2), b=2)),
        lambda: (_x(2), Keywords(b=_x(2), a=5, c=2)),
    ),
    program(
        write_to_keywords,
        lambda: (_x(2), Keywords(a=_x(2), b=_x(2) + 1)),
        lambda: (_x(2), Keywords(b=_x(2) + 1, a=_x(2))),
        lambda: (Keywords(b=_x(3), x=_x(3), a=_x(3) * 2),),
    ),
    program(
        mapping_order,
        lambda: ({"a": _x(2), "b": _x(2) * 2},),
        lambda: ({"b": _x(2), "a": _x(2) * 2},),
        lambda: ({1: _x(2), "a": 3},),
        lambda: ({},),
    ),
    program(
        write_to_mapping, lambda: ({"a": _x(2), "b": _x(2) + 1},), lambda: ({"b": _x(3), "a": _x(3) + 1},)
    ),
    program(write_flattened, lambda: (_x(2, 3),), lambda: (_x(3, 2).t(),), lambda: (_x(4, 3),)),
    program(
        write_flattened,
        lambda: (_x(3, 2).t(),),
        lambda: (_x(2, 3),),
        lambda: (_x(5, 2).t(),),
        name="write_flattened_later",
    ),
    program(namespace, lambda: (_x(2),), lambda: (_x(3),)),
    program(
        tree,
        lambda: ({"a": _x(2), "b": [_x(2)]},),
        lambda: ({"b": [_x(2), _x(2)], "a": _x(2)},),
        lambda: ({"a": _x(2), "b": (_x(2),)},),
        lambda: ({"a": 1, "b": [_x(2)]},),
    ),
    program(switch, lambda: (_x(2), Mode.ADD), lambda: (_x(2), Mode.MUL), lambda: (_x(3), Mode.ADD)),
    program(
        batch, lambda: (Batch(_x(2)),), lambda: (Batch(_x(2), 2.0),), lambda: (Batch(_x(2), _x(2), Mode.MUL),)
    ),
    program(frozen, lambda: (Frozen(_x(2), _x(3)),), lambda: (Frozen(_x(3), _x(2)),)),
    program(pair, lambda: (Pair(_x(2), _x(2)),), lambda: (Pair(_x(3), 1),)),
    program(plain, lambda: (Plain(_x(2)),), lambda: (Plain(_x(2), 3.0),)),
    program(slotted, lambda: (Slotted(_x(2)),), lambda: (Slotted(_x(2) + 1),)),
    program(
        apply,
        lambda: (torch.sin, _x(2)),
        lambda: (torch.cos, _x(2)),
        lambda: (functools.partial(torch.add, other=1), _x(2)),
        lambda: (lambda x: x * 2, _x(2)),
    ),
    program(
        dtypes, lambda: (_x(2), torch.float64), lambda: (_x(2), torch.int32), lambda: (_x(2), torch.float16)
    ),
    program(
        dtype_branch,
        lambda: (_x(2),),
        lambda: (_x(2, dtype=torch.int32),),
        lambda: (_x(2, dtype=torch.bool),),
        lambda: (_x(2, dtype=torch.float64),),
    ),
    program(rank_branch, lambda: (_x(2),), lambda: (_x(2, 2),), lambda: (_x(2, 2, 1),)),
    program(isinstance_branch, lambda: (_x(2),), lambda: (3.0,), lambda: (4.0,)),
    program(
        python_number,
        lambda: (_x(2), 2),
        lambda: (_x(2), 3),
        lambda: (_x(2), 2.0),
        lambda: (_x(2), float("nan")),
        lambda: (_x(2), -0.0),
        lambda: (_x(2), 0.0),
        lambda: (_x(2), True),
    ),
    program(number_type, lambda: (_x(2), 1), lambda: (_x(2), True), lambda: (_x(2), 1.0)),
    program(
        slices,
        lambda: (_x(4), slice(1, 3)),
        lambda: (_x(4), slice(2, None)),
        lambda: (_x(4), 1),
        lambda: (_x(4), [0, 2]),
        lambda: (_x(4), [0, 1]),
        lambda: (_x(4), (None, 0)),
        lambda: (_x(4), ...),
        lambda: (_x(4), torch.tensor([1, 2])),
        lambda: (_x(4), torch.tensor([True, False, True, True])),
    ),
    program(strings, lambda: (_x(2), "sin"), lambda: (_x(2), "cos")),
    program(
        shape_argument,
        lambda: (_x(6), (2, 3)),
        lambda: (_x(6), (3, 2)),
        lambda: (_x(6), [-1, 2]),
        lambda: (_x(6), torch.Size([6, 1])),
    ),
    program(requires_grad, lambda: (_x(2),), lambda: (_x(2).requires_grad_(),), lambda: (_x(2),)),
    program(grad_enabled, lambda: (_x(2),)),
    program(returns_argument, lambda: (_x(2), _x(3)), lambda: (_x(3), _x(2))),
    program(none_result, lambda: (_x(2),)),
    program(constant_result, lambda: (_x(2),), lambda: (_x(3),)),
    program(two_same, _same, _apart),
    program(two_same, _apart, _same, _overlap, name="two_same_later", errors=SHARED),
    program(two_views, _overlap, _apart, errors=SHARED),
    program(two_views, _apart, _overlap, _same, name="two_views_later", errors=SHARED),
    program(two_pure, _same, _apart, _overlap),
    program(two_pure, _apart, _same, name="two_pure_later"),
    program(two_is, _same, _apart),
    program(two_is, _apart, _same, name="two_is_later"),
    program(alias_list, _twins, lambda: ([_x(2), _x(2)],)),
    program(alias_list, lambda: ([_x(2), _x(2)],), _twins, name="alias_list_later"),
    Program(
        "module",
        seeded(Switched),
        (
            lambda: (_x(2, 3),),
            lambda: (_x(4, 3),),
            lambda: (_x(2, 3), _x(2, 2)),
            lambda: (_x(2, 3), Keywords(y=1)),
        ),
    ),
    Program(
        "partial",
        lambda: functools.partial(keyword, scale=4),
        (lambda: (_x(2),), lambda: (_x(3), Keywords(bias=1.0))),
    ),
    Program("bound_method", lambda: Plain(_x(2)).double, (lambda: (),)),
]
