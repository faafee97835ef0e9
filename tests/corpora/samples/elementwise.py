"""Samples of element-wise functions: arithmetic, comparisons, logic, bits, casts."""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.support.samples import ErrorSample, Sample, array, bools, ints

X, OTHER = array(2, 3), array(4, 3)
UNIT, POSITIVE = array(2, 3, kind="unit"), array(2, 3, kind="positive")
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1e20, math.inf, -math.inf, math.nan])
POWERS = torch.tensor([1.0, 2.0, 8.0, 1024.0, 0.125, 3.0, 1e-30, 0.0, math.inf])

_UNARY = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "reciprocal",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "neg",
    "abs",
    "sign",
    "sgn",
    "square",
    "isfinite",
    "isinf",
    "isnan",
    "signbit",
    "logical_not",
    "ceil",
    "floor",
    "trunc",
    "round",
]
_COMPLEX = [
    "acos",
    "asin",
    "atan",
    "cos",
    "exp",
    "log",
    "neg",
    "abs",
    "reciprocal",
    "sin",
    "sqrt",
    "square",
    "tanh",
    "sgn",
    "real",
    "imag",
    "conj",
    "logical_not",
    "isfinite",
    "isnan",
]
_BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "floor_divide",
    "remainder",
    "pow",
    "maximum",
    "minimum",
    "hypot",
    "nextafter",
    "logaddexp",
    "atan2",
    "copysign",
    "logical_and",
    "logical_or",
    "logical_xor",
]
_OF_INTEGERS = [
    "add",
    "sub",
    "mul",
    "div",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "maximum",
    "minimum",
    "atan2",
    "copysign",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
]
_ALIASES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "negative": "neg",
    "absolute": "abs", "fix": "trunc", "positive": "positive", "conj_physical": "conj_physical",
}  # fmt: skip


def _unary() -> list[Sample]:
    found = []
    for name in _UNARY:
        function = getattr(torch, name)
        found += [
            Sample(function, (POSITIVE,), name=name),
            Sample(function, (SPECIAL,), name=f"{name} special"),
            Sample(function, (array(),), name=name),
        ]
        found += [
            Sample(function, (UNIT,), other=(array(5, 3, kind="unit"),), name=name),
            Sample(function, (array(0, 3),), name=f"{name} empty"),
        ]
        found += [
            Sample(function, (ints(2, 3),), name=f"{name} integers"),
            Sample(getattr(torch.Tensor, name), (POSITIVE,), name=f"Tensor.{name}"),
        ]
        found += [Sample(function, (array(3, dtype="bfloat16", kind="positive"),), name=f"{name} bfloat16")]
    found += [
        Sample(getattr(torch, name), (array(2, 3, dtype="complex64"),), name=f"{name} complex")
        for name in _COMPLEX
    ]
    found += [Sample(getattr(torch, name), (POSITIVE,), name=name) for name in _ALIASES]
    found += [
        Sample(torch.real, (X,)),
        Sample(torch.conj, (X,)),
        Sample(torch.log2, (POWERS,)),
        Sample(torch.abs, (ints(3, dtype="uint8"),)),
    ]
    found += [
        Sample(torch.sin, (bools(3),)),
        Sample(torch.square, (bools(3),)),
        Sample(torch.sign, (bools(3),)),
    ]
    return found


def _rounding() -> list[Sample]:
    halves = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 2.675, 1234.5])
    return [
        Sample(torch.round, (halves,)),
        Sample(torch.round, (array(3, 2),), {"decimals": 2}, other=(array(5, 2),)),
        Sample(torch.round, (halves,), {"decimals": -2}),
        Sample(torch.special.round, (halves,)),
    ]


def _binary() -> list[Sample]:
    found = []
    for name in _BINARY:
        function = getattr(torch, name)
        found += [
            Sample(
                function,
                (POSITIVE, array(3, kind="positive")),
                other=(array(5, 3, kind="positive"), array(3, kind="positive")),
                name=name,
            ),
            Sample(
                function,
                (array(2, 1, kind="positive"), array(3, kind="positive")),
                other=(array(4, 1, kind="positive"), array(7, kind="positive")),
                name=name,
            ),
            Sample(function, (SPECIAL[:, None], SPECIAL), name=f"{name} special"),
            Sample(function, (array(0, 3), array(3)), name=f"{name} empty"),
            Sample(
                getattr(torch.Tensor, name), (POSITIVE, array(kind="positive")), name=f"Tensor.{name} 0-d"
            ),
        ]
    for name in _OF_INTEGERS:
        found += [
            Sample(
                getattr(torch, name),
                (ints(2, 3, dtype="int32"), ints(3, low=1)),
                other=(ints(4, 3, dtype="int32"), ints(3, low=1)),
                name=f"{name} integers",
            ),
            Sample(
                getattr(torch, name), (ints(2, 3, dtype="uint8"), ints(low=1)), name=f"{name} bytes with 0-d"
            ),
        ]
    found += [
        Sample(getattr(torch, name), (bools(2, 3), bools(3)), name=f"{name} bools")
        for name in ("add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor", "lt", "eq")
    ]
    found += [
        Sample(getattr(torch, name), (X, ints(3)), name=f"{name} mixed")
        for name in ("add", "sub", "mul", "div", "eq", "gt", "maximum", "remainder", "pow")
    ]
    found += [
        Sample(getattr(torch, name), (array(3, dtype="complex64"), array(3)), name=f"{name} complex")
        for name in ("add", "sub", "mul", "div", "eq", "pow")
    ]
    found += [
        Sample(
            getattr(torch, name),
            (
                array(2, 3, dtype="float16"),
                array(),
            ),
            name=f"{name} half",
        )
        for name in ("add", "mul", "div", "maximum")
    ]
    return found


def _numbers() -> list[Sample]:
    found: list[Sample] = []
    for name, number in (
        ("add", 2),
        ("sub", 0.5),
        ("mul", -3),
        ("div", 4),
        ("remainder", 3),
        ("floor_divide", 2),
        ("eq", 1),
        ("lt", 0.5),
        ("pow", 2),
    ):
        function = getattr(torch, name)
        found += [
            Sample(function, (array(2, 3), number), other=(array(4, 3), number), name=f"{name} number"),
            Sample(function, (ints(2, 3), number), name=f"{name} number"),
        ]
    found += [
        Sample(torch.add, (ints(3), 2.5)),
        Sample(torch.add, (bools(3), 2)),
        Sample(torch.add, (ints(3, dtype="int8"), 2)),
        Sample(torch.add, (array(3), 1 + 2j)),
        Sample(torch.add, (X, array(3)), {"alpha": 2}),
        Sample(torch.add, (ints(3), 2), {"alpha": 3}),
        Sample(torch.sub, (X, array(3)), {"alpha": 0.5}, other=(OTHER, array(3))),
        Sample(torch.rsub, (X, 2)),
        Sample(torch.rsub, (X, array(3)), {"alpha": 2}),
        Sample(torch.mul, (array(3, dtype="float16"), 3.5)),
        Sample(torch.mul, (bools(3), 2.0)),
    ]
    found += [
        Sample(torch.pow, (POSITIVE, exponent), name=f"pow {exponent}")
        for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, 2.0, 20)
    ]
    found += [
        Sample(torch.pow, (2, X)),
        Sample(torch.pow, (2.5, ints(3))),
        *(
            Sample(torch.pow, (bools(9), exponent), name=f"pow of bools {exponent}")
            for exponent in (True, False)
        ),
        Sample(torch.pow, (ints(2, 3), 3)),
        Sample(torch.pow, (2, ints(3, low=0))),
        Sample(
            torch.pow,
            (ints(2, 3, low=-2, high=3), ints(3, low=-2, high=4)),
            other=(ints(4, 3, low=-2, high=3), ints(3, low=-2, high=4)),
        ),
        Sample(torch.pow, (ints(3), 0.5)),
        Sample(torch.pow, (array(3, dtype="complex64"), 2)),
        Sample(
            lambda z: (z * True + False, z / True),
            (array(3, dtype="complex64"),),
            other=(array(2, dtype="complex64"),),
            name="bools beside complex",
        ),
    ]
    return found


def _reflected() -> list[Sample]:
    nonzero = ints(2, 3, low=1, high=6)
    found = [
        Sample(
            getattr(torch.Tensor, f"__r{name}__"),
            (POSITIVE, 2),
            other=(array(4, 3, kind="positive"), 2),
            name=f"__r{name}__",
        )
        for name in ("add", "sub", "mul", "div", "truediv", "pow", "mod", "floordiv")
    ]
    found += [
        Sample(getattr(torch.Tensor, f"__r{name}__"), (nonzero, 7), name=f"__r{name}__ integers")
        for name in ("sub", "div", "pow", "mod", "floordiv", "lshift", "rshift", "and", "or", "xor")
    ]
    found += [
        Sample(getattr(torch.Tensor, f"__{name}__"), (nonzero, 3), name=f"__{name}__")
        for name in (
            "and",
            "or",
            "xor",
            "lshift",
            "rshift",
            "floordiv",
            "mod",
            "pow",
            "truediv",
            "eq",
            "ne",
            "lt",
        )
    ]
    return [
        *found,
        Sample(torch.Tensor.__and__, (bools(3), bools(3))),
        Sample(torch.Tensor.__and__, (bools(3), ints(3))),
        Sample(torch.Tensor.__invert__, (bools(3),)),
    ]


def _division() -> list[Sample]:
    divisor = torch.tensor([-4, -3, 2, 5])
    dividend = torch.tensor([[-7], [7], [8], [-9]])
    found = []
    for mode in (None, "trunc", "floor"):
        found += [
            Sample(torch.div, (dividend, divisor), {"rounding_mode": mode}),
            Sample(torch.div, (dividend.double(), divisor), {"rounding_mode": mode}),
            Sample(torch.div, (SPECIAL[:, None], SPECIAL), {"rounding_mode": mode}),
            Sample(
                torch.div,
                (ints(2, 3, dtype="int8"), 2),
                {"rounding_mode": mode},
                other=(ints(5, 3, dtype="int8"), 2),
            ),
            Sample(torch.div, (X, 0.3), {"rounding_mode": mode}, other=(OTHER, 0.3)),
        ]
    return [
        *found,
        Sample(torch.floor_divide, (dividend, divisor)),
        Sample(torch.remainder, (dividend, divisor)),
        Sample(torch.fmod, (dividend, divisor)),
    ]


def _bits() -> list[Sample]:
    shifts = torch.tensor([0, 1, 5, 31], dtype=torch.int32)
    return [
        Sample(torch.bitwise_left_shift, (ints(3, 1, dtype="int32"), shifts)),
        Sample(torch.bitwise_right_shift, (ints(3, 1, low=-100, high=100, dtype="int32"), shifts)),
        Sample(torch.bitwise_right_shift, (ints(3, dtype="uint8", low=0, high=200), 2)),
        Sample(torch.bitwise_not, (ints(3),)),
        Sample(torch.bitwise_not, (bools(3),)),
        Sample(torch.bitwise_and, (ints(3), 6)),
    ]


def _clamps() -> list[Sample]:
    return [
        Sample(torch.clamp, (X, -0.5, 0.5), other=(OTHER, -0.5, 0.5)),
        Sample(torch.clamp, (X,), {"min": 0}),
        Sample(torch.clamp, (X,), {"max": 0.25}),
        Sample(torch.clamp, (X, 0.5, -0.5), name="clamp crossed"),
        Sample(torch.clamp, (ints(3), -2, 2)),
        Sample(torch.clamp, (ints(3), 0.5, None)),
        Sample(torch.clamp, (X, array(3), array(2, 1)), other=(OTHER, array(3), array(4, 1))),
        Sample(torch.clamp, (X, None, array(3))),
        Sample(torch.clamp, (SPECIAL, -1, 1)),
        Sample(torch.clamp, (SPECIAL[:, None], SPECIAL)),
        Sample(torch.clip, (X, -0.5, 0.5)),
        Sample(torch.clamp_min, (X, 0)),
        Sample(torch.clamp_max, (X, array(3))),
        Sample(torch.clamp_min, (bools(2, 3), bools(3)), other=(bools(4, 1), bools(5))),
        Sample(torch.clamp_max, (bools(2, 3), bools(3)), name="clamp_max of bools"),
        Sample(
            torch.logaddexp,
            (array(2, 3, dtype="complex64"), array(3, dtype="complex64")),
            name="logaddexp of complex",
        ),
    ]


def _types() -> list[Sample]:
    methods = [
        "float",
        "half",
        "double",
        "bfloat16",
        "int",
        "long",
        "short",
        "char",
        "byte",
        "bool",
        "cfloat",
        "cdouble",
    ]
    edges = torch.tensor([0.0, -1.0, 1.9, -1.9, 255.0, 300.0, -129.0])
    found = [Sample(getattr(torch.Tensor, name), (edges,), name=name) for name in methods]
    found += [
        Sample(
            getattr(torch.Tensor, name),
            (ints(2, 3, low=-300, high=300),),
            other=(ints(5, 3),),
            name=f"{name} of integers",
        )
        for name in methods
    ]
    found += [Sample(getattr(torch.Tensor, name), (bools(3),), name=f"{name} of bools") for name in methods]
    found += [
        Sample(torch.Tensor.to, (X, *target), name=f"to {target}")
        for target in (
            (torch.float16,),
            ("cpu",),
            ("cpu", torch.int32),
            (torch.float64, True),
            (torch.int64,),
        )
    ]
    return [
        *found,
        Sample(torch.Tensor.to, (X,), {"dtype": torch.bool}),
        Sample(torch.Tensor.to, (X, ints(1)), name="to other"),
        Sample(torch.Tensor.type, (X, torch.int32)),
        Sample(torch.Tensor.type, (X, "torch.DoubleTensor")),
        Sample(torch.Tensor.type, (X, torch.LongTensor)),
        Sample(torch.Tensor.type_as, (X, ints(1))),
        Sample(torch.Tensor.bool, (SPECIAL,)),
        Sample(torch.Tensor.bool, (array(3, dtype="complex64"),), name="bool of complex"),
        *(
            Sample(getattr(torch.Tensor, name), (X,), other=(OTHER,), name=name)
            for name in ("contiguous", "clone", "detach", "cpu", "resolve_conj", "resolve_neg")
        ),
        Sample(torch.Tensor.clone, (X,), {"memory_format": torch.preserve_format}),
        Sample(torch.Tensor.detach, (ints(3),), name="detach integers"),
        Sample(torch.Tensor.requires_grad_, (X,), name="requires_grad_"),
    ]


def add_size(x: torch.Tensor) -> torch.Tensor:
    n = x.shape[0]
    return (x + n) * n / n - n // 2 + x**n + (n - x) + torch.clamp(x, max=n) + (x > n)


def size_expressions(x: torch.Tensor) -> torch.Tensor:
    """Expressions of sizes as right operands, which need brackets in the generated source."""
    n = x.shape[0]
    return x - (n - 1) + x * (n + 1) - x / (n * 2)


def _sizes() -> list[Sample]:
    return [
        Sample(size_expressions, (X,), other=(array(3, 3),)),
        Sample(add_size, (X,), other=(array(3, 3),)),
        Sample(add_size, (ints(2, 3),), other=(ints(4, 3),)),
    ]


SAMPLES: list[Sample] = [
    *_unary(), *_rounding(), *_binary(), *_numbers(), *_reflected(), *_division(), *_bits(), *_clamps(), *_types(), *_sizes(),
]  # fmt: skip

ERRORS: list[ErrorSample] = []

__all__: list[Any] = ["ERRORS", "SAMPLES"]
