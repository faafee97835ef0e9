"""Tests of graphs called by several threads: no state is lost, and a recording is invisible to other threads."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jnp = pytest.importorskip("jax.numpy")
tf = pytest.importorskip("tensorflow")
nnx = pytest.importorskip("flax.nnx")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed  # noqa: E402
from tests.support.compare import to_numpy  # noqa: E402
from tests.support.threads import several  # noqa: E402

THREADS, CALLS = 8, 12
ARRAYS: dict[str, Callable[..., Any]] = {
    "torch": torch.ones,
    "jax": jnp.ones,
    "tensorflow": tf.ones,
    "numpy": np.ones,
}


@pytest.fixture(autouse=True)
def _eager_switches() -> Iterator[None]:
    """Let threads switch every microsecond, to provoke races."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class InPlace(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.n += 1
        return x.sum() * 0 + self.n


class Replaced(InPlace):
    def forward(self, x: Any) -> Any:
        self.n = self.n + 1
        return x.sum() * 0 + self.n


class Attribute(torch.nn.Module):
    n: Any = torch.zeros(())

    def forward(self, x: Any) -> Any:
        self.n = self.n + 1
        return x.sum() * 0 + self.n


class Number(torch.nn.Module):
    n = 0

    def forward(self, x: Any) -> Any:
        self.n += 1
        return x.sum() * 0 + self.n


class OfNumpy:
    def __init__(self) -> None:
        self.n = np.zeros((), np.float32)

    def __call__(self, x: Any) -> Any:
        self.n = self.n + np.float32(1)
        return x.sum() * 0 + self.n


class OfNumpyInPlace(OfNumpy):
    def __init__(self) -> None:
        self.n = np.zeros((1,), np.float32)

    def __call__(self, x: Any) -> Any:
        self.n += 1
        return x.sum() * 0 + self.n[0]


class OfJax(nnx.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        self.n = nnx.BatchStat(jnp.zeros(()))

    def __call__(self, x: Any) -> Any:
        self.n[...] = self.n[...] + 1
        return x.sum() * 0 + self.n[...]


SOURCES = {
    InPlace: "torch",
    Replaced: "torch",
    Attribute: "torch",
    Number: "torch",
    OfNumpy: "numpy",
    OfNumpyInPlace: "numpy",
    OfJax: "jax",
}


def _counted(call: Callable[..., Any], arrays: Callable[[int], tuple[Any, ...]]) -> list[float]:
    """Return the results of all calls in all threads, sorted: 1, 2, 3 ... if no count was lost."""
    seen: list[float] = []

    def work(number: int) -> None:
        for i in range(CALLS):
            seen.append(float(to_numpy(call(*arrays(number + i)))))

    several(work, THREADS)
    return sorted(seen)


def _expected(first: int = 1) -> list[float]:
    return [float(i) for i in range(first, first + THREADS * CALLS)]


PLAIN = [(counter, to, False) for counter in SOURCES for to in ARRAYS]


@pytest.mark.parametrize(
    "counter, to, compiled", [*PLAIN, *((InPlace, to, True) for to in ("torch", "jax", "tensorflow"))]
)
def test_no_call_loses_the_count_of_another(counter: type, to: str, compiled: bool) -> None:
    x = ARRAYS[to](2)
    options = {"backend": "eager"} if compiled and to == "torch" else None
    graph = graph_compiler.compile(
        counter(),
        to=to,
        source=SOURCES[counter],
        return_backend_compiled_fn=compiled,
        compile_options=options,
    )
    assert _counted(graph, lambda i: (x,)) == _expected()
    # From the third recording on the Python number is an input.
    assert len(graph.variants) <= 3


@pytest.mark.parametrize("to", list(ARRAYS))
@pytest.mark.parametrize("counter", [InPlace, Number, OfNumpy], ids=lambda counter: counter.__name__)
def test_graphs_that_share_a_model_take_turns(counter: type, to: str) -> None:
    model = counter()
    graphs = [
        graph_compiler.compile(model, to=to, source=SOURCES[counter]),
        graph_compiler.compile(functools.partial(model), to=to, source=SOURCES[counter]),
    ]
    for graph in (*graphs, *graphs, *graphs):
        graph(ARRAYS[to](2))
    by_thread = {}

    def call(i: int) -> Any:
        graph = by_thread.setdefault(threading.get_ident(), graphs[i % 2])
        return graph(ARRAYS[to](2))

    assert _counted(call, lambda i: (i,)) == _expected(7)


@pytest.mark.parametrize("to", ["torch", "jax", "numpy"])
@pytest.mark.parametrize(
    "counter", [Replaced, Number, OfNumpy, OfNumpyInPlace], ids=lambda counter: counter.__name__
)
def test_calls_go_on_while_others_are_recorded(counter: type, to: str) -> None:
    # Each rank needs a variant.
    shapes = [(2,), (2, 2), (1, 2, 3), (1, 1, 1, 1), (2, 1, 1, 1, 1)]
    graph = graph_compiler.compile(counter(), to=to, source=SOURCES[counter])
    assert _counted(graph, lambda i: (ARRAYS[to](shapes[i % len(shapes)]),)) == _expected()


@pytest.mark.parametrize("to", list(ARRAYS))
def test_a_lazy_graph_that_all_threads_call_first_is_recorded_once(to: str) -> None:
    graph = graph_compiler.compile(lambda x: (x * 2).sum(), to=to, source="torch")
    gate = threading.Barrier(THREADS)

    def work(number: int) -> None:
        gate.wait()
        assert float(to_numpy(graph(ARRAYS[to](number + 1)))) == 2 * (number + 1)

    several(work, THREADS)
    # A size of 1 needs a variant of its own, because it broadcasts.
    assert len(graph.variants) <= 2


def test_an_error_inside_lets_go_of_the_state() -> None:
    class Failing(InPlace):
        def forward(self, x: Any) -> Any:
            self.n += 1
            return x[0] + self.n if x.sum() > 0 else x[7]

    graph = graph_compiler.compile(Failing(), to="numpy")
    one = np.ones(3, np.float32)
    graph(one)

    def work(number: int) -> None:
        for _ in range(20):
            if number % 2:
                with pytest.raises(IndexError):
                    graph(-one)
            else:
                graph(one)

    several(work, 4)
    assert np.isfinite(graph(one))


def test_the_original_is_called_inside_of_another_recording_while_others_call_the_graph() -> None:
    counter = InPlace()
    graph = graph_compiler.compile(counter, to="jax")
    x = ARRAYS["jax"](2)
    graph(x)
    seen = []

    def work(number: int) -> None:
        if number:
            seen.extend(float(graph(x)) for _ in range(CALLS))
            return
        for rank in range(1, 5):
            outer = graph_compiler.compile(lambda y: graph(y) * 2, to="jax", source="torch")
            seen.append(float(outer(jnp.ones((1,) * rank))) / 2)

    several(work, 4)
    assert sorted(seen) == [float(i) for i in range(2, 3 * CALLS + 6)]


def test_weights_that_a_recording_stands_in_for_are_never_another_threads() -> None:
    class Layer:
        def __init__(self) -> None:
            self.w = np.full(3, 2.0, np.float32)

        def __call__(self, x: Any) -> Any:
            return x @ self.w

    layer = Layer()
    first, second = (
        graph_compiler.compile(layer, to="numpy", source="numpy", max_variants=64) for _ in range(2)
    )
    first(np.ones((1, 3), np.float32))

    def work(number: int) -> None:
        for rank in range(1, 20):
            if number == 0:
                second(np.ones((1,) * (rank % 8) + (3,), np.float32))
            assert float(np.sum(first(np.ones((1, 3), np.float32)))) == 6

    several(work, 6)
    assert len(first.variants) == 1


def test_loaded_graphs_refuse_in_all_threads(tmp_path: Any) -> None:
    graph_compiler.compile(InPlace(), args=(torch.ones(2),)).save(tmp_path / "counter.zip")
    loaded = graph_compiler.load(tmp_path / "counter.zip")
    x = torch.ones(2)

    def call(i: int) -> Any:
        with pytest.raises(GuardFailed):
            loaded(torch.ones(2, 2))
        return loaded(x)

    assert _counted(call, lambda i: (i,)) == _expected()
