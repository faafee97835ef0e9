"""Conversion of a batch ``(inputs, target)`` to a call of the model with arrays of the target framework."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from ..contracts import Target
from ..errors import CallMismatch
from ..ops.dtypes import dtype_name
from ..runtime import Graph
from ..runtime.calling.binding import takes_container
from ..trees import Tree, flatten, likeness, unflatten


@dataclass(frozen=True)
class Batch:
    """A flattened batch.

    given: arrays as they were passed.
    arrays: the same as arrays of the target framework.
    tree: structure of the batch. Compiled steps are cached by it.
    """

    given: list[Any]
    arrays: list[Any]
    tree: Tree

    @property
    def unplaced(self) -> list[Any]:
        """The arrays as given, with CPU tensors as NumPy arrays, which a recording moves to the device.

        A tensor that NumPy cannot represent, or that requires a gradient, stays a tensor.
        """
        # The same array object must stay one object.
        plain = {id(leaf): _numpy_if_on_cpu(leaf) for leaf in self.given}
        return [plain[id(leaf)] for leaf in self.given]


class BatchFlattener:
    """Flattens the batches of a graph. A batch that is like the previous one reuses its structure."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._target = graph, graph.pipeline.target.target
        self._kinds = dict.fromkeys(self._target.array_types, type)
        self._last: tuple[list[Any], int, Tree] | None = None

    def flatten(self, batch: Any) -> Batch:
        """Flatten ``batch``, a pair ``(inputs, target)``, and convert its arrays.

        Raise ``CallMismatch`` if it is no such pair, or has an array that the target framework cannot
        represent.
        """
        arrays: list[Any] = []
        alike, known, last = likeness([batch], self._kinds, arrays), len(self._graph.variants), self._last
        # The recorded variants decide whether a container is one argument, so their number counts too.
        if last is not None and last[0] == alike and last[1] == known:
            return Batch(arrays, arrays, last[2])
        found = _flatten_batch(batch, self._graph, self._target)
        is_as_given = len(arrays) == len(found.arrays) and all(map(operator.is_, arrays, found.arrays))
        self._last = (alike, known, found.tree) if is_as_given else None
        return found


def _flatten_batch(batch: Any, graph: Graph, target: Target) -> Batch:
    if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
        raise CallMismatch(
            f"a batch is (inputs, target), and this one is {_describe(batch)}; inputs are an array, a tuple "
            "of arguments or a dict of keywords, and a model that computes its own loss takes (inputs, None)"
        )
    inputs, wanted = batch
    leaves, tree = flatten((_call_arguments(inputs, graph), wanted), _is_array)
    return Batch(
        leaves,
        [leaf if isinstance(leaf, target.array_types) else _convert(leaf, target) for leaf in leaves],
        tree,
    )


def _convert(leaf: Any, target: Target) -> Any:
    try:
        array = target.convert(leaf)
    except (TypeError, ValueError):
        array = None
    if array is None:
        raise CallMismatch(
            f"a batch holds a {type(leaf).__name__} {dtype_name(leaf)}{list(leaf.shape)}, a type that "
            f"{target.name} has no array for: give arrays of numbers"
        )
    return array


def unflatten_batch(tree: Tree, arrays: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    (args, kwargs), wanted = unflatten(tree, arrays)
    return args, kwargs, wanted


def _call_arguments(inputs: Any, graph: Graph) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments of the model for ``inputs``.

    A tuple or list is the arguments, a mapping the keywords, anything else the one argument. A list or
    mapping that the model takes as one argument is passed as such.
    """
    # A Keras model with several inputs takes them in one list or dict.
    if not isinstance(inputs, tuple) and takes_container(graph.variants, inputs):
        return (inputs,), {}
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    # Tokenizers return batches of their own mapping class.
    if isinstance(inputs, dict) or hasattr(inputs, "keys"):
        return (), {str(name): inputs[name] for name in inputs}
    return (inputs,), {}


def _numpy_if_on_cpu(leaf: Any) -> Any:
    try:
        return leaf.numpy() if getattr(leaf, "is_cpu", False) else leaf
    except (TypeError, RuntimeError):
        # The tensor has a dtype that NumPy lacks, or requires a gradient.
        return leaf


def _is_array(item: Any) -> bool:
    # Classes of arrays have these attributes, too.
    return hasattr(item, "dtype") and hasattr(item, "shape") and not isinstance(item, type)


def _describe(batch: Any) -> str:
    if isinstance(batch, (tuple, list)):
        return f"a {type(batch).__name__} of {len(batch)}"
    return f"an array of the shape {list(batch.shape)}" if _is_array(batch) else f"a {type(batch).__name__}"
