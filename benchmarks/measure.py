"""Measuring: interleaved rounds, medians, and ratios within a round.

Machines drift, because of another process or a hotter core. So contenders run in turns within each round,
in an order that rotates, and a ratio is the median of the rounds' ratios, not the ratio of two medians.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

Call = Callable[[], object]
Samples = dict[str, list[float]]


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Collect garbage before the block, and not inside it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(call: Call, repeats: int = 1) -> float:
    """Return the mean seconds of ``repeats`` calls."""
    with _no_collector():
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - start) / repeats


def repeats_for(call: Call, wanted: float) -> int:
    """Return the number of calls that take about ``wanted`` seconds, after four calls to warm up."""
    call()
    once = min(seconds(call) for _ in range(3))
    # A clock may measure 0 seconds.
    return max(1, round(wanted / max(once, 1e-9)))


def _rotated(names: Sequence[str], by: int) -> list[str]:
    place = by % len(names)
    return [*names[place:], *names[:place]]


def interleave(calls: Mapping[str, Call], *, rounds: int, batch: float = 0.01) -> Samples:
    """Measure steady calls: one sample of each contender in each round.

    A sample is the mean of as many calls as take about ``batch`` seconds.
    """
    repeats = {name: repeats_for(call, batch) for name, call in calls.items()}
    samples: Samples = {name: [] for name in calls}
    for place in range(rounds if calls else 0):
        # Each contender is the first of a round equally often.
        for name in _rotated(list(calls), place):
            samples[name].append(seconds(calls[name], repeats[name]))
    return samples


def interleave_anew(
    makers: Mapping[str, Callable[[], Call]], *, goes: int, rounds: int, batch: float
) -> Samples:
    """Measure like ``interleave``, but make every contender anew ``goes`` times, for ``rounds`` rounds each.

    After each compilation a function is elsewhere in memory, which makes up to 8 % of a call of some 200
    microseconds.
    """
    samples: Samples = {name: [] for name in makers}
    for _ in range(goes if makers else 0):
        once = interleave({name: make() for name, make in makers.items()}, rounds=rounds, batch=batch)
        for name, taken in once.items():
            samples[name] += taken
    return samples


def interleave_once(makers: Mapping[str, Callable[[], float]], *, rounds: int) -> Samples:
    """Measure what can be done only once with an object, such as a conversion or a first call.

    Each maker is called once in each round, and returns the seconds that it measured itself.
    """
    samples: Samples = {name: [] for name in makers}
    for place in range(rounds if makers else 0):
        for name in _rotated(list(makers), place):
            samples[name].append(makers[name]())
    return samples


def ratio(samples: Samples, above: str, below: str) -> float:
    return statistics.median(a / b for a, b in zip(samples[above], samples[below], strict=True))


def difference(samples: Samples, larger: str, smaller: str) -> float:
    return statistics.median(a - b for a, b in zip(samples[larger], samples[smaller], strict=True))


def steady(call: Call, *, batches: int, repeats: int = 100) -> float:
    """Return the seconds of a call that takes some microseconds.

    This is the fastest of many batches, each short enough to lie between two interruptions.
    """
    taken = []
    with _no_collector():
        for _ in range(batches):
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            taken.append(time.perf_counter() - start)
    return min(taken) / repeats


def steady_after(call: Call, before: Call, *, times: int) -> float:
    """Return the seconds of ``call`` right after ``before``, which fills the processor's caches.

    This is the first decile of calls that are timed one by one.
    """
    taken = []
    with _no_collector():
        for _ in range(times):
            before()
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return statistics.quantiles(taken, n=10)[0]
