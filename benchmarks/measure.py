"""Measuring: interleaved rounds, medians, and ratios taken within a round.

Machines drift: another process, a hotter core. What is compared is therefore run in turns within each round,
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
    """Garbage is collected before, not during."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(call: Call, repeats: int = 1) -> float:
    """Seconds a call, over so many calls."""
    with _no_collector():
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - start) / repeats


def repeats_for(call: Call, wanted: float) -> int:
    """How many calls take about the wanted seconds; warms up on the way."""
    call()
    once = min(seconds(call) for _ in range(3))
    return max(1, round(wanted / max(once, 1e-9)))


def _rotated(names: Sequence[str], by: int) -> list[str]:
    place = by % len(names)
    return [*names[place:], *names[:place]]


def interleave(calls: Mapping[str, Call], *, rounds: int, batch: float = 0.01) -> Samples:
    """Steady seconds a call of each contender, one sample a round; a sample is a batch of calls that takes
    ``batch`` seconds.
    """
    repeats = {name: repeats_for(call, batch) for name, call in calls.items()}
    samples: Samples = {name: [] for name in calls}
    for place in range(rounds if calls else 0):
        for name in _rotated(list(calls), place):
            samples[name].append(seconds(calls[name], repeats[name]))
    return samples


def interleave_anew(
    makers: Mapping[str, Callable[[], Call]], *, goes: int, rounds: int, batch: float
) -> Samples:
    """Like ``interleave``, with so many rounds in each of some goes; in each go every contender is made anew.

    Where the memory of a compiled function lies is another after each compilation, and makes up to 8 % of a
    call of some 200 microseconds.
    """
    samples: Samples = {name: [] for name in makers}
    for _ in range(goes if makers else 0):
        once = interleave({name: make() for name, make in makers.items()}, rounds=rounds, batch=batch)
        for name, taken in once.items():
            samples[name] += taken
    return samples


def interleave_once(makers: Mapping[str, Callable[[], float]], *, rounds: int) -> Samples:
    """Like ``interleave`` for what can be done only once on each thing (a conversion, a first call): each
    maker times itself.
    """
    samples: Samples = {name: [] for name in makers}
    for place in range(rounds if makers else 0):
        for name in _rotated(list(makers), place):
            samples[name].append(makers[name]())
    return samples


def ratio(samples: Samples, above: str, below: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(samples[above], samples[below], strict=True))


def difference(samples: Samples, larger: str, smaller: str) -> float:
    """The median of the rounds' differences, in seconds."""
    return statistics.median(a - b for a, b in zip(samples[larger], samples[smaller], strict=True))


def steady(call: Call, *, batches: int, repeats: int = 100) -> float:
    """Seconds of one call of some microseconds: the fastest of many batches, each short enough to lie between
    two interruptions.
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
    """Seconds of one call that follows another, which has filled the processor's caches: the first decile,
    each call timed by itself.
    """
    taken = []
    with _no_collector():
        for _ in range(times):
            before()
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return statistics.quantiles(taken, n=10)[0]
