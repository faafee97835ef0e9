"""Tests of plain functions with loops whose second call fits no variant: one traced variant replaces the
others if it is exact, else the call is recorded as it runs.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import to_numpy

TARGETS = ("numpy", "torch", "jax", "tensorflow")


def cholesky(a: Any) -> Any:
    lower, n = np.zeros_like(a), a.shape[0]
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s = s - lower[i, k] * lower[j, k]
            if i == j:
                lower[i, j] = np.sqrt(s)
            else:
                lower[i, j] = s / lower[j, j]
    return lower


def first_negative(x: Any) -> Any:
    count = 0
    for i in range(len(x)):
        if x[i] < 0:
            break
        count += 1
    else:
        return count, x[-1]
    return count, x[i]


def longest_run(x: Any) -> Any:
    best = current = 1
    for i in range(1, len(x)):
        if x[i] == x[i - 1]:
            current += 1
            best = max(best, current)
        else:
            current = 1
    return best


def bisection(x: Any) -> Any:
    low, high, steps = 0.0 * x.sum(), x.sum(), 0
    while high - low > 1e-3:
        middle = (low + high) / 2
        steps += 1
        if middle * middle > 2.0:
            high = middle
        else:
            low = middle
    return low, steps


def checksum(x: Any) -> Any:
    a, b = 1, 0
    for item in x:
        a = (a + int(item * 10)) % 251
        b = (b + a) % 251
    return a + b


def clustered(x: Any) -> Any:
    centres, labels, count = x[:2], x * 0, 0
    while True:
        new = abs(x[:, None] - centres).argmin(1)
        if count and (new == labels).all():
            break
        labels, count = new, count + 1
        for k in range(2):
            mine = labels == k
            if mine.any():
                centres = np.where(np.arange(2) == k, (x * mine).sum() / mine.sum(), centres)
    return centres, count


def caught(x: Any) -> Any:
    count = 0
    try:
        for item in x:
            if item < 0:
                raise KeyError
            count += 1
    except KeyError:
        count = -count - 1
    return count


def checked_bits(x: Any) -> Any:
    code = 0xFFFF
    for item in x:
        code ^= int(item) << 8
        for _ in range(8):
            code = ((code << 1) ^ 0x1021) & 0xFFFF if code & 0x8000 else (code << 1) & 0xFFFF
    return code


def averages(x: Any) -> Any:
    found, s = [], 0.0
    for item in x:
        s = 0.9 * s + item
        found.append(s)
    return np.array(found), len(found)


def array(*items: float) -> Any:
    return np.array(items, float)


VECTORS = (array(1, 1, 2, -1), array(3, 3, 3, 0.5, 2, 2, 7), array(2, -5, 0, 0, 0, 4), array(4, 4))
MATRICES = tuple(
    m @ m.T + 9 * np.eye(len(m)) for m in (np.random.default_rng(n).normal(size=(n, n)) for n in (3, 4, 2))
)
# function -> calls
ONE: dict[Callable[..., Any], tuple[Any, ...]] = {
    cholesky: MATRICES,
    first_negative: VECTORS,
    longest_run: VECTORS,
    averages: VECTORS,
    bisection: tuple(abs(x) for x in VECTORS),
    checksum: tuple(abs(x) for x in VECTORS),
    clustered: VECTORS,
    checked_bits: tuple(abs(x).astype(np.uint8) for x in VECTORS),
}


def right(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(right, found, expected))
    same_type = (
        type(found) is type(expected)
        or not isinstance(expected, (int, float))
        or isinstance(expected, np.generic)
    )
    return same_type and np.allclose(
        to_numpy(found) if hasattr(found, "shape") else found, expected, rtol=1e-4
    )


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", ONE)
def test_one_variant_takes_the_place_of_the_others(function: Callable[..., Any], to: str) -> None:
    pytest.importorskip(to)
    first, *others = ONE[function]
    graph = graph_compiler.compile(function, to=to, args=(first,))
    for x in (*others, first, *others):
        assert right(graph(x), function(x))
    assert len(graph.variants) == 1


def positives(x: Any) -> Any:
    total = 0
    for item in x:
        if item > 0:
            total = total + item
    return total


def test_numbers_of_steps_that_change_nothing_are_scalars() -> None:
    graph = graph_compiler.compile(positives, args=(array(1, -1, 2),))
    found = [graph(x) for x in (array(1, 2), array(-1), array())]
    assert found == [3, 0, 0] and all(type(one) is np.float64 for one in found)


CHANGED: list[int] = []


def factorial(x: Any, n: int) -> Any:
    result = 1
    for i in range(n):
        result = result * (i + 1)
        if result < 0:
            break
    return x, result


def fibonacci(x: Any, n: int) -> Any:
    a, b = 0, 1
    while a < 10**n:
        a, b = b, a + b
    return x, a


def hashed(x: Any, n: int) -> Any:
    h = 7
    for item in x:
        h = h * 31 + int(item)
        if h < n:
            break
    return x, h


def powered(x: Any, n: int) -> Any:
    """Python raises a power modulo a number to no symbolic exponent."""
    h = 1
    for item in x:
        h = h * pow(3, int(item) % 5, 1009) % 1009
        if h < n:
            break
    return x, h


def noting(x: Any, n: int) -> Any:
    for i in range(n):
        if x[i % 3] > 1:
            CHANGED.append(i)
    return x, len(CHANGED)


EXACT = (factorial, fibonacci, hashed, powered, noting)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", EXACT)
def test_what_arrays_do_not_hold_is_recorded_as_it_runs(function: Callable[..., Any], to: str) -> None:
    pytest.importorskip(to)
    calls = [(array(1, 2, 3), 3), (array(*range(30)), 12), (array(5, 6, 7), 30), (array(*range(20, 50)), 5)]
    CHANGED.clear()
    expected = [function(*call)[1] for call in calls]
    CHANGED.clear()
    graph = graph_compiler.compile(function, to=to)
    assert [graph(*call)[1] for call in calls] == expected


def noting_all(x: Any, n: int) -> Any:
    CHANGED.clear()
    for i in range(n):
        CHANGED.append(i)
    return x * len(CHANGED)


def test_one_array_is_returned_beside_a_changed_list() -> None:
    graph = graph_compiler.compile(noting_all)
    for n in (3, 5, 4):
        assert right(graph(array(1, 2, 3), n), array(1, 2, 3) * n) and list(range(n)) == CHANGED


def telling(x: Any) -> Any:
    total = 0.0 * x[0]
    for item in x:
        if item > 1:
            print("above")  # noqa: T201
            total = total + item
    return total


def test_what_prints_is_recorded_as_it_runs() -> None:
    graph = graph_compiler.compile(telling, args=(array(1, 2),))
    with redirect_stdout(io.StringIO()) as said:
        assert [graph(x) for x in VECTORS] == [telling(x) for x in VECTORS]
    assert "above" in said.getvalue()


def raising(x: Any) -> Any:
    for item in x:
        if item < 0:
            raise ValueError("below")
        x = x + item
    return x


def test_what_the_function_raises_does_not_keep_later_calls_from_one_variant() -> None:
    graph = graph_compiler.compile(raising, args=(array(1, 2),))
    with pytest.raises(ValueError, match="below"):
        graph(array(1, -2, 3))
    assert all(np.allclose(graph(x), raising(x)) for x in (array(1, 2, 3), array(5, 6, 7, 8)))


def test_what_leaves_a_loop_and_is_caught_is_recorded_as_it_runs() -> None:
    graph = graph_compiler.compile(caught, args=(VECTORS[0],))
    assert [graph(x) for x in (*VECTORS, *VECTORS[::-1])] == [caught(x) for x in (*VECTORS, *VECTORS[::-1])]


@pytest.mark.parametrize("options", [{"trace_control_flow": False}, {"roll": "never"}])
def test_it_can_be_switched_off(options: dict[str, Any]) -> None:
    graph = graph_compiler.compile(first_negative, args=(VECTORS[0],), **options)
    assert all(right(graph(x), first_negative(x)) for x in VECTORS)
    assert len(graph.variants) > 1


def test_arrays_of_another_type_are_another_variant() -> None:
    graph = graph_compiler.compile(first_negative, args=(VECTORS[0],))
    for x in (*VECTORS, *(x.astype(np.float32) for x in VECTORS)):
        assert right(graph(x), first_negative(x))
    assert len(graph.variants) <= 3


def test_a_graph_for_another_framework_has_variants_of_its_own() -> None:
    pytest.importorskip("torch")
    graph = graph_compiler.compile(first_negative, args=(VECTORS[0],))
    graph(VECTORS[1])
    other = graph.to("torch")
    assert all(right(one(x), first_negative(x)) for x in VECTORS for one in (graph, other))
    assert [len(one.variants) for one in (graph, other)] == [1, 1]


def folded(bases: Any) -> Any:
    n = bases.shape[0]
    table = np.zeros((n, n), dtype=bases.dtype)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            paired = table[i + 1, j - 1] + (bases[i] + bases[j] == 3) if j - 1 > i else table[i + 1, j - 1]
            table[i, j] = np.maximum(np.maximum(table[i, j - 1], table[i + 1, j]), paired)
            for k in range(i + 1, j):
                table[i, j] = np.maximum(table[i, j], table[i, k] + table[k + 1, j])
    return table


@pytest.mark.parametrize("to", ("numpy", "jax"))
def test_long_loops_are_traced_at_the_first_call(to: str) -> None:
    bases = np.arange(13, dtype=np.int32) % 4
    graph = graph_compiler.transpile(folded, source="numpy", to=to, args=(bases[:9],))
    assert [np.array_equal(to_numpy(graph(bases[:n])), folded(bases[:n])) for n in (1, 9, 13)] == [True] * 3
    assert len(graph.variants) == 1


def test_gradients_are_kept_at_the_first_call() -> None:
    jax = pytest.importorskip("jax")
    numbers = np.arange(9, dtype=np.float32)
    graph = graph_compiler.transpile(folded, source="numpy", to="jax", args=(numbers,))
    assert np.isfinite(jax.grad(lambda x: graph.functional({}, x).sum())(numbers)).all()


def bisected(x: Any) -> Any:
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle**3 + middle - x[0] > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-9:
            break
    return (low + high) / 2


def dominant(x: Any) -> Any:
    vector, value = x / np.sqrt((x * x).sum()), 0.0
    for step in range(50):
        image = (np.arange(1, len(x) + 1) * vector)[::-1]
        new = vector @ image
        vector = image / np.sqrt((image * image).sum())
        if abs(new - value) < 1e-8:
            return new, vector
        value = new + 0 * step
    return value, vector


CONVERGING = {bisected: (array(7, 1), array(300, 2)), dominant: (array(1, 2, 3), array(5, 1, 1))}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", CONVERGING)
def test_loops_that_values_leave_are_traced_at_the_first_call(function: Callable[..., Any], to: str) -> None:
    """The carry of a float32 target takes another number of iterations than while recording."""
    pytest.importorskip(to)
    first, *others = CONVERGING[function]
    graph = graph_compiler.compile(function, to=to, args=(first,))
    assert graph.source.count("1e-") == 1, "the iterations are unrolled, or the first one is"
    assert all(right(graph(x), function(x)) for x in (first, *others)) and len(graph.variants) == 1


def late(x: Any) -> Any:
    for i in range(9):
        if x[i % len(x)] > 2:
            break
        last = x[i % len(x)] + 1
    return last


def test_a_variable_that_a_first_iteration_may_leave_unassigned_is_no_zero() -> None:
    graph = graph_compiler.compile(late, args=(array(1, 1, 3),))
    assert graph(array(1, 2, 3)) == 3.0
    with pytest.raises(UnboundLocalError):
        graph(array(5, 1))


def hashed_until(x: Any) -> Any:
    """Compute a Python integer that no array holds."""
    h = 17
    for i in range(20):
        h = h * 31 + i
        if x[i % 3] * i > 40:
            break
    return h % 1000


@pytest.mark.parametrize("to", TARGETS)
def test_large_integers_of_a_loop_that_values_leave_are_recorded_as_they_run(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(hashed_until, to=to, args=(array(1, 2, 3),))
    assert [graph(x) for x in (array(1, 2, 3), array(9, 18, 27))] == [422, 480]


@graph_compiler.trace
def asserting(x: Any) -> Any:
    if x[0] > 0:
        assert x[1] > 0, "below"
        found = True
    else:
        found = False
    return found, x


def test_a_failing_assertion_in_a_branch_is_the_users() -> None:
    graph = graph_compiler.compile(asserting, args=(array(1, 2),))
    with pytest.raises(AssertionError):
        graph(array(2, -2))
