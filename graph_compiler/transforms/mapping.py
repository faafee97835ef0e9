"""``vmap``: run a function over an axis of its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..contracts.derivatives import Arrays, VmapSpec
from ..contracts.parallelism import running_over
from ..errors import CallMismatch, InvalidOption
from ..runtime.boundary import public
from ..trees import flatten, unflatten
from .functions import (
    Arguments,
    FlattenedFunction,
    Function,
    is_array,
    location_text,
    missing_derivatives_reported,
    name_of,
)
from .transformed import Transformed

_RANDOMNESS = ("error", "different", "same")


@public
def vmap(
    function: Any,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
    randomness: str = "error",
    *,
    batch_axis: Any = None,
) -> Transformed:
    """Return a function that maps ``function`` over an axis of its arguments.

    Like ``jax.vmap``, ``torch.func.vmap`` and ``tf.vectorized_map``.

    Args:
        function: As in :func:`grad`.
        in_axes: Mapped axis of the positional arguments: a number, None for arguments that are not mapped, or
            a tuple with one for each, which may be a structure for the arrays inside. Keyword arguments are
            mapped over their first axis.
        out_axes: Position of the mapped axis in the results: a number for all results, or a structure like
            the result.
        axis_name: Name by which collectives inside the function (``parallel.psum``) address the slices.
        axis_size: Number of slices; needed if no argument is mapped.
        randomness: Random numbers of the slices: ``"different"``, ``"same"`` or ``"error"``. JAX functions
            take keys instead. TensorFlow's own generators cannot draw the same numbers.
        batch_axis: Alias of ``in_axes``.

    Raises:
        CallMismatch: Mapped axes are known to differ in size from each other or from ``axis_size``, an array
            or result lacks its axis, nothing is mapped and ``axis_size`` is missing, or the framework's own
            generators are used under ``"error"`` (in TensorFlow also under ``"same"``).
        InvalidOption: ``in_axes`` or ``out_axes`` do not have the structure of the arguments or results;
            ``out_axes`` has a None; ``batch_axis`` is passed and ``in_axes`` is not 0; or ``randomness`` is
            none of these.
        NotCompilable: As for :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> loss = lambda weight, x: (weight * x).sum() ** 2
    >>> transforms.vmap(transforms.grad(loss), in_axes=(None, 0))(torch.ones(2), torch.eye(2))
    tensor([[2., 0.],
            [0., 2.]])
    """
    if randomness not in _RANDOMNESS:
        raise InvalidOption(
            f"randomness= is {randomness!r}, and has to be one of {', '.join(map(repr, _RANDOMNESS))}"
        )
    if batch_axis is not None:
        # An explicit 0 cannot be told from the default.
        if in_axes != 0:
            raise InvalidOption(
                f"in_axes= is {in_axes!r}, and batch_axis= {batch_axis!r}: two words for one option; pass "
                "one of them"
            )
        in_axes = batch_axis

    def rule(found: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, tree = flatten((args, kwargs), is_array)
        arrays = list(map(found.derivatives.array, leaves))
        axes = _axes(found.name, args, kwargs, in_axes)
        how = VmapSpec(axes, _size(found, arrays, axes, axis_size), randomness, axis_name)
        return _mapped_result(found, how, FlattenedFunction(found, "vmap", tree), arrays, out_axes)

    # A graph is recorded with the first slice before the call, because tracers have no values.
    def first(*args: Any, **kwargs: Any) -> Arguments:
        leaves, tree = flatten((args, kwargs), is_array)
        axes = _axes(name_of(function), args, kwargs, in_axes)
        given, keywords = unflatten(tree, [_slice(leaf, axis) for leaf, axis in zip(leaves, axes)])
        return tuple(given), keywords

    return Transformed(function, rule, "vmap", first)


def _slice(array: Any, axis: int | None) -> Any:
    # An empty axis has no first slice. A missing axis is reported when the call is mapped.
    if axis is None or not -len(array.shape) <= axis < len(array.shape) or not array.shape[axis]:
        return array
    return array[(slice(None),) * (axis % len(array.shape)) + (0,)]


def _mapped_result(
    found: Function, how: VmapSpec, flat: FlattenedFunction, arrays: Arrays, out_axes: Any
) -> Any:
    with missing_derivatives_reported("vmap", found), running_over(how.axis_name, found.framework):
        results = found.derivatives.vmap(flat, how)(arrays)
    axes: list[Any] = list(_axis_of_each(out_axes, flat.result(results), "out_axes"))
    if None in axes:
        raise InvalidOption(
            f"vmap of {found.name}: out_axes= is {out_axes!r}; every result has an axis for its "
            f"slices{location_text(found.call)}"
        )
    for place, (array, axis) in enumerate(zip(results, axes)):
        if not -len(array.shape) <= axis < len(array.shape):
            raise CallMismatch(
                f"vmap of {found.name}: out_axes= is {out_axes!r}, and result {place} has {len(array.shape)} "
                f"axes with that of the slices{location_text(found.call)}"
            )
    return flat.result([found.derivatives.move_axis(array, 0, axis) for array, axis in zip(results, axes)])


def _axes(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any) -> tuple[int | None, ...]:
    if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
        raise InvalidOption(
            f"vmap of {name}: in_axes= has {len(in_axes)} entries for {len(args)} arguments by position"
        )
    return (
        *_axis_of_each(tuple(in_axes) if isinstance(in_axes, list) else in_axes, args, "in_axes"),
        *_axis_of_each(0, kwargs, "in_axes"),
    )


def _axis_of_each(axes: Any, item: Any, option: str) -> Iterator[int | None]:
    """Yield the axis of each array in ``item``, from an axis for all arrays or a structure like ``item``."""
    if axes is None or isinstance(axes, int) and not isinstance(axes, bool):
        yield from (axes for _ in flatten(item, is_array)[0])
    elif isinstance(axes, Mapping) and isinstance(item, Mapping) and axes.keys() == item.keys():
        for key in item:
            yield from _axis_of_each(axes[key], item[key], option)
    elif isinstance(axes, (tuple, list)) and isinstance(item, (tuple, list)) and len(axes) == len(item):
        for one, part in zip(axes, item):
            yield from _axis_of_each(one, part, option)
    else:
        raise InvalidOption(
            f"{option}= has {axes!r} where there is {type(item).__name__}; it takes a number, None, or a "
            "structure like it"
        )


def _size(found: Function, arrays: Arrays, axes: Sequence[int | None], axis_size: int | None) -> int | None:
    """Return the number of slices, or None if it is unknown."""
    sizes: dict[int, int | None] = {}
    for place, (array, axis) in enumerate(zip(arrays, axes)):
        if axis is not None:
            if not -len(array.shape) <= axis < len(array.shape):
                raise CallMismatch(
                    f"vmap of {found.name}: array {place} has the shape {list(array.shape)}, and no axis "
                    f"{axis}"
                )
            sizes[place] = array.shape[axis]
    if axis_size is None and not sizes:
        raise CallMismatch(f"vmap of {found.name}: no argument has an axis; pass axis_size=")
    known = {place: size for place, size in sizes.items() if size is not None}
    wanted = axis_size if axis_size is not None else next(iter(known.values()), None)
    if others := {place: size for place, size in known.items() if size != wanted}:
        shapes = ", ".join(f"array {place} has {size}" for place, size in others.items())
        raise CallMismatch(
            f"vmap of {found.name}: there are {wanted} slices, and {shapes} along its axis"
            f"{location_text(found.call)}"
        )
    return None if wanted is None else int(wanted)
