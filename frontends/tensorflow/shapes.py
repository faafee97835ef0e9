"""Shapes of traced tensors as the user's code sees them: it runs eagerly where it is not recorded, and knows all sizes.

TensorFlow's own code, and that of libraries upon it, hears which sizes are not known while a function is traced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from ...forwarding import forwards
from ...sizes import product
from .folders import PACKAGES
from .sizes import asked_by


class AskedShape(tf.TensorShape):
    """A shape with unknown sizes, which has to say more to the user's code than to TensorFlow's."""

    def decided(self) -> Any:
        """The shape with all its sizes."""
        raise NotImplementedError


def _answer(cls: type[AskedShape], *names: str) -> None:
    """Methods that tell of all sizes where the user's code asks."""
    for name in names:
        setattr(cls, name, _answered(name))


def _answered(name: str) -> Any:
    before = getattr(tf.TensorShape, name)

    def method(shape: AskedShape, *args: Any) -> Any:
        return before(shape if asked_by(*PACKAGES) or tf.TensorShape.is_fully_defined(shape) else shape.decided(), *args)

    return method


_KNOWN = tf.TensorShape.dims.fget
AskedShape.dims = property(lambda shape: _KNOWN(shape if asked_by(*PACKAGES) else shape.decided()))
_answer(AskedShape, "__str__", "__repr__", "__hash__", "merge_with", "with_rank", "with_rank_at_least", "with_rank_at_most")
_answer(AskedShape, "assert_is_compatible_with", "is_subtype_of", "most_specific_compatible_shape", "most_specific_common_supertype")


class Shape(AskedShape):
    """The shape of a tensor of the function that is recorded, whose unknown sizes are symbolic numbers."""

    def __init__(self, known: Any, numbers: tuple[Any, ...]) -> None:
        super().__init__(known)
        self.numbers = numbers

    def __getitem__(self, key: Any) -> Any:
        return Shape(super().__getitem__(key), self.numbers[key]) if isinstance(key, slice) else self.numbers[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numbers)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tf.TensorShape) and other.rank is None:
            return False
        others = other if isinstance(other, (list, tuple)) else getattr(other, "numbers", None) or list(other)  # type: ignore[call-overload]
        return len(others) == len(self.numbers) and all(bool(one == two) for one, two in zip(self.numbers, others))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = AskedShape.__hash__

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be the shape of one array: that sizes are equal, or differ, is a guard."""
        others = getattr(other, "numbers", None) or tf.TensorShape(other)
        if isinstance(others, tf.TensorShape) and others.rank is None:
            return True
        return len(others) == len(self.numbers) and all(two is None or bool(one == two) for one, two in zip(self.numbers, others))

    def is_fully_defined(self) -> bool:
        """To the user's code all sizes are known."""
        return not asked_by(*PACKAGES) or super().is_fully_defined()

    def assert_is_fully_defined(self) -> None:
        """They are."""

    def __add__(self, other: Any) -> Any:
        return self.concatenate(other)

    def concatenate(self, other: Any) -> Any:
        """Both shapes, one behind the other."""
        return Shape(super().concatenate(other), (*self.numbers, *(getattr(other, "numbers", None) or tf.TensorShape(other))))

    def decided(self) -> Any:
        """The shape with the numbers that its sizes are now, as guards."""
        return tf.TensorShape([int(number) for number in self.numbers])

    def as_list(self) -> list[Any]:
        """The sizes."""
        return list(self.numbers)

    def num_elements(self) -> Any:
        """The product of all sizes."""
        return product(self.numbers)

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return tf.stack([tf.convert_to_tensor(number, dtype or tf.int32) for number in self.numbers])


class NeededShape(AskedShape):
    """The shape of a tensor in a function inside, whose unknown sizes are errors, which sizes of the arguments that are fixed avoid."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return NeededShape(super().__getitem__(key))
        found = super().__getitem__(key)
        return self.decided() if found is None else found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.decided())

    @forwards
    def decided(self) -> Any:
        raise RuntimeError(f"all sizes of a tensor of shape {tf.TensorShape(self)} are needed, which are unknown while it is traced")


_answer(NeededShape, "__eq__", "__ne__", "as_list", "num_elements", "is_fully_defined", "assert_is_fully_defined", "is_compatible_with")


def beside_shapes(name: str) -> Any:
    """A method of any shape that takes another one, which may be such a shape."""
    before = getattr(tf.TensorShape, name)

    def method(shape: Any, other: Any) -> Any:
        return before(shape, other.decided() if isinstance(other, AskedShape) and not asked_by(*PACKAGES) else other)

    return method
