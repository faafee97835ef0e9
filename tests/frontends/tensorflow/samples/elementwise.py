"""Samples of element-wise operations and activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array, bools, ints

from .table import raw, sample

EDGES = np.array(
    [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        6.0,
        -7.0,
        1e-5,
        40.0,
        -40.0,
    ],
    np.float32,
)
_FEW = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, 0.1, 5.0], np.float32)
PAIRS = tuple(item.reshape(-1).copy() for item in np.meshgrid(_FEW, _FEW))
WHOLE = np.array([0, 1, -1, 5, -5, 7, -7, 2**31 - 1, -(2**31) + 1], np.int32)
WHOLE_PAIRS = tuple(
    item.reshape(-1).copy() for item in np.meshgrid(WHOLE, np.array([1, -1, 2, -2, 3, -3, 7], np.int32))
)
_KINKS = np.array([0.0, -1.0, 2.0, 6.0, 1.5], np.float32)
_KINKED = (
    "Relu",
    "Relu6",
    "Elu",
    "Selu",
    "LeakyRelu",
    "Abs",
    "Sign",
    "Softsign",
    "Softplus",
    "Square",
    "Tanh",
)
ANY, POSITIVE, UNIT = {"kind": "normal"}, {"kind": "positive"}, {"kind": "unit"}

_UNARY = {
    "Abs": ANY, "Acos": UNIT, "Acosh": POSITIVE, "Asin": UNIT, "Asinh": ANY, "Atan": ANY, "Atanh": UNIT, "BesselI0": ANY, "BesselI0e": ANY,
    "BesselI1": ANY, "BesselI1e": ANY, "BesselJ0": ANY, "BesselJ1": ANY, "BesselK0": POSITIVE, "BesselK0e": POSITIVE, "BesselK1": POSITIVE,
    "BesselK1e": POSITIVE, "BesselY0": POSITIVE, "BesselY1": POSITIVE, "Ceil": ANY, "Cos": ANY, "Cosh": ANY, "Digamma": POSITIVE,
    "Elu": ANY, "Erf": ANY, "Erfc": ANY, "Erfinv": UNIT, "Exp": ANY, "Expm1": ANY, "Floor": ANY, "Inv": ANY, "IsFinite": ANY, "IsInf": ANY,
    "IsNan": ANY, "Lgamma": ANY, "Log": POSITIVE, "Log1p": UNIT, "Ndtri": {"kind": "fraction"}, "Neg": ANY, "Reciprocal": ANY, "Relu": ANY,
    "Relu6": ANY, "Rint": ANY, "Round": ANY, "Rsqrt": POSITIVE, "Selu": ANY, "Sigmoid": ANY, "Sign": ANY, "Sin": ANY, "Sinh": ANY,
    "Softplus": ANY, "Softsign": ANY, "Sqrt": POSITIVE, "Square": ANY, "Tan": ANY, "Tanh": ANY, "Identity": ANY, "Snapshot": ANY,
    "StopGradient": ANY,
    "DeepCopy": ANY,
}  # fmt: skip
_NO_EDGES = {"BesselI0", "BesselI1", "CheckNumerics"}
_BINARY = ("Add", "AddV2", "Atan2", "Div", "DivNoNan", "FloorDiv", "FloorMod", "Greater", "GreaterEqual", "Less", "LessEqual", "Maximum",
           "Minimum", "Mod", "Mul", "MulNoNan", "NextAfter", "Pow", "RealDiv", "SquaredDifference", "Sub", "TruncateMod",
           "Xdivy", "Xlog1py", "Xlogy", "Equal", "NotEqual", "ApproximateEqual")  # fmt: skip
_WHOLE = ("Add", "AddV2", "Div", "FloorDiv", "FloorMod", "Greater", "Less", "Maximum", "Minimum", "Mod", "Mul", "SquaredDifference", "Sub",
          "TruncateDiv", "TruncateMod", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "NotEqual", "LessEqual", "GreaterEqual")  # fmt: skip
_INTEGRALS = (
    ("Dawsn", ANY),
    ("FresnelCos", ANY),
    ("FresnelSin", ANY),
    ("Expint", POSITIVE),
    ("Spence", POSITIVE),
)
_FAR = np.array([0.2, 0.7, 1.2, 1.7, 3.0, 4.5, 7.0, 12.0, 20.0, 40.0, 70.0, 88.0], np.float32)
_NOTHING = np.array([0.0, 1.0, 0.0, -2.0], np.float32)
_OF_BITS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift")
_INTS = ("int8", "int16", "int64", "uint8", "uint16", "uint32")


def _options(operation: str) -> dict[str, Any]:
    return {"tolerance": 0.5} if operation == "ApproximateEqual" else {}


def _cast(x: Any, dtype: str) -> Any:
    return tf.raw_ops.Cast(x=x, DstT=dtype)


def _casts() -> list[Sample]:
    dtypes = (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
    )
    floats = np.array([0.0, 0.5, 1.5, 2.7, -0.5, 100.25, 3.9999], np.float32)
    whole = np.array([0, 1, -1, 100, -100, 127, 300, -300, 70000], np.int32)
    found = []
    for dtype in dtypes:
        found.append(sample("Cast", [floats], [floats[:3]], f"-float32-{dtype}", DstT=dtype))
        found.append(sample("Cast", [whole], [whole[:4]], f"-int32-{dtype}", DstT=dtype))
        found.append(sample("Cast", [floats + 0j], None, f"-complex64-{dtype}", DstT=dtype))
        found.append(sample("Cast", [bools(4)], [bools(5)], f"-bool-{dtype}", DstT=dtype))
    return found


SAMPLES: list[Sample] = [
    *(sample(name, [_KINKS], None, "-kinks") for name in _KINKED),
    *(
        sample(name, [_KINKS, _KINKS * np.array([1, 1, -1, 0, 1], np.float32)], None, "-kinks")
        for name in ("Maximum", "Minimum", "SquaredDifference")
    ),
    *(sample(name, [_KINKS], None, "-kinks_number", y=2.0) for name in ("Maximum", "Minimum")),
    sample("ClipByValue", [_KINKS], None, "-kinks", clip_value_min=0.0, clip_value_max=2.0),
    *(sample(name, [array(2, 3, **kind)], [array(4, 5, **kind)]) for name, kind in _UNARY.items()),
    *(
        sample(
            name,
            [array(2, 3, dtype="float64", **kind)],
            [array(4, dtype="float64", **kind)][:0] or None,
            "-float64",
        )
        for name, kind in _UNARY.items()
    ),
    *(sample(name, [EDGES], [EDGES[:7]], "-edges") for name in _UNARY if name not in _NO_EDGES),
    *(
        sample(name, [array(2, 3, dtype="float16", **_UNARY[name])], None, "-float16")
        for name in ("Abs", "Exp", "Tanh", "Sigmoid", "Relu", "Softplus", "Sqrt")
    ),
    *(
        sample(name, [array(2, 3, dtype="complex64")], [array(4, dtype="complex64")][:0] or None, "-complex")
        for name in (
            "Neg",
            "Exp",
            "Log",
            "Sqrt",
            "Square",
            "Sin",
            "Cos",
            "Tanh",
            "Reciprocal",
            "Sign",
            "Conj",
            "Rsqrt",
            "Sigmoid",
            "Sinh",
            "Tan",
            "Acos",
            "Log1p",
            "Expm1",
        )
    ),
    *(
        sample(name, [array(2, 3, dtype="complex64")], [array(4, 2, dtype="complex64")])
        for name in ("Real", "Imag", "Angle", "ComplexAbs")
    ),
    *(
        sample(name, [ints(3, 4, dtype="int32")], [ints(2, 5, dtype="int32")], "-int32")
        for name in ("Abs", "Neg", "Sign", "Square", "Invert", "Relu", "Relu6", "PopulationCount")
    ),
    *(
        sample("PopulationCount", [ints(6, dtype=dtype)], [ints(9, dtype=dtype)], f"-{dtype}")
        for dtype in ("int8", "uint8", "int64", "uint16")
    ),
    *(
        sample("Invert", [ints(6, dtype=dtype)], [ints(9, dtype=dtype)], f"-{dtype}")
        for dtype in ("int8", "uint8", "int64")
    ),
    sample("LogicalNot", [bools(5)], [bools(7)]),
    *(
        sample(name, [array(2, 3), array(3)], [array(4, 5), array(5)], **_options(name))
        for name in _BINARY
        if name not in ("ApproximateEqual", "NextAfter", "Pow", "Xlog1py", "Xlogy")
    ),
    *(
        sample(name, [array(2, 3, kind="positive"), array(2, 3)], [array(4, 5, kind="positive"), array(4, 5)])
        for name in ("Pow", "NextAfter")
    ),
    *(
        sample(name, [array(2, 3), array(2, 3, kind="positive")], [array(4, 5), array(4, 5, kind="positive")])
        for name in ("Xlog1py", "Xlogy")
    ),
    sample("ApproximateEqual", [array(7), array(7)], [array(9), array(9)], tolerance=0.5),
    *(
        sample(name, list(PAIRS), [PAIRS[0][:50], PAIRS[1][:50]], "-edges", **_options(name))
        for name in _BINARY
    ),
    *(sample(name, list(WHOLE_PAIRS), [WHOLE_PAIRS[0][:9], WHOLE_PAIRS[1][:9]], "-int32") for name in _WHOLE),
    *(
        sample(
            name, [array(2, 3), np.float32(1.5)], [array(4, 5), np.float32(-2.0)], "-scalar", **_options(name)
        )
        for name in _BINARY[:25]
    ),
    *(
        sample(name, [array(2, 3)], [array(5)][:0] or [array(4, 5)], "-number", y=2.5)
        for name in ("Add", "AddV2", "Mul", "Sub", "Maximum", "RealDiv", "FloorMod", "Pow")
    ),
    *(
        sample(name, [array(2, 3)], [array(4, 5)], "-number_first", x=2.5)
        for name in ("AddV2", "Sub", "RealDiv", "Pow", "Maximum")
    ),
    *(
        sample(
            name,
            [array(2, 3, dtype="complex64"), array(3, dtype="complex64")],
            [array(4, 5, dtype="complex64"), array(5, dtype="complex64")],
            "-complex",
        )
        for name in (
            "AddV2",
            "Mul",
            "Sub",
            "RealDiv",
            "SquaredDifference",
            "DivNoNan",
            "MulNoNan",
            "Pow",
            "Xdivy",
            "Equal",
        )
    ),
    *(
        sample(
            name,
            [ints(6, dtype=dtype, low=0), ints(6, low=0, dtype=dtype)],
            [ints(9, dtype=dtype, low=0), ints(9, low=0, dtype=dtype)],
            f"-{dtype}",
        )
        for name in _OF_BITS
        for dtype in _INTS
    ),
    sample(
        "LeftShift",
        [np.array([1, -1, 5, 3], np.int32), np.array([31, 40, -1, 32], np.int32)],
        None,
        "-outside",
    ),
    sample(
        "RightShift",
        [np.array([1, -1, 500, 3], np.int32), np.array([31, 40, -1, 32], np.int32)],
        None,
        "-outside",
    ),
    sample(
        "Pow",
        [ints(6, low=-3, high=4, dtype="int32"), ints(6, low=0, high=5, dtype="int32")],
        [ints(8, low=-3, high=4, dtype="int32"), ints(8, low=0, high=5, dtype="int32")],
        "-int32",
    ),
    *(
        sample(name, [bools(5), bools(5)], [bools(7), bools(7)], "-bools")
        for name in ("LogicalAnd", "LogicalOr", "Equal", "NotEqual")
    ),
    sample("Complex", [array(2, 3), array(2, 3)], [array(4, 5), array(4, 5)]),
    sample(
        "Complex", [array(3, dtype="float64"), array(3, dtype="float64")], None, "-float64", Tout="complex128"
    ),
    sample(
        "Igamma",
        [array(2, 3, kind="positive"), array(2, 3, kind="positive")],
        [array(4, kind="positive"), array(4, kind="positive")][:0]
        or [array(4, 2, kind="positive"), array(4, 2, kind="positive")],
    ),
    sample(
        "Igammac",
        [array(2, 3, kind="positive"), array(2, 3, kind="positive")],
        [array(4, 2, kind="positive"), array(4, 2, kind="positive")],
    ),
    sample(
        "Betainc",
        [array(5, kind="positive"), array(5, kind="positive"), array(5, kind="fraction")],
        [array(7, kind="positive"), array(7, kind="positive"), array(7, kind="fraction")],
    ),
    sample(
        "Zeta",
        [np.array([2.0, 3.0, 4.5], np.float32), np.array([1.0, 2.5, 0.5], np.float32)],
        [np.array([2.0, 3.0], np.float32), np.array([1.0, 2.5], np.float32)],
    ),
    sample(
        "Polygamma",
        [np.array([0.0, 1.0, 2.0, 3.0], np.float32), array(4, kind="positive")],
        [np.array([1.0, 2.0], np.float32), array(2, kind="positive")],
    ),
    sample("Polygamma", [array(4, kind="positive")], [array(6, kind="positive")], "-known", a=1.0),
    *(
        sample(name, [array(2, 3), array(2, 3)], [array(4, 5), array(4, 5)])
        for name in (
            "ReluGrad",
            "Relu6Grad",
            "EluGrad",
            "SeluGrad",
            "SoftplusGrad",
            "SoftsignGrad",
            "SigmoidGrad",
            "TanhGrad",
            "SqrtGrad",
            "RsqrtGrad",
            "ReciprocalGrad",
            "InvGrad",
            "LeakyReluGrad",
        )
    ),
    *(
        sample(name, list(PAIRS), None, "-edges")
        for name in (
            "ReluGrad",
            "Relu6Grad",
            "EluGrad",
            "SeluGrad",
            "SoftplusGrad",
            "SoftsignGrad",
            "SigmoidGrad",
            "TanhGrad",
            "SqrtGrad",
            "RsqrtGrad",
            "ReciprocalGrad",
            "LeakyReluGrad",
        )
    ),
    *(
        sample(name, [array(3, dtype="complex64"), array(3, dtype="complex64")], None, "-complex")
        for name in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad")
    ),
    *(sample(name, [array(2, 3, **kind)], [array(4, 5, **kind)]) for name, kind in _INTEGRALS),
    *(sample(name, [_FAR], None, "-far") for name, _ in _INTEGRALS),
    *(sample(name, [EDGES], None, "-edges") for name, _ in _INTEGRALS),
    *(sample(name, [array(5, dtype="float64", **kind)], None, "-float64") for name, kind in _INTEGRALS),
    *(
        sample(name, [_NOTHING, array(4, kind="positive")], None, "-nothing")
        for name in ("Xlogy", "Xlog1py", "MulNoNan", "Xdivy")
    ),
    *(sample(name, [array(4), _NOTHING], None, "-by_nothing") for name in ("MulNoNan", "DivNoNan")),
    sample("LeakyRelu", [array(2, 3)], [array(4, 5)], alpha=0.3),
    sample("LeakyRelu", [EDGES], None, "-edges", alpha=0.3),
    *(sample(name, [array(2, 3, 4)], [array(4, 5, 2)]) for name in ("Softmax", "LogSoftmax")),
    *(
        sample(
            name,
            [np.array([[1, 3], [-np.inf, 2], [-np.inf, -np.inf], [1000, -1000]], np.float32)],
            None,
            "-edges",
        )
        for name in ("Softmax", "LogSoftmax")
    ),
    sample("L2Loss", [array(2, 3)], [array(4, 5)]),
    sample(
        "SoftmaxCrossEntropyWithLogits",
        [array(2, 3), array(2, 3, kind="fraction")],
        [array(4, 5), array(4, 5, kind="fraction")],
    ),
    sample(
        "SoftmaxCrossEntropyWithLogits",
        [array(2, 3), array(1, 3, kind="fraction")],
        [array(4, 5), array(1, 5, kind="fraction")],
        "-broadcast",
    ),
    sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        [array(4, 3), ints(4, low=0, high=3)],
        [array(6, 5), ints(6, low=0, high=5)],
    ),
    sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        [array(4, 3), ints(4, low=0, high=3, dtype="int32")],
        None,
        "-int32",
    ),
    *_casts(),
    sample("Bitcast", [array(2, 3)], [array(4, 5)], "-int32", type="int32"),
    sample("Bitcast", [array(2, 3)], [array(4, 5)], "-uint8", type="uint8"),
    sample("Bitcast", [ints(3, 4, dtype="uint8")], [ints(5, 4, dtype="uint8")], "-wider", type="int32"),
    sample("CheckNumerics", [array(2, 3)], [array(4, 5)], message="found"),
    sample("CheckNumericsV2", [array(2, 3)], [array(4, 5)], message="found"),
    sample(
        "ClipByValue",
        [array(2, 3), np.float32(-0.5), np.float32(0.5)],
        [array(4, 5), np.float32(-0.2), np.float32(0.1)],
    ),
    sample("ClipByValue", [EDGES], None, "-edges", clip_value_min=-1.0, clip_value_max=2.0),
    sample("ClipByValue", [array(2, 3)], None, "-crossed", clip_value_min=1.0, clip_value_max=-1.0),
    sample("Select", [bools(2, 3), array(2, 3), array(2, 3)], [bools(4, 5), array(4, 5), array(4, 5)]),
    sample("Select", [bools(2), array(2, 3), array(2, 3)], [bools(4), array(4, 5), array(4, 5)], "-rows"),
    sample("SelectV2", [bools(2, 3), array(3), array(2, 1)], [bools(4, 5), array(5), array(4, 1)]),
    sample("AddN", [[array(2, 3), array(2, 3), array(2, 3)]], [[array(4, 5), array(4, 5), array(4, 5)]]),
    sample("IdentityN", [[array(2, 3), ints(4)]], [[array(4, 5), ints(2)]]),
    sample("PreventGradient", [array(2, 3)], [array(4, 5)], message="no"),
    sample("EnsureShape", [array(2, 3)], [array(4, 3)], shape=[None, 3]),
    sample("PlaceholderWithDefault", [array(2, 3)], [array(4, 3)], shape=[None, 3]),
    *(sample("ToBool", [np.float32(number)], [np.float32(1.0)], f"-{number}") for number in (0.0, 2.5)),
    *(
        sample(name, [array(2, 3)], [array(4, 5)])
        for name in ("GuaranteeConst", "DebugGradientIdentity", "DebugIdentityV2", "Copy", "CopyHost")
    ),
]

__all__ = ["SAMPLES", "raw"]
