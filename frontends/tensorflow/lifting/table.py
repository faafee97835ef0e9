"""The one table that the files beside this one fill, and the builder its rows write with.

A row bears the name of an operation (``AddV2``). It takes, after the builder, the operands in the order of
TensorFlow's ``OpDef``, and the attributes as keywords, by the names that they have there:

- an operand is an array, or a plain number where it is a scalar that is known while the function is recorded;
  a list of operands (``ConcatV2``) is one tuple;
- an operand that the row calls ``static`` (axes, shapes, paddings) comes as a number or as nested tuples of
  ints and sizes where it is known: a constant, or computed from the sizes of inputs. Where its elements are
  computed from other arrays it is an array, which most rows refuse (``known(b, ...)``);
- data types are names (``"float32"``), shapes are tuples with None for what is unknown, texts are ``str``,
  lists are tuples. Data types and counts that the operands tell (``T``, ``N``) come only where the row names
  them; every other attribute has to be taken.

It gives a value, or a tuple of them where the operation has several outputs. ``NotImplementedError("why")``
refuses the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....ir import Value
from ....ops.dtypes import is_floating
from ....ops.registry import ArraySpec
from ....sizes import Size, hint_of
from ....trees import iterate_structure
from ...common.builder import RaisingBuilder
from ...common.lifter import Row, Rows


class TensorFlowRows(Rows):
    """Rows of raw operations, and which of their operands each wants as Python's numbers.

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
        """Adds a row under one or more names; ``static`` are parameters of the row, in which numbers that
        Python read from arrays are what they were while recording, unless it ``takes_read`` ones.
        """
        self._static.update(dict.fromkeys(names, static))
        self._takes_read.update(names if takes_read else ())
        return super().row(*names)

    def table(
        self, rows: Mapping[str | tuple[str, ...], Callable[..., Any]], static: tuple[str, ...] = ()
    ) -> None:
        """Adds rows that are an expression each, all with the same ``static`` parameters."""
        super().table(rows)
        self._static.update(
            (name, static) for names in rows for name in ((names,) if isinstance(names, str) else names)
        )

    def static(self, name: str) -> tuple[str, ...]:
        return self._static[name]

    def takes_read(self, name: str) -> bool:
        return name in self._takes_read


rows = TensorFlowRows("tensorflow")


class TensorFlowBuilder(RaisingBuilder):
    """A builder with TensorFlow's rules for types: operands are of equal types, and what a call gave is
    known.
    """

    def result_type(self, *operands: Any) -> str:
        found = [item.dtype for item in operands if isinstance(item, Value)]
        return found[0] if found else _DTYPES[type(hint_of(operands[0]))]

    def array(self, x: Any, dtype: str | None = None) -> Value:
        """``x`` as an array of ``dtype``; nested tuples of numbers and sizes too."""
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
        """Operands of one type, numbers as Python's; the first as an array where there is no other."""
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


class Computed(NotImplementedError):
    """A static operand is an array whose elements are computed from others, which the row cannot take."""


def known(operand: Any, what: str) -> Any:
    """A static operand that has to be known; ``Computed`` where its elements are computed from others."""
    if isinstance(operand, Value):
        raise Computed(
            f"the value of {what} is computed from elements of arrays, and has to be known while the function is recorded"
        )
    return operand


def axes_of(operand: Any, what: str = "the axis") -> tuple[int, ...]:
    """Axes: a number, or a tuple of numbers.

    >>> axes_of(-1), axes_of((0, 1))
    ((-1,), (0, 1))
    """
    found = known(operand, what)
    return tuple(map(int, found)) if isinstance(found, tuple) else (int(found),)


def axes_in(operand: Any, rank: int) -> tuple[int, ...]:
    """Axes of a reduction of an array of ``rank`` axes, counted from the front, each once.

    >>> axes_in((-1, 0), 3)
    (0, 2)
    """
    return tuple(sorted({axis % rank for axis in axes_of(operand, "the axis")} if rank else ()))


def axis_in(operand: Any, rank: int) -> int:
    return axes_of(operand)[0] % max(rank, 1)


def numbers(operand: Any, what: str) -> tuple[Any, ...]:
    found = known(operand, what)
    return found if isinstance(found, tuple) else (found,)


def alike(b: TensorFlowBuilder, x: Value, y: Value) -> tuple[Value, Value]:
    """Two arrays broadcast to one shape."""
    if x.shape == y.shape:
        return x, y
    shape = b.add(b.stop_gradient(x), b.stop_gradient(y)).shape
    return b.broadcast_to(x, shape=shape), b.broadcast_to(y, shape=shape)
