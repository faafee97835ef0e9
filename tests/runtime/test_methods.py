"""Tests of ``@compile`` on methods: they bind like functions, with one graph per object, which lives as long
as the object.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import sys
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from graph_compiler.errors import NotCompilable  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

ONE = torch.ones(2)


def _classes(to: str) -> tuple[type, type]:
    class Scaled:
        def __init__(self, factor: float) -> None:
            self.factor, self.count = torch.tensor(factor), 0

        @graph_compiler.compile(to=to)
        def scale(self, x: Any) -> Any:
            return x * self.factor

        @graph_compiler.compile(to=to)
        def step(self, x: Any, *, times: int = 1) -> Any:
            self.count += times
            return self.scale(x) + self.count

        @graph_compiler.compile(to=to, static_argnums=2)
        def power(self, x: Any, n: int) -> Any:
            return x**n * self.factor

        @staticmethod
        @graph_compiler.compile(to=to)
        def free(x: Any) -> Any:
            return x + 1

    class Shifted(Scaled):
        @graph_compiler.compile(to=to)
        def scale(self, x: Any) -> Any:
            return super().scale(x) + 1

    return Scaled, Shifted


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_methods_are_bound(to: str) -> None:
    scaled, shifted = _classes(to)
    one, other, third = scaled(2.0), scaled(3.0), shifted(5.0)
    for factor, x in ((1, ONE), (4, torch.ones(3))):
        assert_same((one.scale(x * factor), other.scale(x * factor)), (x * 2 * factor, x * 3 * factor))
    assert_same((third.scale(ONE), super(shifted, third).scale(ONE)), (ONE * 6, ONE * 5))
    assert_same((one.step(ONE), one.step(ONE, times=2), other.step(ONE)), (ONE * 3, ONE * 5, ONE * 4))
    assert (one.count, other.count) == (3, 1)
    assert_same(
        (one.power(ONE * 2, 2), one.power(ONE * 2, 3), scaled.free(ONE), one.free(ONE)),
        (ONE * 8, ONE * 16, ONE * 2, ONE * 2),
    )
    assert one.scale is one.scale and one.scale is not other.scale and len(one.scale.variants) == 1
    assert repr(scaled.scale) == "<lazy graph of scale, not called yet>"


def test_objects_are_not_kept_and_can_be_copied() -> None:
    scaled, _ = _classes("torch")
    one = scaled(2.0)
    one.scale(ONE)
    shallow, deep = copy.copy(one), copy.deepcopy(one)
    shallow.factor, deep.factor = torch.tensor(7.0), torch.tensor(9.0)
    assert_same((one.scale(ONE), shallow.scale(ONE), deep.scale(ONE)), (ONE * 2, ONE * 7, ONE * 9))
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_forward_of_a_module() -> None:
    class Layer(torch.nn.Linear):
        @graph_compiler.compile
        def forward(self, x: Any) -> Any:
            return super().forward(x) * 2

    layers = Layer(2, 3), Layer(2, 4)
    for layer in (*layers, copy.deepcopy(layers[0])):
        for rows in (1, 5):
            x = torch.randn(rows, 2)
            assert_same(layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias) * 2)
    assert list(layers[0].state_dict()) == ["weight", "bias"]


class Streams:
    """Class with methods whose code runs after their call."""

    def double(self, x: Any) -> Any:
        return x * 2

    def multiples(self, x: Any) -> Any:
        yield from (x * number for number in range(2))

    async def awaited(self, x: Any) -> Any:
        return x * 3

    async def streamed(self, x: Any) -> Any:
        yield x * 4


def test_methods_whose_code_runs_later_stay_as_they_are() -> None:
    streams = graph_compiler.compile(Streams)()
    assert isinstance(streams.double, graph_compiler.Graph)
    assert_same(list(streams.multiples(ONE)), [ONE * 0, ONE])
    assert_same(asyncio.run(streams.awaited(ONE)), ONE * 3)
    for name in ("multiples", "awaited", "streamed"):
        assert getattr(streams, name).__func__ is vars(Streams)[name]


class Sized:
    def size(self) -> Any:
        return 1

    def double(self, x: Any) -> Any:
        return x * 2


class _Doubling:
    def __call__(self, x: Any) -> Any:
        return x * 4


class OfProperty(Sized):
    size: Any = property(lambda self: 5)


class OfStaticMethod(Sized):
    double: Any = staticmethod(lambda x: x * 4)


class OfClassMethod(Sized):
    double: Any = classmethod(lambda cls, x: x * 4)


class OfData(Sized):
    double: Any = _Doubling()
    size: Any = 5


@pytest.mark.parametrize("cls", [OfProperty, OfStaticMethod, OfClassMethod, OfData])
def test_what_overrides_a_method_without_being_one_is_kept(cls: type[Sized]) -> None:
    compiled, plain = graph_compiler.compile(cls)(), cls()
    assert_same(compiled.double(ONE), plain.double(ONE))
    size, expected = compiled.size, plain.size
    assert (size() if callable(size) else size) == (expected() if callable(expected) else expected)


def test_objects_without_a_dict_are_refused() -> None:
    class Slotted:
        __slots__ = ()

        @graph_compiler.compile
        def double(self, x: Any) -> Any:
            return x * 2

    with pytest.raises(NotCompilable, match="Slotted has no __dict__"):
        Slotted().double(ONE)


@pytest.mark.skipif(
    sys.version_info >= (3, 13),
    reason="class methods no longer ask what they wrap, and hand the class over as an argument",
)
@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_class_has_a_graph_of_its_class_methods(to: str) -> None:
    class Scaled:
        factor = 2

        @classmethod
        @graph_compiler.compile(to=to)
        def scale(cls, x: Any) -> Any:
            return torch.relu(x) * cls.factor

    class Other(Scaled):
        factor = 3

    for _ in range(2):
        assert_same([Scaled.scale(ONE), Other.scale(ONE), Other().scale(ONE)], [ONE * 2, ONE * 3, ONE * 3])
    Scaled.factor = 5
    assert_same([Scaled.scale(ONE), Scaled().scale(ONE), Other.scale(ONE)], [ONE * 5, ONE * 5, ONE * 3])
    assert len(Scaled.scale.variants) == 2
