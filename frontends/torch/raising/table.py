"""The one table that the files beside this one fill, and the builder its rows write with.

Names of rows: a function or method of torch has its bare name (``add`` stands for ``torch.add``, ``Tensor.add``,
``Tensor.__add__``, ``aten.add.Tensor``, and in place for ``Tensor.add_``); a Python function of ``torch.nn.functional`` is
looked up as ``nn.functional.<name>`` first and by its bare name next. Reflected operators (``__rsub__(self, other)``) have rows of
their own. ``axis``, ``keepdims`` and ``out`` are dealt with before a row is called.
"""

from __future__ import annotations

from typing import Any

from ....ir import Builder, Graph, Guard, Value
from ....ops.dtypes import UNSIGNED
from ....ops.registry import ArraySpec, Unknown, get
from ....sizes import Size, apply, hint_of
from ...rows import Rows
from ..dtypes import dtype_name, result_type

rows = Rows("torch")


class TorchBuilder(Builder):
    """A builder with torch's rules for types at hand.

    ``recorded`` holds the specs (as seen, sizes as ints) of the arrays that the call returned while recording:
    for rows whose result type follows no simpler rule, and for sizes that depend on data.
    """

    recorded: tuple[ArraySpec, ...] = ()
    generator: Any = None  # that the call draws from, where it is one that the graph seeds

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.streams: dict[Any, tuple[Value, int]] = {}  # generator -> its key, and how many were derived from it
        self.states: dict[Value, Any] = {}  # what ``get_rng_state`` gave -> the stream of that moment

    def array(self, x: Any, dtype: str | None = None) -> Value:
        """``x`` as an array: a value as it is, a number or a size as a 0-d array of ``dtype``."""
        if isinstance(x, Value):
            return x if dtype is None else self.cast(x, dtype)
        dtype = dtype or result_type(x)
        return self.full(shape=(), fill_value=number_as(x, dtype), dtype=dtype)

    def cast(self, x: Any, dtype: Any) -> Any:
        """``x`` as ``dtype`` (a name or a ``torch.dtype``); a number stays a number of the same kind."""
        return self.astype(x, dtype=dtype_name(dtype)) if isinstance(x, Value) else x

    def operand(self, x: Any, dtype: str) -> Any:
        """``x`` beside arrays of ``dtype``, or written into one: arrays are cast, numbers become numbers of that kind (2.5 is 2 among integers)."""
        return self.cast(x, dtype) if isinstance(x, Value) else number_as(x, dtype)

    def promote(self, *operands: Any, dtype: Any = None) -> tuple[Any, ...]:
        """The operands in the dtype that torch computes in (or in ``dtype``); numbers stay numbers beside an array."""
        name = dtype_name(dtype) if dtype is not None else result_type(*operands)
        if not any(isinstance(item, Value) for item in operands):
            return tuple(self.array(item, name) for item in operands)
        return tuple(number_as(item, name) if not isinstance(item, Value) else self.cast(item, name) for item in operands)

    def combined(self, name: str, x: Any, y: Any) -> Any:
        """An operation of two operands, promoted as torch promotes them, for formulas that torch too computes step by step."""
        return getattr(self, name)(*self.promote(x, y))

    def sum(self, x: Any, **params: Any) -> Value:
        """The canonical sum; where it has no dtype, torch adds unsigned integers as int64."""
        if x.dtype in UNSIGNED:
            params["dtype"] = params.get("dtype") or "int64"
        total: Value = self.apply(get("sum"), (x,), params)
        return total

    def floating(self, x: Any) -> Any:
        """``x`` as a float array: integers and bools become torch's default dtype."""
        kind = result_type(x, 1.0) if isinstance(x, Value) else dtype_name(None)
        return self.array(x, kind)

    def next_key(self) -> Any:
        """A new key for random numbers: of the generator that the call names, by default of the one input ``key`` of the graph."""
        key, index = self.stream(self.generator)
        if key is self.graph.notes.get("key"):
            self.graph.notes["keys"] = index
        else:
            self.streams[self.generator] = (key, index + 1)
        return self.random_fold_in(key, index=index)

    def _input_key(self) -> Value:
        key: Value | None = self.graph.notes.get("key")
        if key is None:
            key = self.graph.notes["key"] = Value("key", ArraySpec((2,), "uint32"))
            self.graph.inputs.append(key)
        return key

    def stream(self, generator: Any) -> tuple[Value, int]:
        """Where a generator is: the key it derives others from, and the number of the next."""
        return self.streams.get(generator) or (self._input_key(), self.graph.notes.get("keys", -1) + 1)

    def seed(self, generator: Any, seed: int) -> None:
        """From here on a generator (None: the default one) draws what ``seed`` leads to."""
        self.streams[generator] = (self.random_key(seed=seed % 2**32), 0)

    def settled(self, spec: ArraySpec) -> ArraySpec:
        """Sizes that were broadcast against each other while they were equal are assumed to be equal."""
        return ArraySpec(tuple(map(self._settled, spec.shape)), spec.dtype)

    def _settled(self, dim: Any) -> Any:
        if not isinstance(dim, Unknown) or not dim.if_equal:
            return dim
        for other in dim.if_equal[1:]:
            self.guard(apply("eq", dim.if_equal[0], other))
        return dim.if_equal[0]

    def fix(self, dim: Any) -> int:
        """A size as a plain int: it becomes a guard, so the graph holds for this size only. For what cannot stay symbolic."""
        self.guard(apply("eq", dim, hint_of(dim)))
        return int(hint_of(dim))

    def guard(self, condition: Any) -> None:
        """The graph holds only where ``condition``, a truth value over sizes that is true while recording, is true."""
        if isinstance(condition, Size) and not any(guard.condition == condition for guard in self.graph.guards):
            self.graph.guards.append(Guard(condition, True, self.origin))


def number_as(item: Any, dtype: str) -> Any:
    """A number as an element of this type: 2 is 2.0 among floats, 1.5 is 1 among integers, and -1 is 255 in ``uint8``."""
    if isinstance(item, (Size, complex)):
        return item
    if dtype == "bool":
        return bool(item)
    if "int" in dtype:
        return _wrapped(int(item), dtype)
    return float(item) if "float" in dtype else item


def _wrapped(number: int, dtype: str) -> int:
    """A number as torch takes it beside integers: what the type does not hold wraps around.

    >>> _wrapped(-2, "uint8"), _wrapped(200, "int8"), _wrapped(7, "int32")
    (254, -56, 7)
    """
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    return (number - low) % 2**bits + low


def axes(dim: Any, rank: int) -> tuple[int, ...] | None:
    """torch's ``dim=`` as a tuple counted from the front; None, and the empty tuple, mean all."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return None
    return tuple(axis(d, rank) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def axis(dim: int, rank: int) -> int:
    """One ``dim`` counted from the front."""
    return int(dim) % max(rank, 1)
