"""The table of rows that the modules of this folder fill, and the builder that rows write with.

A row has the name of an operation (``AddV2``). It takes the builder, the operands in the order of
TensorFlow's ``OpDef``, and the attributes as keywords with their names there:

- An operand is an array, or a number if it is a scalar that is known while recording. A list of operands
  (``ConcatV2``) is one tuple.
- An operand that the row calls ``static`` (axes, shapes, paddings) is a number or nested tuples of ints and
  sizes if it is known: a constant, or computed from the sizes of inputs. If it is computed from other arrays
  it is an array, which most rows reject (``require_static(operand, what)``).
- Dtypes are names (``"float32"``), shapes are tuples with None for unknown sizes, strings are ``str``, lists
  are tuples. Dtypes and counts that the operands determine (``T``, ``N``) are passed only if the row has a
  parameter of that name. Other attributes are passed.

A row returns a value, or a tuple of values if the operation has several outputs. For calls that it does not
support, it raises ``NotImplementedError("why")`` or ``UnsupportedOperation("why")``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....ir import Value
from ....ops.dtypes import is_floating
from ....ops.registry import ArraySpec
from ....sizes import Size, hint_of
from ....trees import iterate_structure
from ...common.builder import LiftingBuilder
from ...common.lifter import LiftingTable, Row


class TensorFlowRows(LiftingTable):
    """Table of the rows of raw operations, which also knows the operands that each row takes as numbers.

    >>> table = TensorFlowRows("tensorflow")
    >>> @table.row("Sum", static=("axis",))
    ... def total(b, input, axis, *, keep_dims): ...
    >>> table.static("Sum")
    ('axis',)
    """

    def __init__(self, framework: str) -> None:
        super().__init__(framework)
        self._static: dict[str, tuple[str, ...]] = {}
        self._takes_read: set[str] = set()

    def row(
        self, *names: str, static: tuple[str, ...] = (), takes_read: bool = False
    ) -> Callable[[Row], Row]:
        """Return a decorator that registers a row under one or more names.

        ``static`` are the parameters of the row that take numbers. With ``takes_read``, these may be symbolic
        numbers that Python read from arrays; without it, such numbers are replaced by constants, under
        guards.
        """
        self._static.update(dict.fromkeys(names, static))
        self._takes_read.update(names if takes_read else ())
        return super().row(*names)

    def table(
        self, rows: Mapping[str | tuple[str, ...], Callable[..., Any]], static: tuple[str, ...] = ()
    ) -> None:
        super().table(rows)
        self._static.update(
            (name, static) for names in rows for name in ((names,) if isinstance(names, str) else names)
        )

    def static(self, name: str) -> tuple[str, ...]:
        return self._static[name]

    def takes_read(self, name: str) -> bool:
        return name in self._takes_read


rows = TensorFlowRows("tensorflow")


class TensorFlowBuilder(LiftingBuilder):
    """Builder of canonical operations for the rows of TensorFlow, without dtype promotion.

    recorded: the recorded specs of the results of the operation that is being lifted.
    """

    def result_type(self, *operands: Any) -> str:
        # TensorFlow does not promote, so all arrays have one dtype.
        found = [item.dtype for item in operands if isinstance(item, Value)]
        return found[0] if found else _DTYPES[type(hint_of(operands[0]))]

    def array(self, x: Any, dtype: str | None = None) -> Value:
        """Convert ``x``, a value, a number, or nested tuples of numbers and sizes, to an array of ``dtype``.

        Without ``dtype``, tuples get the dtype of their first number.
        """
        if not isinstance(x, tuple):
            return super().array(x, dtype)
        dtype = dtype or self.result_type(next(iter(iterate_structure(x)), 0))
        if not x:
            return self.zeros(shape=(0,), dtype=dtype)
        return self.asarray(data=_as_floats(x) if is_floating(dtype) else x, dtype=dtype)

    def arrays(self, *operands: Any) -> list[Value]:
        dtype = self.result_type(*operands)
        return [self.array(item, dtype) for item in operands]

    def beside(self, *operands: Any) -> list[Any]:
        """Return ``operands`` with numbers converted to the dtype of the arrays, or of the first number.

        If no operand is an array, the first one becomes an array.
        """
        dtype = self.result_type(*operands)
        found = [self.operand(item, dtype) for item in operands]
        if not any(isinstance(item, Value) for item in found):
            found[0] = self.array(found[0], dtype)
        return found

    @property
    def result(self) -> ArraySpec:
        return self.recorded[0]

    def as_result(self, x: Any) -> Value:
        return self.array(x, self.result.dtype)


def _as_floats(data: Any) -> Any:
    return (
        tuple(map(_as_floats, data))
        if isinstance(data, tuple)
        else data
        if isinstance(data, Size)
        else float(data)
    )


_DTYPES: dict[type, str] = {bool: "bool", int: "int32", float: "float32", complex: "complex128"}


class ComputedOperand(NotImplementedError):
    """Error for a static operand that is computed from array elements, in a row that needs numbers.

    The lifter then calls the row with the recorded elements, if there are any.
    """


def require_static(operand: Any, what: str) -> Any:
    if isinstance(operand, Value):
        raise ComputedOperand(
            f"the value of {what} is computed from elements of arrays, and has to be known while the "
            "function is recorded"
        )
    return operand


def axes_of(operand: Any, what: str = "the axis") -> tuple[int, ...]:
    """Return a number or a tuple of numbers as a tuple of axes.

    Raise ``ComputedOperand``, which names ``what``, for an array.

    >>> axes_of(-1), axes_of((0, 1))
    ((-1,), (0, 1))
    """
    found = require_static(operand, what)
    return tuple(map(int, found)) if isinstance(found, tuple) else (int(found),)


def axes_in(operand: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that ``operand`` names in an array of ``rank`` axes: nonnegative, sorted and distinct.

    Return () for rank 0.

    >>> axes_in((-1, 0), 3)
    (0, 2)
    """
    return tuple(sorted({axis % rank for axis in axes_of(operand, "the axis")} if rank else ()))


def axis_in(operand: Any, rank: int) -> int:
    return axes_of(operand)[0] % max(rank, 1)


def numbers(operand: Any, what: str) -> tuple[Any, ...]:
    found = require_static(operand, what)
    return found if isinstance(found, tuple) else (found,)


def broadcast_together(b: TensorFlowBuilder, x: Value, y: Value) -> tuple[Value, Value]:
    if x.shape == y.shape:
        return x, y
    # The sum is made for its shape only, which the rule of ``add`` infers, and is removed as dead code.
    shape = b.add(b.stop_gradient(x), b.stop_gradient(y)).shape
    return b.broadcast_to(x, shape=shape), b.broadcast_to(y, shape=shape)
