"""What a framework that functions are differentiated in has to provide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from .checked import default

Arrays = list[Any]
Function = Callable[[Arrays], tuple[Arrays, Arrays]]
"""A function of arrays: its results, and arrays that it hands on beside them, which have no derivative."""

Policy = str | tuple[str, ...]
Step = Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]
"""A step of a loop: what is carried, and one row, to what is carried, and outputs."""


@dataclass(frozen=True)
class Mapping:
    """How a function is mapped: over so many slices, along ``axes`` of its arrays (None: the whole array each
    time).

    ``size`` is None where it is not known yet, of arrays that the framework traces. ``randomness``:
    ``"different"`` or ``"same"`` numbers for each slice, or ``"error"``. ``axis_name`` is that of
    collectives.
    """

    axes: tuple[int | None, ...]
    size: int | None
    randomness: str = "error"
    axis_name: str | None = None


class Derivatives(Protocol):
    """A framework's own derivatives and vectorisation, of functions that take arrays and give arrays.

    Functions may be differentiated while they are differentiated, and mapped while they are mapped, in any
    order. Cotangents follow one
    convention: ``pull`` is the conjugate transpose of the derivative, so the gradient of a real function of a
        complex array points to where the function grows fastest (torch's and TensorFlow's convention, the
        conjugate of JAX's).
    """

    compile_options: ClassVar[dict[str, Any]]
    """Options of the framework's compiler, with which it compiles rather than traces."""

    def array(self, item: Any) -> Any:
        """A number or an array of any framework as a native array; None for what is neither."""

    def owns(self, item: Any) -> bool:
        """Whether this is an array of the framework, or stands for one while it traces a function."""

    def carries(self, item: Any) -> bool:
        """Whether a result of this kind carries the derivative of a function, or is certainly a constant."""

    def is_followed(self, array: Any) -> bool:
        """Whether one of its transforms follows this array, so that it has no elements to look at."""

    def wide(self) -> AbstractContextManager[Any]:
        """Inside of the block arrays may have elements of 64 bits."""

    def placed(self, array: Any, device: Any) -> Any:
        """The array on a device of the framework, or one of that name. ``ValueError`` where there is none."""

    def cast(self, array: Any, like: Any) -> Any:
        """The elements in the type of another array."""

    def is_differentiable(self, array: Any) -> bool:
        """Whether arrays of this type have derivatives."""

    def is_complex(self, array: Any) -> bool:
        """Whether the elements are complex numbers."""

    def conjugate(self, array: Any) -> Any:
        """The complex conjugate."""

    def zeros_like(self, array: Any, leading: Sequence[int] = ()) -> Any:
        """Zeros of this type, and of this shape behind leading axes."""

    def basis(self, array: Any) -> Any:
        """The unit arrays of this shape and type, stacked along a first axis: [elements, *shape]."""

    def split(self, array: Any, axis: int, like: Any) -> Any:
        """The first axis (``axis`` 0) or the last (-1), of as many elements as another array has, in the
        shape of that array.
        """

    def move_axis(self, array: Any, source: int, destination: int) -> Any:
        """``numpy.moveaxis``."""

    def stop(self, array: Any) -> Any:
        """The array, without a derivative."""

    @default
    def size(self, array: Any, axis: int) -> Any:
        """The size of an axis."""
        return array.shape[axis]

    def reshape(self, array: Any, shape: Sequence[int]) -> Any:
        """``numpy.reshape``."""

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        """``numpy.concatenate``, along the first axis."""

    def scanned(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        """``state, outputs = step(state, row)`` for each row of arrays that have as many: the last state, and
        the outputs stacked along a first axis. With ``checkpoint`` reverse mode computes steps again.
        """

    def pulled(
        self, function: Function, primals: Arrays
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """Reverse mode: results, what is handed on, and the function from cotangents of the results to
        cotangents of the primals.
        """

    def pushed(self, function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """Forward mode: results, what is handed on, and the tangents of the results."""

    def linearised(
        self, function: Function, primals: Arrays
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """Results, what is handed on, and the function from tangents of the primals to tangents of the
        results.
        """

    @default
    def lacks(self, problem: Exception) -> bool:
        """Whether the framework says by this exception that it has no such derivative of an operation."""
        return False

    def mapped(self, function: Callable[[Arrays], Arrays], how: Mapping) -> Callable[[Arrays], Arrays]:
        """The function over slices of its arrays, all at once. Results have a first axis for them."""

    def named(self, array: Any, name: str) -> Any:
        """The array, by a name that policies of :meth:`rematerialised` know."""

    def rematerialised(
        self, function: Callable[[Arrays], Arrays], policy: Policy
    ) -> Callable[[Arrays], Arrays]:
        """The function, of which reverse mode keeps only what the policy says, and computes the rest again:
        ``"nothing"``, ``"dots"`` (the results of matrix products), ``"everything"``, ``"min_cut"`` (the
        fewest bytes that no product has to be computed again for), or the values of these names.
        """
