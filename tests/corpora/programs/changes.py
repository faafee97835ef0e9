"""Programs whose user changes something outside of the arguments between calls, which the next call must
notice.
"""

from __future__ import annotations

import array
import collections
import contextvars
import os
import threading
import types
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import nn

from .table import Program


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1,)


_CALLS = (_x(2), _x(4), _x(2), _x(1))
PROGRAMS: list[Program] = []


def _program(*changes: Callable[[Any], Any]) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return a decorator that adds a program under the name of the function that creates it.

    The changes are made in turn, one before each call from the second on.
    """

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS.append(Program(make.__name__, make, _CALLS, changes=dict(enumerate(changes, 1))))
        return make

    return add


def _of(held: Any, function: Callable[[Any], Any]) -> Any:
    """Store the object to be changed on the function, where the changes find it, and return the function."""
    function._held = held  # type: ignore[attr-defined]
    return function


# ----------------------------------------------------------------------------------------- outside of objects
_VARIABLE = contextvars.ContextVar("scale", default=2.0)
_THREAD = threading.local()


@_program(lambda function: _VARIABLE.set(5.0))
def variable_of_context() -> Any:
    _VARIABLE.set(2.0)
    return lambda x: x * _VARIABLE.get()


@_program(lambda function: setattr(_THREAD, "scale", 3.0))
def variable_of_thread() -> Any:
    _THREAD.scale = 2.0
    return lambda x: x * _THREAD.scale


@_program(lambda function: os.environ.update(GRAPH_COMPILER_SCALE="7"))
def environment() -> Any:
    os.environ["GRAPH_COMPILER_SCALE"] = "2"
    return lambda x: x * float(os.environ["GRAPH_COMPILER_SCALE"])


@_program(lambda function: os.environ.update(GRAPH_COMPILER_OTHER="7"))
def environment_by_getenv() -> Any:
    os.environ.pop("GRAPH_COMPILER_OTHER", None)
    return lambda x: x * float(os.getenv("GRAPH_COMPILER_OTHER", "1"))


# ---------------------------------------------------------------------------------------------- containers
@_program(lambda function: function._held.__setitem__(0, 9.0))
def python_array() -> Any:
    numbers = array.array("d", [2.0])
    return _of(numbers, lambda x: x * numbers[0])


@_program(lambda function: function._held.update(scale=9.0))
def user_dict() -> Any:
    numbers = collections.UserDict(scale=2.0)
    return _of(numbers, lambda x: x * numbers["scale"])


@_program(lambda function: function._held.maps[1].update(scale=9.0))
def chain_of_dicts() -> Any:
    numbers = collections.ChainMap[str, float]({}, {"scale": 2.0})
    return _of(numbers, lambda x: x * numbers["scale"])


@_program(lambda function: function._held.move_to_end("first"))
def order_of_ordered_dict() -> Any:
    numbers = collections.OrderedDict(first=2.0, second=3.0)

    def function(x: Any) -> Any:
        for number in numbers.values():
            x = x * number + 1
        return x

    return _of(numbers, function)


# ---------------------------------------------------------------------------------------------- code
@_program(lambda function: setattr(function, "scale", 5.0))
def attribute_of_function() -> Any:
    def function(x: Any) -> Any:
        return x * function.scale  # type: ignore[attr-defined]

    function.scale = 2.0  # type: ignore[attr-defined]
    return function


@_program(lambda function: setattr(function._held, "__code__", (lambda x: x * 5).__code__))
def code_of_function() -> Any:
    def inner(x: Any) -> Any:
        return x * 2

    return _of(inner, lambda x: inner(x) + 1)


@_program(lambda model: setattr(type(model), "forward", lambda self, x: x * 5))
def forward_of_class() -> Any:
    class Doubles(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    return Doubles()


@_program(
    lambda function: setattr(function._held, "scale", 5.0),
    lambda function: function._held.table.update(shift=1.0),
)
def attributes_of_class() -> Any:
    class Settings:
        scale = 2.0
        table: ClassVar[dict[str, float]] = {"shift": 0.0}

    return _of(Settings, lambda x: x * Settings.scale + Settings.table["shift"])


@_program(lambda function: setattr(function._held, "scale", 5.0))
def attribute_of_python_module() -> Any:
    settings = types.ModuleType("settings")
    settings.scale = 2.0  # type: ignore[attr-defined]
    return _of(settings, lambda x: x * settings.scale)


class Answers:
    """An object with ``__getattr__``, which raises ``KeyError`` for an unknown attribute."""

    def __init__(self) -> None:
        self._table = {"scale": 2.0}

    def __getattr__(self, name: str) -> Any:
        return vars(self)["_table"][name]


@_program(lambda function: function._held[0]._table.update(scale=5.0))
def attributes_by_getattr() -> Any:
    answers = Answers()
    return _of([answers], lambda x: x * answers.scale)


# ---------------------------------------------------------------------------------------------- weights
def _linear() -> Any:
    torch.manual_seed(0)
    return nn.Linear(3, 3)


_ONES = {"weight": torch.ones(3, 3), "bias": torch.ones(3)}


@_program(
    lambda model: setattr(model, "weight", nn.Parameter(torch.ones(3, 3))),
    lambda model: model.weight.data.fill_(3.0),
)
def weight_replaced() -> Any:
    return _linear()


@_program(lambda model: model.load_state_dict(_ONES, assign=True))
def weights_assigned() -> Any:
    return _linear()


@_program(lambda model: model.load_state_dict(_ONES))
def weights_loaded() -> Any:
    return _linear()


def _widen(model: Any) -> None:
    model.weight, model.bias = nn.Parameter(torch.ones(5, 3)), nn.Parameter(torch.ones(5))


@_program(_widen)
def weight_of_another_shape() -> Any:
    return _linear()


def _without_bias(model: Any) -> None:
    del model.bias
    model.register_parameter("bias", None)


@_program(_without_bias)
def bias_taken_away() -> Any:
    return _linear()


class Adds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.ones(3))

    def forward(self, x: Any) -> Any:
        self.total += 1
        return x * self.total


def _other_total(model: Any) -> None:
    model.total = torch.full((3,), 7.0)


@_program(_other_total, _other_total)
def buffer_replaced_that_calls_write_to() -> Any:
    return Adds()


def _other_memory(model: Any) -> None:
    model.weight.data = torch.full((3, 3), 2.0)


def _written(model: Any) -> None:
    with torch.no_grad():
        model.weight.mul_(2)
        model.bias.add_(1)


@_program(_other_memory, _written, _other_memory)
def weight_given_other_memory() -> Any:
    return _linear()


class Cast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = _linear()

    def forward(self, x: Any) -> Any:
        return self.linear(x.to(self.linear.weight.dtype))


@_program(lambda model: model.double(), lambda model: _written(model.linear), lambda model: model.float())
def model_in_another_precision() -> Any:
    return Cast()


def _normalised() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3, momentum=None))


def _checkpoint(number: float) -> Callable[[Any], Any]:
    return lambda model: model.load_state_dict(
        {name: torch.full_like(held, number) for name, held in model.state_dict().items()}
    )


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = _linear(), _linear()
        self.second.weight = self.first.weight

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).tanh())


def _untied(model: Any) -> None:
    model.second.weight = nn.Parameter(torch.ones(3, 3))


def _tied_again(model: Any) -> None:
    model.first.weight = model.second.weight


@_program(_untied, _tied_again, _untied)
def weights_untied() -> Any:
    return Tied()


# ---------------------------------------------------------------------------------- what was not there before
def _set(name: str, item: Any) -> Callable[[Any], Any]:
    return lambda function: setattr(function, name, item)


def _set_in_class(name: str, item: Any) -> Callable[[Any], Any]:
    return lambda function: setattr(type(function), name, item)


class Asked:
    base = 1.0

    def __call__(self, x: Any) -> Any:
        return x * getattr(self, "scale", 2.0) + (self.shift if hasattr(self, "shift") else 0.0) + self.base

    def moved(self, x: Any) -> Any:
        return x + 1


class Inheriting(Asked):
    def __call__(self, x: Any) -> Any:
        return self.moved(super().__call__(x))


@_program(_set("scale", 3.0), _set("shift", 1.0), lambda function: delattr(function, "scale"))
def attribute_that_was_not_there() -> Any:
    return Asked()


@_program(
    _set_in_class("base", 5.0), _set_in_class("moved", lambda self, x: x * 3), _set_in_class("scale", 7.0)
)
def attribute_of_class_that_was_not_there() -> Any:
    return type("Own", (Inheriting,), {})()


@_program(_set("late", 3.0), _set("late", 4.0))
def attribute_of_module_that_was_not_there() -> Any:
    class Late(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * getattr(self, "late", 2.0)

    return Late()


def _asks_globals(x: Any) -> Any:
    try:
        return x * LATE  # type: ignore[name-defined]
    except NameError:
        return x * sum(x.shape)


@_program(
    lambda function: function.__globals__.update(LATE=3.0),
    lambda function: function.__globals__.pop("LATE"),
    lambda function: function.__globals__.update(sum=max),
)
def global_that_was_not_there() -> Any:
    return types.FunctionType(_asks_globals.__code__, {"__name__": __name__, "__file__": __file__})


PROGRAMS += [
    Program(
        "statistics_loaded",
        _normalised,
        (_x(2), _x(4), _x(2), _x(3)),
        changes={1: _checkpoint(1.0), 3: _checkpoint(2.0)},
    ),
    Program(
        "statistics_reset",
        _normalised,
        (_x(2), _x(4), _x(2), _x(3)),
        changes={
            1: lambda model: model[1].reset_running_stats(),
            2: lambda model: model.eval(),
            3: _checkpoint(3.0),
        },
    ),
]


@_program(
    lambda function: function._held.t_(),
    lambda function: function._held.t_(),
    lambda function: function._held.unsqueeze_(0),
)
def table_of_another_shape() -> Any:
    table = torch.arange(9.0).reshape(3, 3)
    return _of(table, lambda x: x @ table)
