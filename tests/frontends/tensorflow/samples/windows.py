"""Samples of convolutions, pooling, normalisation and patches and their gradients, in the layouts that
TensorFlow supports on a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array

from .table import raw, sample

_IMAGE, _OTHER_IMAGE = array(2, 8, 9, 3), array(3, 7, 6, 3)
_KERNEL = array(3, 2, 3, 4)
_VOLUME, _OTHER_VOLUME, _CUBE = array(2, 5, 6, 4, 3), array(1, 4, 7, 5, 3), array(2, 3, 2, 3, 4)
_EXPLICIT = [0, 0, 1, 2, 0, 1, 0, 0]


def _options(stride: int = 1, padding: str = "SAME", rate: int = 1, rank: int = 4) -> dict[str, Any]:
    space = rank - 2
    found = {"strides": [1, *[stride] * space, 1], "padding": padding, "dilations": [1, *[rate] * space, 1]}
    return found | ({"explicit_paddings": _EXPLICIT} if padding == "EXPLICIT" else {})


def _pools(size: int = 2, stride: int = 2, padding: str = "SAME", rank: int = 4) -> dict[str, Any]:
    return {
        "ksize": [1, *[size] * (rank - 2), 1],
        "strides": [1, *[stride] * (rank - 2), 1],
        "padding": padding,
    }


def _label(*parts: Any) -> str:
    return "".join(f"-{part}" for part in parts)


def _of_input(name: str, forward: str, **options: Any) -> Any:
    """Return a call of the gradient with respect to the input of a convolution."""

    def call(x: Any, kernel: Any) -> Any:
        made = raw(forward, **options)(x, kernel)
        return getattr(tf.raw_ops, name)(
            input_sizes=tf.shape(x), filter=kernel, out_backprop=made * 0.1, **options
        )

    return call


def _of_filter(name: str, forward: str, **options: Any) -> Any:
    def call(x: Any, kernel: Any) -> Any:
        made = raw(forward, **options)(x, kernel)
        return getattr(tf.raw_ops, name)(
            input=x, filter_sizes=tf.shape(kernel), out_backprop=made * 0.1, **options
        )

    return call


def _pool_gradient(name: str, forward: str, **options: Any) -> Any:
    def call(x: Any) -> Any:
        made = raw(forward, **options)(x)
        return getattr(tf.raw_ops, name)(orig_input=x, orig_output=made, grad=made * 2.0, **options)

    return call


def _second(name: str, forward: str, **options: Any) -> Any:
    def call(x: Any) -> Any:
        made = raw(forward, **options)(x)
        return getattr(tf.raw_ops, name)(orig_input=x, orig_output=made, grad=x * 2.0, **options)

    return call


def _avg_gradient(name: str, forward: str, **options: Any) -> Any:
    def call(x: Any) -> Any:
        made = raw(forward, **options)(x)
        return getattr(tf.raw_ops, name)(orig_input_shape=tf.shape(x), grad=made * 2.0, **options)

    return call


def _argmax_gradient(x: Any) -> Any:
    found = tf.raw_ops.MaxPoolWithArgmax(input=x, **_pools())
    return tf.raw_ops.MaxPoolGradWithArgmax(input=x, grad=found.output * 2.0, argmax=found.argmax, **_pools())


def _operands_gradient(name: str) -> Any:
    def call(x: Any) -> Any:
        made = tf.raw_ops.MaxPool(input=x, **_pools(3, 2))
        return getattr(tf.raw_ops, name)(orig_input=x, orig_output=made, grad=made * 2.0, **_pools(3, 2))

    return call


def _batch_norm_gradient(name: str, **options: Any) -> Any:
    forward = name.replace("Grad", "")

    def call(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
        made = getattr(tf.raw_ops, forward)(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, **options
        )
        extra = {"reserve_space_3": made.reserve_space_3} if name.endswith("V3") else {}
        found = getattr(tf.raw_ops, name)(
            y_backprop=made.y * x,
            x=x,
            scale=scale,
            reserve_space_1=made.reserve_space_1 if options["is_training"] else mean,
            reserve_space_2=made.reserve_space_2 if options["is_training"] else variance,
            **extra,
            **options,
        )
        return tuple(found)[:3]

    return call


def _norm(name: str, **options: Any) -> Any:
    """Return a call without the results reserved for the gradient, which TensorFlow does not initialise
    unless it trains.
    """
    return lambda *arrays: raw(name, **options)(*arrays)[: None if options["is_training"] else 3]


def _lrn_gradient(x: Any) -> Any:
    made = tf.raw_ops.LRN(input=x, depth_radius=1, alpha=0.3, beta=0.7)
    return tf.raw_ops.LRNGrad(
        input_grads=made * 2.0, input_image=x, output_image=made, depth_radius=1, alpha=0.3, beta=0.7
    )


_STEPS = [
    (1, "SAME", 1),
    (2, "SAME", 1),
    (1, "VALID", 1),
    (2, "VALID", 1),
    (1, "SAME", 2),
    (1, "VALID", 2),
    (2, "EXPLICIT", 1),
    (3, "SAME", 1),
]
_VECTORS = (array(3, kind="positive"), array(3), array(3), array(3, kind="positive"))
_MORPHOLOGY: list[dict[str, Any]] = [
    {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
    {"strides": [1, 2, 2, 1], "rates": [1, 1, 1, 1], "padding": "VALID"},
    {"strides": [1, 1, 1, 1], "rates": [1, 2, 2, 1], "padding": "VALID"},
]


def _morphology_gradient(name: str, **options: Any) -> Any:
    def call(x: Any, kernel: Any) -> Any:
        made = tf.raw_ops.Dilation2D(input=x, filter=kernel, **options)
        return getattr(tf.raw_ops, name)(input=x, filter=kernel, out_backprop=made * 0.1, **options)

    return call


def _cell(batch: int, inputs: int, units: int) -> list[Any]:
    """Return the operands of a cell: input, states, weights and biases."""
    return [
        array(batch, inputs),
        array(batch, units),
        array(batch, units),
        array(inputs + units, 4 * units),
        *[array(units)] * 3,
        array(4 * units),
    ]


SAMPLES: list[Sample] = [
    *(
        sample("Conv2D", [_IMAGE, _KERNEL], [_OTHER_IMAGE, _KERNEL], _label(*steps), **_options(*steps))
        for steps in _STEPS
    ),
    sample(
        "Conv2D",
        [array(2, 8, 9, 6), array(3, 3, 2, 9)],
        [array(1, 7, 7, 6), array(3, 3, 2, 9)],
        "-groups",
        **_options(),
    ),
    sample(
        "Conv2D",
        [array(2, 8, 9, 3, dtype="float64"), array(3, 3, 3, 2, dtype="float64")],
        None,
        "-float64",
        **_options(),
    ),
    *(
        sample("Conv3D", [_VOLUME, _CUBE], [_OTHER_VOLUME, _CUBE], _label(*steps), **_options(*steps, rank=5))
        for steps in _STEPS[:4]
    ),
    *(
        sample("Conv", [_IMAGE, _KERNEL], [_OTHER_IMAGE, _KERNEL], _label(*steps), **_options(*steps))
        for steps in _STEPS[:3]
    ),
    *(
        sample(
            "DepthwiseConv2dNative",
            [_IMAGE, array(3, 2, 3, 2)],
            [_OTHER_IMAGE, array(3, 2, 3, 2)],
            _label(*steps),
            **_options(*steps),
        )
        for steps in _STEPS
    ),
    *(
        Sample(
            _of_input("Conv2DBackpropInput", "Conv2D", **_options(*steps)),
            (_IMAGE, _KERNEL),
            {},
            (_OTHER_IMAGE, _KERNEL),
            f"Conv2DBackpropInput{_label(*steps)}",
        )
        for steps in _STEPS
    ),
    *(
        Sample(
            _of_filter("Conv2DBackpropFilter", "Conv2D", **_options(*steps)),
            (_IMAGE, _KERNEL),
            {},
            (_OTHER_IMAGE, _KERNEL),
            f"Conv2DBackpropFilter{_label(*steps)}",
        )
        for steps in _STEPS
    ),
    *(
        Sample(
            _of_input("Conv3DBackpropInputV2", "Conv3D", **_options(*steps, rank=5)),
            (_VOLUME, _CUBE),
            {},
            (_OTHER_VOLUME, _CUBE),
            f"Conv3DBackpropInputV2{_label(*steps)}",
        )
        for steps in _STEPS[:4]
    ),
    *(
        Sample(
            _of_filter("Conv3DBackpropFilterV2", "Conv3D", **_options(*steps, rank=5)),
            (_VOLUME, _CUBE),
            {},
            (_OTHER_VOLUME, _CUBE),
            f"Conv3DBackpropFilterV2{_label(*steps)}",
        )
        for steps in _STEPS[:4]
    ),
    *(
        Sample(
            _of_input("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNative", **_options(*steps)),
            (_IMAGE, array(3, 2, 3, 2)),
            {},
            (_OTHER_IMAGE, array(3, 2, 3, 2)),
            f"DepthwiseConv2dNativeBackpropInput{_label(*steps)}",
        )
        for steps in _STEPS
        if steps[2] == 1
    ),
    *(
        Sample(
            _of_filter("DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNative", **_options(*steps)),
            (_IMAGE, array(3, 2, 3, 2)),
            {},
            (_OTHER_IMAGE, array(3, 2, 3, 2)),
            f"DepthwiseConv2dNativeBackpropFilter{_label(*steps)}",
        )
        for steps in _STEPS
        if steps[2] == 1
    ),
    *(
        sample(
            "Dilation2D", [_IMAGE, array(3, 2, 3)], [_OTHER_IMAGE, array(3, 2, 3)], f"-{number}", **options
        )
        for number, options in enumerate(_MORPHOLOGY)
    ),
    *(
        Sample(
            _morphology_gradient(name, **options),
            (_IMAGE, array(3, 2, 3)),
            {},
            (_OTHER_IMAGE, array(3, 2, 3)),
            f"{name}-{number}",
        )
        for name in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter")
        for number, options in enumerate(_MORPHOLOGY)
    ),
    *(
        sample(name, [_IMAGE], [_OTHER_IMAGE], _label(*steps), **_pools(*steps))
        for name in ("MaxPool", "AvgPool")
        for steps in ((2, 2, "SAME"), (3, 2, "SAME"), (3, 1, "SAME"), (2, 2, "VALID"), (3, 2, "VALID"))
    ),
    sample(
        "MaxPool",
        [_IMAGE],
        [_OTHER_IMAGE],
        "-EXPLICIT",
        **_pools(3, 2, "EXPLICIT"),
        explicit_paddings=[0, 0, 1, 1, 0, 1, 0, 0],
    ),
    sample("MaxPoolV2", [_IMAGE], [_OTHER_IMAGE], ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"),
    *(
        sample(name, [_VOLUME], [_OTHER_VOLUME], _label(*steps), **_pools(*steps, rank=5))
        for name in ("MaxPool3D", "AvgPool3D")
        for steps in ((2, 2, "SAME"), (3, 2, "SAME"), (2, 1, "VALID"))
    ),
    *(
        sample(
            "MaxPoolWithArgmax",
            [_IMAGE],
            [_OTHER_IMAGE],
            _label(batch),
            **_pools(3, 2),
            include_batch_in_index=batch,
        )
        for batch in (False, True)
    ),
    *(
        Sample(
            _pool_gradient("MaxPoolGrad", "MaxPool", **_pools(*steps)),
            (_IMAGE,),
            {},
            (_OTHER_IMAGE,),
            f"MaxPoolGrad{_label(*steps)}",
        )
        for steps in ((2, 2, "SAME"), (3, 2, "SAME"), (3, 1, "VALID"))
    ),
    *(
        Sample(
            _pool_gradient("MaxPool3DGrad", "MaxPool3D", **_pools(*steps, rank=5)),
            (_VOLUME,),
            {},
            (_OTHER_VOLUME,),
            f"MaxPool3DGrad{_label(*steps)}",
        )
        for steps in ((2, 2, "SAME"), (3, 1, "VALID"))
    ),
    Sample(
        _second("MaxPoolGradGrad", "MaxPool", **_pools()), (_IMAGE,), {}, (_OTHER_IMAGE,), "MaxPoolGradGrad"
    ),
    Sample(
        _second("MaxPool3DGradGrad", "MaxPool3D", **_pools(rank=5)),
        (_VOLUME,),
        {},
        (_OTHER_VOLUME,),
        "MaxPool3DGradGrad",
    ),
    Sample(_argmax_gradient, (_IMAGE,), {}, (_OTHER_IMAGE,), "MaxPoolGradWithArgmax"),
    *(
        Sample(
            _avg_gradient("AvgPoolGrad", "AvgPool", **_pools(*steps)),
            (_IMAGE,),
            {},
            (_OTHER_IMAGE,),
            f"AvgPoolGrad{_label(*steps)}",
        )
        for steps in ((2, 2, "SAME"), (3, 2, "SAME"), (3, 1, "VALID"), (3, 2, "VALID"))
    ),
    *(
        Sample(
            _avg_gradient("AvgPool3DGrad", "AvgPool3D", **_pools(*steps, rank=5)),
            (_VOLUME,),
            {},
            (_OTHER_VOLUME,),
            f"AvgPool3DGrad{_label(*steps)}",
        )
        for steps in ((2, 2, "SAME"), (3, 1, "VALID"))
    ),
    *(
        sample(
            "ExtractImagePatches",
            [_IMAGE],
            [_OTHER_IMAGE],
            f"-{padding}-{rate}",
            ksizes=[1, 3, 2, 1],
            strides=[1, 2, 1, 1],
            rates=[1, rate, rate, 1],
            padding=padding,
        )
        for padding in ("SAME", "VALID")
        for rate in (1, 2)
    ),
    *(
        sample(
            "ExtractVolumePatches",
            [_VOLUME],
            [_OTHER_VOLUME],
            f"-{padding}",
            ksizes=[1, 2, 3, 2, 1],
            strides=[1, 2, 1, 1, 1],
            padding=padding,
        )
        for padding in ("SAME", "VALID")
    ),
    *(sample(name, [_IMAGE, array(3)], [_OTHER_IMAGE, array(3)]) for name in ("BiasAdd", "BiasAddV1")),
    sample(
        "BiasAdd", [array(2, 3, 4, 5), array(3)], [array(1, 3, 2, 2), array(3)], "-NCHW", data_format="NCHW"
    ),
    *(
        Sample(
            _norm(name, is_training=training, epsilon=1e-3),
            (_IMAGE, *_VECTORS),
            {},
            (_OTHER_IMAGE, *_VECTORS),
            f"{name}-{training}",
        )
        for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
        for training in (False, True)
    ),
    sample(
        "FusedBatchNormV3",
        [_IMAGE, *_VECTORS],
        [_OTHER_IMAGE, *_VECTORS],
        "-moving",
        is_training=True,
        exponential_avg_factor=0.3,
    ),
    Sample(
        _norm("FusedBatchNormV3", is_training=False),
        (array(2, 4, 4, 3, dtype="float16"), *_VECTORS),
        {},
        None,
        "FusedBatchNormV3-float16",
    ),
    *(
        Sample(
            _batch_norm_gradient(name, is_training=training),
            (_IMAGE, *_VECTORS),
            {},
            (_OTHER_IMAGE, *_VECTORS),
            f"{name}-{training}",
        )
        for name in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
        for training in (False, True)
    ),
    sample("LRN", [array(2, 3, 4, 7)], [array(1, 2, 5, 9)], depth_radius=2, bias=1.5, alpha=0.3, beta=0.6),
    Sample(_lrn_gradient, (array(2, 3, 4, 7),), {}, (array(1, 2, 5, 9),), "LRNGrad"),
    sample(
        "FusedPadConv2D",
        [array(1, 8, 9, 3)],
        [array(1, 7, 6, 3)],
        paddings=[[0, 0], [1, 2], [2, 1], [0, 0]],
        filter=np.ones((3, 2, 3, 2), np.float32),
        mode="REFLECT",
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    sample(
        "FusedResizeAndPadConv2D",
        [array(1, 8, 9, 3)],
        [array(1, 7, 6, 3)],
        size=[10, 12],
        paddings=[[0, 0], [1, 2], [2, 1], [0, 0]],
        filter=np.ones((3, 2, 3, 2), np.float32),
        mode="SYMMETRIC",
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    *(
        sample(
            "LSTMBlockCell",
            [array(2, 3), array(2, 4), array(2, 4), array(7, 16), array(4), array(4), array(4), array(16)],
            [array(5, 2), array(5, 3), array(5, 3), array(5, 12), array(3), array(3), array(3), array(12)],
            f"-{peep}",
            use_peephole=peep,
            cell_clip=0.5,
        )
        for peep in (False, True)
    ),
    sample(
        "GRUBlockCell",
        [array(2, 3), array(2, 4), array(7, 8), array(7, 4), array(8), array(4)],
        [array(5, 2), array(5, 3), array(5, 6), array(5, 3), array(6), array(3)],
    ),
    sample(
        "GRUBlockCellGrad",
        [
            array(2, 3),
            array(2, 4),
            array(7, 8),
            array(7, 4),
            array(8),
            array(4),
            *[array(2, 4, kind="fraction")] * 3,
            array(2, 4),
        ],
        [
            array(5, 2),
            array(5, 3),
            array(5, 6),
            array(5, 3),
            array(6),
            array(3),
            *[array(5, 3, kind="fraction")] * 3,
            array(5, 3),
        ],
    ),
    *(
        sample(
            "LSTMBlockCellGrad",
            [*_cell(2, 3, 4), *[array(2, 4, kind="fraction")] * 6, array(2, 4), array(2, 4)],
            [*_cell(5, 2, 3), *[array(5, 3, kind="fraction")] * 6, array(5, 3), array(5, 3)],
            f"-{peep}",
            use_peephole=peep,
        )
        for peep in (False, True)
    ),
    sample("AudioSpectrogram", [array(20, 2)], [array(33, 1)], window_size=6, stride=4),
    sample(
        "AudioSpectrogram",
        [array(20, 2)],
        [array(33, 3)],
        "-squared",
        window_size=8,
        stride=3,
        magnitude_squared=True,
    ),
    Sample(
        _second("MaxPoolGradGradV2", "MaxPool", **_pools()),
        (_IMAGE,),
        {},
        (_OTHER_IMAGE,),
        "MaxPoolGradGradV2",
    ),
    Sample(_operands_gradient("MaxPoolGradV2"), (_IMAGE,), {}, (_OTHER_IMAGE,), "MaxPoolGradV2"),
]
