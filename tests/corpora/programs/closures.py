"""Programs that refer to closures, globals and attributes, which the user changes after the recording; no
call may use old values.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from .table import Program

FACTOR = 2
UNREAD = 0
TABLE = torch.arange(4.0)
SCALES = [1.0, 2.0]
OPTIONS: dict[str, Any] = {"scale": 2.0, "inner": {"bias": 1.0}}
NUMBERS = np.arange(4.0, dtype=np.float32)
SETTINGS = SimpleNamespace(scale=3.0)


class Config:
    scale = 2.0


@dataclasses.dataclass
class Settings:
    scale: float = 2.0
    names: list[str] = dataclasses.field(default_factory=lambda: ["a"])


def _x() -> torch.Tensor:
    return torch.linspace(-2, 3, 4)


def global_number(x: Any) -> Any:
    return x * FACTOR


def global_tensor(x: Any) -> Any:
    return x + TABLE


def global_list(x: Any) -> Any:
    return x * SCALES[0] + len(SCALES)


def global_dict(x: Any) -> Any:
    return x * OPTIONS["scale"]


def global_nested_dict(x: Any) -> Any:
    return x * OPTIONS["inner"]["bias"]


def global_array(x: Any) -> Any:
    return x + torch.from_numpy(NUMBERS)


def global_array_number(x: Any) -> Any:
    return x * float(NUMBERS[1])


def global_namespace(x: Any) -> Any:
    return x * SETTINGS.scale


def class_attribute(x: Any) -> Any:
    return x * Config.scale


def _helper(x: Any) -> Any:
    return x * FACTOR


def global_in_helper(x: Any) -> Any:
    return _helper(x) + 1


def _outer_helper(x: Any) -> Any:
    return sum([_helper(y) for y in (x,)])


def global_in_deep_helper(x: Any) -> Any:
    return _outer_helper(x) + 1


def global_in_lambda(x: Any) -> Any:
    return max([x], key=lambda y: len(y) * FACTOR) * FACTOR


def global_in_comprehension(x: Any) -> Any:
    return sum([x * FACTOR for _ in range(2)])


def global_function(x: Any) -> Any:
    return _helper(x)


def _set(**values: Any) -> Callable[[Any], None]:
    def change(function: Any) -> None:
        globals().update(values)

    return change


def _reset() -> None:
    globals().update(
        FACTOR=2,
        UNREAD=0,
        TABLE=torch.arange(4.0),
        SCALES=[1.0, 2.0],
        OPTIONS={"scale": 2.0, "inner": {"bias": 1.0}},
        NUMBERS=np.arange(4.0, dtype=np.float32),
        SETTINGS=SimpleNamespace(scale=3.0),
        _helper=_HELPER,
    )
    Config.scale = 2.0


_HELPER = _helper


def _of_globals(function: Any) -> Callable[[], Any]:
    def make() -> Any:
        _reset()
        return function

    return make


def _write(target: Any, value: float) -> None:
    target[0 if not isinstance(target, dict) else "scale"] = value


def _changed(name: str, change: Callable[[Any], Any]) -> Callable[[Any], None]:
    def apply(function: Any) -> None:
        change(globals()[name])

    return apply


# ---------------------------------------------------------------------------------------------- closures
def _cell(function: Any, name: str) -> Any:
    plain = getattr(function, "__func__", function)
    return plain.__closure__[plain.__code__.co_freevars.index(name)]


def closure_of(value: Any) -> Callable[[], Any]:
    """Return a maker of functions that multiply by ``value``, or by its result if it is callable."""

    def make() -> Any:
        held = value() if callable(value) else value

        def function(x: Any) -> Any:
            return x * held

        return function

    return make


def _rebind(value: Any, name: str = "held") -> Callable[[Any], None]:
    def change(function: Any) -> None:
        _cell(function, name).cell_contents = value

    return change


def _mutate(act: Callable[[Any], Any], name: str = "held") -> Callable[[Any], None]:
    def change(function: Any) -> None:
        act(_cell(function, name).cell_contents)

    return change


def closure_in_container(make_held: Callable[[], Any], read: Callable[[Any], Any]) -> Callable[[], Any]:
    def make() -> Any:
        held = make_held()

        def function(x: Any) -> Any:
            return x * read(held)

        return function

    return make


def nested_closure() -> Any:
    held = 2.0

    def inner(x: Any) -> Any:
        return x * held

    def function(x: Any) -> Any:
        return inner(x) + 1

    function.inner = inner  # type: ignore[attr-defined]
    return function


def wrapped_closure() -> Any:
    held = 2.0

    def decorator(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(x: Any) -> Any:
            return function(x) * held

        return wrapper

    @decorator
    def function(x: Any) -> Any:
        return x + 1

    return function


def default_argument() -> Any:
    def function(x: Any, scales: Any = [2.0]) -> Any:  # noqa: B006
        return x * scales[0]

    return function


def default_tensor() -> Any:
    def function(x: Any, table: Any = torch.ones(4)) -> Any:  # noqa: B008
        return x * table

    return function


def keyword_default() -> Any:
    def function(x: Any, *, scales: Any = {"a": 2.0}) -> Any:  # noqa: B006
        return x * scales["a"]

    return function


def partial_of_list() -> Any:
    return functools.partial(lambda scales, x: x * scales[0], [2.0])


def partial_of_tensor() -> Any:
    return functools.partial(torch.mul, torch.ones(4))


class Scale:
    def __init__(self) -> None:
        self.scale, self.scales, self.table, self.steps = 2.0, [1.0], torch.ones(4), 0

    def __call__(self, x: Any) -> Any:
        return x * self.scale * self.scales[0] * self.table

    def method(self, x: Any) -> Any:
        return self(x) + 1

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * 2

    @staticmethod
    def static(x: Any) -> Any:
        return x * 3

    @property
    def doubled(self) -> Any:
        return self.scale * 2


class Inherited(Scale):
    bias, unread = 1.0, 1

    def __call__(self, x: Any) -> Any:
        return super().__call__(x) + self.bias + self.doubled


class Slots:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.scale


class Layer(nn.Module):
    def __init__(self, depth: int = 0) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale, self.scales, self.options = 2.0, [1.0, 2.0], {"bias": 1.0}
        self.config = SimpleNamespace(factor=2.0, inner=SimpleNamespace(scale=3.0))
        self.table, self.steps = torch.ones(4), 0
        self.inner = Layer(depth - 1) if depth else None

    def forward(self, x: Any) -> Any:
        if self.inner is not None:
            x = self.inner(x)
        y = (
            self.linear(x) * self.scale * self.scales[0]
            + self.options["bias"] * self.config.factor
            + self.config.inner.scale
        )
        return y * self.table


def _layer(depth: int = 0) -> Callable[[], Any]:
    def make() -> Any:
        torch.manual_seed(0)
        return Layer(depth)

    return make


def _deepest(layer: Any) -> Any:
    while layer.inner is not None:
        layer = layer.inner
    return layer


def _replace_linear(layer: Any) -> None:
    torch.manual_seed(1)
    layer.linear = nn.Linear(4, 4)


def _replace_weight(layer: Any) -> None:
    layer.linear.weight = nn.Parameter(torch.ones(4, 4))


def _remove_bias(layer: Any) -> None:
    layer.linear.bias = None


def _replace_forward(layer: Any) -> None:
    layer.forward = lambda x: x * 5


def _replace_inner_forward(layer: Any) -> None:
    layer.linear.forward = lambda x: x * 5


def _dropout_rate(module: Any) -> None:
    module[1].negative_slope = 0.5


def _dtype(layer: Any) -> None:
    layer.scale = 3


def _append_module(module: Any) -> None:
    module.append(nn.Tanh())


def _freeze(layer: Any) -> None:
    layer.linear.requires_grad_(False)


def _double(layer: Any) -> None:
    layer.double().half().float()


def _load_state(layer: Any) -> None:
    layer.load_state_dict({name: tensor * 2 for name, tensor in layer.state_dict().items()})


def _assign_state(layer: Any) -> None:
    layer.load_state_dict({name: tensor * 2 for name, tensor in layer.state_dict().items()}, assign=True)


def _copy_data(layer: Any) -> None:
    layer.linear.weight.data = layer.linear.weight.data * 2


def _no_grad_write(layer: Any) -> None:
    with torch.no_grad():
        layer.linear.weight.mul_(2)


def _write_key(items: dict[str, Any], key: str) -> None:
    """Give the first value of ``items`` another key."""
    items[key] = items.pop(next(iter(items)))


_CALLS = tuple(lambda i=i: (_x() + i,) for i in range(3))


def changed(
    name: str, make: Callable[[], Any], change: Callable[[Any], Any] | None = None, **options: Any
) -> Program:
    """Return a program that is called, changed and called again."""
    return Program(name, make, _CALLS, changes={1: change} if change else {}, **options)


# In other frameworks the graph has weights of its own, so changes of the original's do not count.
OWN_WEIGHTS = ("torch",)
Point = namedtuple("Point", "scale bias")
_GLOBALS = [
    (global_number, _set(FACTOR=5)),
    (global_tensor, _set(TABLE=torch.ones(4))),
    (global_list, _set(SCALES=[3.0])),
    (global_dict, _set(OPTIONS={"scale": 7.0})),
    (global_nested_dict, _set(OPTIONS={"inner": {"bias": 7.0}})),
    (global_array, _set(NUMBERS=np.ones(4, dtype=np.float32))),
    (global_array_number, _set(NUMBERS=np.full(4, 7.0, dtype=np.float32))),
    (global_namespace, _set(SETTINGS=SimpleNamespace(scale=7.0))),
    (global_in_helper, _set(FACTOR=5)),
    (global_in_deep_helper, _set(FACTOR=5)),
    (global_in_lambda, _set(FACTOR=5)),
    (global_in_comprehension, _set(FACTOR=5)),
    (global_function, _set(_helper=lambda x: x - 7)),
    (class_attribute, lambda function: setattr(Config, "scale", 7.0)),
]
_IN_PLACE = [
    (global_tensor, _changed("TABLE", lambda table: table.fill_(3))),
    (global_list, _changed("SCALES", lambda scales: _write(scales, 7.0))),
    (global_dict, _changed("OPTIONS", lambda options: _write(options, 7.0))),
    (global_nested_dict, _changed("OPTIONS", lambda options: options["inner"].update(bias=7.0))),
    (global_array, _changed("NUMBERS", lambda array: array.fill(3))),
    (global_array_number, _changed("NUMBERS", lambda array: array.fill(3))),
    (global_namespace, _changed("SETTINGS", lambda settings: setattr(settings, "scale", 7.0))),
]
PROGRAMS = [
    *(changed(f"{f.__name__}_rebound", _of_globals(f), change) for f, change in _GLOBALS),
    *(changed(f"{f.__name__}_changed", _of_globals(f), change) for f, change in _IN_PLACE),
    changed("number_rebound", closure_of(2.0), _rebind(5.0)),
    changed("number_to_int", closure_of(2.0), _rebind(2)),
    changed("bool_rebound", closure_of(True), _rebind(False)),
    changed("tensor_rebound", closure_of(lambda: torch.ones(4)), _rebind(torch.arange(4.0))),
    changed("tensor_changed", closure_of(lambda: torch.ones(4)), _mutate(lambda t: t.mul_(3))),
    changed("tensor_data_changed", closure_of(lambda: torch.ones(4)), _mutate(lambda t: t.data.mul_(3))),
    changed(
        "tensor_data_replaced",
        closure_of(lambda: torch.ones(4)),
        _mutate(lambda t: setattr(t, "data", torch.full((4,), 3.0))),
    ),
    changed(
        "tensor_strided",
        closure_of(lambda: torch.arange(4.0)),
        _mutate(lambda t: setattr(t, "data", t.data.as_strided((4,), (0,), 0))),
    ),
    changed(
        "tensor_negated",
        closure_of(lambda: torch.arange(4.0)),
        _mutate(lambda t: setattr(t, "data", torch._neg_view(t.data))),
    ),
    changed(
        "tensor_read_as_integers",
        closure_of(lambda: torch.ones(4)),
        _mutate(lambda t: setattr(t, "data", t.data.view(torch.int32))),
    ),
    changed(
        "tensor_changed_by_numpy", closure_of(lambda: torch.ones(4)), _mutate(lambda t: t.numpy().fill(3))
    ),
    changed(
        "tensor_of_numpy_changed",
        closure_of(lambda: torch.from_numpy(np.ones(4, dtype=np.float32))),
        _mutate(lambda t: t.numpy().fill(3)),
    ),
    changed(
        "tensor_set", closure_of(lambda: torch.ones(4)), _mutate(lambda t: t.set_(torch.full((4,), 3.0)))
    ),
    changed(
        "view_of_tensor_changed", closure_of(lambda: torch.ones(8)[:4]), _mutate(lambda t: t._base.mul_(3))
    ),
    changed("numpy_scalar_rebound", closure_of(np.float32(2)), _rebind(np.float32(5))),
    changed(
        "parameter_changed",
        closure_of(lambda: nn.Parameter(torch.ones(4))),
        _mutate(lambda p: p.data.mul_(3)),
    ),
    changed(
        "list_changed", closure_in_container(lambda: [2.0], lambda h: h[0]), _mutate(lambda h: _write(h, 5.0))
    ),
    changed("list_grown", closure_in_container(lambda: [2.0], len), _mutate(lambda h: h.append(1))),
    changed(
        "list_of_tensors",
        closure_in_container(lambda: [torch.ones(4)], lambda h: h[0]),
        _mutate(lambda h: _write(h, torch.zeros(4))),
    ),
    changed(
        "list_of_tensors_changed",
        closure_in_container(lambda: [torch.ones(4)], lambda h: h[0]),
        _mutate(lambda h: h[0].zero_()),
    ),
    changed(
        "tuple_of_lists",
        closure_in_container(lambda: ([2.0],), lambda h: h[0][0]),
        _mutate(lambda h: _write(h[0], 5.0)),
    ),
    changed(
        "dict_changed",
        closure_in_container(lambda: {"scale": 2.0}, lambda h: h["scale"]),
        _mutate(lambda h: _write(h, 5.0)),
    ),
    changed(
        "key_renamed",
        closure_in_container(lambda: {"scale": 2.0}, lambda h: 2.0 if "scale" in h else 5.0),
        _mutate(lambda h: _write_key(h, "other")),
    ),
    changed(
        "key_read_in_a_loop",
        closure_in_container(lambda: {"scale": 2.0}, lambda h: sum(map(len, h))),
        _mutate(lambda h: _write_key(h, "a")),
    ),
    changed(
        "key_of_an_ordered_dict",
        closure_in_container(
            lambda: OrderedDict(a=2.0, b=2.0), lambda h: 3.0 if next(iter(h)) == "a" else 4.0
        ),
        _mutate(lambda h: h.move_to_end("a")),
    ),
    changed(
        "dict_in_list",
        closure_in_container(lambda: [{"scale": 2.0}], lambda h: h[0]["scale"]),
        _mutate(lambda h: _write(h[0], 5.0)),
    ),
    changed(
        "ordered_dict",
        closure_in_container(lambda: OrderedDict(scale=2.0), lambda h: h["scale"]),
        _mutate(lambda h: _write(h, 5.0)),
    ),
    changed(
        "default_dict",
        closure_in_container(lambda: defaultdict(lambda: 2.0), lambda h: h["scale"]),
        _mutate(lambda h: _write(h, 5.0)),
    ),
    changed(
        "deque_changed",
        closure_in_container(lambda: deque([2.0]), lambda h: h[0]),
        _mutate(lambda h: h.appendleft(5.0)),
    ),
    changed("set_changed", closure_in_container(lambda: {2.0}, len), _mutate(lambda h: h.add(5.0))),
    changed(
        "object_changed",
        closure_in_container(Settings, lambda h: h.scale),
        _mutate(lambda h: setattr(h, "scale", 5.0)),
    ),
    changed(
        "list_in_object",
        closure_in_container(Settings, lambda h: len(h.names)),
        _mutate(lambda h: h.names.append("b")),
    ),
    changed(
        "slots_changed",
        closure_in_container(Slots, lambda h: h.scale),
        _mutate(lambda h: setattr(h, "scale", 5.0)),
    ),
    changed(
        "namedtuple_rebound",
        closure_in_container(lambda: Point(2.0, 1.0), lambda h: h.scale),
        _rebind(Point(5.0, 1.0)),
    ),
    changed(
        "bytes_changed",
        closure_in_container(lambda: bytearray(b"\x02"), lambda h: h[0]),
        _mutate(lambda h: h.extend(b"x") or h.__setitem__(0, 7)),
    ),
    changed(
        "array_changed",
        closure_in_container(lambda: np.full(4, 2.0), lambda h: float(h[0])),
        _mutate(lambda h: h.fill(5.0)),
    ),
    changed(
        "array_tensor_changed",
        closure_in_container(lambda: np.full(4, 2.0), torch.from_numpy),
        _mutate(lambda h: h.fill(5.0)),
    ),
    changed("nested_closure", nested_closure, lambda f: _rebind(5.0)(f.inner)),
    changed("wrapped_closure", wrapped_closure, _rebind(5.0)),
    changed("default_list", default_argument, lambda f: _write(f.__defaults__[0], 5.0)),
    changed("defaults_replaced", default_argument, lambda f: setattr(f, "__defaults__", ([7.0],))),
    changed("default_tensor", default_tensor, lambda f: f.__defaults__[0].mul_(3)),
    changed("keyword_default", keyword_default, lambda f: f.__kwdefaults__["scales"].update(a=5.0)),
    changed("partial_of_list", partial_of_list, lambda f: _write(f.args[0], 5.0)),
    changed("partial_of_tensor", partial_of_tensor, lambda f: f.args[0].mul_(3)),
    changed("callable_object", Scale),
    changed("callable_object_number", Scale, lambda f: setattr(f, "scale", 5.0)),
    changed("callable_object_list", Scale, lambda f: _write(f.scales, 5.0)),
    changed("callable_object_tensor", Scale, lambda f: f.table.mul_(3)),
    changed("callable_object_tensor_replaced", Scale, lambda f: setattr(f, "table", torch.zeros(4))),
    changed("callable_slots", Slots, lambda f: setattr(f, "scale", 5.0)),
    changed("inherited", Inherited, lambda f: setattr(f, "scale", 5.0)),
    changed("inherited_class_attribute", Inherited, lambda f: setattr(f, "bias", 5.0)),
    changed("bound_method", lambda: Scale().method, lambda f: setattr(f.__self__, "scale", 5.0)),
    changed("bound_method_list", lambda: Scale().method, lambda f: _write(f.__self__.scales, 5.0)),
    changed("class_method", lambda: Scale.of_class),
    changed("static_method", lambda: Scale.static),
    changed("module_number", _layer(), lambda m: setattr(m, "scale", 5.0)),
    changed("module_number_to_int", _layer(), _dtype),
    changed("module_list", _layer(), lambda m: _write(m.scales, 5.0)),
    changed("module_dict", _layer(), lambda m: m.options.update(bias=5.0)),
    changed("module_config", _layer(), lambda m: setattr(m.config, "factor", 5.0)),
    changed("module_nested_config", _layer(), lambda m: setattr(m.config.inner, "scale", 5.0)),
    changed("module_tensor", _layer(), lambda m: m.table.mul_(3)),
    changed("module_tensor_replaced", _layer(), lambda m: setattr(m, "table", torch.zeros(4))),
    changed("deep_module_number", _layer(5), lambda m: setattr(_deepest(m), "scale", 5.0)),
    changed("deep_module_config", _layer(5), lambda m: setattr(_deepest(m).config.inner, "scale", 5.0)),
    changed("module_replaced", _layer(), _replace_linear),
    changed("weight_replaced", _layer(), _replace_weight, targets=OWN_WEIGHTS),
    changed("weight_data_replaced", _layer(), _copy_data, targets=OWN_WEIGHTS),
    changed("weight_written", _layer(), _no_grad_write, targets=OWN_WEIGHTS),
    changed("bias_removed", _layer(), _remove_bias, targets=OWN_WEIGHTS),
    changed("forward_replaced", _layer(), _replace_forward),
    changed("inner_forward_replaced", _layer(), _replace_inner_forward),
    changed("slope", lambda: nn.Sequential(nn.Tanh(), nn.LeakyReLU()), _dropout_rate),
    changed("module_appended", lambda: nn.Sequential(nn.Tanh()), _append_module),
    changed(
        "module_in_list_replaced",
        lambda: nn.Sequential(nn.Tanh(), nn.ReLU()),
        lambda m: m.__setitem__(1, nn.Sigmoid()),
    ),
    changed("unread_attribute", _layer(), lambda m: setattr(m, "steps", m.steps + 1), variants=1),
    changed("unread_attribute_of_object", Scale, lambda f: setattr(f, "steps", f.steps + 1), variants=1),
    changed("unread_global", _of_globals(global_number), _set(UNREAD=1), variants=1),
    changed("unread_class_attribute", Inherited, lambda f: setattr(Inherited, "unread", 2), variants=1),
    changed("frozen", _layer(), _freeze),
    changed("converted", _layer(), _double, targets=OWN_WEIGHTS),
    changed("state_loaded", _layer(), _load_state, targets=OWN_WEIGHTS),
    changed("state_assigned", _layer(), _assign_state, targets=OWN_WEIGHTS),
]
