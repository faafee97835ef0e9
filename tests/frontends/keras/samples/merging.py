"""Samples of layers with several inputs."""

from __future__ import annotations

from tests.frontends.keras.layer_sample import Array, listed, samples

PAIR = (Array((2, 5, 6), (3, 7, 6)), Array((2, 5, 6), (3, 7, 6)))
TRIPLE = (*PAIR, Array((2, 1, 6), (3, 1, 6)))
WHOLE = Array((2, 5), (3, 7), -5, 6, "int32")

SAMPLES = [
    *(
        row
        for name in ("Add", "Multiply", "Average", "Maximum", "Minimum")
        for row in samples(name, TRIPLE, call=listed)
    ),
    *(
        row
        for name in ("Add", "Multiply", "Average", "Maximum", "Minimum")
        for row in samples(name, PAIR, {"dtype": "mixed_float16"}, call=listed)
    ),
    *samples("Subtract", PAIR, call=listed),
    *samples("Concatenate", PAIR, {}, {"axis": 1}, call=listed),
    *samples(
        "Concatenate",
        (Array((2, 5, 6), (3, 7, 6)), Array((2, 5, 3), (3, 7, 3)), Array((2, 5, 1), (3, 7, 1))),
        {"axis": -1},
        call=listed,
    ),
    *samples(
        "Dot",
        (Array((2, 6), (3, 6)), Array((2, 6), (3, 6))),
        {"axes": 1},
        {"axes": 1, "normalize": True},
        call=listed,
    ),
    *samples(
        "Dot",
        (Array((2, 5, 6), (3, 7, 6)), Array((2, 4, 6), (3, 8, 6))),
        {"axes": 2},
        {"axes": (2, -1), "normalize": True},
        call=listed,
    ),
    *(
        row
        for name in ("Add", "Multiply", "Average", "Maximum", "Minimum", "Subtract")
        for row in (
            *samples(name, (Array((2, 5, 6), (3, 7, 6)), Array((2, 6), (3, 6))), call=listed),
            *samples(name, PAIR, {"dtype": "float64"}, {"dtype": "mixed_bfloat16"}, call=listed),
        )
    ),
    *(
        row
        for name in ("Add", "Maximum")
        for row in samples(name, (WHOLE, WHOLE), {"dtype": "int32"}, call=listed)
    ),
    *samples("Concatenate", PAIR, {"axis": -2, "dtype": "mixed_bfloat16"}, {"axis": 0}, call=listed),
    *samples("Concatenate", (WHOLE, WHOLE), {"dtype": "int32"}, call=listed),
    *samples(
        "Dot",
        (Array((2, 5, 6), (3, 7, 6)), Array((2, 6), (3, 6))),
        {"axes": (2, 1)},
        {"axes": -1, "normalize": True},
        call=listed,
    ),
    *samples(
        "Dot",
        (Array((2, 6), (3, 6)),) * 2,
        {"axes": 1, "dtype": "mixed_bfloat16"},
        {"axes": 1, "dtype": "float64"},
        call=listed,
    ),
    *samples(
        "Dot", (Array((2, 3, 5, 6), (3, 2, 7, 6)), Array((2, 6, 4), (3, 6, 2))), {"axes": (3, 1)}, call=listed
    ),
]
