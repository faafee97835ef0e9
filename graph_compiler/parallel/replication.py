"""``replicate`` and ``unreplicate``: arrays whole on every device, and back."""

from __future__ import annotations

from typing import Any, TypeVar

from ..transforms.flat import is_array
from ..trees import flatten, unflatten
from .engines import engine_of_arrays

T = TypeVar("T")


def replicate(tree: T, devices: Any = None, axis_name: str = "device") -> T:
    """The same structure with its arrays whole on every device, as :class:`Parallel` takes what is no batch.

    In JAX an array has an empty ``PartitionSpec`` then; in torch it is a ``DTensor`` with the placement ``Replicate()``, and has the
    elements that the first process gave; TensorFlow copies arrays as they are used.

    Raises:
        NotCompilable: arrays of NumPy.
        InvalidOption: ``devices`` that are none, or have to be set up first.
    """
    engine = engine_of_arrays(tree, "parallel.replicate")
    leaves, structure = flatten(tree, is_array)
    found: T = unflatten(structure, engine.replicated(list(map(engine.array, leaves)), engine.axis(devices, axis_name)))
    return found


def unreplicate(tree: T) -> T:
    """The same structure with its arrays, replicated or laid out over a mesh, as plain ones on one device."""
    engine = engine_of_arrays(tree, "parallel.unreplicate")
    leaves, structure = flatten(tree, is_array)
    found: T = unflatten(structure, map(engine.single, leaves))
    return found


__all__ = ["replicate", "unreplicate"]
