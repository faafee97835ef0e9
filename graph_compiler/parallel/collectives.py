"""``psum`` and its like: what the devices of an axis exchange in the middle of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..contracts import Parallelism
from ..contracts.parallelism import COLLECTIVES
from ..errors import InvalidOption, UnsupportedOperation
from ..tracing import active
from ..transforms.functions import owner_of
from ..trees import map_structure
from .axes import axes
from .engines import engine_named, loaded_engines

T = TypeVar("T")


def psum(x: T, axis_name: str) -> T:
    """The sum over the devices of an axis: of each array in ``x``, and of each number, with the shape and dtype that it has.

    Runs inside of :class:`Parallel`; in JAX inside of ``jax.shard_map`` and ``transforms.vmap(axis_name=)``, too. It is
    ``jax.lax.psum``, ``torch.distributed.all_reduce``, ``ReplicaContext.all_reduce``. Its gradient is the sum of the devices' gradients.

    Raises:
        InvalidOption: no function runs over such an axis here.
        CollectiveFailed: another process has ended, or waits elsewhere.
        NotCompilable: an array of NumPy, which runs on one device.
    """
    return _over("psum", x, axis_name)


def pmean(x: T, axis_name: str) -> T:
    """The mean over the devices of an axis; integers give floats. See :func:`psum`."""
    return _over("pmean", x, axis_name)


def pmax(x: T, axis_name: str) -> T:
    """The largest over the devices of an axis, element by element. It has no gradient in JAX. See :func:`psum`."""
    return _over("pmax", x, axis_name)


def pmin(x: T, axis_name: str) -> T:
    """The smallest over the devices of an axis, element by element. It has no gradient in JAX. See :func:`psum`."""
    return _over("pmin", x, axis_name)


def all_gather(x: T, axis_name: str, *, axis: int = 0, tiled: bool = False) -> T:
    """The arrays of all devices, in their order: [devices, *shape], the new axis at ``axis``; joined along ``axis`` where ``tiled``.

    See :func:`psum` and ``jax.lax.all_gather``.
    """
    return _mapped("all_gather", x, axis_name, lambda engine, array: engine.all_gather(array, axis_name, axis, tiled))


def axis_index(x: Any, axis_name: str | None = None) -> Any:
    """The number of this device on an axis, an int32 array of no axes: ``axis_index(axis_name)``.

    Where an array comes first, ``axis_index(x, axis_name)``, it is one of the array's framework. See :func:`psum`.
    """
    name = x if axis_name is None else axis_name
    engines = [_engine("axis_index", x, name)] if axis_name is not None or name in axes() else list(loaded_engines())
    for engine in engines:
        try:
            return engine.axis_index(name)
        except LookupError:
            continue
    raise _no_axis("axis_index", name)


def _over(name: str, x: T, axis_name: str) -> T:
    return _mapped(name, x, axis_name, lambda engine, array: engine.collective(name, array, axis_name))


def _mapped(name: str, x: T, axis_name: str, collective: Callable[[Parallelism, Any], Any]) -> T:
    def exchanged(item: Any) -> Any:
        if not (isinstance(item, (bool, int, float, complex)) or hasattr(item, "dtype")):
            return item
        engine = _engine(name, item, axis_name)
        try:
            return collective(engine, engine.array(item))
        except LookupError:
            if active.anywhere and active.recording:
                return _recorded(engine, name, engine.array(item), axis_name)
            raise _no_axis(name, axis_name) from None

    found: T = map_structure(exchanged, x)
    return found


def _recorded(engine: Parallelism, name: str, array: Any, axis_name: str) -> Any:
    """The call in a function that is recorded: the axis is there when the graph runs over it."""
    if name not in COLLECTIVES:
        raise UnsupportedOperation(
            f"parallel.{name} over {axis_name!r} cannot be recorded: its size is the number of devices. Call the function itself by "
            "parallel.Parallel, or take psum, pmean, pmax or pmin"
        )
    return engine.recorded(name, array, axis_name)


def _engine(name: str, item: Any, axis_name: str) -> Parallelism:
    """That of an array's framework; of numbers, and of NumPy's arrays, that of the axis."""
    framework = owner_of(item) or axes().get(axis_name)
    if framework is None and not hasattr(item, "dtype"):
        raise _no_axis(name, axis_name)
    return engine_named(framework or "numpy", f"parallel.{name} over {axis_name!r}")


def _no_axis(name: str, axis_name: Any) -> InvalidOption:
    known = f"it runs over {', '.join(map(repr, axes()))}" if axes() else "it runs on one device"
    return InvalidOption(
        f"parallel.{name}: axis_name= is {axis_name!r}, and the code here runs over no such axis; {known}. Call the function by "
        f"parallel.Parallel(function, axis_name={axis_name!r}); in JAX transforms.vmap(function, axis_name={axis_name!r}) will do, too"
    )


__all__ = ["all_gather", "axis_index", "pmax", "pmean", "pmin", "psum"]
