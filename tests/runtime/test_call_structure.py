"""Tests of the structure of calls: which are equal, and what the error says if they differ."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.trees.tree import containers  # noqa: E402

X = torch.arange(6.0).reshape(2, 3)
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


class Layer(abc.ABC):  # noqa: B024
    def __init__(self, window: int = 3, dtype: Any = None, **attributes: Any) -> None:
        self.keys, self.window, self.dtype = None, window, dtype
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held = 1


class Cache:
    def __init__(self, *layers: Any, **attributes: Any) -> None:
        self.layers = list(layers)
        vars(self).update(attributes)


class Head(Cache):
    def __call__(self, x: Any) -> Any:
        return x * len(self.layers)


def scaled(x: Any, cache: Any) -> Any:
    layer = cache.layers[0]
    return x.to(layer.dtype or x.dtype) * (1 if layer.keys is None else 2)


@dataclasses.dataclass
class Scores(MutableMapping[str, Any]):
    """A mapping that is no dict, with one item that is a field and others that are none."""

    first: Any

    def __post_init__(self) -> None:
        self.others: dict[str, Any] = {}

    def _items(self) -> dict[str, Any]:
        return {"first": self.first, **self.others}

    def __getitem__(self, key: str) -> Any:
        return self._items()[key]

    def __setitem__(self, key: str, item: Any) -> None:
        self.others[key] = item

    def __delitem__(self, key: str) -> None:
        del self.others[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items())

    def __len__(self) -> int:
        return len(self._items())


def test_a_result_keeps_items_that_are_no_fields() -> None:
    def scored(x: Any) -> Any:
        scores = Scores(x)
        scores["second"], scores["third"] = x * 2, x.sum()
        return scores

    found = graph_compiler.compile(scored)(X)
    assert type(found) is Scores and list(found) == ["first", "second", "third"]
    assert all(torch.equal(found[key], item) for key, item in scored(X).items())


class Fixed(Mapping[str, Any]):
    """An immutable mapping that can be made without arguments."""

    def __init__(self, items: Any = ()) -> None:
        self._held = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self._held[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


class Updated(Fixed):
    """A mapping that is made without arguments, and that only ``update`` changes."""

    def __init__(self) -> None:
        super().__init__()

    def update(self, items: Mapping[str, Any]) -> None:
        self._held.update(items)


def updated(items: Mapping[str, Any]) -> Updated:
    made = Updated()
    made.update(items)
    return made


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("make", [Fixed, updated])
def test_an_immutable_mapping_is_an_argument_and_a_result(make: Any, to: str) -> None:
    graph = graph_compiler.compile(lambda held: make({"a": held["a"] * 2, "b": held["a"].sum()}), to=to)
    for x in (X, X[:1]):
        found = graph(make({"a": x}))
        assert type(found) is type(make({})) and list(found) == ["a", "b"]
        assert found["a"].tolist() == (x * 2).tolist() and float(found["b"]) == float(x.sum())
    alone: dict[str, Any] = {}
    exec(graph.source, alone)
    assert "MutableMapping" in alone


ALIKE: dict[str, Callable[[], Any]] = {
    "objects of an abstract class": lambda: Cache(Layer(), Layer(5)),
    "a data type": lambda: Cache(Layer(dtype=torch.float64)),
    "a device": lambda: Cache(Layer(device=torch.device("cpu"))),
    "a hundred layers": lambda: Cache(*(Layer() for _ in range(100))),
    "a class, and dicts": lambda: Cache(Layer(kind=Layer, states={0: None, 1: {"done": False}})),
    "objects five deep": lambda: Cache(Layer(a=Layer(b=Layer(c=Layer(d=Layer()))))),
}


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("name", ALIKE)
def test_objects_that_hold_the_same_are_one_variant(name: str, to: str) -> None:
    graph = graph_compiler.compile(scaled, to=to)
    for rows in (2, 3, 4):
        found = graph(torch.ones(rows, 3), ALIKE[name]())
        assert found.shape == (rows, 3) and float(found.sum()) == rows * 3
    assert len(graph.variants) == 1


# An object whose attributes a call does not compare one by one, and a change of it.
CHANGED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "beside a function": (lambda: Layer(2, act=lambda x: x), lambda layer: setattr(layer, "window", 5)),
    "beside slots": (lambda: Layer(2, inner=Slotted()), lambda layer: setattr(layer, "window", 5)),
    "beside many parts": (
        lambda: Layer(2, table=[[number] for number in range(2000)]),
        lambda layer: setattr(layer, "window", 5),
    ),
    "an item": (lambda: Layer(act=abs, window=[2]), lambda layer: layer.window.__setitem__(0, 5)),
    "an object inside": (
        lambda: Layer(act=abs, window=[2], inner=Layer()),
        lambda layer: setattr(layer.inner, "window", 5),
    ),
}


def windowed(x: Any, layer: Any) -> Any:
    window = layer.window[0] if isinstance(layer.window, list) else layer.window
    return x * window * (layer.inner.window if isinstance(getattr(layer, "inner", None), Layer) else 1)


def ones(framework: str) -> Any:
    module = pytest.importorskip({"jax": "jax.numpy"}.get(framework, framework))
    return module.ones(3)


@pytest.mark.parametrize("source", ["torch", "numpy", "jax", "tensorflow"])
@pytest.mark.parametrize("name", CHANGED)
def test_a_change_of_an_object_that_is_compared_by_identity_is_seen(name: str, source: str) -> None:
    make, change = CHANGED[name]
    x, layer = ones(source), make()
    graph = graph_compiler.compile(windowed, source=source, args=(x, layer))
    for _ in range(2):
        assert float(graph(x, layer)[0]) == float(windowed(x, layer)[0])
        change(layer)
    assert float(graph(x, layer)[0]) == float(windowed(x, layer)[0]) and len(graph.variants) == 2


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda x, part: x * float(part), (Fraction(1, 3), Fraction(1, 2))),
        (lambda x, path: x * len(path.name), (PurePosixPath("a"), PurePosixPath("abc"))),
        (lambda x, number: x * (number.int % 7), (UUID(int=3), UUID(int=5))),
        (lambda x, digits: x * len(str(digits)), (Decimal("1.0"), Decimal("1.00"))),
        (lambda x, time: x * time.hour, (NOON, NOON.astimezone(timezone(timedelta(hours=2))))),
        (lambda x, number: x * len(str(number)), (0j, -0j)),
        (lambda x, numbers: x * len(str(numbers)), (frozenset({1}), frozenset({1.0}))),
        (
            lambda x, numbers: x * len(str(numbers)),
            (frozenset({Decimal("1.0")}), frozenset({Decimal("1.00")})),
        ),
        (lambda x, named: x * len(str([*named])), ({Decimal("1.0"): 2}, {Decimal("1.00"): 2})),
        (lambda x, named: x * len(str([*named])), ({1: 2, 5: 3}, {True: 2, 5: 3})),
    ],
    ids=[
        "fractions",
        "paths",
        "UUIDs",
        "digits",
        "time zones",
        "zeros",
        "sets",
        "sets of digits",
        "keys of digits",
        "keys",
    ],
)
def test_arguments_that_hold_more_than_attributes_are_compared_by_value(
    function: Callable[..., Any], values: tuple[Any, Any]
) -> None:
    graph = graph_compiler.compile(function, args=(X, values[0]))
    for value in (*values, *values):
        assert torch.equal(graph(X, value), function(X, value))
    assert len(graph.variants) == 2


@pytest.mark.parametrize(
    ("one", "other"), [(0j, -0j), (frozenset({1}), frozenset({1.0})), (np.float32(0.0), np.float32(-0.0))]
)
def test_static_arguments_that_are_equal_in_python_and_differ(one: Any, other: Any) -> None:
    graph = graph_compiler.compile(lambda x, item: x * len(str(item)), static_argnums=1)
    for item in (one, other, one, other):
        assert torch.equal(graph(X, item), X * len(str(item)))
    assert len(graph.variants) == 2


@dataclasses.dataclass(frozen=True)
class Corner:
    x: int
    y: int


@pytest.mark.parametrize(
    "make",
    [
        lambda: complex(float("nan"), 1),
        lambda: np.int64(3),
        lambda: np.float64(0.5),
        lambda: np.float32("nan"),
        lambda: (1, np.int64(3)),
        lambda: np.datetime64("2026-01-01"),
        lambda: frozenset({Corner(1, 2), Corner(2, 2)}),
    ],
)
def test_equal_static_arguments_share_a_variant(make: Callable[[], Any]) -> None:
    graph = graph_compiler.compile(lambda x, item: x * len(str(item)), static_argnums=1)
    for _ in range(3):
        assert torch.equal(graph(X, make()), X * len(str(make())))
    assert len(graph.variants) == 1


# The recorded object, that of the next call, and how the reason names what differs.
UNLIKE: dict[str, tuple[Any, Any, str]] = {
    "a number": (Cache(Layer(3)), Cache(Layer(4)), r"argument cache\['layers'\]\[0\]\['window'\] is 4 and was recorded as 3"),
    "a missing attribute": (Cache(Layer()), Cache(Layer(seen=0)), r"seen\) and was recorded as Layer\(keys, window, dtype\)"),
    "slots": (Cache(Slotted()), Cache(Slotted()), (
        "argument cache is another Cache than .*layers.*is a Slotted, and two of these are the same only"
    )),
    "a number beside slots": (Cache(Slotted(), step=1), Cache(Slotted(), step=2), r"another Cache .*: \.step is 2 and was 1"),
    "a function": (Cache(Layer(), act=lambda x: x), Cache(Layer(), act=lambda x: x), r": \.act is a function, and two"),
    "a callable object": (Head(Layer()), Head(Layer()), "another Head than the one that was recorded: two of these are the same only"),
    "classes of one name": (Cache(Layer()), type("Cache", (Cache,), {})(Layer()), r"test_call_structure\.Cache and was recorded as .*test_call_structure\.Cache"),
    "an array": (Cache(Layer(keys=X)), Cache(Layer()), r"\['keys'\] is None and was recorded as an array"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNLIKE)
def test_a_reason_names_what_differs(name: str) -> None:
    recorded, given, reason = UNLIKE[name]
    graph = graph_compiler.compile(
        lambda x, cache: x * len(cache.layers), kwargs={"x": X, "cache": recorded}, on_miss="error"
    )
    with pytest.raises(graph_compiler.errors.GuardFailed, match=reason) as told:
        graph(x=X, cache=given)
    now, _, before = str(told.value).partition(" and was recorded as ")
    assert now.rpartition(" is ")[2] != before.partition(".")[0]


def test_the_order_of_keys_is_named() -> None:
    graph = graph_compiler.compile(lambda d: sum(d.values()), args=({"a": X, "b": X},), on_miss="error")
    with pytest.raises(
        graph_compiler.errors.GuardFailed,
        match=r"dict\(b, a\) and was recorded as dict\(a, b\), the keys in another order",
    ):
        graph({"b": X, "a": X})


class Fresh(Mapping[int, Any]):
    """A mapping that makes its items, mappings of the same class, at each access."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __getitem__(self, key: int) -> Any:
        return Fresh(self.depth - 1)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return 3 if self.depth else 0


def test_containers_that_are_made_at_each_access_are_all_found() -> None:
    assert len([item.depth for item in containers(Fresh(3))]) == 40
