"""Traps with forms of arguments, structures of arguments, and kinds of callables."""

from __future__ import annotations

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import inspect
import operator
import types
from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import tensorflow as tf

from .table import EVERYWHERE, Keywords, Trap, Traps, drawn, whole

TRAPS = Traps()
K = Keywords


class Point(NamedTuple):
    x: Any
    y: Any = 2.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    rows: Any
    scale: float = 1.5
    names: tuple[str, ...] = ("a",)


@dataclasses.dataclass
class Nested:
    inner: Frozen
    more: list[Any] = dataclasses.field(default_factory=list)


class Mode(enum.Enum):
    UP = 1
    DOWN = -1


def _same(rows: int = 4, seed: int = 0) -> Any:
    return drawn(rows, seed=seed)


# ------------------------------------------------------------------------------------- positions and keywords
@TRAPS.function(
    lambda: (_same(), _same(seed=1)),
    lambda: (_same(), K(b=_same(seed=2))),
    lambda: (K(b=_same(), a=_same(seed=1)),),
)
def positions_and_keywords(a: Any, b: Any) -> Any:
    return a - 2.0 * b


@TRAPS.function(
    lambda: (_same(), K(scale=2.0)),
    lambda: (_same(),),
    lambda: (_same(), 3.0),
    lambda: (_same(6), K(scale=tf.constant(2.0))),
)
def default_number(x: Any, scale: Any = 0.5) -> Any:
    return x * scale


@TRAPS.function(lambda: (_same(),), lambda: (_same(), tf.constant([1.0, 2.0, 3.0])), lambda: (_same(5), None))
def default_none(x: Any, bias: Any = None) -> Any:
    return x if bias is None else x + bias


@TRAPS.function(lambda: (_same(),), lambda: (_same(5), _same(5)), lambda: (_same(),))
def default_array(x: Any, y: Any = tf.constant([[5.0, 6.0, 7.0]])) -> Any:  # noqa: B008
    return x * y


@TRAPS.function(lambda: (_same(), _same(seed=1)), lambda: (_same(5), _same(5, 1)))
def positions_only(x: Any, y: Any, /, z: Any = 1.0) -> Any:
    return x * z - y


@TRAPS.function(lambda: (_same(), K(x=_same(seed=1))), lambda: (_same(5), K(x=_same(5, 1), z=_same(5))))
def same_name_as_a_position(a: Any, /, **more: Any) -> Any:
    return a - sum(more.values()) * len(more)


@TRAPS.function(
    lambda: (_same(),), lambda: (_same(), _same(seed=1)), lambda: tuple(_same(5, seed) for seed in range(4))
)
def any_number_of_arrays(*arrays: Any) -> Any:
    return tf.add_n(list(arrays)) / len(arrays), arrays[-1]


@TRAPS.function(lambda: (_same(), 2, "tanh"), lambda: (_same(), 3, "tanh", "relu"), lambda: (_same(), 2))
def any_number_of_names(x: Any, power: int, *names: str) -> Any:
    for name in names:
        x = getattr(tf.nn, name)(x)
    return x**power


@TRAPS.function(
    lambda: (K(b=_same(), a=_same(seed=1)),),
    lambda: (K(a=_same(), b=_same(seed=1)),),
    lambda: (K(c=_same(5), a=_same(5, 1)),),
)
def order_of_keywords(**arrays: Any) -> Any:
    return list(arrays), functools.reduce(lambda x, y: x * 0.5 + y, arrays.values())


@TRAPS.function(
    lambda: (_same(), K(training=True)),
    lambda: (_same(), K(training=False)),
    lambda: (_same(), K(training=None)),
    lambda: (_same(),),
)
def training_of_three_values(x: Any, *, training: bool | None = None) -> Any:
    return x * 2.0 if training else x * 3.0 if training is None else x * 5.0


@TRAPS.function(lambda: (_same(), (1, 2)), lambda: (_same(), (2, 1)), lambda: (_same(6), [1, 2]))
def numbers_in_a_tuple(x: Any, window: Any) -> Any:
    return x * window[0] - window[1], isinstance(window, tuple)


@TRAPS.function(
    lambda: (_same(), 1),
    lambda: (_same(), 1.0),
    lambda: (_same(), True),
    lambda: (_same(), 2.5),
    lambda: (_same(), 7),
)
def number_of_another_class(x: Any, n: Any) -> Any:
    return x * n, type(n).__name__


@TRAPS.function(lambda: (_same(), 0.0), lambda: (_same(), float("inf")), lambda: (_same(), float("nan")))
def special_numbers(x: Any, n: float) -> Any:
    return x + n, tf.math.divide(1.0, n) if n == n else x


@TRAPS.function(lambda: (_same(), 2**31 - 1), lambda: (_same(), -(2**31)), lambda: (_same(), 5))
def large_whole_numbers(x: Any, n: int) -> Any:
    return tf.constant(n) - 1, x * (n % 7), n * 4


@TRAPS.function(lambda: (_same(), 1 + 2j), lambda: (_same(), 3 - 1j), lambda: (_same(), 2j))
def complex_number(x: Any, z: complex) -> Any:
    return tf.cast(x, tf.complex64) * z, abs(z)


@TRAPS.function(lambda: (_same(), Mode.UP), lambda: (_same(), Mode.DOWN), lambda: (_same(6), Mode.UP))
def enumeration(x: Any, mode: Mode) -> Any:
    return x * mode.value if mode is Mode.UP else x - 1.0


@TRAPS.function(
    lambda: (_same(), tf.float16),
    lambda: (_same(), tf.float64),
    lambda: (_same(), "int32"),
    lambda: (_same(), np.int8),
)
def type_is_an_argument(x: Any, dtype: Any) -> Any:
    return tf.cast(x * 3, dtype)


@TRAPS.function(
    lambda: (_same(), slice(1, 3)),
    lambda: (_same(), slice(None, None, 2)),
    lambda: (_same(6), slice(1, 3)),
    lambda: (_same(), 1),
)
def slice_is_an_argument(x: Any, part: Any) -> Any:
    return x[part]


@TRAPS.function(lambda: (_same(), ...), lambda: (_same(), None), lambda: (_same(6), ...))
def ellipsis_is_an_argument(x: Any, part: Any) -> Any:
    return x[part] * 2.0


@TRAPS.function(
    lambda: (_same(), range(3)), lambda: (_same(), range(1, 3)), lambda: (_same(6), range(0, 3, 2))
)
def range_is_an_argument(x: Any, places: range) -> Any:
    return sum(x[:, place] * place for place in places)


@TRAPS.function(
    lambda: (_same(), {1, 2}),
    lambda: (_same(), {2, 1}),
    lambda: (_same(), {3}),
    lambda: (_same(), frozenset({3})),
)
def set_is_an_argument(x: Any, numbers: Any) -> Any:
    return x * sum(numbers) + len(numbers)


@TRAPS.function(lambda: (_same(), tf.exp), lambda: (_same(), tf.tanh), lambda: (_same(6), tf.exp))
def function_is_an_argument(x: Any, activation: Any) -> Any:
    return activation(x) * 2.0


def _times(factor: float) -> Any:
    return lambda x: x * factor


@TRAPS.function(
    lambda: (_same(), _times(2.0)), lambda: (_same(), _times(3.0)), lambda: (_same(6), _times(2.0))
)
def closure_is_an_argument(x: Any, activation: Any) -> Any:
    return activation(x) + 1.0


@TRAPS.function(lambda: (_same(), float), lambda: (_same(), int), lambda: (_same(), bool))
def class_is_an_argument(x: Any, kind: type) -> Any:
    return x * kind(2.75)


@TRAPS.function(
    lambda: (_same(), np.array([1, 2, 3])),
    lambda: (_same(), np.array([3, 2, 1])),
    lambda: (_same(6), np.array([2.5, 1.5, 0.5])),
)
def array_of_another_type(x: Any, weights: Any) -> Any:
    return x * tf.cast(weights, tf.float32) if weights.dtype == np.int64 else x - tf.cast(weights, tf.float32)


@TRAPS.function(
    lambda: (_same(), [1.0, 2.0, 3.0]),
    lambda: (_same(), [3.0, 2.0, 1.0]),
    lambda: (_same(6), [1.0, 2.0, 3.0]),
)
def list_of_numbers(x: Any, weights: Any) -> Any:
    return x * weights + len(weights)


@TRAPS.function(lambda: (_same(), [_same()]), lambda: (_same(), [_same(), _same(5)]), lambda: (_same(), []))
def list_of_arrays_of_any_length(x: Any, others: Any) -> Any:
    return tf.concat([x, *others], 0), len(others)


# ---------------------------------------------------------------------------------------------- structures
@TRAPS.function(
    lambda: (Point(_same()),), lambda: (Point(_same(), 3.0),), lambda: (Point(y=_same(), x=_same(seed=1)),)
)
def named_tuple_with_a_default(point: Point) -> Any:
    return point._replace(x=point.x * point.y), point._asdict()["x"]


@TRAPS.function(
    lambda: (Frozen(_same()),),
    lambda: (Frozen(_same(6), 2.5),),
    lambda: (Frozen(_same(6), names=("a", "b")),),
)
def frozen_dataclass(item: Frozen) -> Any:
    return dataclasses.replace(item, rows=item.rows * item.scale * len(item.names)).rows


@TRAPS.function(
    lambda: (Nested(Frozen(_same())),), lambda: (Nested(Frozen(_same(6)), [_same(), 2.0]),), lambda: (Nested(Frozen(_same(6), 2.0), [_same(), 3.0]),),
)  # fmt: skip
def dataclass_in_a_dataclass(item: Nested) -> Any:
    return item.inner.rows * item.inner.scale + sum(
        tf.reduce_sum(tf.cast(one, tf.float32)) for one in item.more
    )


@TRAPS.function(
    lambda: ({"a": _same(), "b": {"c": (_same(), None)}},),
    lambda: ({"b": {"c": (_same(5), 2.0)}, "a": _same(5)},),
)
def dict_in_a_dict(tree: Any) -> Any:
    first, second = tree["b"]["c"]
    return {"out": tree["a"] * first, "none": second, **dict.fromkeys(tree, 1)}


@TRAPS.function(
    lambda: ({1: _same(), 2: _same(5)},),
    lambda: ({2: _same(), 1: _same(5)},),
    lambda: ({1: _same(6), 3: _same()},),
)
def dict_with_whole_keys(tree: Any) -> Any:
    return {key * 2: tf.reduce_sum(item) * key for key, item in tree.items()}


@TRAPS.function(
    lambda: ({"a": _same()},), lambda: ({"a": _same(), "b": 2.0},), lambda: ({"a": _same(6), "b": 3.0},)
)
def key_that_may_be_missing(tree: Any) -> Any:
    return tree["a"] * tree.get("b", 1.0), "b" in tree, len(tree)


@TRAPS.function(
    lambda: (collections.OrderedDict(b=_same(), a=_same(seed=1)),),
    lambda: (collections.OrderedDict(a=_same(), b=_same(seed=1)),),
)
def order_of_an_ordered_dict(tree: Any) -> Any:
    return functools.reduce(lambda x, y: x * 0.5 + y, tree.values()), tf.nest.flatten(tree)[0]


@TRAPS.function(
    lambda: (collections.defaultdict(float, a=_same()),),
    lambda: (collections.defaultdict(float, a=_same(5)),),
)
def default_dict(tree: Any) -> Any:
    return tree["a"] + tree.get("b", 2.0)


@TRAPS.function(
    lambda: (types.SimpleNamespace(x=_same(), k=2),), lambda: (types.SimpleNamespace(x=_same(6), k=3),)
)
def namespace(item: Any) -> Any:
    return item.x * item.k


@TRAPS.function(
    lambda: (collections.deque([_same(), _same(5)]),), lambda: (collections.deque([_same(5), _same()]),)
)
def deque(items: Any) -> Any:
    return [tf.reduce_sum(item, 0) * number for number, item in enumerate(items)]


@TRAPS.function(lambda: ((_same(), (_same(5), [_same(2)])),), lambda: ((_same(6), (_same(1), [_same(3)])),))
def structure_is_mapped(tree: Any) -> Any:
    return tf.nest.map_structure(lambda item: tf.reduce_sum(item, 0) / item.shape[0], tree)


@TRAPS.function(
    lambda: ([_same(), _same(5)], [_same(seed=1), _same(5, 1)]),
    lambda: ([_same(2), _same(3)], [_same(2, 1), _same(3, 1)]),
)
def two_structures_are_mapped(a: Any, b: Any) -> Any:
    tf.nest.assert_same_structure(a, b)
    return tf.nest.map_structure(operator.sub, a, b), tf.nest.is_nested(a)


@TRAPS.function(lambda: ({"w": _same(), "b": _same(1)},), lambda: ({"w": _same(6), "b": _same(1, 2)},))
def structure_with_paths(tree: Any) -> Any:
    return {key: tf.reduce_sum(item) * len(key) for key, item in sorted(tree.items())}, tf.nest.flatten(tree)


@TRAPS.function(lambda: ((),), lambda: ((_same(),),), lambda: ((_same(5), _same(5)),))
def empty_structure(items: Any) -> Any:
    return [item * 2.0 for item in items] or "nothing"


@TRAPS.function(
    lambda: (_same(),), lambda: ([_same()],), lambda: ((_same(), _same(5)),), lambda: ({"a": _same()},)
)
def array_or_structure(item: Any) -> Any:
    if isinstance(item, dict):
        return item["a"] * 5.0
    return [one * 2.0 for one in item] if isinstance(item, (list, tuple)) else item * 3.0


@TRAPS.function(lambda: (_same(), _same()), lambda: (_same(5), _same(5)))
def argument_is_given_twice(a: Any, b: Any) -> Any:
    return (a is b), a * 2.0 + b


def _twice(rows: int) -> tuple[Any, ...]:
    x = _same(rows)
    return x, x


@TRAPS.function(lambda: _twice(4), lambda: (_same(5), _same(5, 1)), lambda: _twice(6))
def one_array_is_two_arguments(a: Any, b: Any) -> Any:
    return a * 2.0 - b


@TRAPS.function(lambda: (_same(),), lambda: (_same(5),))
def results_share_an_array(x: Any) -> Any:
    y = x * 2.0
    return {"a": y, "b": [y, (y,)], "c": x}


# ---------------------------------------------------------------------------------------------- callables
class Scaler:
    factor = 2.0

    def __init__(self, shift: float = 1.0) -> None:
        self.shift = shift

    def method(self, x: Any) -> Any:
        return x * self.factor + self.shift

    @classmethod
    def of_the_class(cls, x: Any) -> Any:
        return x * cls.factor

    @staticmethod
    def of_nobody(x: Any) -> Any:
        return x * 3.0

    @property
    def bound(self) -> Any:
        return lambda x: x - self.shift

    def __call__(self, x: Any, power: int = 2) -> Any:
        return self.method(x) ** power


class Doubler(Scaler):
    factor = 4.0

    def method(self, x: Any) -> Any:
        return super().method(x) * 2.0


class Slotted:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 2.5

    def __call__(self, x: Any) -> Any:
        return x * self.scale


class Metaclass(abc.ABCMeta):
    factor = 7.0

    def scaled(cls, x: Any) -> Any:
        return x * cls.factor


class Abstract(metaclass=Metaclass):
    @abc.abstractmethod
    def step(self, x: Any) -> Any: ...

    def __call__(self, x: Any) -> Any:
        return self.step(x) + type(self).scaled(x)


class Concrete(Abstract):
    def step(self, x: Any) -> Any:
        return tf.exp(x)


T = TypeVar("T")


class Boxed(Generic[T]):
    def __init__(self, item: T) -> None:
        self.item = item

    def __call__(self, x: Any) -> Any:
        return x * self.item


class Stepped(Protocol):
    def __call__(self, x: Any) -> Any: ...


class Lookup(Mapping[str, float]):
    def __getitem__(self, key: str) -> float:
        return {"scale": 2.0, "shift": 3.0}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("scale", "shift"))

    def __len__(self) -> int:
        return 2


class Delegates:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return len(name)

    def __call__(self, x: Any) -> Any:
        return x * self.abc + self.defgh


_CALLABLES: dict[str, Any] = {
    "bound_method": lambda: Scaler().method,
    "method_of_the_class": lambda: Scaler.of_the_class,
    "method_of_a_subclass": lambda: Doubler.of_the_class,
    "method_that_calls_super": lambda: Doubler(3.0).method,
    "static_method": lambda: Scaler.of_nobody,
    "property_that_gives_a_function": lambda: Scaler(2.0).bound,
    "callable_object": lambda: Doubler(),
    "unbound_method": lambda: functools.partial(Scaler.method, Scaler(5.0)),
    "partial_with_a_keyword": lambda: functools.partial(Scaler(), power=3),
    "partial_of_a_partial": lambda: functools.partial(functools.partial(lambda a, b, x: x * a - b, 2.0), 3.0),
    "partial_of_an_array": lambda: functools.partial(tf.add, tf.constant([1.0, 2.0, 3.0])),
    "partial_method": lambda: (
        type("Owner", (), {"run": functools.partialmethod(lambda self, k, x: x * k, 2.5)})().run
    ),
    "slotted_object": Slotted,
    "abstract_class": Concrete,
    "generic_object": lambda: Boxed(2.5),
    "object_that_delegates": Delegates,
    "function_of_tensorflow": lambda: tf.nn.softmax,
    "method_of_an_operator": lambda: operator.neg,
    "composed_functions": lambda: functools.reduce(
        lambda f, g: lambda x: g(f(x)), [tf.exp, tf.tanh, lambda x: x * 2.0]
    ),
    "lambda_with_a_default": lambda: lambda x, scale=2.0: x * scale,
    "lambda_of_a_lambda": lambda: (lambda scale: lambda x: x * scale)(3.0),
    "method_bound_by_types": lambda: types.MethodType(lambda self, x: x * self["k"], {"k": 2.0}),
    "method_caller": lambda: type(
        "Owner", (), {"__call__": lambda self, x: operator.methodcaller("method", x)(Scaler())}
    )(),
    "mapping_of_ones_own": lambda: (lambda options: lambda x: x * options["scale"] + sum(options.values()))(
        Lookup()
    ),
    "read_only_mapping": lambda: (lambda options: lambda x: x * options["scale"])(
        types.MappingProxyType({"scale": 4.0})
    ),
    "chain_of_mappings": lambda: (lambda o: lambda x: x * o["a"] + o["b"])(
        collections.ChainMap({"a": 2.0}, {"a": 5.0, "b": 1.0})
    ),
    "dispatch_by_class": lambda: _dispatched,
    "named_tuple_of_functions": lambda: (lambda p: lambda x: p.x(x) * p.y)(Point(tf.exp, 3.0)),
}


@functools.singledispatch
def _dispatched(x: Any) -> Any:
    return x * 2.0


@_dispatched.register
def _(x: int) -> Any:
    return x * 3.0


TRAPS.update({name: Trap(make) for name, make in _CALLABLES.items()})


@TRAPS.made()
def wrapped_twice() -> Any:
    def times(factor: float) -> Any:
        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                return function(*args, **kwargs) * factor

            return wrapper

        return decorate

    @times(2.0)
    @times(3.0)
    def function(x: Any) -> Any:
        return x + 1.0

    return function


@TRAPS.made()
def decorator_that_is_a_class() -> Any:
    class Twice:
        def __init__(self, function: Any) -> None:
            functools.update_wrapper(self, function)
            self.function = function

        def __call__(self, x: Any) -> Any:
            return self.function(self.function(x))

    @Twice
    def function(x: Any) -> Any:
        return tf.tanh(x) + 0.5

    return function


@TRAPS.made()
def decorator_that_binds_arguments() -> Any:
    def bound(function: Any) -> Any:
        signature = inspect.signature(function)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            arguments = signature.bind(*args, **kwargs)
            arguments.apply_defaults()
            return function(**arguments.arguments)

        return wrapper

    return bound(lambda x, scale=2.5: x * scale)


@TRAPS.made()
def decorator_that_keeps_state_in_a_context() -> Any:
    scales = [1.0]

    @contextlib.contextmanager
    def scaled(by: float) -> Iterator[None]:
        scales.append(by)
        try:
            yield
        finally:
            scales.pop()

    @scaled(3.0)
    def function(x: Any) -> Any:
        return x * scales[-1]

    return function


@TRAPS.made()
def cached_property_of_an_object() -> Any:
    class Model:
        def __init__(self) -> None:
            self.table = tf.range(3.0)

        @functools.cached_property
        def squares(self) -> Any:
            return self.table**2

        def __call__(self, x: Any) -> Any:
            return x + self.squares

    model = Model()
    model(tf.zeros((1, 3)))
    return model


@TRAPS.made()
def descriptor_of_ones_own() -> Any:
    class Half:
        def __set_name__(self, owner: Any, name: str) -> None:
            self.name = f"_{name}"

        def __get__(self, item: Any, owner: Any = None) -> Any:
            return getattr(item, self.name) / 2.0

    class Model:
        rate = Half()

        def __init__(self) -> None:
            self._rate = 3.0

        def __call__(self, x: Any) -> Any:
            return x * self.rate

    return Model()


@TRAPS.made()
def generator_that_is_sent_to() -> Any:
    def running() -> Any:
        total = 0.0
        while True:
            total = total + (yield total)

    def function(x: Any) -> Any:
        sums = running()
        next(sums)
        return [sums.send(row) for row in (x[0], x[1], x[2])]

    return function


@TRAPS.made()
def mutual_recursion() -> Any:
    def even(x: Any, n: int) -> Any:
        return x if n == 0 else odd(x * 2.0, n - 1)

    def odd(x: Any, n: int) -> Any:
        return -x if n == 0 else even(x + 1.0, n - 1)

    return lambda x: even(x, 5)


@TRAPS.made(lambda: (3, drawn()), lambda: (4, drawn()), lambda: (0, drawn(6)))
def recursion_by_an_argument() -> Any:
    def power(n: int, x: Any) -> Any:
        return tf.ones_like(x) if n == 0 else x * power(n - 1, x) if n % 2 else power(n // 2, x * x)

    return power


@TRAPS.made()
def y_combinator() -> Any:
    fixed = lambda f: (lambda g: g(g))(lambda g: f(lambda *args: g(g)(*args)))  # noqa: E731
    return lambda x: fixed(lambda self: lambda n, y: y if n == 0 else self(n - 1, y * 0.5 + 1.0))(4, x)


@TRAPS.made()
def async_function() -> Any:
    async def inner(x: Any) -> Any:
        return x * 2.0

    def function(x: Any) -> Any:
        coroutine = inner(x)
        try:
            coroutine.send(None)
        except StopIteration as ended:
            return ended.value + 1.0

    return function


@TRAPS.made(lambda: (drawn(), whole(4)), lambda: (drawn(6), whole(6, seed=1)))
def annotations_and_defaults_of_typing() -> Any:
    def function(
        x: tf.Tensor, y: tf.Tensor | None = None, *rest: Any, flag: bool = True
    ) -> tuple[tf.Tensor, ...]:
        return x * 2.0, tf.cast(y, tf.float32)[:, None] * x

    return function


@TRAPS.function(lambda: (tf.Variable([1.0, 2.0]),), lambda: (tf.Variable([3.0, 4.0, 5.0]),))
def variable_is_an_argument(v: Any) -> Any:
    return v * 2.0, v + v.shape[0]


@TRAPS.function(lambda: (tf.Variable([1.0, 2.0]),), errors={EVERYWHERE: "signatures.py"})
def variable_of_an_argument_is_assigned(v: Any) -> Any:
    v.assign(v * 2.0)
    return v + 1.0
