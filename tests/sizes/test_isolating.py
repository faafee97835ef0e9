"""Tests of comparisons solved for one size: each transformation is an equivalence for all numbers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.sizes import Compared, Size, Symbol, apply, comparison, isolate, substitute

HINT = 9
N: Any = Size.of(Symbol("n", 0, HINT))
M: Any = Size.of(Symbol("m", 0, HINT))
SMALL = st.integers(-5, 5)
STEPS = st.one_of(
    st.tuples(st.just("add"), SMALL),
    st.tuples(st.just("mul"), SMALL.filter(bool)),
    st.tuples(st.just("floordiv"), SMALL.filter(bool)),
    st.tuples(st.sampled_from(["max", "min", "rfloordiv", "mod"]), SMALL.filter(bool)),
    st.tuples(st.just("plus m"), SMALL.filter(bool)),
)
_APPLY: dict[str, Any] = {
    "add": lambda size, n: size + n,
    "mul": lambda size, n: size * n,
    "floordiv": lambda size, n: size // n,
    "mod": lambda size, n: size % n,
    "rfloordiv": lambda size, n: n // (size * size + 1),
    "plus m": lambda size, n: size + M * n,
}


def _made(steps: list[tuple[str, int]]) -> Any:
    size: Any = N
    for function, number in steps:
        size = _APPLY[function](size, number) if function in _APPLY else apply(function, size, number)
    return size


@given(
    st.lists(STEPS, min_size=1, max_size=5),
    st.sampled_from(["eq", "ne", "ge", "gt", "le", "lt"]),
    st.integers(-9, 9),
    st.booleans(),
)
def test_what_is_solved_says_the_same(
    steps: list[tuple[str, int]], function: str, number: int, is_mirrored: bool
) -> None:
    size = _made(steps)
    condition = apply(function, *((number, size) if is_mirrored else (size, number)))
    if not isinstance(condition, Size) or (found := comparison(condition)) is None:
        return
    solved = isolate(found)
    left = apply(solved.function, solved.size, solved.number) if isinstance(solved, Compared) else solved
    for n in range(-12, 13):
        for m in range(-3, 4):
            read = lambda symbol: {"n": n, "m": m}[symbol.source]  # noqa: B023, E731
            assert substitute(left, read) == substitute(condition, read), (condition, left, n, m)


def test_sizes_of_convolutions_are_solved_for_the_image() -> None:
    windows = ((((N - 1) // 2) - 1) // 2) + 1
    assert isolate(Compared(windows, "ge", 3)) == Compared(N, "ge", 11)
    least: Any = apply("min", N, 12)
    assert isolate(Compared(least, "le", 12)) is True
    assert isolate(Compared(2 * N - 2 * M, "eq", 3)) is False
    assert isolate(Compared(-3 * N, "ge", -10)) == Compared(N, "le", 3)


def test_what_cannot_be_solved_stays() -> None:
    for size in (N * M, N % 3, 12 // N, N - M):
        compared = Compared(size, "ge", 2)
        assert isolate(compared) == compared
    assert comparison(apply("eq", N / 2, 1)) is None
