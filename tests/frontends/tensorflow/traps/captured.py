"""Traps with captured objects that change between calls: cells, globals, defaults, attributes, containers,
caches.
"""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

import numpy as np
import tensorflow as tf

from .table import EVERYWHERE, Trap, Traps

TRAPS = Traps()


def _cell(function: Any, name: str = "") -> Any:
    """Return the content of the cell ``name``, by default the first one."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__))
    return (cells[name] if name else next(iter(cells.values()))).cell_contents


def _put(**values: Any) -> Any:
    def change(function: Any) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__):
            if name in values:
                cell.cell_contents = values[name]

    return change


class Options:
    rate = 0.5
    shared: list[float] = [1.0]  # noqa: RUF012

    def __init__(self) -> None:
        self.bias, self.names, self.table, self.flag = (
            1.0,
            ["tanh"],
            np.array([1.0, 2.0, 3.0], "float32"),
            True,
        )


def _of(make: Any, *changes: Any, **options: Any) -> Trap:
    """Return a trap with a change before each call from the second on."""
    return Trap(make, changes=dict(enumerate(changes, 1)), **options)


def _closure(function: Any, **captured: Any) -> Any:
    """Return a maker of functions of ``x`` that call ``function(x, captured)`` with an object in a cell."""
    item = types.SimpleNamespace(**captured)
    return lambda: _bound(function, _copied(item))


def _copied(item: Any) -> Any:
    return types.SimpleNamespace(
        **{name: value.copy() if hasattr(value, "copy") else value for name, value in vars(item).items()}
    )


def _bound(function: Any, item: Any) -> Any:
    def program(x: Any) -> Any:
        return function(x, item)

    return program


def _item(program: Any) -> Any:
    return _cell(program, "item")


def _set(**values: Any) -> Any:
    return lambda program: vars(_item(program)).update(values)


TRAPS.update(
    number_of_an_object=_of(_closure(lambda x, o: x * o.k, k=2.0), _set(k=3.0), _set(k=2.0)),
    whole_number_of_an_object=_of(_closure(lambda x, o: x * o.k + o.k // 2, k=4), _set(k=5), _set(k=5.0)),
    flag_of_an_object=_of(
        _closure(lambda x, o: x if o.flag else -x, flag=True), _set(flag=False), _set(flag=1)
    ),
    none_of_an_object=_of(
        _closure(lambda x, o: x if o.b is None else x + o.b, b=None), _set(b=2.0), _set(b=None)
    ),
    text_of_an_object=_of(
        _closure(lambda x, o: getattr(tf, o.name)(x), name="exp"), _set(name="tanh"), _set(name="sin")
    ),
    array_of_an_object=_of(
        _closure(lambda x, o: x * o.w, w=np.ones(3, "float32")),
        lambda p: _item(p).w.fill(2.0),
        _set(w=np.float32(5.0)),
    ),
    element_of_an_array=_of(
        _closure(lambda x, o: x * o.w[1], w=np.ones(3, "float32")), lambda p: _item(p).w.__setitem__(1, 4.0)
    ),
    shape_of_an_array=_of(
        _closure(lambda x, o: x * o.w.shape[0], w=np.ones(3)), _set(w=np.ones(5)), _set(w=np.ones((2, 2)))
    ),
    type_of_an_array=_of(
        _closure(lambda x, o: x * (2.0 if o.w.dtype == np.float64 else 3.0), w=np.ones(3)),
        _set(w=np.ones(3, "float32")),
    ),
    sum_of_an_array=_of(
        _closure(lambda x, o: x * float(o.w.sum()), w=np.ones(3)), lambda p: _item(p).w.__imul__(2.0)
    ),
    tensor_of_an_object=_of(
        _closure(lambda x, o: x * o.t, t=tf.constant([1.0, 2.0, 3.0])),
        _set(t=tf.constant([3.0, 2.0, 1.0])),
        _set(t=tf.constant(2.0)),
    ),
    tensor_that_decides=_of(
        _closure(lambda x, o: x if o.t > 0 else -x, t=tf.constant(1.0)),
        _set(t=tf.constant(-1.0)),
        _set(t=tf.constant(2.0)),
    ),
    shape_of_a_tensor=_of(
        _closure(lambda x, o: x + tf.shape(o.t)[0] * 1.0 if False else x + o.t.shape[0], t=tf.zeros(3)),
        _set(t=tf.zeros(5)),
    ),
    list_of_numbers=_of(
        _closure(lambda x, o: x * sum(o.l), l=[1.0, 2.0]),
        lambda p: _item(p).l.append(3.0),
        lambda p: _item(p).l.clear(),
    ),
    length_of_a_list=_of(
        _closure(lambda x, o: x * len(o.l), l=[1.0, 2.0]),
        lambda p: _item(p).l.append(3.0),
        lambda p: _item(p).l.pop(),
    ),
    order_of_a_list=_of(
        _closure(lambda x, o: x * o.l[0] - o.l[1], l=[1.0, 2.0]), lambda p: _item(p).l.reverse()
    ),
    list_of_functions=_of(
        _closure(_chained := lambda x, o: functools.reduce(lambda y, f: f(y), o.l, x), l=[tf.exp]),
        lambda p: _item(p).l.append(tf.tanh),
    ),
    list_in_a_list=_of(
        _closure(lambda x, o: x * o.l[0][0], l=[[2.0]]), lambda p: _item(p).l[0].__setitem__(0, 5.0)
    ),
    list_of_tensors=_of(
        _closure(lambda x, o: x + sum(o.l), l=[tf.ones(3)]),
        lambda p: _item(p).l.append(tf.ones(3) * 2),
        lambda p: _item(p).l.pop(0),
    ),
    dict_of_numbers=_of(
        _closure(lambda x, o: x * o.d["a"], d={"a": 2.0}),
        lambda p: _item(p).d.update(a=3.0),
        lambda p: _item(p).d.update(b=1.0),
    ),
    key_of_a_dict=_of(
        _closure(lambda x, o: x * (2.0 if "b" in o.d else 3.0), d={"a": 2.0}),
        lambda p: _item(p).d.update(b=3.0),
    ),
    order_of_a_dict=_of(
        _closure(lambda x, o: x * next(iter(o.d.values())), d={"a": 2.0, "b": 3.0}),
        lambda p: _item(p).d.update(a=_item(p).d.pop("a")),
    ),
    default_of_a_dict=_of(
        _closure(lambda x, o: x * o.d.get("z", 2.0), d={"a": 2.0}), lambda p: _item(p).d.update(z=7.0)
    ),
    set_of_names=_of(
        _closure(lambda x, o: x * (2.0 if "a" in o.s else 3.0), s={"a"}),
        lambda p: _item(p).s.discard("a"),
        lambda p: _item(p).s.add("a"),
    ),
    tuple_is_replaced=_of(_closure(lambda x, o: x * o.t[0], t=(2.0, 1)), _set(t=(3.0, 1)), _set(t=(3.0,))),
    attribute_appears=_of(
        _closure(lambda x, o: x * getattr(o, "extra", 2.0)),
        _set(extra=3.0),
        lambda p: delattr(_item(p), "extra"),
    ),
    has_an_attribute=_of(_closure(lambda x, o: x * (2.0 if hasattr(o, "extra") else 3.0)), _set(extra=None)),
    function_of_an_object=_of(
        _closure(lambda x, o: o.f(x), f=tf.exp), _set(f=tf.tanh), _set(f=lambda x: x * 3.0)
    ),
    range_of_an_object=_of(_closure(lambda x, o: sum(x * i for i in o.r), r=range(3)), _set(r=range(4))),
    slice_of_an_object=_of(_closure(lambda x, o: x[o.s], s=slice(0, 2)), _set(s=slice(1, 4))),
    type_of_an_object=_of(
        _closure(lambda x, o: tf.cast(x * 3, o.dtype), dtype=tf.float16), _set(dtype=tf.int32)
    ),
    axis_of_an_object=_of(
        _closure(lambda x, o: tf.reduce_sum(x, o.axis), axis=0),
        _set(axis=1),
        _set(axis=None),
        _set(axis=(0, 1)),
    ),
    deque_of_an_object=_of(
        _closure(lambda x, o: x * o.q[0], q=collections.deque([2.0])), lambda p: _item(p).q.appendleft(3.0)
    ),
    counter_of_an_object=_of(
        _closure(lambda x, o: x * o.c["a"], c=collections.Counter("aab")), lambda p: _item(p).c.update("a")
    ),
    class_of_an_object=_of(
        _closure(lambda x, o: x * o.cls.rate, cls=type("Rate", (), {"rate": 2.0})),
        _set(cls=type("Other", (), {"rate": 5.0})),
    ),
    nan_of_an_object=_of(
        _closure(lambda x, o: x * 2.0 if o.v != o.v else x + o.v, v=float("nan")),
        _set(v=1.0),
        _set(v=float("nan")),
    ),
    negative_zero_of_an_object=_of(
        _closure(lambda x, o: x * 0.0 + tf.math.atan2(o.v, -1.0), v=0.0), _set(v=-0.0)
    ),
    bool_or_number=_of(
        _closure(lambda x, o: x * (2.0 if o.v is True else 3.0), v=True), _set(v=1), _set(v=True)
    ),
    float_or_whole=_of(_closure(lambda x, o: x * (2.0 if isinstance(o.v, int) else 3.0), v=1), _set(v=1.0)),
    large_number=_of(_closure(lambda x, o: x + (o.v % 1000), v=10**20), _set(v=10**20 + 1)),
    complex_of_an_object=_of(_closure(lambda x, o: tf.cast(x, tf.complex64) * o.z, z=1 + 1j), _set(z=2 - 1j)),
)


# ---------------------------------------------------------------------------------------------- cells
def _number_in_a_cell() -> Any:
    k = 2.0

    def function(x: Any) -> Any:
        return x * k

    return function


def _cell_of_a_cell() -> Any:
    k = 2.0

    def inner(x: Any) -> Any:
        return x * k

    def function(x: Any) -> Any:
        return inner(x) + 1.0

    return function


def _function_in_a_cell() -> Any:
    activation = tf.exp

    def function(x: Any) -> Any:
        return activation(x) * 2.0

    return function


def _default_of_a_function() -> Any:
    def function(x: Any, scale: Any = 2.0, *, shift: Any = 1.0) -> Any:
        return x * scale + shift

    return function


def _default_of_an_inner_function() -> Any:
    def inner(x: Any, scale: Any = 2.0) -> Any:
        return x * scale

    def function(x: Any) -> Any:
        return inner(x) + 1.0

    return function


def _list_as_a_default() -> Any:
    def function(x: Any, scales: Any = [2.0, 3.0]) -> Any:  # noqa: B006
        return x * sum(scales)

    return function


def _attribute_of_a_function() -> Any:
    def inner(x: Any) -> Any:
        return x * inner.scale  # type: ignore[attr-defined]

    inner.scale = 2.0  # type: ignore[attr-defined]

    def function(x: Any) -> Any:
        return inner(x)

    return function


def _code_of_a_function() -> Any:
    def inner(x: Any) -> Any:
        return x * 2.0

    def function(x: Any) -> Any:
        return inner(x) + 1.0

    return function


def _other_code(function: Any) -> None:
    def inner(x: Any) -> Any:
        return x * 5.0

    _cell(function, "inner").__code__ = inner.__code__


TRAPS.update(
    number_in_a_cell=_of(_number_in_a_cell, _put(k=3.0), _put(k=4), _put(k=2.0)),
    cell_becomes_a_tensor=_of(_number_in_a_cell, _put(k=tf.constant([1.0, 2.0, 3.0])), _put(k=2.0)),
    cell_becomes_an_array=_of(_number_in_a_cell, _put(k=np.float32(3.0)), _put(k=np.ones(3, "float32"))),
    cell_of_a_cell=_of(_cell_of_a_cell, lambda f: _put(k=5.0)(_cell(f, "inner"))),
    function_in_a_cell=_of(_function_in_a_cell, _put(activation=tf.tanh), _put(activation=lambda x: x * 0.5)),
    default_of_a_function=_of(
        _default_of_a_function,
        lambda f: setattr(f, "__defaults__", (3.0,)),
        lambda f: f.__kwdefaults__.update(shift=7.0),
    ),
    default_of_an_inner_function=_of(
        _default_of_an_inner_function, lambda f: setattr(_cell(f, "inner"), "__defaults__", (3.0,))
    ),
    list_as_a_default=_of(
        _list_as_a_default, lambda f: f.__defaults__[0].append(4.0), lambda f: f.__defaults__[0].clear()
    ),
    attribute_of_a_function=_of(_attribute_of_a_function, lambda f: setattr(_cell(f, "inner"), "scale", 4.0)),
    code_of_a_function=_of(_code_of_a_function, _other_code),
)


# ---------------------------------------------------------------------------------------- globals and classes
RATE, TABLE, STEPS, MODULE = 2.0, {"a": 2.0}, [1.0, 2.0], types.ModuleType("settings")
MODULE.rate = 2.0  # type: ignore[attr-defined]


def _helper(x: Any) -> Any:
    return x * RATE


def _global(name: str, *values: Any) -> Any:
    """Return a change that sets a global."""
    return lambda function: globals().__setitem__(name, values[0])


def _restoring(make: Any, **values: Any) -> Any:
    def made() -> Any:
        globals().update(values)
        return make

    return made


def _reads_a_global(x: Any) -> Any:
    return x * RATE


def _reads_by_a_helper(x: Any) -> Any:
    return _helper(x) + 1.0


def _reads_by_name(x: Any) -> Any:
    return x * globals()["RATE"]


def _reads_a_table(x: Any) -> Any:
    return x * TABLE["a"] + len(STEPS)


def _reads_in_a_lambda(x: Any) -> Any:
    return (lambda y: y * RATE)(x) + sum(RATE * k for k in range(2))


def _reads_of_a_module(x: Any) -> Any:
    return x * MODULE.rate  # type: ignore[attr-defined]


def _reads_of_a_class(x: Any) -> Any:
    return x * Options.rate + sum(Options.shared)


TRAPS.update(
    global_number=Trap(
        _restoring(_reads_a_global, RATE=2.0), changes={1: _global("RATE", 3.0), 2: _global("RATE", 4)}
    ),
    global_of_a_helper=Trap(
        _restoring(_reads_by_a_helper, RATE=2.0), changes={1: _global("RATE", 3.0), 3: _global("RATE", 2.0)}
    ),
    global_by_its_name=Trap(_restoring(_reads_by_name, RATE=2.0), changes={1: _global("RATE", 3.0)}),
    global_table=Trap(
        _restoring(_reads_a_table, TABLE={"a": 2.0}, STEPS=[1.0]),
        changes={1: lambda f: TABLE.update(a=3.0), 2: _global("STEPS", [1, 2, 3])},
    ),
    global_in_a_lambda=Trap(_restoring(_reads_in_a_lambda, RATE=2.0), changes={1: _global("RATE", 3.0)}),
    attribute_of_a_module=Trap(
        lambda: vars(MODULE).update(rate=2.0) or _reads_of_a_module,
        changes={1: lambda f: setattr(MODULE, "rate", 3.0)},
    ),
    attribute_of_a_class=Trap(
        lambda: setattr(Options, "rate", 0.5) or setattr(Options, "shared", [1.0]) or _reads_of_a_class,
        changes={1: lambda f: setattr(Options, "rate", 0.25), 2: lambda f: setattr(Options, "shared", [5.0])},
    ),
)


class _Model(Options):
    def __call__(self, x: Any) -> Any:
        y = getattr(tf, self.names[-1])(x * self.rate + self.bias)
        return y * self.table if self.flag else y


class _Slots:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.scale


class _Property:
    def __init__(self) -> None:
        self.celsius = 10.0

    @property
    def fahrenheit(self) -> float:
        return self.celsius * 1.8 + 32.0

    def __call__(self, x: Any) -> Any:
        return x + self.fahrenheit


class _Module(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts, self.options, self.w = (
            [tf.Variable(2.0), tf.Variable(3.0)],
            {"k": 2.0},
            tf.Variable([1.0, 2.0, 3.0]),
        )

    def __call__(self, x: Any) -> Any:
        return x * self.w * self.options["k"] + sum(self.parts)


TRAPS.update(
    bias_of_a_model=_of(_Model, lambda m: setattr(m, "bias", 2.0), lambda m: setattr(m, "bias", 2)),
    rate_of_a_model_hides_that_of_its_class=_of(
        _Model, lambda m: setattr(m, "rate", 0.25), lambda m: delattr(m, "rate")
    ),
    names_of_a_model=_of(_Model, lambda m: m.names.append("sin"), lambda m: m.names.__setitem__(-1, "exp")),
    table_of_a_model=_of(
        _Model, lambda m: m.table.__setitem__(0, 9.0), lambda m: setattr(m, "table", m.table[::-1])
    ),
    flag_of_a_model=_of(_Model, lambda m: setattr(m, "flag", False), lambda m: setattr(m, "flag", 2)),
    call_of_a_model=_of(_Model, lambda m: setattr(m, "__class__", _Slower)),
    slot_of_an_object=_of(_Slots, lambda m: setattr(m, "scale", 3.0)),
    property_of_an_object=_of(_Property, lambda m: setattr(m, "celsius", 20.0)),
    variable_is_replaced=_of(
        _Module,
        lambda m: setattr(m, "w", tf.Variable([3.0, 2.0, 1.0])),
        lambda m: m.w.assign([0.0, 1.0, 0.0]),
    ),
    variable_is_appended=_of(_Module, lambda m: m.parts.append(tf.Variable(5.0)), lambda m: m.parts.pop(0)),
    option_of_a_module=_of(_Module, lambda m: m.options.update(k=5.0)),
    variables_change_places=_of(_Module, lambda m: m.parts.reverse(), lambda m: setattr(m, "w", m.parts[0])),
    variable_becomes_a_number=_of(
        _Module, lambda m: setattr(m, "w", 2.0), lambda m: setattr(m, "w", tf.constant(3.0))
    ),
)


class _Slower(_Model):
    def __call__(self, x: Any) -> Any:
        return super().__call__(x) * 0.5


# ------------------------------------------------------------------------------- what a function keeps itself
@TRAPS.made()
def cache_of_a_dict() -> Any:
    cache: dict[int, Any] = {}

    def function(x: Any) -> Any:
        if x.shape[1] not in cache:
            cache[x.shape[1]] = x[0]
        return x * cache[x.shape[1]]

    return function


@TRAPS.made()
def cache_by_tuples() -> Any:
    cache: dict[Any, Any] = {}

    def function(x: Any) -> Any:
        key = ("row", x.shape[1])
        if key not in cache:
            cache[key] = x[0]
        return x * cache[key]

    return function


@TRAPS.made()
def cache_that_is_warm() -> Any:
    cache = {3: tf.constant([1.0, 2.0, 3.0])}

    def function(x: Any) -> Any:
        if x.shape[1] not in cache:
            cache[x.shape[1]] = tf.ones(x.shape[1])
        return x * cache[x.shape[1]]

    return function


@TRAPS.made()
def history_of_an_object() -> Any:
    class Model:
        def __init__(self) -> None:
            self.last: Any = None

        def __call__(self, x: Any) -> Any:
            y = x if self.last is None else x + self.last
            self.last = tf.reduce_sum(x)
            return y

    return Model()


@TRAPS.made()
def attribute_of_the_class_counts() -> Any:
    class Model:
        calls = 0

        def __call__(self, x: Any) -> Any:
            type(self).calls += 1
            return x * self.calls

    return Model()


@TRAPS.made(errors={EVERYWHERE: "is an iterator outside of the recorded function"})
def generator_of_a_closure() -> Any:
    numbers = iter([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    return lambda x: x * next(numbers)


@TRAPS.made()
def list_is_changed_and_changed_back() -> Any:
    stack = [1.0]

    def function(x: Any) -> Any:
        stack.append(2.0)
        y = x * sum(stack)
        stack.pop()
        return y

    return function


@TRAPS.made()
def lru_cache_by_a_size() -> Any:
    @functools.lru_cache
    def table(rows: int) -> Any:
        return np.arange(rows, dtype="float32")[:, None] * 0.5

    return lambda x: x + table(x.shape[0])


@TRAPS.made()
def lru_cache_of_a_mask() -> Any:
    @functools.lru_cache(maxsize=2)
    def mask(rows: int) -> Any:
        return tf.linalg.band_part(tf.ones((rows, rows)), -1, 0)

    return lambda x: mask(x.shape[0]) @ x


@TRAPS.made()
def array_of_a_closure_is_a_view() -> Any:
    whole = np.arange(6, dtype="float32")
    part = whole[:3]

    def function(x: Any) -> Any:
        return x * part + whole[3]

    return function


@TRAPS.made(
    changes={
        1: lambda f: _cell(f, "whole").__setitem__(0, 50.0),
        2: lambda f: _cell(f, "part").__setitem__(1, 7.0),
    }
)
def array_and_a_view_of_it_change() -> Any:
    whole = np.arange(6, dtype="float32")
    part = whole[:3]

    def function(x: Any) -> Any:
        return x * part + whole[1]

    return function


@TRAPS.made(changes={1: lambda f: f.__setitem__("k", 4.0) if isinstance(f, dict) else f.update(k=4.0)})
def callable_that_is_a_dict() -> Any:
    class Scales(dict):  # type: ignore[type-arg]
        def __call__(self, x: Any) -> Any:
            return x * self["k"]

    return Scales(k=2.0)
