"""Recording of calls that draw random numbers of NumPy, and detection of draws that were not recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import TracingError
from ...ops.registry import ArraySpec
from ...recording.patches.host_random import host_state, same_host_state

FUNCTION, METHOD = "numpy.random.", "numpy.random.Generator."
GENERATORS = (np.random.Generator, np.random.RandomState)
SPEC = ArraySpec((), "generator")
# Functions and methods that are recorded. "shuffle" is recorded as a permutation.
NAMES = frozenset({
    "rand", "randn", "randint", "random", "random_sample", "ranf", "sample", "choice", "permutation",
    "normal", "uniform", "standard_normal", "exponential", "standard_exponential", "poisson", "binomial",
    "beta", "gamma", "standard_gamma", "laplace", "gumbel", "logistic", "rayleigh", "lognormal", "chisquare",
    "standard_cauchy", "integers", "multivariate_normal", "geometric", "weibull", "pareto", "triangular",
    "standard_t", "dirichlet", "multinomial", "permuted", "seed",
})  # fmt: skip


class TracedGenerator:
    """Proxy for a generator that the function gets or stores."""

    __slots__ = ("_capture", "_real", "_value")

    def __init__(self, capture: Any, real: Any, value: Any) -> None:
        self._capture, self._real, self._value = capture, real, value

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._real)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self._real, name):
            raise AttributeError(name)
        if name in NAMES - {"seed"} or name == "shuffle":
            return lambda *args, **kwargs: draw(self._capture, self, name, args, kwargs)
        raise TracingError(
            f"{self._capture.here()}: {name} of a generator cannot be recorded; use its methods that draw, "
            "or numpy.random's"
        )


def draw(
    capture: Any, generator: TracedGenerator | None, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call of a method of ``generator``; if that is None, of a function of ``numpy.random``."""
    if name == "shuffle":
        return _shuffle(capture, generator, *args, **kwargs)
    capture.states.check(capture)
    given = () if generator is None else (generator,)
    call = _RandomCall(name, generator is not None)
    try:
        return capture.record(
            (METHOD if given else FUNCTION) + name, call, (*given, *args), kwargs, lambda: call.gave_number
        )
    finally:
        capture.states.note()


class _RandomCall:
    """Callable that calls a random function, and converts a result that is a Python number to a NumPy scalar.

    of_generator: True if the first argument is the generator, False for a function of ``numpy.random``.
    gave_number: True if the function itself returned a Python number in the last call.
    """

    def __init__(self, name: str, of_generator: bool) -> None:
        self.name, self.of_generator, self.gave_number = name, of_generator, False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = getattr(args[0] if self.of_generator else np.random, self.name)(
            *args[self.of_generator :], **kwargs
        )
        self.gave_number = type(found) in (bool, int, float)
        return np.asarray(found)[()] if self.gave_number else found


def _shuffle(capture: Any, generator: TracedGenerator | None, x: Any, axis: int = 0) -> None:
    if axis or not hasattr(x, "_seen"):
        raise TracingError(
            f"{capture.here()}: shuffle of {type(x).__name__} along axis {axis} cannot be recorded; use "
            "permutation"
        )
    order = draw(capture, generator, "permutation", (x.shape[0],), {})
    # NumPy shuffles in place.
    capture.setitem(x, Ellipsis, capture.getitem(x, order))


class UnrecordedSampling(TracingError):
    """Error for a change of the state of a random generator outside of recorded calls."""


class GeneratorStates:
    """States of generators, to detect random numbers that were not recorded.

    generators: the generators that the function gets or stores.
    host: states of Python's and NumPy's global generators.
    seen: states of ``generators``, as strings.
    """

    def __init__(self) -> None:
        # A different state reveals a call that was not recorded.
        self.generators: list[Any] = []
        self.host: Any = None
        self.seen: list[Any] = []

    def follow(self, generators: list[Any]) -> None:
        self.generators = generators
        self.note()

    def note(self) -> None:
        # The states are compared as strings, because they are dicts with arrays, which `==` cannot compare.
        self.host, self.seen = host_state(), [repr(state_of(item)) for item in self.generators]

    @contextmanager
    def apart(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.note()

    def check(self, capture: Any) -> None:
        if not same_host_state(self.host, host_state()) or self.seen != [
            repr(state_of(item)) for item in self.generators
        ]:
            raise UnrecordedSampling(
                f"{capture.recorder.graph.name} draws random numbers in a way that cannot be recorded "
                "(inside of another library, or by a "
                "function that is not known here); they would be the same at every call. Draw them before, "
                "and pass them in"
            )


def bit_generator_of(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, np.random.Generator) else generator._bit_generator


def state_of(generator: Any) -> Any:
    return bit_generator_of(generator).state
