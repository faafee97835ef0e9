"""``replicate`` and ``unreplicate``: copy arrays to all devices, and back to one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from ..contracts.training import StepState, Training
from ..runtime.boundary import public
from ..training import TrainState
from ..transforms.functions import is_array
from ..trees import flatten, unflatten
from .engines import engine_named, engine_of_arrays

S = TypeVar("S", bound=TrainState)


def with_training(state: S, engine: Training, held: StepState) -> S:
    """Return a state like ``state`` that trains ``held`` with ``engine``.

    ``state`` is not consumed, but must not be consumed already.
    """
    state.require_unconsumed()
    # The new state has no programs, because they belong to an engine.
    return type(state)(replace(state.plan, engine=engine), held, state.step)


T = TypeVar("T")


@public
def replicate(tree: T, devices: Any = None, axis_name: str = "device", *, local_batch: bool = False) -> T:
    """Return the same structure with its arrays replicated on every device.

    :class:`Parallel` does not split such arrays. In JAX an array then has an empty ``PartitionSpec``. In
    torch it is a ``DTensor`` with placement ``Replicate()`` and the values of the first process. TensorFlow
    copies arrays as they are used.

    A replicated ``TrainState`` takes data-parallel steps: ``training.single_train_step(replicate(state),
    batch)`` splits the batch over the devices. JAX computes what one device would. In torch and TensorFlow
    each device computes the loss of its part, and gradients, losses and buffers are averaged, so the loss has
    to be a mean over the batch.

    Args:
        tree: Arrays in any structure, or a ``TrainState``.
        devices: As in :class:`Parallel`.
        axis_name: Name of the axis for collectives.
        local_batch: Each process passes the part of its own devices instead of the whole batch.

    Raises:
        NotCompilable: Arrays are NumPy's, or a TensorFlow state scales its loss (float16).
        InvalidOption: ``devices`` do not exist or have to be set up first.
    """
    if isinstance(tree, TrainState):
        engine = engine_named(tree.graph.pipeline.target.name, "parallel.replicate")
        return with_training(
            tree,
            *engine.training_over_axis(
                tree.held, tree.plan.make, engine.axis(devices, axis_name), local_batch
            ),
        )
    engine = engine_of_arrays(tree, "parallel.replicate")
    leaves, structure = flatten(tree, is_array)
    found: T = unflatten(
        structure, engine.replicated(list(map(engine.array, leaves)), engine.axis(devices, axis_name))
    )
    return found


@public
def unreplicate(tree: T) -> T:
    """Return the same structure with replicated or sharded arrays as plain arrays on one device.

    A ``TrainState`` trains on one device again.
    """
    if isinstance(tree, TrainState):
        engine = engine_named(tree.graph.pipeline.target.name, "parallel.unreplicate")
        return with_training(tree, *engine.training_alone(tree.plan.engine, tree.held, tree.plan.make))
    engine = engine_of_arrays(tree, "parallel.unreplicate")
    leaves, structure = flatten(tree, is_array)
    found: T = unflatten(structure, map(engine.single, leaves))
    return found
