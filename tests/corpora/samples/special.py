"""Samples of special functions and of element-wise functions beyond the array API standard."""

from __future__ import annotations

import math

import torch

from tests.support.samples import ErrorSample, Sample, array, bools, ints

X, OTHER = array(2, 3), array(4, 3)
UNIT, POSITIVE = array(2, 3, kind="unit"), array(2, 3, kind="positive")
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, -7.3, 12.0, 40.0, math.nan])
# These functions are defined only for positive numbers.
RIGHT = torch.tensor([0.0, 1e-5, 0.3, 1.0, 2.0, 2.5, 3.0, 8.0, 8.5, 30.0, 70.0])
LEFT = -RIGHT
DEGREES = torch.tensor([-math.inf, math.nan, math.inf])
# Parameters and arguments of incomplete gamma functions that are large and near each other.
LARGE = torch.tensor([2e2, 1e3, 1e3, 1e4, 1e5, 1e6, 1e6, 3e2, 1e3])
BESIDE = torch.tensor([1.9e2, 1e3, 1.05e3, 0.99e4, 1.001e5, 1e6, 1.0005e6, 4.7e2, 1.9e3])

_UNARY = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "i0",
    "lgamma",
    "rsqrt",
    "sigmoid",
    "sinc",
    "logit",
    "frac",
    "nan_to_num",
    "deg2rad",
    "rad2deg",
    "isposinf",
    "isneginf",
    "isreal",
    "angle",
    "special.entr",
    "special.erfcx",
    "special.i0e",
    "special.i1",
    "special.i1e",
    "special.log_ndtr",
    "special.ndtr",
    "special.ndtri",
    "special.spherical_bessel_j0",
    "special.expit",
    "special.psi",
    "special.gammaln",
    "special.exp2",
    "special.logit",
    "special.sinc",
    "special.digamma",
    "special.erf",
    "special.erfc",
    "special.erfinv",
    "special.i0",
    "special.expm1",
    "special.log1p",
]
_BESSEL = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
]
_POLYNOMIALS = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]


def _unary() -> list[Sample]:
    found = []
    for name in _UNARY:
        function = (
            getattr(torch.special, name.removeprefix("special."))
            if name.startswith("special.")
            else getattr(torch, name)
        )
        found += [
            Sample(function, (UNIT,), other=(array(5, 3, kind="unit"),), name=name),
            Sample(function, (SPECIAL,), name=f"{name} special"),
            Sample(function, (array(kind="positive"),), name=name),
            Sample(function, (array(0, 3),), name=f"{name} empty"),
        ]
        if name != "frac":
            found.append(Sample(function, (ints(2, 3),), name=f"{name} integers"))
    for name in _BESSEL:
        function = getattr(torch.special, name)
        found += [
            Sample(function, (RIGHT,), name=name),
            Sample(function, (POSITIVE,), other=(array(5, 3, kind="positive"),), name=name),
        ]
        found += [Sample(function, (LEFT,), name=f"{name} left")]
    return found


def _binary() -> list[Sample]:
    positive = (array(2, 3, kind="positive"), array(3, kind="positive"))
    later = (array(5, 3, kind="positive"), array(3, kind="positive"))
    functions = (
        torch.fmax, torch.fmin, torch.fmod, torch.logaddexp2, torch.xlogy, torch.special.xlogy, torch.special.xlog1py, torch.igamma,
        torch.igammac,
        torch.special.gammainc, torch.special.gammaincc, torch.special.zeta, torch.heaviside, torch.isclose, torch.ldexp, torch.float_power,
    )  # fmt: skip
    found = [Sample(function, positive, other=later) for function in functions]
    found += [
        Sample(function, (SPECIAL[:, None], SPECIAL))
        for function in (
            torch.fmax,
            torch.fmin,
            torch.fmod,
            torch.xlogy,
            torch.special.xlog1py,
            torch.heaviside,
            torch.isclose,
        )
    ]
    found += [
        Sample(function, (ints(2, 3, low=-40, high=40), ints(3, low=1, high=30)))
        for function in (torch.gcd, torch.lcm, torch.fmod, torch.fmax, torch.xlogy, torch.ldexp)
    ]
    return [
        *found,
        *(
            Sample(function, (LARGE, BESIDE), name=f"{function.__name__} large")
            for function in (torch.special.gammainc, torch.special.gammaincc)
        ),
        Sample(torch.xlogy, (2, POSITIVE)),
        Sample(torch.fmax, (bools(2, 3), bools(3)), name="fmax of bools"),
        Sample(torch.fmin, (bools(2, 3), bools(3)), name="fmin of bools"),
        Sample(
            torch.fmod,
            (ints(2, 3, low=0, high=200, dtype="uint8"), ints(3, low=1, high=30, dtype="uint8")),
            name="fmod of uint8",
        ),
        Sample(torch.xlogy, (POSITIVE, 2.5)),
        Sample(torch.special.zeta, (3.0, POSITIVE)),
        Sample(
            torch.special.zeta,
            (torch.tensor([2.0, 3.0, 1.0, 0.5, 2.0, 2.0]), torch.tensor([-8.5, -3.25, 2.0, 2.0, 0.0, -20.5])),
        ),
        Sample(torch.fmod, (X, 0.7), other=(OTHER, 0.7)),
        Sample(torch.fmod, (ints(3), -3)),
        Sample(torch.fmod, (array(2, 3, dtype="float64"), 1.5), name="fmod of float64 by a number"),
        Sample(
            lambda x, y: (torch.fmod(x, y), torch.signbit(torch.fmod(x, y))),
            (torch.tensor([-4.0, 4.0, -5.0, -0.0, -4.0]), torch.tensor([2.0, -2.0, 3.0, 2.0, math.inf])),
            name="fmod to zeros of either sign",
        ),
        Sample(torch.float_power, (ints(3), 2)),
        Sample(torch.float_power, (2, X)),
        Sample(torch.isclose, (X, array(3)), {"rtol": 0.5, "atol": 0.1}, other=(OTHER, array(3))),
        Sample(torch.isclose, (SPECIAL, SPECIAL), {"equal_nan": True}),
        Sample(torch.isclose, (ints(5, low=0, high=3), ints(5, low=0, high=3))),
        *(
            Sample(
                torch.isclose,
                (
                    torch.tensor([1.0, 1.0, math.nan, -1.0, 1.0]),
                    torch.tensor([2.0, math.inf, 1.0, 3e38, 1e30]),
                ),
                {name: value},
                name="isclose of an infinite tolerance",
            )
            for name, value in (("atol", math.inf), ("rtol", math.inf), ("rtol", 10.0))
        ),
        *(
            Sample(getattr(torch.special, name), (UNIT, ints(3, low=0, high=9)), name=name)
            for name in _POLYNOMIALS
        ),
        *(
            Sample(getattr(torch.special, name), (UNIT, 3), other=(array(4, 3, kind="unit"), 3), name=name)
            for name in _POLYNOMIALS
        ),
        *(
            Sample(getattr(torch.special, name), (UNIT, DEGREES), name=f"{name} not finite")
            for name in ("legendre_polynomial_p", "laguerre_polynomial_l")
        ),
    ]


def _with_parameters() -> list[Sample]:
    return [
        *(
            Sample(
                torch.polygamma, (n, POSITIVE), other=(n, array(4, 3, kind="positive")), name=f"polygamma {n}"
            )
            for n in range(4)
        ),
        Sample(torch.polygamma, (1, torch.tensor([-8.8, -3.3, 0.5, 20.0])), name="polygamma below 0"),
        Sample(
            torch.polygamma,
            (1, torch.tensor([-1.0, -2.0, -3.0, -5.0, -8.0, 0.0, -0.0, math.inf, -math.inf, math.nan])),
            name="polygamma at poles",
        ),
        Sample(
            torch.polygamma,
            (1, torch.tensor([-1.5, -1.0, 0.0, 0.25, 3.0]).half()),
            name="polygamma of float16",
        ),
        Sample(
            torch.polygamma,
            (2, torch.tensor([-1.0, 0.0, 0.5, math.inf, -math.inf, math.nan])),
            name="polygamma 2 at poles",
        ),
        Sample(torch.special.zeta, (2.0, torch.tensor([1.0, 0.5, math.inf])), name="zeta at infinity"),
        Sample(
            torch.special.zeta,
            (2.0, torch.tensor([-(2.0**25), -1e8, -2.5])),
            name="zeta of large negative numbers",
        ),
        Sample(torch.Tensor.polygamma, (POSITIVE, 2), name="Tensor.polygamma"),
        Sample(torch.special.polygamma, (1, POSITIVE)),
        Sample(torch.mvlgamma, (array(2, 3, kind="positive"), 1)),
        Sample(torch.mvlgamma, (torch.tensor([3.5, 4.25]), 3)),
        Sample(torch.special.multigammaln, (torch.tensor([3.5, 4.25]), 2)),
        Sample(torch.logit, (UNIT, 0.25), other=(array(4, 3, kind="unit"), 0.25)),
        Sample(torch.nan_to_num, (torch.tensor([math.nan, math.inf, -math.inf, 1.0]),)),
        Sample(
            torch.nan_to_num,
            (torch.tensor([math.nan, math.inf, -math.inf, 1.0]),),
            {"nan": 2.0, "posinf": 3.0, "neginf": -4.0},
        ),
        *(
            Sample(
                torch.nan_to_num,
                (
                    torch.complex(
                        torch.tensor([math.nan, 2, math.inf, -math.inf, 3]),
                        torch.tensor([1, math.nan, -math.inf, math.nan, 4]),
                    ),
                ),
                options,
                name=f"nan_to_num of complex {len(options)}",
            )
            for options in ({}, {"nan": 2.0, "posinf": 3.0, "neginf": -4.0})
        ),
        *(
            Sample(torch.nan_to_num, (torch.tensor([math.nan, math.inf, -math.inf, 1.0]),), {name: value})
            for name, value in (("nan", math.inf), ("nan", -math.inf), ("posinf", -math.inf))
        ),
        Sample(torch.nan_to_num, (ints(3),)),
        Sample(torch.frexp, (torch.tensor([0.0, 1.0, -3.0, 0.3, 1e20]),)),
        Sample(torch.frexp, (X,), other=(OTHER,)),
        Sample(torch.lerp, (X, array(3), 0.25), other=(OTHER, array(3), 0.25)),
        Sample(torch.lerp, (X, array(3), 0.75)),
        Sample(
            torch.lerp,
            (X, array(2, 1), array(3, kind="unit")),
            other=(OTHER, array(4, 1), array(3, kind="unit")),
        ),
        Sample(
            torch.addcmul, (X, array(3), array(2, 1)), {"value": 0.5}, other=(OTHER, array(3), array(4, 1))
        ),
        Sample(torch.addcmul, (ints(3), ints(3), ints(3)), {"value": 2}),
        Sample(
            torch.addcdiv,
            (X, array(3), POSITIVE),
            {"value": -2},
            other=(OTHER, array(3), array(4, 3, kind="positive")),
        ),
        Sample(torch.addcdiv, (X, array(3), POSITIVE)),
        Sample(torch.isreal, (array(3, dtype="complex64"),)),
        Sample(torch.angle, (array(3, dtype="complex64"),)),
        Sample(torch.sigmoid, (array(3, dtype="complex64"),)),
        Sample(torch.sigmoid, (bools(3),)),
        Sample(torch.rsqrt, (array(3, dtype="bfloat16", kind="positive"),)),
    ]


SAMPLES: list[Sample] = [*_unary(), *_binary(), *_with_parameters()]

ERRORS: list[ErrorSample] = []
