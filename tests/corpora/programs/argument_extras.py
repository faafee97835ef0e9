"""Programs whose arguments have more than arrays: attributes, class attributes, methods, modules in plain
objects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from .table import ELSEWHERE, Program

SETTINGS = {"gain": 2.0}
EVERYWHERE = ("torch", ELSEWHERE)


def _x(rows: int = 2) -> torch.Tensor:
    return torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1


class Scaler:
    factor = 2.0

    def __init__(self, shift: Any = None, **own: float) -> None:
        self.shift = shift
        vars(self).update(own)

    def run(self, x: Any) -> Any:
        scaled = x * self.factor * SETTINGS["gain"]
        return scaled if self.shift is None else scaled + self.shift


class Pair(NamedTuple):
    array: Any
    factor: float = 2.0

    def run(self, x: Any) -> Any:
        return x * self.factor * SETTINGS["gain"] + self.array


@dataclasses.dataclass
class Batch:
    array: Any

    def __post_init__(self) -> None:
        self.rows = self.array.shape[0]

    def run(self, x: Any) -> Any:
        return x.sum() * self.rows * SETTINGS["gain"] + self.array


class Holder:
    def __init__(self) -> None:
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 2)

    def run(self, x: Any) -> Any:
        return self.layer(x)


class Rows(list[Any]):
    factor = 2.0


def runs(x: Any, item: Any) -> Any:
    return item.run(x)


def _runs() -> Any:
    SETTINGS["gain"], Scaler.factor = 2.0, 2.0
    return runs


def _gain(function: Any) -> None:
    SETTINGS["gain"] = 3.0


def _factor(function: Any) -> None:
    Scaler.factor = 5.0


_MAKERS: dict[str, Callable[..., Any]] = {
    "plain": Scaler,
    "opened": lambda **own: Scaler(torch.ones(3), **own),
}
PROGRAMS = [
    Program(
        f"{name}_object",
        _runs,
        (
            lambda make=make: (_x(), make()),
            lambda make=make: (_x(), make(factor=3.0)),
            *(lambda make=make: (_x(4), make()),) * 2,
        ),
        changes={2: _factor, 3: _gain},
    )
    for name, make in _MAKERS.items()
]
PROGRAMS += [
    Program(
        cls.__name__,
        _runs,
        (lambda cls=cls: (_x(), cls(_x())), *(lambda cls=cls: (_x(), cls(_x() + 1)),) * 2),
        changes={1: _gain},
    )
    for cls in (Pair, Batch)
]


# --------------------------------------------------------------------------- layers in objects and containers
def _in_list(layer: nn.Linear) -> Any:
    layers = [layer]
    return lambda x: layers[0](x) + 1


def _in_object(layer: nn.Linear) -> Any:
    holder = Holder()
    holder.layer = layer
    return lambda x: runs(x, holder)


def _holding(place: Callable[[nn.Linear], Any]) -> Callable[[], Any]:
    def make() -> Any:
        torch.manual_seed(0)
        layer = nn.Linear(3, 2)
        function = place(layer)
        function.layer = layer
        return function

    return make


def _other_weight(function: Any) -> None:
    function.layer.weight = nn.Parameter(torch.ones(2, 3))


def _no_bias(function: Any) -> None:
    function.layer.bias = None


_CHANGES = {1: _other_weight, 2: _no_bias}
PROGRAMS += [
    Program(f"layer{place.__name__}", _holding(place), (lambda: (_x(),),) * 3, changes=_CHANGES)
    for place in (_in_list, _in_object)
]


# -------------------------------------------------------------------------------------- attributes of tensors
def _with(**attributes: Any) -> tuple[torch.Tensor]:
    x = _x()
    vars(x).update(attributes)
    return (x,)


def _scale_of(x: Any) -> Any:
    return x.scale


def read_by_another(x: Any) -> Any:
    return x * _scale_of(x)


def read_where_it_is(x: Any) -> Any:
    return x * getattr(x, "scale", 1.0)


def read_in_try(x: Any) -> Any:
    try:
        return x * _scale_of(x)
    except AttributeError:
        return x


def is_tagged(x: Any) -> Any:
    return x * 2 if hasattr(x, "tag") else x


def reads_array(x: Any) -> Any:
    return x * x.mask


def puts_attribute(x: Any) -> Any:
    x.scale = 2.0
    return x * x.scale


def marked(x: Any) -> Any:
    """Mark the argument for ``torch.compile``, as caches of transformers do."""
    torch._dynamo.mark_static_address(x)
    return x + 1


_SCALES = (lambda: _with(scale=2.0), lambda: _with(scale=3.0), lambda: _with(scale=3))
_MAYBE = (_with, lambda: _with(scale=3.0, tag=1), lambda: _with(tag=2))
PROGRAMS += [
    Program("read_by_another", lambda: read_by_another, _SCALES, variants=3),
    *(Program(f.__name__, lambda f=f: f, _MAYBE) for f in (read_where_it_is, read_in_try, is_tagged)),
    Program("marked", lambda: marked, (_with, lambda: _with(scale=3.0)), variants=1),
    Program("reads_nothing", lambda: lambda x: x * 2, _SCALES, variants=1),
    Program(
        "reads_array",
        lambda: reads_array,
        (lambda: _with(mask=torch.ones(3)),),
        dict.fromkeys(EVERYWHERE, "which holds a Tensor"),
    ),
    Program(
        "puts_attribute", lambda: puts_attribute, (_with,), dict.fromkeys(EVERYWHERE, "puts attributes on")
    ),
]


# ------------------------------------------------------------------------------------ attributes beside items
def _rows(**own: Any) -> tuple[Rows]:
    rows = Rows([_x(), _x(1)])
    vars(rows).update(own)
    return (rows,)


def sums(rows: Any) -> Any:
    return sum(row.sum() for row in rows) * rows.factor


PROGRAMS.append(
    Program(
        "list_with_attribute",
        lambda: sums,
        (_rows, lambda: _rows(factor=3.0)),
        dict.fromkeys(EVERYWHERE, "has attributes"),
    )
)


# ---------------------------------------------------------------------------------------------- parameters
def _asks_for_parameters(x: Any) -> Any:
    return x.detach() * 2 if isinstance(x, nn.Parameter) else x * 3


_PARAMETERS = tuple(
    lambda make=make, rows=rows: (make(_x(rows)),) for rows in (2, 4) for make in (nn.Parameter, torch.clone)
)
PROGRAMS += [
    Program(f"parameters{name}", lambda: _asks_for_parameters, calls)
    for name, calls in (("", _PARAMETERS), ("_later", _PARAMETERS[::-1]))
]
