"""NumPy as a place to run: its arrays and its generators of random numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ...errors import GuardFailed, NotCompilable
from ..arrays import as_numpy, bfloat16, is_plain, write_into
from ..refusals import told


class NumpyTarget:
    """See :class:`graph_compiler.runtime.target.Target`."""

    name = "numpy"
    a_key = "np.random.default_rng(0)"
    array_types: tuple[type, ...] = (np.ndarray,)
    signals: tuple[type[Exception], ...] = ()
    undecided: tuple[type[Exception], ...] = ()
    shares = True
    sorts_keys = False
    tracer = None

    def __init__(self) -> None:
        self._seeds = np.random.SeedSequence(0)

    # ------------------------------------------------------------------------------ arrays
    def convert(self, array: Any) -> Any:
        """Arrays of other frameworks share their memory where it can be; results of a graph never do."""
        array = as_numpy(array)
        return None if array is None or not is_plain(array) else np.asarray(array)

    def adopt(self, array: Any) -> Any:
        """As :meth:`convert`: memory is shared."""
        return self.convert(array)

    def dtype(self, name: str) -> Any:
        """``np.dtype("float32")``."""
        try:
            return bfloat16() if name == "bfloat16" else np.dtype(name)
        except TypeError:
            return None

    def elements(self, array: Any) -> Any:
        """``tolist``."""
        return self.to_numpy(array).tolist()

    def on_host(self, array: Any) -> Any:
        """The array itself."""
        return array

    def follows(self, given: Iterable[Any]) -> bool:
        """Never: numpy has no gradients."""
        return False

    def is_traced(self, item: Any) -> bool:
        """Never: numpy computes at once."""
        return False

    def refusal(self, problem: Exception) -> str | None:
        """See :func:`graph_compiler.backends.refusals.told`."""
        return told(problem)

    def to_numpy(self, array: Any) -> Any:
        """The elements; bfloat16, which numpy itself lacks, as float32."""
        array = np.asarray(array)  # Python's numbers too, which generators give
        return np.asarray(array, np.float32 if array.dtype.name == "bfloat16" else None)

    def to_bytes(self, array: Any) -> bytes:
        """The elements as they lie in memory."""
        return np.asarray(array).tobytes()

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        """An array whose memory these bytes are."""
        return data.view(self.dtype(dtype)).reshape(shape)

    def copy(self, array: Any) -> Any:
        """The elements of now."""
        return np.array(array)

    def write_back(self, array: Any, value: Any) -> None:
        """In-place copy into a numpy array or a tensor; arrays of JAX and TensorFlow cannot be written to."""
        if not isinstance(array, np.ndarray) and not hasattr(array, "detach"):
            raise GuardFailed(
                f"the original function writes to its argument, but a {type(array).__name__} cannot be written to; "
                "pass a numpy array or a tensor, or use graph.functional"
            )
        write_into(array, np.asarray(value))

    # ------------------------------------------------------------------------------ compiling and random numbers
    def compile(self, function: Callable[..., Any], options: dict[str, Any], static: tuple[int, ...] = ()) -> Callable[..., Any]:
        """The function as it is: numpy has no compiler."""
        if options:
            raise NotCompilable(
                f"numpy has no compiler, so there is nothing that could take the options {', '.join(options)}; leave them out"
            )
        return function

    def untraced(self) -> AbstractContextManager[None]:
        """Nothing is traced here."""
        return nullcontext()

    def seed(self, number: int) -> None:
        """Restarts the sequence of generators that calls of graphs draw from."""
        self._seeds = np.random.SeedSequence(number)

    def next_key(self) -> np.random.Generator:
        """A fresh generator, independent of those before it."""
        return np.random.default_rng(self._seeds.spawn(1)[0])

    def rewinding(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        """Puts back numpy's own generator and those among the inputs."""
        generators = [leaf for leaf in leaves if isinstance(leaf, (np.random.Generator, np.random.RandomState))]
        own, states = np.random.get_state(), [copy.deepcopy(generator) for generator in generators]

        def rewind() -> None:
            np.random.set_state(own)
            for generator, before in zip(generators, states):
                _bits(generator).state = _bits(before).state

        return rewind

    def register_classes(self, classes: Iterable[type]) -> None:
        """Numpy has no transformations that containers would have to pass through."""

    def checked(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        """``result`` where the guards on elements hold, otherwise ``GuardFailed``."""
        for check, guard in zip(checks, guards):
            guard.require(self.elements(check))
        return result


def _bits(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, np.random.Generator) else generator._bit_generator


target = NumpyTarget()
