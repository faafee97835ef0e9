"""Protocol for a framework's derivatives and vectorisation: ``Derivatives``."""

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
class VmapSpec:
    """Specification of how :meth:`Derivatives.vmap` maps a function.

    axes: the mapped axis of each argument; None for an unmapped one.
    size: the number of slices; None if it is unknown because the framework traces the arrays.
    randomness: ``"different"`` or ``"same"`` random numbers in each slice; ``"error"`` raises for a draw.
    axis_name: name of the mapped axis for collectives; None if it has no name.
    """

    axes: tuple[int | None, ...]
    size: int | None
    randomness: str = "error"
    axis_name: str | None = None


class Derivatives(Protocol):
    """Derivatives and vectorisation by a framework itself, of functions from arrays to arrays.

    Cotangents are as in torch and TensorFlow: the gradient of a real function of a complex array is the
    conjugate of JAX's.
    """

    compile_options: ClassVar[dict[str, Any]]
    """Compiler options of graphs that ``jit`` creates."""

    def array(self, item: Any) -> Any:
        """Convert a number or an array to a native array; return None for other objects."""

    def owns(self, item: Any) -> bool:
        """Return True if ``item`` is an array of the framework, traced or not."""

    def keeps_derivative(self, item: Any) -> bool:
        """Return False if ``item``, a result of a function, may have lost its derivative.

        Arrays of the framework and Python numbers count as having kept it.
        """

    def is_traced(self, array: Any) -> bool:
        """Return True if a transformation of the framework is known to trace or wrap ``array``."""

    def allow_64_bits(self) -> AbstractContextManager[Any]:
        """Return a context inside which arrays may have 64-bit dtypes."""

    def placed(self, array: Any, device: Any) -> Any:
        """Return ``array`` on ``device``, which is a device of the framework or the name of one.

        Raise ``ValueError`` if no such device is found.
        """

    def cast(self, array: Any, like: Any) -> Any:
        """Cast ``array`` to the dtype of ``like``."""

    def is_differentiable(self, array: Any) -> bool:
        """Return True if the dtype of ``array`` is floating-point or complex."""

    def is_complex(self, array: Any) -> bool:
        """Return True if the dtype of ``array`` is complex."""

    def conjugate(self, array: Any) -> Any:
        """Return the complex conjugate of ``array``, whose dtype may be real."""

    def zeros_like(self, array: Any, leading: Sequence[int] = ()) -> Any:
        """Return zeros of the dtype of ``array``, of shape ``(*leading, *array.shape)``."""

    def basis(self, array: Any) -> Any:
        """Return the standard basis for arrays of this shape and dtype, stacked along a new first axis.

        The result has the shape ``(size, *shape)``, where ``size`` is the number of elements of ``array``.
        """

    def split(self, array: Any, axis: int, like: Any) -> Any:
        """Split the first (``axis`` 0) or last (``axis`` -1) axis into axes of the shape of ``like``.

        The size of the axis is the number of elements of ``like``.
        """

    def move_axis(self, array: Any, source: int, destination: int) -> Any:
        """Move an axis to another position, like ``numpy.moveaxis``."""

    def stop_gradient(self, array: Any) -> Any:
        """Return ``array`` as a constant for derivatives."""

    @default
    def size(self, array: Any, axis: int) -> Any:
        """Return the size of an axis, as a traced scalar if it is unknown."""
        return array.shape[axis]

    def reshape(self, array: Any, shape: Sequence[int]) -> Any:
        """Reshape ``array`` in row-major order, like ``numpy.reshape``."""

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        """Concatenate ``arrays`` along the first axis."""

    def scan(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        """Run ``state, outputs = step(state, row)`` for each row of the arrays ``rows``.

        Return the last state, and the outputs stacked along a new first axis. There is at least one array
        with at least one row. With ``checkpoint``, reverse mode recomputes the iterations instead of storing
        their intermediate results.
        """

    def vjp(self, function: Function, primals: Arrays) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """Evaluate ``function`` at ``primals``, for derivatives in reverse mode (vjp).

        Return the results, the auxiliary arrays, and the function that maps cotangents of the results to
        cotangents of the primals.
        """

    def jvp(self, function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """Evaluate ``function`` at ``primals``, and its derivative along ``tangents`` (jvp).

        Return the results, the auxiliary arrays, and the tangents of the results.
        """

    def linearize(
        self, function: Function, primals: Arrays
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """Linearise ``function`` at ``primals``.

        Return the results, the auxiliary arrays, and the function that maps tangents of the primals to
        tangents of the results.
        """

    @default
    def is_missing_derivative(self, problem: Exception) -> bool:
        """Return True if ``problem`` is taken for the error for an operation without a derivative."""
        return False

    def vmap(self, function: Callable[[Arrays], Arrays], how: VmapSpec) -> Callable[[Arrays], Arrays]:
        """Return ``function`` vectorised over slices of its arguments (vmap), as ``how`` says.

        Its results are stacked along a new first axis.
        """

    def named(self, array: Any, name: str) -> Any:
        """Return ``array``, tagged with ``name`` if policies of :meth:`checkpoint` can select by name."""

    def checkpoint(self, function: Callable[[Arrays], Arrays], policy: Policy) -> Callable[[Arrays], Arrays]:
        """Return ``function`` with checkpointing: reverse mode recomputes intermediate results.

        Results that ``policy`` selects are stored instead, if the framework can select arrays.

        policy: ``"nothing"``, ``"dots"`` (results of matrix products and convolutions), ``"everything"``,
            ``"min_cut"`` (a minimum cut, in bytes, between forward and backward pass), or a tuple of names
            that arrays have by :meth:`named`.
        """
