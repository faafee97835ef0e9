"""``replicate`` and ``unreplicate``: arrays whole on every device, and back."""

from __future__ import annotations

from typing import Any, TypeVar

from ..runtime.boundary import public
from ..training import TrainState
from ..transforms.flat import is_array
from ..trees import flatten, unflatten
from .engines import engine_named, engine_of_arrays
from .states import with_training

T = TypeVar("T")


@public
def replicate(tree: T, devices: Any = None, axis_name: str = "device", *, local_batch: bool = False) -> T:
    """The same structure with its arrays whole on every device, as :class:`Parallel` takes what is no batch.

    In JAX an array has an empty ``PartitionSpec`` then; in torch it is a ``DTensor`` with the placement ``Replicate()``, and has the
    elements that the first process gave; TensorFlow copies arrays as they are used.

    Of a ``TrainState`` it gives one whose steps are data-parallel: ``training.single_train_step(replicate(state), batch)`` splits the batch
    over the devices. JAX computes as if on one device. In torch and TensorFlow each device computes the loss of its part, gradients, losses
    and buffers (statistics of batch norm) are averaged over the devices, and a loss has to be a mean over the batch. With
    ``local_batch`` a process gives the part of its own devices.

    Raises:
        NotCompilable: arrays of NumPy, a state of TensorFlow that scales its loss (float16).
        InvalidOption: ``devices`` that are none, or have to be set up first.
    """
    if isinstance(tree, TrainState):
        engine = engine_named(tree.graph.pipeline.target.name, "parallel.replicate")
        return with_training(tree, *engine.training_over_axis(tree.held, tree.plan.make, engine.axis(devices, axis_name), local_batch))
    engine = engine_of_arrays(tree, "parallel.replicate")
    leaves, structure = flatten(tree, is_array)
    found: T = unflatten(structure, engine.replicated(list(map(engine.array, leaves)), engine.axis(devices, axis_name)))
    return found


@public
def unreplicate(tree: T) -> T:
    """The same structure with its arrays, replicated or laid out over a mesh, as plain ones on one device; a
    ``TrainState`` is again one that trains there."""
    if isinstance(tree, TrainState):
        engine = engine_named(tree.graph.pipeline.target.name, "parallel.unreplicate")
        return with_training(tree, *engine.training_alone(tree.plan.engine, tree.held, tree.plan.make))
    engine = engine_of_arrays(tree, "parallel.unreplicate")
    leaves, structure = flatten(tree, is_array)
    found: T = unflatten(structure, map(engine.single, leaves))
    return found
