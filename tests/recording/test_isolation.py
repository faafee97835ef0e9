"""Tests that a recording leaves nothing behind (modes, settings, arrays), in its own thread, next to others,
nested, and if it fails.
"""

from __future__ import annotations

import collections
import copy
import functools
import gc
import linecache
import os
import queue
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import numpy as np  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import TracingError  # noqa: E402
from graph_compiler.recording import active  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.processes import holds_in_child  # noqa: E402
from tests.support.threads import several  # noqa: E402

TARGETS = ("torch", "jax")


def height() -> tuple[int, int]:
    """Return the heights of this thread's stacks of modes."""
    return torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Assert after each test that no mode, recording or changed setting remains."""
    random_state = torch.get_rng_state()
    yield
    assert height() == (0, 0)
    assert not active.recording
    assert not torch.compiler.is_compiling()
    assert type(torch.ones(2, 3).shape[0]) is int
    assert (
        torch.is_grad_enabled()
        and torch.get_default_dtype() is torch.float32
        and torch.get_default_device().type == "cpu"
    )
    torch.set_rng_state(random_state)


# ------------------------------------------------------------------------ functions that fail or change torch
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "problem", [ZeroDivisionError, StopIteration, KeyboardInterrupt, GeneratorExit, SystemExit]
)
def test_an_exception_leaves_nothing(problem: type[BaseException], to: str) -> None:
    def failing(x: Any) -> Any:
        x.add_(1)
        torch.rand(2)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        raise problem

    x, state = torch.ones(2), torch.get_rng_state()
    with pytest.raises(problem):
        graph_compiler.compile(failing, to=to, args=(x,))
    assert x.tolist() == [1, 1] and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("to", TARGETS)
def test_what_a_call_has_done_before_an_exception_stays(to: str) -> None:
    """The recording is undone, and the original repeats its effects."""
    total, seen = torch.zeros(2), []

    def failing(x: Any) -> Any:
        total.add_(x)
        seen.append(len(x))
        x.mul_(2)
        if total.sum() < 0:
            raise ValueError("negative")
        return total * 1

    graph, x = graph_compiler.compile(failing, to=to), torch.tensor([-3.0, -4.0])
    graph(torch.ones(2))
    with pytest.raises(ValueError, match="negative"):
        graph(x)
    assert (total.tolist(), seen, x.tolist()) == ([-2, -3], [2, 2], [-6, -8])
    assert graph(torch.ones(2) * 5).tolist() == [3, 2]


SETTINGS: dict[str, Callable[[], Any]] = {
    "grad mode": lambda: torch.set_grad_enabled(False),
    "default dtype": lambda: torch.set_default_dtype(torch.float64),
    "default device": lambda: torch.set_default_device("meta"),
    "precision": lambda: torch.set_float32_matmul_precision("medium"),
    "autocast": lambda: torch.set_autocast_dtype("cpu", torch.float16),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_left_changed_is_an_error(name: str) -> None:
    with pytest.raises(
        TracingError, match=rf"changes (the .*)?{name}.* and leaves it so|the {name} was changed inside"
    ):
        graph_compiler.compile(lambda x: (SETTINGS[name](), x + 1)[1], args=(torch.ones(2),))
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16


def test_modes_of_the_user_stay() -> None:
    with torch.device("cpu"):
        graph = graph_compiler.compile(lambda x: torch.ones(x.shape) + x, args=(torch.ones(2),))
        assert graph(torch.ones(3)).tolist() == [2, 2, 2] and height() == (1, 0)


def test_a_default_device_without_memory() -> None:
    """Constants of the recording itself must have elements even if the default device is ``meta``."""
    x = torch.ones(2)
    with torch.device("meta"):
        assert_same(graph_compiler.transpile(lambda x: x + 1, args=(x,))(x), x + 1)


def test_a_generator_that_nobody_finishes() -> None:
    # A recording does not search this class.
    kept = queue.SimpleQueue[Any]()

    def rows(x: Any) -> Iterator[Any]:
        with torch.device("cpu"):
            yield from x

    def first(x: Any) -> Any:
        generator = rows(x)
        kept.put(generator)
        return next(generator) * 2

    assert graph_compiler.compile(first)(torch.ones(3)) == 2
    assert height() == (0, 0)
    # The generator removes it from the stack when it ends.
    torch.device("cpu").__enter__()
    kept.get().close()


# ------------------------------------------------------------------------------------ one inside of the other
def test_compiling_and_calling_graphs_inside_of_a_recording() -> None:
    whole, lazy = (
        graph_compiler.compile(lambda y: y * 2, args=(torch.ones(2),)),
        graph_compiler.compile(lambda y: y * 3),
    )
    other = graph_compiler.transpile(lambda y: y * 5, args=(torch.ones(2),))
    inner: list[Any] = []

    def outer(x: Any) -> Any:
        made = graph_compiler.compile(lambda z: z + z.shape[0], args=(x,))
        inner.append(made.source)
        inner.pop()
        return whole(x) + lazy(x) + other(x) + made(x) + graph_compiler.compile(lambda z: z - x.shape[0])(x)

    for to in TARGETS:
        graph = graph_compiler.compile(outer, to=to, args=(torch.ones(2),))
        assert_same(graph(torch.arange(5.0)), torch.arange(5.0) * 12)
        assert len(graph.variants) == 1


def test_a_recording_inside_is_not_seen_by_the_outer_one() -> None:
    def outer(x: Any) -> Any:
        graph_compiler.compile(lambda z: z.sin().cos(), args=(x,), verify=True)
        return x + 1

    assert graph_compiler.compile(outer, args=(torch.ones(2),)).program.count_operations() == {
        "torch.Tensor.add": 1
    }


@pytest.mark.parametrize("to", TARGETS)
def test_a_function_that_calls_its_own_graph(to: str) -> None:
    def power(x: Any, n: int) -> Any:
        return x if n == 0 else graph(x * n, n - 1)

    graph = graph_compiler.compile(power, to=to)
    assert_same(graph(torch.ones(2), 3), torch.full((2,), 6.0))


def test_a_loaded_graph_inside_of_a_recording(tmp_path: Any) -> None:
    def pick(x: Any) -> Any:
        return x.relu() * x.shape[0] if x.sum() > 0 else x

    graph_compiler.compile(pick, args=(torch.ones(2),)).save(tmp_path / "graph.zip")
    loaded = graph_compiler.load(tmp_path / "graph.zip")
    for to in TARGETS:
        graph = graph_compiler.compile(lambda x: loaded(x) + 1, to=to, args=(torch.ones(2),))
        assert_same(graph(torch.ones(5)), torch.full((5,), 6.0))
        with pytest.raises(graph_compiler.errors.GuardFailed):
            graph(-torch.ones(5))


# ------------------------------------------------------------------------------------- threads
def test_threads_that_record_different_functions() -> None:
    def work(number: int) -> None:
        def function(x: Any) -> Any:
            y = x
            for _ in range(20):
                y = (y + number) * 1.5
                time.sleep(0)
            return y.reshape(-1)[: x.shape[0]] + x.shape[0]

        for to in TARGETS:
            graph = graph_compiler.compile(function, to=to, args=(torch.full((3, 2), float(number)),))
            assert_same(graph(torch.ones(4, 2)), function(torch.ones(4, 2)))

    several(work)


def test_threads_that_record_one_model_leave_its_state() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.1))
    # The numbers are drawn here, because a recording refuses those that other threads draw meanwhile.
    before, x = (
        copy.deepcopy(model.state_dict()),
        torch.randn(4, 3),
    )

    def work(number: int) -> None:
        for to in TARGETS * 2:
            graph_compiler.compile(model, to=to, args=(x,))

    several(work)
    assert_same(dict(model.state_dict()), dict(before))


def test_a_class_that_grows_while_it_is_read() -> None:
    """This simulates another thread that adds attributes."""

    class Grows:
        def __call__(self) -> None: ...

        @property
        # Decorators have this attribute, so the recording reads it.
        def __wrapped__(self) -> Any:
            setattr(Model, f"other_{len(vars(Model))}", 1)

    class Model(torch.nn.Module):
        grows = Grows()

        def forward(self, x: Any) -> Any:
            return x * 2

    graph = graph_compiler.compile(Model(), args=(torch.ones(2),))
    assert torch.equal(graph(torch.ones(3)), torch.full((3,), 2.0)) and any(
        name.startswith("other") for name in vars(Model)
    )


@pytest.mark.parametrize("to", TARGETS)
def test_threads_that_call_a_lazy_graph_for_the_first_time(to: str) -> None:
    def function(x: Any) -> Any:
        time.sleep(0.02)
        return x * x.shape[0] + (1 if x.sum() > 0 else 2)

    graph = graph_compiler.compile(function, to=to, max_variants=2)

    def work(number: int) -> None:
        for sign in (1, -1, 1):
            x = torch.full((number % 3 + 2,), float(sign * (number + 1)))
            assert_same(graph(x), function(x))

    several(work, 6)
    assert len(graph.variants) == 2


def test_a_thread_that_records_nothing_sees_plain_torch() -> None:
    done, seen = threading.Event(), set()

    def record() -> None:
        for to in TARGETS:
            graph_compiler.compile(
                lambda x: functools.reduce(lambda y, _: y + 1, range(300), x), to=to, args=(torch.ones(2),)
            )
        done.set()

    thread = threading.Thread(target=record)
    thread.start()
    while not done.is_set():
        x = torch.ones(2, 3)
        seen.add(
            (
                type(x.shape[0]),
                type((x * 2).sum().item()),
                height(),
                active.recording,
                bool(torch.compiler.is_compiling()),
            )
        )
    thread.join()
    assert seen == {(int, float, (0, 0), False, False)}


@pytest.mark.parametrize("to", TARGETS)
def test_random_numbers_of_other_threads(to: str) -> None:
    """Draws and seeds of other threads are not part of the function."""
    stop = threading.Event()

    def draw() -> None:
        while not stop.is_set():
            torch.manual_seed(3)
            torch.rand(3), random.random(), np.random.rand()
            time.sleep(0.0002)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(5):
            graph = graph_compiler.compile(lambda x: (x.sin() * 2).cumsum(0), to=to, args=(torch.ones(2),))
            assert_same(graph(torch.ones(3)), (torch.ones(3).sin() * 2).cumsum(0))
            assert not any("seed" in op for op in graph.program.count_operations())
    finally:
        stop.set()
        thread.join()
    assert torch.manual_seed.__module__ == "torch.random" and not hasattr(random.random, "drawn_from")


def traced(function: Any) -> Any:
    return lambda x: torch.jit.trace(function, (x,))(x)


@pytest.mark.parametrize(
    "around", [torch.vmap, torch.func.grad, traced, FakeTensorMode()], ids=["vmap", "grad", "trace", "fake"]
)
def test_where_tensors_have_no_elements(around: Any) -> None:
    graph = graph_compiler.compile(lambda x: (x * 2).sum())
    with pytest.raises(TracingError, match="call it outside once before"):
        inside(around, graph) if isinstance(around, FakeTensorMode) else around(graph)(torch.ones(2, 3))
    assert graph(torch.ones(2, 3)) == 12 and torch.equal(
        torch.vmap(graph_compiler.compile(torch.sum, args=(torch.ones(3),)))(torch.ones(2, 3)),
        torch.full((2,), 3.0),
    )


def inside(mode: Any, graph: Any) -> Any:
    with mode:
        return graph(torch.ones(2, 3))


def test_a_graph_inside_of_a_function_that_torch_compiles() -> None:
    graph = graph_compiler.compile(lambda x: x.sin() * 2, args=(torch.ones(3),))
    try:
        assert_same(
            torch.compile(lambda x: graph(x) + 1, backend="eager")(torch.ones(3)), torch.ones(3).sin() * 2 + 1
        )
    finally:
        torch._dynamo.reset()


@pytest.mark.xfail(
    strict=True,
    reason="modes are local to a thread: what a thread of the function computes looks like a constant",
)
def test_a_function_that_computes_in_a_thread() -> None:
    def function(x: Any) -> Any:
        made: list[Any] = []
        thread = threading.Thread(target=lambda: made.append(x * 2))
        thread.start()
        thread.join()
        return made[0] + 1

    graph = graph_compiler.compile(function, args=(torch.ones(2),))
    assert_same(graph(torch.zeros(2)), torch.ones(2))


# ------------------------------------------------------------------------------------- memory
@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def branching(x: Any) -> Any:
    if x.sum() > 0:
        return x.relu() * 2
    raise ValueError("negative")


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("how", ["before", "lazy", "verify", "failing"])
@pytest.mark.usefixtures("no_collector")
def test_arrays_of_the_recording_go_with_their_last_user(how: str, to: str) -> None:
    x = torch.ones(4, 3)
    alive = weakref.ref(x)
    graph = graph_compiler.compile(
        branching, to=to, args=(x,) if how == "before" else None, verify=how == "verify"
    )
    graph(x)
    if how == "failing":
        with pytest.raises(ValueError, match="negative"):
            graph(x.neg_())
    del x
    assert alive() is None


@pytest.mark.parametrize("to", TARGETS)
def test_everything_goes_with_the_graph(to: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 300), torch.nn.ReLU())
    known = set(linecache.cache)
    graph = graph_compiler.compile(model, to=to, args=(torch.ones(4, 3),))
    graph(torch.ones(5, 3))
    alive = [weakref.ref(model), weakref.ref(model[0].weight), weakref.ref(graph)]
    sources = {name for name in set(linecache.cache) - known if name.startswith("<graph_compiler")}
    assert sources
    del model, graph
    gc.collect()
    assert [item() for item in alive] == [None] * 3
    # Sources of collected graphs are dropped when the next one is loaded.
    graph_compiler.compile(lambda x: x, args=(torch.ones(2),))
    assert sources.isdisjoint(linecache.cache)


# ------------------------------------------------------------------------------------- processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:")
def test_graphs_work_after_a_fork() -> None:
    whole, lazy = (
        graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),)),
        graph_compiler.compile(lambda x: x * 2),
    )
    assert holds_in_child(
        lambda: whole(torch.ones(2, 3)).shape == (2, 2) and lazy(torch.ones(2)).tolist() == [2, 2]
    )


# ---------------------------------------------------------------------- results that would leak the recording
class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def adding_size(x: Any) -> Any:
    size = x.shape[0]
    return lambda y: y + size


def never_awaited(x: Any) -> Any:
    async def code() -> Any:
        return x * 2

    coroutine = code()
    # Python would warn of a coroutine that was never awaited.
    coroutine.close()
    return coroutine


ESCAPING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "closure": (lambda x: lambda y: x + y, "a function that holds"),
    "closure over a size": (adding_size, "a function that holds"),
    "default": (lambda x: lambda y=x: y, "a function that holds"),
    "partial": (lambda x: functools.partial(torch.add, x), "a partial that holds"),
    "method": (lambda x: (x * 2).add, "a builtin_function_or_method that holds"),
    "set": (lambda x: {x * 2}, "a set that holds"),
    "slots": (lambda x: Slotted(x * 2), "a Slotted that holds"),
    "view of a dict": (lambda x: {"a": x * 2}.values(), "a dict_values that holds"),
    "key": (lambda x: {x * 2: 1}, "a Tensor that holds"),
    "exception": (lambda x: [ValueError(x)], "a ValueError that holds"),
    "slice": (lambda x: slice(0, x.shape[0]), "a slice that holds"),
    "generator": (lambda x: (row * 2 for row in x), "a generator, whose items"),
    "coroutine": (never_awaited, "a coroutine, whose code runs when it is awaited"),
    "map": (lambda x: map(torch.sin, x), "a map, whose items"),
    "iterator": (lambda x: {"a": iter([x])}, "a list_iterator, whose items"),
    "iterator of nothing recorded": (lambda x: iter([1, 2]), "a list_iterator, whose items"),
}


@pytest.mark.parametrize("name", ESCAPING)
def test_a_result_that_holds_the_recording_is_an_error(name: str) -> None:
    function, words = ESCAPING[name]
    with pytest.raises(TracingError, match=words):
        graph_compiler.compile(function, args=(torch.ones(2, 3),))


@pytest.mark.parametrize("name", ["of a result", "of an argument"])
def test_a_parameter_made_of_a_recorded_tensor_is_recorded(name: str) -> None:
    made = {
        "of a result": lambda x: torch.nn.Parameter(x * 2),
        "of an argument": lambda x: torch.nn.Parameter(x.detach()) + 1,
    }[name]
    graph, x = graph_compiler.compile(made, args=(torch.ones(2, 3),)), torch.randn(3, 4)
    assert torch.equal(graph(x), made(x))


KEPT: dict[str, Callable[[Any], Any]] = {
    "function of torch": lambda x: (torch.sin, x),
    "class, dtype, ellipsis": lambda x: (int, torch.float32, ..., None, "text", x),
    "range of a size": lambda x: range(x.shape[0]),
    "key of a size": lambda x: {x.shape[0]: x},
    "sets of sizes": lambda x: [{x.shape[0]}, frozenset([x.shape[1]])],
    "counter": lambda x: collections.Counter([x.shape[0]]),
    "function of nothing recorded": lambda x: (len, x),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_objects_in_results_stay(name: str) -> None:
    graph = graph_compiler.compile(KEPT[name], args=(torch.ones(2, 3),))
    for shape in ((2, 3), (4, 5)):
        assert_same(graph(torch.ones(shape)), KEPT[name](torch.ones(shape)))


HANDED: dict[str, Callable[[Any], Any]] = {
    "place in memory": lambda x: x * x.storage_offset(),
    "the same memory": lambda x: x * 2 if x.is_set_to(x) else x,
    "order of axes": lambda x: x * x.dim_order()[0],
}


@pytest.mark.parametrize("name", HANDED)
def test_a_number_of_which_nothing_is_known_is_an_error(name: str) -> None:
    with pytest.raises(TracingError, match="nothing is known of when this changes"):
        graph_compiler.compile(HANDED[name], args=(torch.ones(2, 3),))


class Counting:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


@pytest.mark.parametrize("to", TARGETS)
def test_a_graph_with_state_inside_of_a_recording(to: str) -> None:
    """The inner graph is recorded as a part of the outer one, and both share the original's state."""
    counting = Counting()
    inner = graph_compiler.compile(counting)
    graph = graph_compiler.compile(lambda x: inner(x) + inner(x), to=to)
    assert [float(graph(torch.ones(1))[0]) for _ in range(2)] == [3.0, 7.0]
    assert len(graph.variants) == 1
    if to == "torch":
        assert counting.calls == 4 and inner(torch.ones(1)).item() == 5


def test_state_that_cannot_be_seen_to_be_reached_is_an_error() -> None:
    held = weakref.WeakSet([inner := graph_compiler.compile(Counting())])
    with pytest.raises(TracingError, match="keeps state"):
        graph_compiler.compile(lambda x: next(iter(held))(x) + 1, args=(torch.ones(2),))
    assert inner(torch.ones(1)).item() == 1


def test_what_a_cache_keeps_of_sizes_is_plain() -> None:
    """The user's caches outlive the recording, so symbolic sizes in them would reach ordinary tensors later."""
    kept: dict[Any, Any] = {}

    @functools.lru_cache
    def doubled(size: int) -> list[int]:
        return [size, 2 * size]

    def function(x: Any) -> Any:
        kept[x.shape] = x.shape[1]
        return x.reshape(doubled(x.shape[0])[0], -1)

    graph = graph_compiler.compile(function, args=(torch.ones(2, 3),))
    assert all(type(size) is int for size in doubled(2))
    assert graph(torch.ones(4, 3)).shape == (4, 3) and len(graph.variants) == 2
    assert function(torch.ones(4, 3)).shape == (4, 3)


def test_sizes_as_keys_where_the_code_can_do_without() -> None:
    """einops works without its cache if sizes have no hash, so that one variant serves all sizes."""
    einops = pytest.importorskip("einops")

    def function(x: Any) -> Any:
        return einops.rearrange(x, "b (h w) c -> b c h w", h=2)

    graph = graph_compiler.compile(function, args=(torch.ones(2, 26, 5),))
    assert function(torch.ones(2, 26, 5)).shape == (2, 5, 2, 13)
    assert graph(torch.ones(3, 8, 4)).shape == (3, 4, 2, 4) and len(graph.variants) == 1


@pytest.mark.parametrize("to", TARGETS)
def test_computed_sizes_as_keys_where_the_code_can_do_without(to: str) -> None:
    """Only the size that ended a recording becomes concrete, not one that was hashed before."""
    einops = pytest.importorskip("einops")
    kept: dict[int, int] = {}

    def function(x: Any) -> Any:
        heads = einops.rearrange(x * 2, "b n (h d) -> b h n d", h=2)
        return einops.rearrange(heads + kept.setdefault((x + 1).shape[2], 3), "b h n d -> b n (h d)")

    graph = graph_compiler.compile(function, to=to, args=(torch.ones(2, 3, 4),))
    x = torch.randn(5, 7, 4)
    assert_same(graph(x), function(x))
    assert len(graph.variants) == 1
    wider = torch.randn(2, 3, 6)
    assert_same(graph(wider), function(wider))
    assert kept == {4: 3, 6: 3} and [torch.zeros(size).numel() for size in kept] == [4, 6]
