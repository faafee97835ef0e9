"""Programs with state in unusual places: classes, functions, buffers, context variables, containers of the
standard library.
"""

from __future__ import annotations

import array
import collections
import concurrent.futures
import contextvars
import dataclasses
import enum
import functools
import os
import queue
import random
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from .table import ELSEWHERE, Program


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1,)


_CALLS = (_x(2), _x(4), _x(2), _x(1))
PROGRAMS: list[Program] = []


def _program(make: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS.append(Program(make.__name__, make, _CALLS))
    return make


# -------------------------------------------------------------------------------------- classes and functions
@_program
def counter_of_class() -> Any:
    class Counts(nn.Module):
        count = 0

        def forward(self, x: Any) -> Any:
            type(self).count += 1
            return x * self.count

    return Counts()


@_program
def list_of_class() -> Any:
    class Logs:
        log: ClassVar[list[Any]] = []

        def __call__(self, x: Any) -> Any:
            Logs.log.append(x.sum())
            return x * len(self.log) + self.log[0]

    return Logs()


@_program
def list_of_base_class() -> Any:
    class Base(nn.Module):
        seen: ClassVar[list[int]] = []

    class Derived(Base):
        def forward(self, x: Any) -> Any:
            self.seen.append(1)
            return x * len(self.seen)

    return Derived()


@_program
def class_method() -> Any:
    class Counts:
        count = 0

        @classmethod
        def run(cls, x: Any) -> Any:
            cls.count += 1
            return x + cls.count

    return Counts.run


@_program
def class_as_settings() -> Any:
    class Settings:
        total = torch.zeros(3)
        table: ClassVar[dict[str, int]] = {}

    def function(x: Any) -> Any:
        Settings.total = Settings.total + x.sum(0)
        Settings.table["calls"] = Settings.table.get("calls", 0) + 1
        return x * Settings.total + Settings.table["calls"]

    return function


@_program
def metaclass() -> Any:
    class Counted(type):
        def __call__(cls, *args: Any) -> Any:
            cls.made = getattr(cls, "made", 0) + 1
            return super().__call__(*args)

    class Box(metaclass=Counted):
        made: ClassVar[int]

        def __init__(self, item: Any) -> None:
            self.item = item

    return lambda x: Box(x).item * Box.made


@_program
def descriptor() -> Any:
    class Kept:
        def __init__(self) -> None:
            self.items: dict[int, float] = {}

        def __get__(self, owner: Any, cls: Any = None) -> float:
            return self.items.get(id(owner), 1.0)

        def __set__(self, owner: Any, item: float) -> None:
            self.items[id(owner)] = item

    class Counts:
        count = Kept()

        def __call__(self, x: Any) -> Any:
            self.count = self.count + 1
            return x * self.count

    return Counts()


@_program
def attribute_of_function() -> Any:
    def function(x: Any) -> Any:
        function.calls = getattr(function, "calls", 0) + 1  # type: ignore[attr-defined]
        return x * function.calls  # type: ignore[attr-defined]

    return function


@_program
def attribute_of_module() -> Any:
    settings = types.ModuleType("settings")
    settings.count = 0  # type: ignore[attr-defined]

    def function(x: Any) -> Any:
        settings.count += 1
        return x * settings.count

    return function


@_program
def dataclass_that_cannot_be_hashed() -> Any:
    @dataclasses.dataclass
    class Counts:
        count: int = 0
        means: list[Any] = dataclasses.field(default_factory=list)

        def __call__(self, x: Any) -> Any:
            self.count += 1
            self.means.append(x.mean())
            return x * self.count + torch.stack(self.means).sum()

    return Counts()


# ---------------------------------------------------------------------------------------------- buffers
@_program
def python_array() -> Any:
    numbers = array.array("d", [1.0, 2.0])

    def function(x: Any) -> Any:
        numbers[0] += 1
        numbers.append(1.0)
        return x * numbers[0] + len(numbers)

    return function


@_program
def byte_array() -> Any:
    numbers = bytearray(2)

    def function(x: Any) -> Any:
        numbers[0] += 1
        return x * numbers[0]

    return function


@_program
def numpy_array() -> Any:
    numbers = np.zeros(1)

    def function(x: Any) -> Any:
        numbers[0] += 1
        return x * float(numbers[0])

    return function


def numpy_array_shared() -> Any:
    numbers = np.zeros(3, np.float32)

    def function(x: Any) -> Any:
        numbers[:] = numbers + 1
        return x * torch.from_numpy(numbers)

    return function


PROGRAMS.append(
    Program(
        "numpy_array_shared",
        numpy_array_shared,
        _CALLS,
        dict.fromkeys(("torch", ELSEWHERE), "written to by the function and read by"),
    )
)


# --------------------------------------------------------------------------------------- the standard library
@_program
def order_of_ordered_dict() -> Any:
    numbers = collections.OrderedDict(first=1.0, second=2.0)

    def function(x: Any) -> Any:
        numbers.move_to_end(next(iter(numbers)))
        return x * next(iter(numbers.values()))

    return function


@_program
def order_of_dict() -> Any:
    numbers = {"first": 1.0, "second": 2.0}

    def function(x: Any) -> Any:
        first = next(iter(numbers))
        numbers[first] = numbers.pop(first)
        return x * next(iter(numbers.values()))

    return function


@_program
def order_of_dict_with_other_keys() -> Any:
    numbers = {"first": 1.0, "second": 2.0, "third": 3.0}

    def function(x: Any) -> Any:
        first = next(iter(numbers))
        numbers[first] = numbers.pop(first)
        if "new" in numbers:
            del numbers["new"]
        else:
            numbers["new"] = 4.0
        return x * next(iter(numbers.values())), list(numbers)

    return function


@_program
def chain_of_dicts() -> Any:
    numbers = collections.ChainMap[str, float]({}, {"scale": 2.0})

    def function(x: Any) -> Any:
        numbers["count"] = numbers.get("count", 0) + 1
        return x * numbers["count"] * numbers["scale"]

    return function


@_program
def user_dict() -> Any:
    numbers = collections.UserDict(count=0)

    def function(x: Any) -> Any:
        numbers["count"] += 1
        return x * numbers["count"]

    return function


@_program
def queue_of_numbers() -> Any:
    waiting: queue.Queue[int] = queue.Queue()

    def function(x: Any) -> Any:
        waiting.put(1)
        return x * waiting.qsize()

    return function


@_program
def variable_of_context() -> Any:
    count = contextvars.ContextVar("count", default=1)

    def function(x: Any) -> Any:
        count.set(count.get() + 1)
        return x * count.get()

    return function


@_program
def variable_of_context_put_back() -> Any:
    scale = contextvars.ContextVar("scale", default=3)

    def function(x: Any) -> Any:
        token = scale.set(scale.get() + 1)
        try:
            return x * scale.get()
        finally:
            scale.reset(token)

    return function


@_program
def variable_of_thread() -> Any:
    held = threading.local()

    def function(x: Any) -> Any:
        held.count = getattr(held, "count", 0) + 1
        return x * held.count

    return function


@_program
def weak_keys() -> Any:
    class Key:
        pass

    key, counts = Key(), weakref.WeakKeyDictionary[Any, float]()
    counts[key] = 1.0

    def function(x: Any, key: Any = key) -> Any:
        counts[key] = counts[key] + 1
        return x * counts[key]

    return function


@_program
def cached_function_with_effect() -> Any:
    made: list[int] = []

    @functools.lru_cache(None)
    def table(length: int) -> int:
        made.append(length)
        return length

    return lambda x: x * table(3) + len(made)


@_program
def generator_of_random_numbers() -> Any:
    numbers = random.Random(0)
    return lambda x: x * numbers.random()


@_program
def generator_of_numpy() -> Any:
    numbers = np.random.default_rng(0)
    return lambda x: x * numbers.random()


@_program
def random_state_of_numpy() -> Any:
    numbers = np.random.RandomState(0)
    return lambda x: x * numbers.rand()


class Environment:
    """Each instance has an environment variable of its own, so that the original and the recorded function do
    not share a counter.
    """

    names = iter(range(1000))

    def __new__(cls) -> Any:
        name = f"GRAPH_COMPILER_TEST_{next(cls.names)}"

        def function(x: Any) -> Any:
            os.environ[name] = str(int(os.environ.get(name, "0")) + 1)
            return x * int(os.environ[name])

        return function


PROGRAMS.append(Program("environment", Environment, _CALLS))


# -------------------------------------------------------------------------------- memory that two names share
@_program
def spectral_norm() -> Any:
    """Before the first call the weight shares storage with its parameter."""
    torch.manual_seed(0)
    return nn.utils.spectral_norm(nn.Linear(3, 3))


def weight_written_by_its_data() -> Any:
    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    weight = layer.weight.data

    def function(x: Any) -> Any:
        weight.add_(1)
        return layer(x)

    return function


PROGRAMS.append(
    Program(
        "weight_written_by_its_data",
        weight_written_by_its_data,
        _CALLS,
        targets=("torch", "jax", "numpy", "tensorflow"),
    )
)


# -------------------------------------------------------------------------------------- copies, keys, threads
@_program
def dataclass_as_dict() -> Any:
    @dataclasses.dataclass
    class Result:
        array: Any
        length: int

    return lambda x: dataclasses.asdict(Result(x * 2, x.shape[0]))


@_program
def keys_of_enum() -> Any:
    class Part(enum.Enum):
        FIRST = 1
        SECOND = 2

    return lambda x: {Part.FIRST: x + 1, (0, Part.SECOND): x * 2}[Part.FIRST]


def result_from_a_pool() -> Any:
    return lambda x: _POOL.submit(lambda: x * 2).result() + x


_POOL = concurrent.futures.ThreadPoolExecutor(1)
PROGRAMS.append(
    Program(
        "result_from_a_pool",
        result_from_a_pool,
        _CALLS,
        dict.fromkeys(("torch", ELSEWHERE), "from a thread that the function started"),
    )
)


# ---------------------------------------------------------------------------------------------- registries
class _Registered:
    """State that is replaced at each change and has references to its registry and to a ``threading.local``."""

    def __init__(self, registry: Any, before: Any = None) -> None:
        self.registry, self.local = registry, before.local if before else threading.local()
        self.count = before.count + 1 if before else 0
        self.local.depth = self.count


@_program
def registry_that_its_state_knows() -> Any:
    registry = types.SimpleNamespace()
    registry.state = _Registered(registry)

    def function(x: Any) -> Any:
        registry.state = _Registered(registry, registry.state)
        return x + registry.state.count + registry.state.local.depth

    return function


# ---------------------------------------------------------------- attributes that somebody has put on tensors
@_program
def attribute_of_tensor() -> Any:
    table = torch.ones(3)
    table.count = 0  # type: ignore[attr-defined]

    def function(x: Any) -> Any:
        table.count += 1  # type: ignore[attr-defined]
        return x * table[0] * table.count  # type: ignore[attr-defined]

    return function


@_program
def new_attribute_of_weight() -> Any:
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 1)

    def function(x: Any) -> Any:
        layer.weight.total = getattr(layer.weight, "total", 0.0) + x.sum().item()  # type: ignore[operator]
        return x * layer.weight[0, 0] + layer.weight.total

    return function
