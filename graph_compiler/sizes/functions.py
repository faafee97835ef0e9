"""Functions of sizes and numbers, by name: implementation, type of the result, and Python syntax."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any


def _ite(condition: bool, yes: Any, no: Any) -> Any:
    return yes if condition else no


# of Python's math, by how many numbers they take; all give floats
_OF_ONE = (
    "sqrt", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh",
    "acosh", "atanh", "degrees", "radians", "fabs", "erf", "erfc", "gamma", "lgamma", "cbrt",
)  # fmt: skip
_OF_TWO = ("atan2", "copysign", "fmod", "hypot", "remainder")

# name -> (what it computes, type of the result or None for "as the arguments", how Python writes it)
FUNCTIONS: dict[str, tuple[Callable[..., Any], type | None, str]] = {
    **{name: (getattr(math, name), float, f"math.{name}({{}})") for name in _OF_ONE if hasattr(math, name)},  # some are younger than others
    **{name: (getattr(math, name), float, f"math.{name}({{}}, {{}})") for name in _OF_TWO},
    "log_to": (math.log, float, "math.log({}, {})"),
    "pow_float": (math.pow, float, "math.pow({}, {})"),
    "isqrt": (math.isqrt, int, "math.isqrt({})"),
    "gcd": (math.gcd, int, "math.gcd({}, {})"),
    "lcm": (math.lcm, int, "math.lcm({}, {})"),
    "floordiv": (operator.floordiv, None, "{} // {}"),
    "mod": (operator.mod, None, "{} % {}"),
    "truediv": (operator.truediv, float, "{} / {}"),
    "pow": (operator.pow, None, "{} ** {}"),
    "add": (operator.add, None, "{} + {}"),
    "sub": (operator.sub, None, "{} - {}"),
    "mul": (operator.mul, None, "{} * {}"),
    "neg": (operator.neg, None, "-{}"),
    "abs": (operator.abs, None, "abs({})"),
    "max": (max, None, "max({}, {})"),
    "min": (min, None, "min({}, {})"),
    "float": (float, float, "float({})"),
    "trunc": (int, int, "int({})"),
    "floor": (math.floor, int, "math.floor({})"),
    "ceil": (math.ceil, int, "math.ceil({})"),
    "round": (round, int, "round({})"),
    "round_to": (round, float, "round({}, {})"),
    "lshift": (operator.lshift, int, "{} << {}"),
    "rshift": (operator.rshift, int, "{} >> {}"),
    "bitwise_and": (operator.and_, int, "{} & {}"),
    "bitwise_or": (operator.or_, int, "{} | {}"),
    "bitwise_xor": (operator.xor, int, "{} ^ {}"),
    "eq": (operator.eq, bool, "{} == {}"),
    "ne": (operator.ne, bool, "{} != {}"),
    "lt": (operator.lt, bool, "{} < {}"),
    "le": (operator.le, bool, "{} <= {}"),
    "gt": (operator.gt, bool, "{} > {}"),
    "ge": (operator.ge, bool, "{} >= {}"),
    "and": (lambda a, b: a and b, bool, "({} and {})"),
    "or": (lambda a, b: a or b, bool, "({} or {})"),
    "not": (operator.not_, bool, "not {}"),
    "ite": (_ite, None, "({1} if {0} else {2})"),
}
# function of Python's math -> by how many numbers it is given, its name above
FUNCTIONS_OF_MATH: dict[str, dict[int, str]] = {
    **{name: {1: name} for name in (*_OF_ONE, "isqrt") if name in FUNCTIONS},
    **{name: {2: name} for name in (*_OF_TWO, "gcd", "lcm")},
    "log": {1: "log", 2: "log_to"},
    "pow": {2: "pow_float"},
}
ORDER_MATTERS_NOT = frozenset({"max", "min", "eq", "ne"})
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
