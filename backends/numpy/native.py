"""NumPy's arrays, dtypes and random generators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...contracts import Target
from ...ir.graph import Graph
from ...passes import copy_overwritten
from ...passes.lowering.copies import copy_aliased_outputs
from ..common.native import as_numpy, bfloat16, failure_text, is_plain, write_into

# Operations whose result ``passes/lowering/copies.py`` may treat as a view of the first array.
VIEWS = frozenset({
    "adaptive_max_pool", "avg_pool", "bitcast", "channel_shuffle", "diff", "einsum", "embedding", "flip",
    "gather_nd", "getitem", "im2col", "imag", "interpolate", "matrix_power", "max_pool", "pad",
    "permute_dims", "pixel_shuffle", "pixel_unshuffle", "real", "refuse_gradient", "reshape", "split",
    "stop_gradient", "take", "unstack", "view_as_complex", "with_gradient",
})  # fmt: skip
# Operations whose row returns a view that NumPy does not allow to be written to.
READ_ONLY = frozenset({"broadcast_to", "diagonal", "sliding_window"})


def copy_overwritable_values(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with copies of outputs that may be scalars, read-only or aliases.

    Outputs and values of effects that an effect may overwrite are copied, too.
    """
    graph, separated = copy_overwritten(graph, VIEWS | READ_ONLY)
    graph, copied = copy_aliased_outputs(graph, VIEWS, READ_ONLY, scalars=True)
    return graph, separated or copied


class NumpyTarget(Target):
    name = "numpy"
    a_key = "np.random.default_rng(0)"
    array_types: tuple[type, ...] = (np.ndarray,)
    # As an index, a scalar gives a view, and an array without axes gives a copy.
    keeps_scalars = True
    is_zero_copy = True

    def __init__(self) -> None:
        self._seeds = np.random.SeedSequence(0)

    # ------------------------------------------------------------------------------ arrays
    def convert(self, array: Any) -> Any:
        # While a NumPy function is recorded, its proxies count as arrays.
        if getattr(type(array), "stands_for_array", False):
            return array
        array = as_numpy(array)
        return None if array is None or not is_plain(array) else np.asarray(array)

    def address(self, array: Any) -> int | None:
        return int(array.ctypes.data)

    def dtype(self, name: str) -> Any:
        try:
            return bfloat16() if name == "bfloat16" else np.dtype(name)
        except TypeError:
            return None

    def elements(self, array: Any) -> Any:
        return self.to_numpy(array).tolist()

    def on_host(self, array: Any) -> Any:
        return array

    def refusal(self, problem: Exception) -> str | None:
        return failure_text(problem)

    def to_numpy(self, array: Any) -> Any:
        # Random generators return Python numbers for scalars.
        array = np.asarray(array)
        return np.asarray(array, np.float32 if array.dtype.name == "bfloat16" else None)

    def to_bytes(self, array: Any) -> bytes:
        return np.asarray(array).tobytes()

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        return data.view(self.dtype(dtype)).reshape(shape)

    def copy(self, array: Any) -> Any:
        return np.array(array)

    def write_back(self, array: Any, value: Any) -> None:
        write_into(array, np.asarray(value))

    # --------------------------------------------------------------------------- compiling and random numbers
    def seed(self, number: int) -> None:
        self._seeds = np.random.SeedSequence(number)

    def is_key(self, item: Any) -> bool:
        return isinstance(item, np.random.Generator)

    def next_key(self, leaves: Iterable[Any] = ()) -> np.random.Generator:
        # Spawned seeds lead to independent sequences.
        return np.random.default_rng(self._seeds.spawn(1)[0])

    def random_state_restorer(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        generators = [
            leaf for leaf in leaves if isinstance(leaf, (np.random.Generator, np.random.RandomState))
        ]
        own, states = (
            np.random.get_state(legacy=False),
            [copy.deepcopy(generator) for generator in generators],
        )

        def rewind() -> None:
            np.random.set_state(own)
            for generator, before in zip(generators, states):
                _bits(generator).state = _bits(before).state

        return rewind


def _bits(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, np.random.Generator) else generator._bit_generator


target = NumpyTarget()
