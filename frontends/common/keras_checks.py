"""Checks that Keras' layers make of their inputs, on the sizes of the recorded call.

Keras leaves unknown sizes out of these checks, so a recording would accept inputs that Keras rejects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...forwarding import forwards
from ...recording.patches.patch import Replacement


def input_check(
    keras: Any,
    is_unknown: Callable[[Any, int], bool],
    fixed_shape: Callable[[Any, Sequence[int]], Sequence[int]],
) -> Replacement:
    """Return a patch of ``keras.Layer``, whose layers then check inputs with the sizes of the recorded call.

    is_unknown(array, axis): returns True for a size that Keras would leave out of the check.
    fixed_shape(array, axes): guards the sizes along ``axes``, and returns the shape in the recorded call.
    """
    before = keras.Layer._assert_input_compatibility

    @forwards
    def check(layer: Any, given: Any) -> None:
        specs = keras.tree.flatten(layer.input_spec or ())
        shown = {}
        for array, spec in zip(_in_order(keras, given, specs), specs):
            if spec is None or not hasattr(array, "shape"):
                continue
            if axes := [axis for axis in compared_axes(spec, len(array.shape)) if is_unknown(array, axis)]:
                shown[id(array)] = keras.KerasTensor(fixed_shape(array, axes), array.dtype)
        before(layer, keras.tree.map_structure(lambda item: shown.get(id(item), item), given))

    return keras.Layer, "_assert_input_compatibility", check


def _in_order(keras: Any, given: Any, specs: Sequence[Any]) -> list[Any]:
    # Keras orders the items of a dict by the names of the specifications.
    names = [getattr(spec, "name", None) for spec in specs]
    if isinstance(given, dict) and all(name in given for name in names):
        given = [given[name] for name in names]
    return list(keras.tree.flatten(given))


def compared_axes(spec: Any, rank: int) -> Iterator[int]:
    """Yield the axes of an input with ``rank`` axes whose sizes are compared with a ``keras.InputSpec``.

    >>> from types import SimpleNamespace
    >>> list(compared_axes(SimpleNamespace(axes={-1: 3, 1: None, 4: 2}, shape=None), 4))
    [-1]
    >>> list(compared_axes(SimpleNamespace(axes={}, shape=(None, 8)), 3))
    [1, 2]
    """
    yield from (axis for axis, size in spec.axes.items() if size is not None and -rank <= axis < rank)
    if spec.shape is not None:
        # Keras accepts a further axis, whose size is 1.
        stated = (*spec.shape, *(1,) * (rank - len(spec.shape)))
        yield from (axis for axis, size in enumerate(stated[:rank]) if size is not None)
