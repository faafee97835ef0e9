"""Samples of ``tf.experimental.numpy``."""

from __future__ import annotations

import numpy as np

from .numpy_like import NUMPY_LIKE
from .table import Call, binary, by, call, drawn, each, f, i, p, unary, without, z

NUMPY: dict[str, list[Call]] = {
    **NUMPY_LIKE,
    **each("around", NUMPY_LIKE["round"]),
    **each("fabs fix positive", unary("normal", call(i("bn")))),
    "float_power": [*binary("positive"), call(i("bn", 1, 4), 2), call(i("n", 1, 4), i("n", 0, 3))],
    "remainder": NUMPY_LIKE["mod"],
    "divmod": NUMPY_LIKE["mod"],
    **each("array asarray asanyarray ascontiguousarray", NUMPY_LIKE["array"]),
    "array_equal": [without(f("bn"), f("bn")), by(lambda g, x: g(x, x), f("bn")), without(i("n"), f("n"))],
    **each(
        "atleast_1d atleast_2d atleast_3d",
        [call(f("")), call(f("n")), call(f("bn")), call(i("bnm")), call(f(""), f("n"))],
    ),
    "broadcast_arrays": [call(f("bn"), f("n")), call(i("b1"), f("1n")), call(f(""), f("n"))],
    "compress": [
        call([True, False, True], f("3n"), axis=0),
        call([False, True], f("bn")),
        call([True, False, True], f("b3"), axis=1),
    ],
    "diag_indices": [without(3), without(2, 3), without(4, ndim=1)],
    **each("flatten", [call(f("bn")), call(i("bnm")), call(f(""))]),
    **each("fliplr flipud", [call(f("bn")), call(i("bnm")), call(f("bn", dtype="float64"))]),
    "empty": [
        by(lambda g, x: g((2, 3)).shape[0] * x, f("n")),
        by(lambda g, x: g((2,)) * 0, f("n")),
        by(lambda g, x: g((2, 2), "int32") * 0, f("n")),
    ],
    "iscomplex": [call(z("n")), call(f("n")), call(np.array([1 + 0j, 2j]))],
    **each("iscomplexobj isrealobj isscalar", [without(f("bn")), without(z("n")), without(i(""))]),
    "ix_": [
        call(i("n", 0, 3), i("m", 0, 3)),
        call(np.array([True, False, True]), np.array([0, 2])),
        call(i("n", 0, 3)),
    ],
    "polyval": [call(f("n"), f("m")), call(f("3"), 2.0), call(i("n"), i("m"))],
    "logspace": NUMPY_LIKE["logspace"],
}
RANDOM: dict[str, list[Call]] = {
    "poisson": [drawn(3.0, [4]), drawn(p("n")), drawn(2.0, (2, 3))],
    "rand": [drawn(3, 4), drawn(5), by(lambda g, x: g(3) * 0 + x, f("3"))],
    "randint": [drawn(3, 9, (5,)), drawn(10, size=(4,)), drawn(0, 3, (6,), "int32")],
    "randn": [drawn(3, 4), drawn(5), by(lambda g, x: g(3) * 0 + x, f("3"))],
    "random": [drawn((3, 4)), drawn(5), drawn((2,))],
    "standard_normal": [drawn((3, 4)), drawn(5), drawn((2,))],
    "uniform": [drawn(-1.0, 3.0, (4,)), drawn(size=(5,)), drawn(p("n"), 5.0)],
}
SAMPLES: dict[str, list[Call]] = {
    **{f"tnp.{name}": calls for name, calls in NUMPY.items()},
    **{f"tnp.random.{name}": calls for name, calls in RANDOM.items()},
}
