"""Samples of activation functions."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.support.samples import ErrorSample, Sample, array, ints

_PLAIN = (
    F.relu, F.relu6, F.leaky_relu, F.elu, F.selu, F.celu, F.gelu, F.silu, F.mish, F.softplus, F.softsign, F.tanhshrink,
    F.softshrink, F.hardshrink, F.hardtanh, F.hardsigmoid, F.hardswish, F.logsigmoid,
)  # fmt: skip
_SOFT = (F.softmax, F.log_softmax, F.softmin)


def _edges() -> torch.Tensor:
    return torch.tensor(
        [
            -float("inf"),
            -6.0,
            -3.0,
            -1.0,
            -0.5,
            -0.0,
            0.0,
            0.5,
            1.0,
            3.0,
            6.0,
            25.0,
            float("inf"),
            float("nan"),
        ]
    )


# At -inf these are NaN in torch, or a limit in other frameworks.
_FINITE = (F.gelu, F.silu, F.mish, F.hardswish, F.softsign, F.tanhshrink)

SAMPLES = [
    *(Sample(f, (array(3, 4),), other=(array(5, 2),)) for f in _PLAIN),
    *(Sample(f, (array(),)) for f in _PLAIN),
    *(Sample(f, (array(0, 3),)) for f in _PLAIN),
    *(Sample(f, (_edges()[1:12] if f in _FINITE else _edges(),), name=f"{f.__name__}-edges") for f in _PLAIN),
    *(Sample(f, (array(3, 4, dtype="bfloat16"),)) for f in _PLAIN),
    *(Sample(f, (array(3, 4, dtype="float64"),)) for f in (F.gelu, F.softplus, F.elu)),
    Sample(torch.relu, (ints(4, 3),), other=(ints(2, 6),)),
    Sample(torch.relu, (array(4, 3),)),
    Sample(F.relu, (array(4, 3),), {"inplace": True}),
    Sample(F.relu6, (ints(4, 3, high=9),)),
    Sample(F.tanhshrink, (ints(4, 3),)),
    Sample(F.softsign, (array(4, 3, dtype="complex64"),), name="softsign of complex"),
    Sample(F.leaky_relu, (array(3, 4), 0.2), other=(array(1, 4), 0.2)),
    Sample(F.leaky_relu, (array(3, 4),), {"negative_slope": -0.5}),
    Sample(F.elu, (array(3, 4), 0.3)),
    Sample(F.celu, (array(3, 4),), {"alpha": 0.3}),
    Sample(F.celu, (array(3, 4),), {"alpha": 2.0}),
    Sample(F.gelu, (array(3, 4),), {"approximate": "tanh"}, other=(array(2, 2),)),
    Sample(F.gelu, (array(3, 4, dtype="float16"),)),
    Sample(F.softplus, (array(3, 4),), {"beta": 2.0, "threshold": 1.0}),
    Sample(F.softplus, (array(3, 4), 0.5)),
    Sample(F.softshrink, (array(3, 4), 0.0)),
    Sample(F.softshrink, (array(3, 4), 1.2)),
    Sample(F.hardshrink, (array(3, 4), 1.2)),
    Sample(F.hardtanh, (array(3, 4), -0.3, 0.7)),
    Sample(F.hardtanh, (ints(3, 4), -2, 3)),
    Sample(
        F.threshold,
        (array(3, 4), 0.1, 20.0),
        other=(
            array(
                7,
            ),
            0.1,
            20.0,
        ),
    ),
    Sample(F.threshold, (ints(3, 4), 1, -7)),
    Sample(F.threshold, (ints(3, 4), 1.5, -7)),
    Sample(F.threshold, (array(3, 4, dtype="float64"), 0.1, 0.3)),
    Sample(F.rrelu, (array(3, 4),)),
    Sample(F.rrelu, (array(3, 4), 0.1, 0.5)),
    Sample(F.prelu, (array(3, 4), array(1)), other=(array(5, 2), array(1))),
    Sample(F.prelu, (array(3, 4), array(4)), other=(array(2, 4), array(4))),
    Sample(F.prelu, (array(2, 4, 3, 3), array(4)), other=(array(1, 4, 5, 2), array(4))),
    Sample(F.prelu, (array(), array(1))),
    Sample(F.prelu, (array(5), array(1))),
    Sample(F.glu, (array(3, 4),), other=(array(2, 6),)),
    Sample(F.glu, (array(4, 3), 0)),
    Sample(F.glu, (array(2, 6, 3), -2)),
    # ------------------------------------------------------------------------------ over an axis
    *(Sample(f, (array(3, 4), dim), other=(array(2, 5), dim)) for f in _SOFT for dim in (0, 1, -1)),
    *(Sample(f, (array(2, 3, 4),), {"dim": -2}, other=(array(1, 5, 2),)) for f in _SOFT),
    *(Sample(f, (array(),), {"dim": 0}) for f in _SOFT),
    *(Sample(f, (array(0, 3),), {"dim": 1}) for f in _SOFT),
    *(Sample(f, (array(3, 4, dtype="bfloat16"),), {"dim": 1}) for f in _SOFT),
    *(Sample(f, (array(3, 4, dtype="float16"), 1), {"dtype": torch.float32}) for f in _SOFT),
    *(Sample(f, (ints(3, 4), 1), {"dtype": torch.float64}) for f in _SOFT),
    Sample(torch.softmax, (array(3, 4), 1), other=(array(5, 6), 1)),
    Sample(torch.softmax, (array(3, 4), 0, torch.float64)),
    Sample(torch.Tensor.softmax, (array(3, 4), -1)),
    Sample(torch.Tensor.log_softmax, (array(3, 4),), {"dim": -1}),
    Sample(torch.special.softmax, (array(3, 4), 1)),
    Sample(torch.special.log_softmax, (array(3, 4), 0)),
    Sample(
        F.softmax,
        (torch.tensor([[-float("inf"), 1.0], [-float("inf"), -float("inf")], [1e30, -1e30]]), 1),
        name="softmax-infinite",
    ),
]

ERRORS: list[ErrorSample] = []
