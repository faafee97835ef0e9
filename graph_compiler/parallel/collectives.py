"""Collectives over the devices of an axis: ``psum``, ``pmean``, ``pmax``, ``pmin``, ``all_gather``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..contracts import Parallelism
from ..contracts.parallelism import running_axes
from ..errors import InvalidOption
from ..ops.collectives import REDUCTIONS
from ..recording.control_flow.regions import regions
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..transforms.control import NumpyLoops
from ..transforms.functions import owner_of
from ..trees import map_leaves
from .sharding import engine_named, loaded_engines

T = TypeVar("T")


@public
def psum(x: T, axis_name: str) -> T:
    """Sum arrays and numbers over the devices of an axis, element by element.

    Arrays of the framework keep their shapes and dtypes, except that bools become integers. Numbers and NumPy
    arrays become arrays of the framework.

    Works inside :class:`Parallel`, inside ``transforms.vmap(axis_name=)``, whose slices are the devices, and
    in JAX inside ``jax.shard_map``. Like ``jax.lax.psum``, ``torch.distributed.all_reduce`` and
    ``ReplicaContext.all_reduce``. Its gradient is the sum of the devices' cotangents; inside of
    ``jax.shard_map`` it is that of ``jax.lax.psum``, which depends on ``check_vma``. A gradient through a
    :class:`Parallel` of TensorFlow has to be taken inside of its function.

    Args:
        x: Arrays and numbers in tuples, lists, dicts, dataclasses and registered containers, also in
            instances of subclasses. Other objects are returned unchanged.
        axis_name: Name of the axis.

    Raises:
        InvalidOption: The code does not run over such an axis. A recording does not check this.
        CollectiveFailed: Another process has ended or waits elsewhere.
        NotCompilable: An array is NumPy's, and the code does not run over such an axis.
    """
    return _reduce_over("psum", x, axis_name)


@public
def pmean(x: T, axis_name: str) -> T:
    """Average arrays and numbers over the devices of an axis. Integers and bools become floats.

    Arguments and errors are those of :func:`psum`.
    """
    return _reduce_over("pmean", x, axis_name)


@public
def pmax(x: T, axis_name: str) -> T:
    """Compute the elementwise maximum over the devices of an axis.

    In JAX and torch it has no gradient inside of the function that the devices run. Arguments and errors are
    those of :func:`psum`.
    """
    return _reduce_over("pmax", x, axis_name)


@public
def pmin(x: T, axis_name: str) -> T:
    """Compute the elementwise minimum over the devices of an axis.

    In JAX and torch it has no gradient inside of the function that the devices run. Arguments and errors are
    those of :func:`psum`.
    """
    return _reduce_over("pmin", x, axis_name)


@public
def all_gather(x: T, axis_name: str, *, axis: int = 0, tiled: bool = False) -> T:
    """Gather the arrays of all devices, in their order, by default to the shape [devices, *shape].

    Like ``jax.lax.all_gather``. In a recorded function the number of devices may be a symbolic size.

    Args:
        x: As for :func:`psum`.
        axis_name: Name of the axis.
        axis: Position of the new axis, or with ``tiled`` of the concatenated axis.
        tiled: Concatenate along ``axis`` instead of stacking.

    Raises:
        InvalidOption: ``axis`` is out of range, or the code does not run over such an axis.
        CollectiveFailed: As for :func:`psum`.
        NotCompilable: As for :func:`psum`.
    """
    found = _map_arrays("all_gather", x, axis_name, lambda engine, array: engine.all_gather(array, axis_name))
    return (
        map_leaves(functools.partial(_move_gathered_axis, axis, tiled), found, _has_dtype)
        if axis or tiled
        else found
    )


@public
def axis_index(x: Any, axis_name: str | None = None) -> Any:
    """Return the index of this device on an axis, an int32 array without axes.

    ``axis_index(axis_name)``, or ``axis_index(x, axis_name)`` for an array of the framework of ``x``. Raise
    the errors of :func:`psum`.
    """
    name = x if axis_name is None else axis_name
    if _is_recorded(name):
        return _record_collective("axis_index", None, name)
    return _query_axis("axis_index", x, name, axis_name is not None)


@public
def axis_size(axis_name: str) -> int:
    """Return the number of devices on an axis. In a recorded function it may be a symbolic size.

    Raise ``InvalidOption`` if the code does not run over such an axis; a recording does not check this.
    """
    if not _is_recorded(axis_name):
        found: int = _query_axis("axis_size", axis_name, axis_name, False)
        return found
    recording = regions()
    assert recording is not None
    size: int = recording.length(_record_collective("axis_indices", None, axis_name))
    return size


def _is_recorded(axis_name: str) -> bool:
    # The axis need not exist while recording, only when the graph runs.
    return regions() is not None and axis_name not in running_axes()


def _query_axis(name: str, x: Any, axis_name: str, has_array: bool) -> Any:
    """Return the result of the method ``name`` of an engine that runs over ``axis_name``.

    Raise ``InvalidOption`` if there is none.
    """
    if not isinstance(axis_name, str):
        raise _no_axis(name, axis_name)
    for engine in (
        [_engine(name, x, axis_name)] if has_array or axis_name in running_axes() else loaded_engines()
    ):
        try:
            # Engines raise LookupError for an axis that they do not run over.
            return getattr(engine, name)(axis_name)
        except LookupError:
            continue
    raise _no_axis(name, axis_name)


def _reduce_over(name: str, x: T, axis_name: str) -> T:
    return _map_arrays(name, x, axis_name, lambda engine, array: engine.collective(name, array, axis_name))


def _map_arrays(name: str, x: T, axis_name: str, collective: Callable[[Parallelism, Any], Any]) -> T:
    def exchanged(item: Any) -> Any:
        if _is_recorded(axis_name):
            return _record_collective(name, item, axis_name)
        engine = _engine(name, item, axis_name)
        try:
            return collective(engine, engine.array(item))
        except LookupError:
            raise _no_axis(name, axis_name) from None

    found: T = map_leaves(exchanged, x, lambda item: isinstance(item, _NUMBERS) or _has_dtype(item))
    return found


_NUMBERS = (bool, int, float, complex)


def _has_dtype(item: Any) -> bool:
    return hasattr(item, "dtype")


def _record_collective(name: str, item: Any, axis_name: str) -> Any:
    recording = regions()
    assert recording is not None
    # Importing the engine registers the operators of collectives in torch.
    engine = backend_of(recording.module.__name__.partition(".")[0]).parallelism()
    # A recorded collective gives the dtype of its operand.
    operand = _reducible(engine, name, item) if name in REDUCTIONS else item
    return recording.collective(name, operand, axis_name=axis_name)


def _reducible(engine: Parallelism | None, name: str, item: Any) -> Any:
    if engine is not None and hasattr(item, "dtype"):
        return engine.reducible(name, item)
    # Only numbers and NumPy arrays are left.
    kind = np.result_type(getattr(item, "dtype", type(item))).kind
    if name == "pmean":
        return item / 1 if kind in "biu" else item
    return item * 1 if name == "psum" and kind == "b" else item


def _move_gathered_axis(axis: int, tiled: bool, stacked: Any) -> Any:
    """Move the first axis of ``stacked`` to ``axis``, or merge it into ``axis`` if ``tiled``."""
    rank = len(stacked.shape) - tiled
    if not -rank <= axis < rank:
        raise InvalidOption(
            f"parallel.all_gather: axis= is {axis}, and the result has {rank} axes; pass one of {-rank} to "
            f"{rank - 1}"
        )
    owner = owner_of(stacked)
    words = (backend_of(owner).derivatives() if owner is not None else None) or NumpyLoops()
    if not tiled:
        return words.move_axis(stacked, 0, axis)
    axis %= len(stacked.shape) - 1
    sizes = [words.size(stacked, place) for place in range(len(stacked.shape))]
    return words.reshape(
        words.move_axis(stacked, 0, axis),
        (*sizes[1 : axis + 1], sizes[0] * sizes[axis + 1], *sizes[axis + 2 :]),
    )


def _engine(name: str, item: Any, axis_name: str) -> Parallelism:
    """Return the parallel engine of ``item``; for numbers and NumPy arrays, that which runs over the axis."""
    framework = owner_of(item) or running_axes().get(axis_name)
    if framework is None and not hasattr(item, "dtype"):
        raise _no_axis(name, axis_name)
    return engine_named(framework or "numpy", f"parallel.{name} over {axis_name!r}")


def _no_axis(name: str, axis_name: Any) -> InvalidOption:
    known = (
        f"it runs over {', '.join(map(repr, running_axes()))}" if running_axes() else "it runs on one device"
    )
    return InvalidOption(
        f"parallel.{name}: axis_name= is {axis_name!r}, and the code here runs over no such axis; {known}. "
        f"Call the function by parallel.Parallel(function, axis_name={axis_name!r}) or "
        f"transforms.vmap(function, axis_name={axis_name!r})"
    )
