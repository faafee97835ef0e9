"""What is known of an integer array while a function is recorded: numbers, and expressions over the sizes of inputs.

TensorFlow computes shapes with arrays (``Shape``, ``StridedSlice``, ``Pack``, ``Mul``). Such arrays are kept as numpy arrays of Python's
objects, so that the elements are ints and ``Size`` expressions, and the operations on them are numpy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...sizes import Size, apply
from .names import definition

Known = np.ndarray[Any, Any]  # of dtype object
_MOST = 64  # elements; longer ones are data
_INTEGERS = frozenset({"int32", "int64"})


def known(rows: Any) -> Known:
    """Nested tuples of numbers and sizes as an array of objects.

    >>> known((2, 3)).tolist(), known(4).shape
    ([2, 3], ())
    """
    return np.array(rows, dtype=object)


def nested(array: Known) -> Any:
    """The other way: a number, or nested tuples.

    >>> nested(known(((1, 2), (3, 4)))), nested(known(5))
    (((1, 2), (3, 4)), 5)
    """
    return array[()] if array.ndim == 0 else tuple(map(nested, array)) if array.ndim > 1 else tuple(array.tolist())


def is_few(dtype: str, count: int, rank: int) -> bool:
    """Whether a constant of this many elements stands in a graph as numbers: scalars of any type that Python has, and short arrays of
    integers.

    >>> is_few("float32", 1, 0), is_few("float32", 3, 1), is_few("int32", 3, 1), is_few("int32", 100, 1)
    (True, False, True, False)
    """
    return rank == 0 and dtype != "string" or dtype in _INTEGERS and count <= _MOST


def computed(key: str, operands: list[Known], attributes: dict[str, Any]) -> list[Known] | None:
    """What an operation gives for arrays whose elements are known; None where it is none of arithmetic on shapes, or gives too much."""
    rule = _RULES.get(key)
    if rule is None or not operands:
        return None
    found = rule(attributes, *operands)
    made = [
        known(item) if not isinstance(item, np.ndarray) else item.astype(object) for item in (found if isinstance(found, list) else [found])
    ]
    return made if all(item.size <= _MOST for item in made) else None


def takes_integers(key: str, attributes: dict[str, Any]) -> bool:
    """Whether an operation computes with integers alone, as those on shapes do."""
    if key == "Cast":  # to a float, too: a size is a number beside arrays of floats
        return attributes["SrcT"] in _INTEGERS and attributes["DstT"] in (*_INTEGERS, "float32", "float64")
    declared = definition(key)
    types = {name for argument in (*declared.input_arg, *declared.output_arg) if (name := argument.type_attr)}
    return key in _RULES and all(attributes[name] in _INTEGERS for name in types)


# ------------------------------------------------------------------------------------- rules
def _elementwise(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda attributes, *operands: np.frompyfunc(compute, len(operands), 1)(*operands)


def _of_two(function: str) -> Callable[..., Any]:
    return _elementwise(lambda x, y: apply(function, x, y))


def _product(attributes: dict[str, Any], x: Known, axis: Known) -> Any:
    return np.prod(x, tuple(np.ravel(axis).astype(int).tolist()), keepdims=attributes["keep_dims"])


def strided(attributes: dict[str, Any], x: Any, begin: Known, end: Known, strides: Known) -> Any:
    """``x[begin:end:strides]``, with the masks of a ``StridedSlice``."""
    return x[index_of(attributes, begin, end, strides)]


def index_of(attributes: dict[str, Any], begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
    """What stands in the brackets of a ``StridedSlice``.

    >>> masks = dict(begin_mask=1, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=2)
    >>> index_of(masks, (0, 1), (3, 2), (1, 1))
    (slice(None, 3, 1), 1)
    """

    def one(place: int, first: Any, last: Any, step: Any) -> Any:
        def has(mask: str) -> bool:
            return bool(attributes[mask] >> place & 1)

        if has("ellipsis_mask"):
            return ...
        if has("new_axis_mask"):
            return None
        return first if has("shrink_axis_mask") else slice(None if has("begin_mask") else first, None if has("end_mask") else last, step)

    return tuple(one(place, *parts) for place, parts in enumerate(zip(begin, end, strides)))


def _split(attributes: dict[str, Any], x: Known) -> list[Known]:
    axis = attributes["axis"]
    return [np.take(x, place, axis) for place in range(x.shape[axis])]


def _is_plain(*arrays: Known) -> bool:
    return not any(isinstance(item, Size) for array in arrays for item in array.ravel())


_COMPARED = {"Less": "lt", "LessEqual": "le", "Greater": "gt", "GreaterEqual": "ge", "Equal": "eq", "NotEqual": "ne"}
_RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("AddV2", "Add"), _elementwise(lambda x, y: x + y)),
    "Sub": _elementwise(lambda x, y: x - y),
    "Mul": _elementwise(lambda x, y: x * y),
    "Neg": _elementwise(lambda x: -x),
    "FloorDiv": _elementwise(lambda x, y: x // y),
    "FloorMod": _elementwise(lambda x, y: x % y),
    **{name: _of_two(function) for name, function in _COMPARED.items()},
    "Maximum": _of_two("max"),
    "Minimum": _of_two("min"),
    "Cast": _elementwise(lambda x: x),
    "Prod": _product,
    "Pack": lambda attributes, *parts: np.stack(parts, attributes["axis"]),
    "Unpack": _split,
    "ConcatV2": lambda attributes, *parts: np.concatenate(parts[:-1], int(parts[-1])),
    "StridedSlice": lambda attributes, x, *bounds: strided(attributes, x, *(bound.astype(int) for bound in bounds)),
    "Slice": lambda attributes, x, begin, size: x[tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, size))],
    "GatherV2": lambda attributes, x, indices, axis: np.take(x, indices.astype(int), int(axis)),
    "ExpandDims": lambda attributes, x, axis: np.expand_dims(x, int(axis)),
    "Squeeze": lambda attributes, x: np.squeeze(x, tuple(attributes["squeeze_dims"]) or None),
    "Reshape": lambda attributes, x, shape: x.reshape(tuple(map(int, shape))),
    "Range": lambda attributes, first, last, step: np.arange(int(first), int(last), int(step)),
    "Fill": lambda attributes, shape, item: np.full(tuple(map(int, shape)), item[()], object),
    "ReverseV2": lambda attributes, x, axis: np.flip(x, tuple(map(int, axis))),
}
_NEED_NUMBERS = {"Range": (0, 1, 2), "Fill": (0,), "Reshape": (1,), "StridedSlice": (1, 2, 3), "Slice": (1, 2), "GatherV2": (1, 2)}


def fits(key: str, operands: list[Known]) -> bool:
    """Whether those operands are plain numbers that have to be: bounds, axes, how long a range is."""
    return _is_plain(*(operands[place] for place in _NEED_NUMBERS.get(key, ())))


__all__ = ["Known", "computed", "fits", "index_of", "is_few", "known", "nested", "takes_integers"]
