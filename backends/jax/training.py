"""Training in JAX: optax's optimizers, ``jax.value_and_grad``, steps by ``jax.jit`` that take over the memory of what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from ...contracts.training import Arrays, Held, Make, Program, Training
from ...errors import CallMismatch, FrameworkNotInstalled, GraphCompilerError
from .native import target

jax.tree_util.register_dataclass(Held, [field.name for field in fields(Held)], [])


class JaxTraining(Training):
    """See :class:`graph_compiler.contracts.training.Training`. An optimizer is a function of the rate that gives a transformation of
    optax."""

    is_pure = True

    # ------------------------------------------------------------------------------ optimizers
    def named(self, name: str, options: Mapping[str, Any]) -> Make:
        """See :mod:`graph_compiler.backends.jax.optimizers`."""
        _require_optax()
        from .optimizers import made

        return made(name, options)

    def own(self, item: Any) -> Make | None:
        """A pair of functions ``init`` and ``update``, as optax and libraries beside it have them."""
        is_one = callable(getattr(item, "init", None)) and callable(getattr(item, "update", None))
        return _Own(item) if is_one else None

    def has_rate(self, make: Make) -> bool:
        """Of those that are made by name; transformations of optax have theirs inside."""
        return not getattr(make, "is_own", False)

    def begun(self, make: Make, trained: Arrays) -> Any:
        """``init``, as one program; some give the parameters themselves, which a step takes over, so all are copies."""
        return jax.jit(lambda trained: jax.tree.map(jnp.copy, make(0.0).init(trained)))(trained)

    def updated(self, make: Make, held: Held, gradients: Arrays, rate: Any, is_finite: Any) -> tuple[Arrays, Any]:
        """``update``, and ``optax.apply_updates``."""
        updates, state = make(rate).update(gradients, held.optimizer, held.trained)
        trained = jax.tree.map(lambda array, update: (array + update).astype(array.dtype), held.trained, updates)
        if is_finite is None:
            return trained, state
        return self.where(is_finite, trained, held.trained), self.where(is_finite, state, held.optimizer)

    def optimizer_arrays(self, make: Make, held: Held) -> Arrays:
        """The leaves of the state by their paths."""
        found = jax.tree_util.tree_flatten_with_path(held.optimizer)[0]
        return {jax.tree_util.keystr(path, simple=True, separator="/"): jnp.asarray(leaf) for path, leaf in found}

    def with_optimizer_arrays(self, make: Make, held: Held, arrays: Arrays) -> Any:
        """The leaves in their places."""
        leaves, tree = jax.tree_util.tree_flatten_with_path(self.begun(make, held.trained))
        names = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in leaves]
        return jax.tree.unflatten(tree, [arrays[name].astype(leaf.dtype) for name, (_, leaf) in zip(names, leaves)])

    # ------------------------------------------------------------------------------ arrays
    def trainable(self, array: Any) -> Any:
        """In memory of its own, which the first step takes over. By numpy where it is on a CPU: ``jnp.copy`` compiles for each shape."""
        if _is_key(array):
            return self.restored(jnp.copy(jax.random.key_data(array)), array)
        device, *more = array.devices()
        return jax.device_put(np.array(array), array.sharding) if device.platform == "cpu" and not more else jnp.copy(array)

    kept = snapshot = trainable

    def storable(self, array: Any) -> Any:
        """Of keys their words."""
        return jax.random.key_data(array) if _is_key(array) else array

    def stored_spec(self, array: Any) -> list[Any] | None:
        """Words of 32 bits, along the last axis."""
        return ["uint32", *array.shape, *jax.eval_shape(jax.random.key_data, array).shape[array.ndim :]] if _is_key(array) else None

    def restored(self, array: Any, like: Any) -> Any:
        """Keys of the words."""
        return jax.random.wrap_key_data(array, impl=jax.random.key_impl(like)) if _is_key(like) else array

    def values(self, arrays: Arrays) -> Arrays:
        """As they are."""
        return arrays

    def put(self, held: Arrays, new: Arrays) -> Arrays:
        """The new ones, of the type that is held."""
        return {name: new[name].astype(array.dtype) if name in new else array for name, array in held.items()}

    def zeros_like(self, array: Any) -> Any:
        """``jnp.zeros_like``."""
        return jnp.zeros_like(array)

    def number(self, value: float | int) -> Any:
        """Of 32 bits."""
        return jnp.asarray(value, jnp.int32 if isinstance(value, int) else jnp.float32)

    def is_floating(self, array: Any) -> bool:
        """By the dtype."""
        return bool(jnp.issubdtype(array.dtype, jnp.floating))

    # ------------------------------------------------------------------------------ gradients
    def gradients(self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays) -> tuple[Any, Any, Arrays]:
        """``jax.value_and_grad``."""
        (value, aux), gradients = jax.value_and_grad(function, has_aux=True)(trained)
        return value, aux, gradients

    def norm(self, arrays: Arrays) -> Any:
        """As ``optax.global_norm``."""
        return jnp.sqrt(sum((jnp.sum(jnp.square(array.astype(jnp.float32))) for array in arrays.values()), jnp.float32(0)))

    def minimum(self, left: Any, right: Any) -> Any:
        """``jnp.minimum``."""
        return jnp.minimum(left, right)

    def is_finite(self, arrays: Arrays) -> Any:
        """One boolean."""
        return jnp.stack([jnp.all(jnp.isfinite(array)) for array in arrays.values()]).all()

    def where(self, condition: Any, new: Any, old: Any) -> Any:
        """``jnp.where`` over all leaves."""
        return jax.tree.map(lambda one, other: jnp.where(condition, one, other), new, old)

    # ------------------------------------------------------------------------------ random numbers
    def generator(self, like: Any) -> Any:
        """A key."""
        return jnp.copy(target.next_key())

    def key(self, rng: Any) -> tuple[Any, Any]:
        """The key is split."""
        following, key = jax.random.split(rng)
        return key, following

    def rng_arrays(self, rng: Any) -> Arrays:
        """The words of the key."""
        return {"key": rng}

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        """The key."""
        return arrays["key"]

    # ------------------------------------------------------------------------------ running
    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As one program: operation by operation, each is compiled."""
        return target.compile(function, {})

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """``jax.jit``; the memory of what was held becomes that of what is."""
        found: Program = jax.jit(step, donate_argnums=(0,) if is_consuming else (), **dict(options or {}))
        is_first = True

        def run(held: Held, arrays: Any, rate: Any) -> tuple[Held, Any]:
            nonlocal is_first
            try:
                made = found(_bound(held, arrays) if is_first else held, arrays, rate)
            except GraphCompilerError:
                raise
            except Exception as problem:
                _require_one_place(held, arrays, problem)
                raise
            is_first = False
            return made

        return run

    def placed(self, array: Any, where: Any) -> Any:
        """``jax.device_put``."""
        plain = array if isinstance(array, (jax.Array, np.ndarray)) else target.convert(array)
        return jax.device_put(plain, where)

    def is_device(self, item: Any) -> bool:
        """A device or a sharding."""
        return isinstance(item, (jax.Device, jax.sharding.Sharding))


class _Own:
    """A transformation of optax, whatever the rate."""

    is_own = True

    def __init__(self, item: Any) -> None:
        self._item = item

    def __call__(self, rate: Any) -> Any:
        return self._item


def _is_key(array: Any) -> bool:
    """Whether the elements are keys of random numbers, which numpy has not."""
    return bool(jnp.issubdtype(array.dtype, jax.dtypes.prng_key))


def _bound(held: Held, arrays: Any) -> Held:
    """What is held, all of it bound to the device that some of it, or of the batch, is bound to (``committed``): a step gives it back so,
    and would be compiled once more for the next one."""
    leaves, tree = jax.tree.flatten(held)
    places = {array.sharding for array in (*leaves, *jax.tree.leaves(arrays)) if isinstance(array, jax.Array) and array.committed}
    if len(places) != 1:
        return held
    (place,) = places
    return cast(Held, tree.unflatten([array if array.committed else jax.device_put(array, place) for array in leaves]))


def _require_one_place(held: Held, arrays: Any, problem: Exception) -> None:
    """``CallMismatch`` where a batch lies on other devices than what is trained."""
    own = {device for array in held.trained.values() for device in array.devices()}
    for place, array in enumerate(jax.tree.leaves(arrays)):
        if isinstance(array, jax.Array) and len(array.devices()) > 1 and array.devices() != own:
            raise CallMismatch(
                f"array {place} of the batch has the shape {list(array.shape)} and lies on {len(array.devices())} devices, and the state "
                f"on {len(own)}; put the state on them by state = parallel.replicate(state), or parallel.shard, or give the batch on one "
                "device"
            ) from problem


def _require_optax() -> None:
    try:
        import optax  # noqa: F401
    except ImportError as problem:
        raise FrameworkNotInstalled(
            "optimizers by name are optax's in JAX, and optax is not installed here; install it with: pip install optax"
        ) from problem


training = JaxTraining()
