"""Samples of normalisation: with and without weights, in half precision, over one or several axes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tests.support.samples import ErrorSample, Sample, array

_IMAGE, _OTHER = array(2, 4, 5, 6), array(3, 4, 7, 3)
_VECTOR, _POSITIVE = array(4), array(4, kind="positive")
# Their squares are not larger than the resolution of half precision.
SMALL = torch.tensor([[0.01, -0.002, 0.003], [0.1, 0.02, -0.03]])


def _trained(x: Any, mean: Any, variance: Any) -> Any:
    output = F.batch_norm(x, mean, variance, training=True, momentum=0.3)
    return output, mean, variance


def _trained_instance(x: Any, mean: Any, variance: Any) -> Any:
    return F.instance_norm(x, running_mean=mean, running_var=variance), mean, variance


def _trained_natively(x: Any, mean: Any, variance: Any) -> Any:
    return torch.batch_norm(x, None, None, mean, variance, True, 0.2, 1e-5, False), mean, variance


SAMPLES = [
    Sample(
        F.batch_norm,
        (_IMAGE, _VECTOR, _POSITIVE, _VECTOR, _VECTOR),
        other=(_OTHER, _VECTOR, _POSITIVE, _VECTOR, _VECTOR),
    ),
    Sample(F.batch_norm, (_IMAGE, _VECTOR, _POSITIVE), {"eps": 1e-3}),
    Sample(F.batch_norm, (array(3, 4), _VECTOR, _POSITIVE, None, _VECTOR), name="batch_norm-bias-only"),
    Sample(
        F.batch_norm,
        (_IMAGE, None, None, _VECTOR, _VECTOR),
        {"training": True},
        other=(_OTHER, None, None, _VECTOR, _VECTOR),
    ),
    Sample(F.batch_norm, (array(6, 4), None, None), {"training": True}),
    Sample(_trained_instance, (_IMAGE, _VECTOR, _POSITIVE), other=(_OTHER, _VECTOR, _POSITIVE)),
    Sample(_trained_natively, (_IMAGE, _VECTOR, _POSITIVE)),
    Sample(_trained, (_IMAGE, _VECTOR, _POSITIVE), other=(_OTHER, _VECTOR, _POSITIVE)),
    Sample(
        F.batch_norm,
        (array(2, 4, 5, dtype="bfloat16"), _VECTOR, _POSITIVE, _VECTOR, _VECTOR),
        name="batch_norm-bfloat16-float32",
    ),
    Sample(torch.batch_norm, (_IMAGE, _VECTOR, None, _VECTOR, _POSITIVE, False, 0.1, 1e-5, False)),
    Sample(torch.ops.aten._batch_norm_with_update, (_IMAGE, _VECTOR, _VECTOR, _VECTOR, _VECTOR, 0.1, 1e-5)),
    Sample(torch.native_batch_norm, (_IMAGE, _VECTOR, _VECTOR, None, None, True, 0.1, 1e-5)),
    Sample(F.layer_norm, (_IMAGE, (6,)), other=(array(3, 2, 9, 6), (6,))),
    Sample(
        F.layer_norm,
        (array(2, 5, 6), (5, 6), array(5, 6), array(5, 6)),
        other=(array(7, 5, 6), (5, 6), array(5, 6), array(5, 6)),
    ),
    Sample(F.layer_norm, (array(2, 5, 6), (6,), array(6), None, 1e-2)),
    Sample(
        F.layer_norm,
        (array(2, 6, dtype="bfloat16"), (6,), array(6, dtype="bfloat16"), array(6, dtype="bfloat16")),
        name="layer_norm-bfloat16",
    ),
    Sample(
        F.layer_norm,
        (array(2, 6, dtype="bfloat16"), (6,), array(6), array(6)),
        name="layer_norm-bfloat16-float32",
    ),
    Sample(F.layer_norm, (array(0, 6), (6,)), name="layer_norm-empty"),
    Sample(torch.layer_norm, (array(2, 6), [6], array(6), array(6), 1e-5, False), name="torch.layer_norm"),
    Sample(torch.native_layer_norm, (array(2, 5, 6), [5, 6], None, None, 1e-5)),
    Sample(F.rms_norm, (array(2, 5, 6), (6,), array(6)), other=(array(3, 7, 6), (6,), array(6))),
    Sample(F.rms_norm, (array(2, 5, 6), (5, 6)), {"eps": 1e-2}),
    Sample(
        F.rms_norm, (array(2, 6, dtype="float16"), (6,), array(6, dtype="float16")), name="rms_norm-float16"
    ),
    Sample(F.rms_norm, (array(2, 6, dtype="float64"), (6,)), name="rms_norm-float64"),
    Sample(F.rms_norm, (SMALL.half(), (3,)), name="rms_norm-float16-small"),
    Sample(F.rms_norm, (SMALL.bfloat16(), (3,)), name="rms_norm-bfloat16-small"),
    Sample(
        torch.ops.aten._fused_rms_norm, (SMALL.bfloat16(), (3,), None, None), name="_fused_rms_norm-small"
    ),
    Sample(F.group_norm, (_IMAGE, 2, _VECTOR, _VECTOR), other=(_OTHER, 2, _VECTOR, _VECTOR)),
    Sample(F.group_norm, (array(3, 4), 4)),
    Sample(F.group_norm, (array(0, 4, 3), 2), name="group_norm-empty"),
    Sample(torch.native_group_norm, (_IMAGE, _VECTOR, _VECTOR, 2, 4, 30, 2, 1e-5)),
    Sample(F.instance_norm, (_IMAGE,), {"weight": _VECTOR, "bias": _VECTOR}, other=(_OTHER,)),
    Sample(F.instance_norm, (array(2, 4, 7),)),
    Sample(F.instance_norm, (_IMAGE, _VECTOR, _POSITIVE), {"use_input_stats": False}),
    Sample(F.local_response_norm, (_IMAGE, 3), other=(_OTHER, 3)),
    Sample(F.local_response_norm, (array(2, 6, 5), 2), {"alpha": 0.5, "beta": 0.6, "k": 2.0}),
    Sample(F.normalize, (array(3, 5),), other=(array(2, 7),)),
    Sample(F.normalize, (_IMAGE,), {"p": 1.0, "dim": -1}),
    Sample(F.normalize, (_IMAGE,), {"p": 3.0, "dim": (1, 2), "eps": 1e-3}),
    Sample(F.normalize, (array(3, 5, dtype="bfloat16"),), name="normalize-bfloat16"),
    Sample(F.normalize, (array(3, 5, dtype="complex64"),), name="normalize-complex"),
    Sample(torch._weight_norm, (array(5, 3, 2), array(5, 1, 1)), other=(array(4, 3, 2), array(4, 1, 1))),
    Sample(torch._weight_norm, (array(5, 3), array(1, 3), 1)),
    Sample(torch.norm_except_dim, (array(5, 3, 2), 2, 1)),
    Sample(torch.norm_except_dim, (array(5, 3), 2, -1)),
]

ERRORS = [
    ErrorSample(F.group_norm, (array(2, 4, 3), 3), {}, RuntimeError, "divisible"),
    ErrorSample(F.local_response_norm, (array(2, 4), 3), {}, ValueError, "Expected 3D"),
]
