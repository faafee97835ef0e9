"""Protocol of a framework that functions are differentiated in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from .modules import default

Arrays = list[Any]
Function = Callable[[Arrays], tuple[Arrays, Arrays]]
"""Function from arrays to its results and auxiliary arrays, which have no derivative."""

Policy = str | tuple[str, ...]
Step = Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]
"""Iteration of a loop: from the carry and one row to the next carry and outputs."""


@dataclass(frozen=True)
class Mapping:
    """Specification of a vmap.

    axes: the mapped axis of each argument; None for an unmapped one.
    size: the number of slices; None if it is unknown because the framework traces the arrays.
    randomness: ``"different"`` or ``"same"`` random numbers in each slice, or ``"error"``.
    axis_name: name of the mapped axis in collectives; None if it has none.
    """

    axes: tuple[int | None, ...]
    size: int | None
    randomness: str = "error"
    axis_name: str | None = None


class Derivatives(Protocol):
    """A framework's own derivatives and vectorisation of functions from arrays to arrays.

    Transformations nest in any order. Cotangents follow one convention: the function that :meth:`vjp`
    returns is the conjugate transpose of the derivative, so the gradient of a real function of a complex
    array points in the direction of steepest ascent. This is the convention of torch and TensorFlow, the
    conjugate of JAX's.
    """

    compile_options: ClassVar[dict[str, Any]]
    """Options of the framework's compiler, with which it compiles rather than traces."""

    def array(self, item: Any) -> Any:
        """Convert a number or an array of any framework to a native array; None for any other object."""

    def owns(self, item: Any) -> bool:
        """Return True for an array of the framework, traced ones included."""

    def keeps_derivative(self, item: Any) -> bool:
        """Return True if a result is an array of the framework or certainly a constant.

        An array of another framework is neither: it may have been computed from arguments, without a
        derivative.
        """

    def is_traced(self, array: Any) -> bool:
        """Return True if a transformation of the framework traces ``array``.

        Its elements cannot be read then.
        """

    def allow_64_bits(self) -> AbstractContextManager[Any]:
        """Return a context inside which arrays may have 64-bit dtypes."""

    def placed(self, array: Any, device: Any) -> Any:
        """Move the array to ``device``, a device of the framework or its name.

        Raise ``ValueError`` if there is no such device.
        """

    def cast(self, array: Any, like: Any) -> Any:
        """Cast ``array`` to the dtype of ``like``."""

    def is_differentiable(self, array: Any) -> bool:
        """Return True if arrays of this dtype have derivatives."""

    def is_complex(self, array: Any) -> bool:
        """Return True if the dtype is complex."""

    def conjugate(self, array: Any) -> Any:
        """Return the complex conjugate."""

    def zeros_like(self, array: Any, leading: Sequence[int] = ()) -> Any:
        """Return zeros of the dtype of ``array``, of shape ``(*leading, *array.shape)``."""

    def basis(self, array: Any) -> Any:
        """Return the standard basis for arrays of this shape and dtype, stacked along a new first axis.

        Its shape is ``(elements, *shape)``.
        """

    def split(self, array: Any, axis: int, like: Any) -> Any:
        """Reshape the first (``axis`` 0) or last (-1) axis to the shape of ``like``.

        The axis has as many elements as ``like``.
        """

    def move_axis(self, array: Any, source: int, destination: int) -> Any:
        """Like ``numpy.moveaxis``."""

    def stop_gradient(self, array: Any) -> Any:
        """Return the array without its derivative."""

    @default
    def size(self, array: Any, axis: int) -> Any:
        """Return the size of an axis."""
        return array.shape[axis]

    def reshape(self, array: Any, shape: Sequence[int]) -> Any:
        """Like ``numpy.reshape``."""

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        """Like ``numpy.concatenate`` along the first axis."""

    def scan(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        """Compute ``state, outputs = step(state, row)`` for each row of arrays of equal length.

        Return the last state and the outputs stacked along a new first axis. With ``checkpoint``, reverse
        mode recomputes the iterations instead of storing their intermediate results.
        """

    def vjp(self, function: Function, primals: Arrays) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """Apply reverse mode (vjp).

        Return the results, the auxiliary arrays, and the function from cotangents of the results to
        cotangents of the primals.
        """

    def jvp(self, function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """Apply forward mode (jvp).

        Return the results, the auxiliary arrays, and the tangents of the results.
        """

    def linearize(
        self, function: Function, primals: Arrays
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """Linearise ``function`` at ``primals``.

        Return the results, the auxiliary arrays, and the function from tangents of the primals to tangents
        of the results.
        """

    @default
    def is_missing_derivative(self, problem: Exception) -> bool:
        """Return True if the framework reports by this exception that an operation has no derivative."""
        return False

    def vmap(self, function: Callable[[Arrays], Arrays], how: Mapping) -> Callable[[Arrays], Arrays]:
        """Vectorise ``function`` over slices of its arguments (vmap). Results get a new first axis."""

    def named(self, array: Any, name: str) -> Any:
        """Return the array, tagged with ``name`` for the policies of :meth:`checkpoint`."""

    def checkpoint(self, function: Callable[[Arrays], Arrays], policy: Policy) -> Callable[[Arrays], Arrays]:
        """Return the function with checkpointing: reverse mode stores only what ``policy`` selects.

        The rest is recomputed.

        Policies: ``"nothing"``, ``"dots"`` (the results of matrix products), ``"everything"``,
            ``"min_cut"`` (the fewest bytes for which no product is recomputed), or the names of arrays to
            store.
        """
