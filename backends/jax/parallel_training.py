"""Training steps over a mesh of JAX: what is held lies over it, a batch is split over it, and XLA partitions the step."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...contracts.parallelism import Layout, running_over_mesh
from ...contracts.training import Arrays, Held, Make, Program
from ..batches import batches
from .layouts import failures, placed, sharding, single
from .training import JaxTraining


class JaxTrainingOverMesh(JaxTraining):
    """Steps compute as if they ran on one device, batch norm too."""

    def __init__(self, mesh: Mesh, batch: Sequence[str], local_batch: bool) -> None:
        self._mesh, self._batch, self._local_batch = mesh, tuple(batch), local_batch
        self._parts = math.prod(mesh.shape[name] for name in self._batch)
        self._whole, self._divided = sharding(mesh, ()), sharding(mesh, (self._batch,) if self._batch else ())
        self._rate: tuple[float, Any] | None = None

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """What is held afterwards lies as it lay before."""
        compiled: dict[Any, Callable[..., Any]] = {}
        last: tuple[Callable[[], Any], Callable[..., Any]] = (type(None), step)  # what was held after the last step lies as it has to

        def lying(held: Held) -> tuple[Held, Callable[..., Any]]:
            """On the mesh, and the program for it."""
            leaves, key = jax.tree.flatten(held)
            leaves = list(map(self._on_mesh, leaves))
            if key not in compiled:
                layouts = key.unflatten([array.sharding for array in leaves])
                compiled[key] = super(JaxTrainingOverMesh, self).compiled(self._lying(step, layouts, is_consuming), is_consuming, options)
            return key.unflatten(leaves), compiled[key]

        def run(held: Held, arrays: Any, rate: Any) -> tuple[Held, Any]:
            nonlocal last
            placed, program = (held, last[1]) if last[0]() is held else lying(held)
            try:
                found: tuple[Held, Any] = program(placed, self._split(arrays), self._everywhere(rate))
            # Whatever a trace that recorded something raises: JAX would call what failed once in its slow way for ever.
            except Exception:
                compiled.clear()
                last = type(None), step
                with failures():
                    raise
            last = weakref.ref(found[0]), program
            return found

        return run

    def _lying(self, step: Program, layouts: Held, is_consuming: bool) -> Program:
        """A step whose results lie so. With ``out_shardings`` for what is donated, JAX calls a program in its slow way."""
        whole = self._whole

        def lying(held: Held, arrays: Any, rate: Any) -> tuple[Held, Any]:
            with running_over_mesh(self._mesh):
                after, found = step(held, arrays, rate)
            where = jax.tree.map(lambda _: whole, found) if is_consuming else (layouts.trained, jax.tree.map(lambda _: whole, found[1]))
            made: tuple[Held, Any] = jax.lax.with_sharding_constraint((after, found), (layouts, where))
            return made

        return lying

    def _everywhere(self, rate: Any) -> Any:
        """The learning rate on every device, sent once as long as it stays."""
        if rate is None:
            return None
        if self._rate is None or self._rate[0] != rate:
            self._rate = rate, placed(jnp.float32(rate), self._whole)
        return self._rate[1]

    def _split(self, arrays: Any) -> Any:
        if isinstance(arrays, Mapping):  # gradients
            return arrays
        parts = 1 if self._local_batch else self._parts
        where = {True: self._divided, False: self._whole}
        return [placed(array, where[is_split], self._local_batch) for array, is_split in batches(arrays, parts)]

    def _on_mesh(self, array: Any) -> Any:
        """An array as it lies; what a file has brought to one device, on every device."""
        return array if len(array.sharding.device_set) == self._mesh.size else placed(array, self._whole)

    def placed(self, array: Any, where: Any) -> Any:
        """A batch as steps want it, where nothing else is asked for."""
        is_batch = where is None and len(array.shape) and array.shape[0] % self._parts == 0
        return super().placed(array, self._divided if is_batch and self._batch else where)

    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """On one device: recordings are made from the results."""
        alone = super().once(function)
        return lambda *arrays: alone(*jax.tree.map(single, arrays))

    def snapshot(self, array: Any) -> Any:
        """On one device."""
        return single(array)

    def storable(self, array: Any) -> Any:
        """On one device."""
        return super().storable(single(array))

    def restored(self, array: Any, like: Any) -> Any:
        """As the array lay that it takes the place of."""
        return placed(super().restored(array, like), like.sharding)

    def with_optimizer_arrays(self, make: Make, held: Held, arrays: Arrays) -> Any:
        """As the parameters lie that they are of."""
        found, like = super().with_optimizer_arrays(make, held, arrays), self.begun(make, held.trained)
        return jax.tree.map(lambda array, other: placed(array, self._on_mesh(other).sharding), found, like)

    def optimizer_arrays(self, make: Make, held: Held) -> Arrays:
        """On one device."""
        return {name: single(array) for name, array in super().optimizer_arrays(make, held).items()}


def held_over(held: Held, mesh: Mesh, layouts: Mapping[str, Layout]) -> Held:
    """Each array with the name of a parameter as that one, wherever it is held; all others on every device."""
    shapes = {name: array.shape for name, array in held.parameters.items()}

    def lying(path: Any, array: Any) -> Any:
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey) and key.key in shapes]
        is_like = bool(names) and array.shape == shapes[names[-1]]
        layout = layouts.get(names[-1], ()) if is_like else ()
        return placed(jnp.copy(array), NamedSharding(Mesh(mesh.devices, mesh.axis_names), PartitionSpec(*layout)))

    found: Held = jax.tree_util.tree_map_with_path(lying, held)
    return found


def held_by_one(held: Held) -> Held:
    """Copies on one device."""
    found: Held = jax.tree.map(lambda array: jnp.copy(single(array)), held)
    return found
