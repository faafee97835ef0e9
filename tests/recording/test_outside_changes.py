"""Tests that a graph notices changes of what the function reads besides its arguments: every kind of
container, object and name, in functions of each framework.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import enum
import functools
import os
import re
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import TracingError


@dataclass(frozen=True)
class Change:
    """A change of an object outside of a function.

    make(): a new object.
    read(held): the number that the function reads from the object.
    change(held): changes the object so that ``read`` returns another number.
    """

    make: Callable[[], Any]
    read: Callable[[Any], Any]
    change: Callable[[Any], Any]


def _renamed(items: Any, key: Any = "z") -> None:
    """Give the first value of a dict another key."""
    items[key] = items.pop(next(iter(items)))


def _setter(key: Any, value: Any) -> Callable[[Any], None]:
    return lambda held: held.__setitem__(key, value)


def _documented(held: Any) -> int:
    """width"""
    return getattr(held, "width") * getattr(held, "height")  # type: ignore[no-any-return] # noqa: B009


class Number(enum.IntEnum):
    TWO = 2
    SIX = 6


class Base:
    factor = 2

    def scaled(self) -> int:
        return self.factor


def _instance(**attributes: Any) -> Any:
    """Return an instance of a new class that inherits from a new class."""
    base = type("Base", (), {"factor": Base.factor, "scaled": Base.scaled})
    held = type("Derived", (base,), {})()
    vars(held).update(attributes)
    return held


class Slotted:
    __slots__ = ("factor",)

    def __init__(self) -> None:
        self.factor = 2


class Unset(Slotted):
    """An object with attributes and a slot that has no value."""

    def __init__(self) -> None:
        self.other = 2


class Private:
    __slots__ = ("__factor",)

    def __init__(self) -> None:
        self.__factor = 2

    def factor(self) -> int:
        return self.__factor

    def change(self) -> None:
        self.__factor = 5


class Computed:
    def __init__(self) -> None:
        self.numbers = {"factor": 2}

    def __getattr__(self, name: str) -> Any:
        return self.numbers[name]


class Sized:
    def __init__(self) -> None:
        self.numbers = [2]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Any:
        return iter(self.numbers)


class Cached:
    @functools.cached_property
    def factor(self) -> int:
        return 2


@dataclasses.dataclass
class Fields:
    factor: int = 2


class Owner:
    """Owner of a weakly referenced object."""

    def __init__(self) -> None:
        self.kept = Fields()
        self.reference = weakref.ref(self.kept)
        self.numbers = weakref.WeakKeyDictionary({self: 2})


def _function() -> Any:
    def held() -> int:
        return held.factor  # type: ignore[attr-defined, no-any-return]

    held.factor = 2  # type: ignore[attr-defined]
    return held


def _module(**names: Any) -> Any:
    module = types.ModuleType("numbers_of_a_test")
    vars(module).update(names)
    return module


def _structured() -> Any:
    return np.full(1, 2.0, [("factor", np.float64)])


def _named(held: Any) -> Any:
    found = {"total": 0}
    for name in ("rate", "bias"):
        found["total"] += getattr(held[0], name)
    return found["total"]


def _counted(held: Any) -> Any:
    held[None] += 1
    return held["scale"]


CHANGES: dict[str, Change] = {
    "item of a list": Change(lambda: [2], lambda h: h[0], _setter(0, 5)),
    "item of a nested list": Change(
        lambda: [[1, [2]]], lambda h: h[0][1][0], lambda h: _setter(0, 5)(h[0][1])
    ),
    "identity of an item": Change(
        lambda: [[1], [1]], lambda h: 2 if h[0] is h[1] else 3, lambda h: _setter(1, h[0])(h)
    ),
    "int becomes bool": Change(lambda: [1], lambda h: 2 if h[0] is True else 3, _setter(0, True)),
    "sign of zero": Change(lambda: [0.0], lambda h: 2 if str(h[0])[0] == "-" else 3, _setter(0, -0.0)),
    "NaN": Change(lambda: [float("nan")], lambda h: 2 if h[0] == h[0] else 3, _setter(0, 0.0)),
    "complex": Change(lambda: [1 + 2j], lambda h: h[0].imag, _setter(0, 1 + 5j)),
    "string": Change(lambda: ["ab"], lambda h: len(f"{h[0]}-"), _setter(0, "abc")),
    "bytes": Change(lambda: [b"ab"], lambda h: h[0][0], _setter(0, b"c")),
    "fraction": Change(lambda: [Fraction(1, 2)], lambda h: float(h[0]), _setter(0, Fraction(1, 4))),
    "range": Change(lambda: [range(2)], lambda h: len(h[0]), _setter(0, range(3))),
    "slice": Change(lambda: [slice(0, 2)], lambda h: h[0].stop, _setter(0, slice(0, 3))),
    "regular expression": Change(
        lambda: [re.compile("a+")], lambda h: h[0].match("aab").end(), _setter(0, re.compile("a"))
    ),
    "member of an enum": Change(lambda: [Number.TWO], lambda h: h[0], _setter(0, Number.SIX)),
    "value of a member of an enum": Change(
        lambda: [Number.TWO], lambda h: h[0].value, _setter(0, Number.SIX)
    ),
    "value of a dict": Change(lambda: {"a": 2}, lambda h: h["a"], _setter("a", 5)),
    "key of a dict": Change(lambda: {"a": 2}, lambda h: 2 if "a" in h else 3, _renamed),
    "key read in a loop": Change(lambda: {"a": 2}, lambda h: sum(map(len, h)), lambda h: _renamed(h, "zz")),
    "key that is a tuple": Change(
        lambda: {(1, 2): 2}, lambda h: sum(first for first, _ in h), lambda h: _renamed(h, (4, 2))
    ),
    "key that is a member of an enum": Change(
        lambda: {Number.TWO: 1}, lambda h: sum(key.value for key in h), lambda h: _renamed(h, Number.SIX)
    ),
    "missing key": Change(lambda: {"a": 2}, lambda h: h.get("z", 5), _renamed),
    "smallest key": Change(lambda: {"a": 2, "b": 3}, lambda h: h[min(h)], _renamed),
    "keys of two dicts": Change(
        lambda: [{"a": 2}, {"a": 2}], lambda h: 2 if h[0] == h[1] else 3, lambda h: _renamed(h[1])
    ),
    "order of an ordered dict": Change(
        lambda: collections.OrderedDict(a=2, bb=2), lambda h: len(next(iter(h))), lambda h: h.move_to_end("a")
    ),
    "counter": Change(lambda: collections.Counter(a=1, b=2), lambda h: h["a"], lambda h: h.update(a=4)),
    "ChainMap": Change(
        lambda: collections.ChainMap({}, {"a": 2}), lambda h: h["a"], lambda h: h.maps[0].update(a=5)
    ),
    "view of a dict": Change(
        lambda: [owner := {"a": 2}, owner.items()],
        lambda h: sum(value for _, value in h[1]),
        lambda h: _setter("a", 5)(h[0]),
    ),
    "mapping proxy": Change(
        lambda: [owner := {"a": 2}, types.MappingProxyType(owner)],
        lambda h: 2 if "a" in h[1] else 3,
        lambda h: _renamed(h[0]),
    ),
    "UserDict": Change(lambda: collections.UserDict(a=2), lambda h: 2 if "a" in h else 3, _renamed),
    "set": Change(lambda: {1, 2}, lambda h: 2 if 1 in h else 3, lambda h: (h.remove(1), h.add(7))),
    "deque": Change(lambda: collections.deque([2, 5]), lambda h: h[0], lambda h: h.rotate(1)),
    "bytearray": Change(lambda: bytearray(b"\x02"), lambda h: h[0], _setter(0, 5)),
    "array.array": Change(lambda: array.array("d", [2.0]), lambda h: h[0], _setter(0, 5.0)),
    "memoryview": Change(lambda: memoryview(bytearray(b"\x02")), lambda h: h[0], _setter(0, 5)),
    "structured array": Change(_structured, lambda h: float(h["factor"][0]), _setter("factor", 5.0)),
    "array of objects": Change(lambda: np.array([2, "a"], object), lambda h: h[0], _setter(0, 5)),
    "array of strings": Change(lambda: np.array(["ab"]), lambda h: len(str(h[0])), _setter(0, "a")),
    "shape of an array": Change(
        lambda: [np.ones((2, 3))], lambda h: h[0].shape[0], _setter(0, np.ones((5, 3)))
    ),
    "attribute": Change(lambda: _instance(factor=2), lambda h: h.factor, lambda h: setattr(h, "factor", 5)),
    "attribute that hides that of the class": Change(
        _instance, lambda h: h.factor, lambda h: setattr(h, "factor", 5)
    ),
    "attribute of the class": Change(_instance, lambda h: h.factor, lambda h: setattr(type(h), "factor", 5)),
    "attribute of a base class": Change(
        _instance, lambda h: h.factor, lambda h: setattr(type(h).__base__, "factor", 5)
    ),
    "class": Change(
        _instance,
        lambda h: h.factor,
        lambda h: setattr(h, "__class__", type("Other", (Base,), {"factor": 5})),
    ),
    "method of the class": Change(
        _instance, lambda h: h.scaled(), lambda h: setattr(type(h), "scaled", lambda self: 5)
    ),
    "method of the instance": Change(
        _instance, lambda h: h.scaled(), lambda h: setattr(h, "scaled", lambda: 5)
    ),
    "attribute with its name in a tuple": Change(
        lambda: [types.SimpleNamespace(rate=2, bias=1)], _named, lambda h: setattr(h[0], "rate", 5)
    ),
    "private slot": Change(Private, lambda h: h.factor(), Private.change),
    "slot": Change(Slotted, lambda h: h.factor, lambda h: setattr(h, "factor", 5)),
    "__getattr__": Change(Computed, lambda h: h.factor, lambda h: h.numbers.update(factor=5)),
    "__len__": Change(Sized, len, lambda h: h.numbers.append(2)),
    "__iter__": Change(Sized, sum, lambda h: h.numbers.append(2)),
    "cached property": Change(Cached, lambda h: h.factor, lambda h: vars(h).update(factor=5)),
    "field of a dataclass": Change(
        Fields, lambda h: dataclasses.asdict(h)["factor"], lambda h: setattr(h, "factor", 5)
    ),
    "name in a namespace": Change(
        lambda: types.SimpleNamespace(a=2), lambda h: 2 if hasattr(h, "a") else 3, lambda h: _renamed(vars(h))
    ),
    "missing attribute": Change(
        _instance, lambda h: getattr(h, "absent", 2), lambda h: setattr(h, "absent", 5)
    ),
    "first name in a generator": Change(
        lambda: types.SimpleNamespace(width=2, height=3),
        lambda h: sum(getattr(each, "width") * getattr(each, "height") for each in (h,)),  # noqa: B009
        lambda h: setattr(h, "width", 5),
    ),
    "dynamic name beside a constant": Change(
        lambda: [types.SimpleNamespace(rate=2, bias=0), "rate"],
        lambda h: getattr(h[0], h[1]) + getattr(h[0], "bias"),  # noqa: B009
        lambda h: setattr(h[0], "rate", 5),
    ),
    "dynamic name beside the key of a dict": Change(
        lambda: [types.SimpleNamespace(rate=2), "rate"],
        lambda h: getattr(h[0], h[1]) * {"bias": 1}["bias"],
        lambda h: setattr(h[0], "rate", 5),
    ),
    "name that is a docstring": Change(
        lambda: types.SimpleNamespace(width=2, height=3), _documented, lambda h: setattr(h, "width", 5)
    ),
    "item beside a counter at None": Change(lambda: {None: 0, "scale": 2}, _counted, _setter("scale", 5)),
    "weak reference": Change(Owner, lambda h: h.reference().factor, lambda h: setattr(h.kept, "factor", 5)),
    "weak key": Change(Owner, lambda h: h.numbers[h], lambda h: _setter(h, 5)(h.numbers)),
    "attribute of a function": Change(_function, lambda h: h(), lambda h: setattr(h, "factor", 5)),
    "code of a function": Change(
        lambda: types.FunctionType((lambda: 2).__code__, {}),
        lambda h: h(),
        lambda h: setattr(h, "__code__", (lambda: 5).__code__),
    ),
    "keyword of a partial": Change(
        lambda: functools.partial(lambda factor: factor, factor=2),
        lambda h: h(),
        lambda h: h.keywords.update(factor=5),
    ),
    "name of a module": Change(
        lambda: _module(factor=2), lambda h: h.factor, lambda h: setattr(h, "factor", 5)
    ),
    "environment variable": Change(
        lambda: os.environ.pop("A_TEST_OF_CHANGES", None),
        lambda h: int(os.environ.get("A_TEST_OF_CHANGES", "2")),
        lambda h: os.environ.update(A_TEST_OF_CHANGES="5"),
    ),
}


class Missing(dict[str, int]):
    factor = 2

    def __missing__(self, key: str) -> int:
        return self.factor


# Changes that no guard sees, as `docs/limits.md` says.
UNNOTICED: dict[str, Change] = {
    "item of a long list": Change(lambda: [2] * 2000, lambda h: h[5], _setter(5, 7)),
    "value of a long dict": Change(lambda: dict.fromkeys(range(2000), 2), lambda h: h[5], _setter(5, 7)),
    "key of a long dict": Change(
        lambda: dict.fromkeys(range(2000), 2), lambda h: 2 if 0 in h else 3, _renamed
    ),
    "__dict__": Change(
        lambda: types.SimpleNamespace(inner=Fields()),
        lambda h: h.inner.factor,
        lambda h: setattr(h.inner, "__dict__", {"factor": 5}),
    ),
    "default_factory": Change(
        lambda: collections.defaultdict(lambda: 2),
        lambda h: h.default_factory(),
        lambda h: setattr(h, "default_factory", lambda: 5),
    ),
    "__missing__": Change(
        Missing, lambda h: h["a"], lambda h: setattr(h, "__class__", type("Other", (Missing,), {"factor": 5}))
    ),
    "__getattr__ of a module": Change(
        lambda: _module(__getattr__=lambda name: 2),
        lambda h: h.anything,
        lambda h: setattr(h, "__getattr__", lambda name: 5),
    ),
    "name of a function": Change(_function, lambda h: len(h.__name__), lambda h: setattr(h, "__name__", "a")),
    "bases of a class": Change(
        _instance,
        lambda h: len(type(h).__mro__),
        lambda h: setattr(type(h), "__bases__", (type("Between", type(h).__bases__, {}),)),
    ),
    "slot without a value": Change(
        Unset, lambda h: getattr(h, "factor", h.other), lambda h: setattr(h, "factor", 5)
    ),
}
# (name, source): the error instead.
REFUSED = {
    ("cached property", "jax"): "a function of JAX keeps no state",
    ("item beside a counter at None", "jax"): "a function of JAX keeps no state",
}
SOURCES = ("numpy", "torch", "jax", "tensorflow")


def argument(source: str) -> Any:
    values = np.arange(1.0, 4.0, dtype=np.float32)
    if source == "torch":
        import torch

        return torch.tensor(values)
    if source == "jax":
        import jax

        return jax.numpy.asarray(values)
    if source == "tensorflow":
        import tensorflow

        return tensorflow.constant(values)
    return values


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", UNNOTICED)
def test_a_change_is_not_noticed(name: str, source: str) -> None:
    """A limitation that has gone must leave the documentation."""
    kind, x = UNNOTICED[name], argument(source)
    held, read = kind.make(), kind.read
    graph = graph_compiler.compile(lambda x: x * read(held), args=[x], source=source, to=source)
    before = np.asarray(graph(x))
    kind.change(held)
    assert (np.asarray(x) * read(held) != before).all(), "the sample changes nothing"
    np.testing.assert_array_equal(np.asarray(graph(x)), before)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed(name: str, source: str) -> None:
    kind, x = CHANGES[name], argument(source)
    held, read = kind.make(), kind.read

    def function(x: Any) -> Any:
        return x * read(held)

    if message := REFUSED.get((name, source)):
        with pytest.raises(TracingError, match=message):
            graph_compiler.compile(function, args=[x], source=source, to=source)
        return
    graph = graph_compiler.compile(function, args=[x], source=source, to=source)
    before = np.asarray(function(x))
    np.testing.assert_array_equal(np.asarray(graph(x)), before)
    kind.change(held)
    after = np.asarray(function(x))
    assert (before != after).all(), "the sample changes nothing"
    np.testing.assert_array_equal(np.asarray(graph(x)), after)
