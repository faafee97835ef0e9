"""Numbers that a recorded function read from arrays, and Python's ``math`` on them.

An expression over them stays symbolic until an array is needed. A number that must be known when the graph
is written (a shape, a bound) becomes a constant, under a guard.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Container
from dataclasses import replace
from typing import Any

from ...errors import UnsupportedOperation
from ...ir import Guard, Value
from ...ir.node import CallRecord, Origin
from ...ops.dtypes import is_floating
from ...ops.registry import ArraySpec
from ...recording import Recorder
from ...sizes import Apply, Size, Symbol, apply, hint_of, product
from ...trees import Branch, Path, Static, Tree, TypedLeaf, iterate_structure, map_structure

# -------------------------------------------------------------------------------------------------- host math
# Functions of Python's ``math`` on 0-d float64 arrays, guarded against Python's exceptions.

# (builder, *numbers) -> result.
Compute = Callable[..., Any]


def _without_guard(name: str) -> Compute:
    return lambda b, *numbers: getattr(b, name)(*numbers)


def scale_by(factor: float) -> Compute:
    return lambda b, x: b.multiply(x, factor)


def cbrt(b: Any, x: Any) -> Any:
    root = b.copysign(b.pow(b.abs(x), 1 / 3), x)
    # One step of Newton's method, because pow is not exact to the last bit.
    step = b.divide(b.subtract(b.multiply(root, b.square(root)), x), b.multiply(b.square(root), 3.0))
    return b.where(b.logical_and(b.isfinite(step), b.isfinite(root)), b.subtract(root, step), root)


def _gamma(b: Any, x: Any) -> Any:
    # lgamma is the logarithm of the absolute value; below 0 the sign alternates from pole to pole.
    is_negative = b.logical_and(b.less(x, 0.0), b.not_equal(b.remainder(b.floor(x), 2.0), 0.0))
    size = b.exp(b.lgamma(x))
    # Python raises for -inf, which no guard could tell from an infinite result.
    return b.where(b.equal(x, -math.inf), math.nan, b.where(is_negative, b.negative(size), size))


def _remainder(b: Any, x: Any, y: Any) -> Any:
    # The quotient is rounded to the nearest integer, ties to even.
    rest, size = b.fmod(x, y), b.abs(y)
    twice = b.abs(b.multiply(rest, 2.0))
    is_odd = b.not_equal(b.fmod(b.trunc(b.divide(x, y)), 2.0), 0.0)
    is_next = b.logical_or(b.greater(twice, size), b.logical_and(b.equal(twice, size), is_odd))
    return b.where(b.logical_and(is_next, b.isfinite(y)), b.subtract(rest, b.copysign(size, x)), rest)


def _log_to(b: Any, x: Any, base: Any) -> Any:
    return b.divide(b.log(x), b.log(base))


# Functions by their names in size expressions.
COMPUTE: dict[str, Compute] = {
    **{
        name: _without_guard(name)
        for name in (
            "sqrt", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10",
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
            "erf", "erfc", "lgamma", "atan2", "copysign", "fmod", "hypot",
        )
    },
    "fabs": _without_guard("abs"),
    "cbrt": cbrt,
    "degrees": scale_by(180 / math.pi),
    "radians": scale_by(math.pi / 180),
    "gamma": _gamma,
    "remainder": _remainder,
    "pow_float": _without_guard("pow"),
    "log_to": _log_to,
}  # fmt: skip
# These do not raise for any number.
_TOTAL = frozenset({"fabs", "atan", "atan2", "tanh", "asinh", "erf", "erfc", "copysign", "cbrt", "radians"})
# Conditions under which Python raises, if one comparison tells.
_REFUSED: dict[str, Callable[..., Any]] = {
    "sqrt": lambda b, x: b.less(x, 0.0),
    **{name: lambda b, x: b.less_equal(x, 0.0) for name in ("log", "log2", "log10")},
    "log_to": lambda b, x, base: b.logical_or(
        b.less_equal(x, 0.0), b.logical_or(b.less_equal(base, 0.0), b.equal(base, 1.0))
    ),
    "log1p": lambda b, x: b.less_equal(x, -1.0),
    **{name: lambda b, x: b.isinf(x) for name in ("sin", "cos", "tan")},
    **{name: lambda b, x: b.greater(b.abs(x), 1.0) for name in ("asin", "acos")},
    "acosh": lambda b, x: b.less(x, 1.0),
    "atanh": lambda b, x: b.greater_equal(b.abs(x), 1.0),
}


def expect_result(b: Any, result: Any, numbers: tuple[Any, ...]) -> None:
    # Python raises for a NaN that no operand has, and for an infinity that finite operands have.
    for test, cause in ((b.isnan, b.isnan), (b.isinf, lambda number: b.logical_not(b.isfinite(number)))):
        given = functools.reduce(b.logical_or, map(cause, numbers))
        b.expect(b.logical_or(b.logical_not(test(result)), given), True)


def compute_math(b: Any, name: str, numbers: tuple[Any, ...]) -> Any:
    """Compute the function ``name`` of :data:`COMPUTE`, with guards against exceptions of Python."""
    arrays = tuple(number if isinstance(number, Value) else b.array(number, "float64") for number in numbers)
    if name in _REFUSED:
        b.expect(_REFUSED[name](b, *arrays), False)
    result = COMPUTE[name](b, *arrays)
    if name not in _TOTAL and name not in _REFUSED:
        expect_result(b, result, arrays)
    return result


# ----------------------------------------------------------------------------------------------- read numbers
DTYPES: dict[type, str] = {int: "int64", float: "float64"}


def holds_numbers(held: Any, is_whole: bool) -> bool:
    """Return True if the ints and floats in the state ``held`` may become inputs of the graph.

    is_whole: True if the whole container is the state.

    >>> holds_numbers([0.1, 2], True), holds_numbers(["adam", 2], True)
    (True, False)
    >>> holds_numbers(("adam", 2), False), holds_numbers(3, False)
    (True, True)
    """
    if isinstance(held, list):
        return all(type(item) in DTYPES for item in held)
    return not is_whole and (isinstance(held, tuple) or type(held) in DTYPES)


def with_numbers(tree: Tree, places: Container[Path], path: Path = ()) -> Tree:
    """Return ``tree`` with the static ints and floats at the paths ``places`` replaced by typed leaves."""
    if isinstance(tree, Static) and type(tree.value) in DTYPES and path in places:
        return TypedLeaf(type(tree.value))
    if isinstance(tree, Branch):
        return Branch(
            tree.type,
            tree.keys,
            tuple(with_numbers(child, places, (*path, key)) for key, child in zip(tree.keys, tree.children)),
        )
    return tree


# More numbers would fill lines of the source with names, so they are guarded as constants.
_MOST_READ = 16


class Reading:
    """Treatment of the numbers that one attempt at a recording reads from arrays.

    symbolic: True if these numbers may become symbols; others become constants, with guards.
    any: True once a number has become a symbol. The recording sets it.
    """

    def __init__(self, symbolic: bool = True) -> None:
        self.symbolic, self.any = symbolic, False


class _NumberPlaceholder:
    """Object that the recorder tracks in place of an array, for a number that Python has read."""


def can_be_symbols(seen: Any) -> bool:
    leaves = list(iterate_structure((seen,)))
    return 0 < len(leaves) <= _MOST_READ and all(type(leaf) in DTYPES for leaf in leaves)


def record_read(
    recorder: Recorder, op: str, value: Value, seen: Any, origin: Origin, record: CallRecord
) -> Any:
    """Record that the call ``op`` reads the numbers ``seen`` from ``value``, and return symbols for them."""
    name = f"{value.name}_{op.rpartition('.')[2]}"
    outputs = recorder.new_values(
        [
            (name, _NumberPlaceholder(), ArraySpec((), DTYPES[type(leaf)]))
            for leaf in iterate_structure((seen,))
        ]
    )
    values, places = iter(outputs), iter(outputs)
    recorder.add_call(
        op,
        (value,),
        {},
        origin,
        outputs,
        replace(record, result=map_structure(lambda leaf: next(values), seen)),
    )
    return map_structure(lambda leaf: Size.of(Symbol(next(places), 0, leaf, "number")), seen)


def decide(recorder: Recorder, size: Size, where: Origin) -> Any:
    """Return the recorded value of ``size``; if needed, guard it or the numbers that it is computed from."""
    # For a float, the numbers that it is computed from are guarded.
    if size.type is not float or not size.reads_elements():
        return recorder.decide_size(size, where)
    for symbol in size.symbols():
        if symbol.kind == "number":
            recorder.decide_number(symbol.source, symbol.hint, where)
        else:
            recorder.decide_size(Size.of(symbol), where)
    return size.hint


_DTYPES: dict[type, str] = {bool: "bool", int: "int64", float: "float64"}
# A product of more factors is checked for overflow. Two factors are trusted, as in products of arrays.
_FEW = 2
# Python's integers are unbounded; JAX has 32-bit integers without jax_enable_x64.
LARGE = 2**31
_ROUNDING = {"float16": 1e-2, "bfloat16": 1e-2}
# Relative tolerance for floats, because JAX computes in float32 where others have float64.
_ROUNDS = 1e-5


def rounding_of(b: Any, value: Value) -> float:
    node = b.maker(value)
    dtype = node.inputs[0].dtype if node is not None and node.op == "astype" else value.dtype
    return _ROUNDING.get(dtype, _ROUNDS) if is_floating(value.dtype) else 0.0


def is_read(item: Any) -> bool:
    return isinstance(item, Size) and item.reads_elements()


def number_of(b: Any, size: Size) -> Value:
    """Return ``size`` as a 0-d array of int64, float64 or bool, with guards where needed."""
    total: Any = None
    for monomial, coefficient in size.terms():
        factors = [_atom(b, atom) for atom in monomial]
        product: Any = functools.reduce(b.multiply, factors) if factors else None
        if len(factors) > _FEW:
            estimate = functools.reduce(b.multiply, [b.array(factor, "float64") for factor in factors])
            hints: list[Any] = [atom.hint for atom in monomial]
            _expect_small(b, estimate, math.prod(hints))
        product = (
            coefficient
            if product is None
            else product
            if coefficient == 1
            else b.multiply(product, coefficient)
        )
        total = product if total is None else b.add(total, product)
    return b.array(total, _DTYPES[size.type])


def read(b: Any, x: Value, is_constant: bool = True) -> Value:
    """Return the element of ``x`` as a 0-d float64 or int64 array, and guard that ``x`` has one element."""
    b.reads_numbers = True
    b.guard(apply("eq", product(x.shape), 1))
    kind = "float64" if is_floating(x.dtype) else "int64"
    return b.cast(
        b.reshape(b.stop_gradient(x) if is_constant and is_floating(x.dtype) else x, shape=()), kind
    )


def as_index(b: Any, x: Value, index: Any) -> Any:
    """Convert numbers in ``index`` that were read from arrays to 0-d arrays or guarded constants."""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(part, (slice, Size)) or type(part) is int for part in parts):
        return fix_numbers(b, index)
    picked = tuple(
        _place(b, part, x.shape[axis]) if is_read(part) else fix_numbers(b, part)
        for axis, part in enumerate(parts)
    )
    return picked if isinstance(index, tuple) else picked[0]


def _place(b: Any, number: Size, size: Any) -> Value:
    place: Value = b.array(number, "int64")
    b.expect(b.logical_and(b.greater_equal(place, -size), b.less(place, size)), True)
    return place


def element_before_cast(b: Any, number: Value, dtype: str) -> Value:
    """Return the operand of the cast that made ``number`` if that operand has ``dtype``, else ``number``."""
    node = b.maker(number)
    return (
        node.inputs[0]
        if node is not None and node.op == "astype" and node.inputs[0].dtype == dtype
        else number
    )


def fix_numbers(b: Any, structure: Any) -> Any:
    return map_structure(lambda item: _fix_number(b, item) if is_read(item) else item, structure)


def _fix_number(b: Any, size: Size) -> Any:
    if size not in b.fixed:
        b.fixed.add(size)
        value = number_of(b, size)
        b.graph.guards.append(Guard(value, size.hint, b.origin, rounding_of(b, value)))
    return size.hint


# ------------------------------------------------------------------------------------- arithmetic
def _atom(b: Any, atom: Any) -> Any:
    if isinstance(atom, Apply):
        return _applied(b, atom)
    return atom.source if atom.kind == "number" else b.array(Size.of(atom), _DTYPES[type(atom.hint)])


def _applied(b: Any, atom: Apply) -> Any:
    rule = _RULES.get(atom.function)
    # JAX may have no integers of more than 32 bits.
    if rule is None or atom.function in _ROUNDED and abs(atom.hint) >= LARGE:
        return _as_recorded(b, atom)
    dtype = "float64" if any(type(hint_of(item)) is float for item in atom.arguments) else "int64"
    if atom.function in _ON_FLOATS:
        dtype = "float64"
    operands = [
        _operand(b, item, "bool" if type(hint_of(item)) is bool else dtype) for item in atom.arguments
    ]
    if atom.function == "pow" and dtype == "int64":
        _expect_small(b, b.pow(*(b.array(x, "float64") for x in operands)), atom.hint)
    return rule(b, *operands)


def _expect_small(b: Any, estimate: Value, hint: int) -> None:
    if abs(hint) >= LARGE:
        raise UnsupportedOperation(
            f"{b.origin}: whole numbers as large as {hint} cannot be computed with as arrays"
        )
    b.expect(b.less(b.abs(estimate), float(LARGE)), True)


def _as_recorded(b: Any, atom: Apply) -> Any:
    for symbol in Size.of(atom).symbols():
        if symbol.kind == "number":
            b.graph.guards.append(Guard(symbol.source, symbol.hint, b.origin, rounding_of(b, symbol.source)))
        else:
            b.guard(apply("eq", Size.of(symbol), symbol.hint))
    return atom.hint


def _operand(b: Any, item: Any, dtype: str) -> Any:
    return b.array(number_of(b, item), dtype) if isinstance(item, Size) else b.operand(item, dtype)


def _same(name: str) -> Callable[..., Any]:
    return lambda b, *operands: getattr(b, name)(*operands)


def _by_no_zero(name: str) -> Callable[..., Any]:
    # Python raises for a division by 0.
    def divided(b: Any, x: Value, y: Value) -> Any:
        if isinstance(y, Value):
            b.expect(b.not_equal(y, 0), True)
        return getattr(b, name)(x, y)

    return divided


def _whole(name: str | None) -> Callable[..., Any]:
    # Python raises if a NaN or infinite float becomes an int, and has ints of any size.
    def rounded(b: Any, x: Value) -> Any:
        b.expect(b.less(b.abs(x), float(LARGE)), True)
        return b.cast(getattr(b, name)(x) if name else x, "int64")

    return rounded


def _finite(name: str) -> Callable[..., Any]:
    # Python raises OverflowError if finite numbers have an infinite result.
    def guarded(b: Any, *operands: Any) -> Any:
        result = getattr(b, name)(*operands)
        if is_floating(result.dtype):
            finite = [b.isfinite(x) for x in operands if isinstance(x, Value)]
            b.expect(
                b.logical_and(functools.reduce(b.logical_and, finite), b.logical_not(b.isfinite(result))),
                False,
            )
        return result

    return guarded


def _of_math(name: str) -> Callable[..., Any]:
    return lambda b, *operands: compute_math(b, name, operands)


_RULES: dict[str, Callable[..., Any]] = {
    **{name: _same(name) for name in ("add", "abs")},
    "pow": _finite("pow"),
    **{name: _of_math(name) for name in COMPUTE},
    "sub": _same("subtract"),
    "mul": _same("multiply"),
    "neg": _same("negative"),
    "truediv": _by_no_zero("divide"),
    "floordiv": _by_no_zero("floor_divide"),
    "mod": _by_no_zero("remainder"),
    # These treat NaN as Python's max and min do.
    "max": lambda b, x, y: b.where(b.greater(y, x), y, x),
    "min": lambda b, x, y: b.where(b.less(y, x), y, x),
    # The operand is float64 already, see ``_ON_FLOATS``.
    "float": lambda b, x: x,
    "trunc": _whole("trunc"),
    "floor": _whole("floor"),
    "ceil": _whole("ceil"),
    "round": _whole("round"),
    "eq": _same("equal"),
    "ne": _same("not_equal"),
    "lt": _same("less"),
    "le": _same("less_equal"),
    "gt": _same("greater"),
    "ge": _same("greater_equal"),
    "not": lambda b, x: b.logical_not(b.cast(x, "bool")),
}
_ROUNDED = frozenset({"trunc", "floor", "ceil", "round"})
_ON_FLOATS = frozenset({"truediv", "float", *_ROUNDED, *COMPUTE})
