"""Samples of candidate sampling, image crops and glimpses, audio features, monotone rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array, ints

from .table import sample

_TRUE, _OTHER_TRUE = ints(4, 2, low=0, high=5), ints(3, 2, low=0, high=5)


def _sampler(name: str, unique: bool, **options: Any) -> Any:
    """Return a call whose results do not depend on the random numbers: shapes, dtypes, ranges and expected
    counts.
    """

    def call(true_classes: Any) -> Any:
        found = getattr(tf.raw_ops, name)(
            true_classes=true_classes, num_true=2, num_sampled=5, unique=unique, **options
        )
        classes, of_true, of_drawn = found
        inside = tf.reduce_all((classes >= 0) & (classes < 8))
        different = tf.size(tf.unique(classes).y) == 5 if unique else tf.constant(True)
        several = tf.reduce_all(of_true > 0.0) & tf.reduce_all(of_drawn <= 5.0)
        return classes * 0, of_true * (0.0 if unique else 1.0), of_drawn * 0.0, inside, different, several

    return call


_SAMPLERS = (
    ("UniformCandidateSampler", {"range_max": 8}),
    ("LogUniformCandidateSampler", {"range_max": 8}),
    (
        "FixedUnigramCandidateSampler",
        {"range_max": 8, "unigrams": [4.0, 1, 2, 2, 3, 1, 5, 2], "distortion": 0.75},
    ),
)


def _all(true_classes: Any) -> Any:
    found = tf.raw_ops.AllCandidateSampler(true_classes=true_classes, num_true=2, num_sampled=5, unique=True)
    return tf.sort(found[0]), found[1], found[2]


def _hits(true_classes: Any, drawn: Any) -> Any:
    return tuple(
        tf.raw_ops.ComputeAccidentalHits(true_classes=true_classes, sampled_candidates=drawn, num_true=2)
    )


# ------------------------------------------------------------------------------------- images
_IMAGE, _OTHER_IMAGE = array(2, 6, 7, 3), array(1, 5, 9, 2)
_OFFSETS, _OTHER_OFFSETS = array(2, 2, kind="unit"), array(1, 2, kind="unit")
_BOXES = np.array([[0.1, 0.2, 0.8, 0.7], [0.0, -0.2, 1.1, 0.95], [0.7, 0.6, 0.23, 0.1]], np.float32)
_WHICH = np.array([0, 1, 0], np.int32)


def _glimpse(name: str, scale: float = 1.0, **options: Any) -> Any:
    return lambda image, offsets: getattr(tf.raw_ops, name)(
        input=image, size=[3, 4], offsets=scale * offsets, noise="zero", uniform_noise=False, **options
    )


def _noisy(noise: str) -> Any:
    """Return a call whose results do not depend on the noise: the elements inside, and a bound of those
    outside.
    """

    def call(image: Any, offsets: Any) -> Any:
        found = tf.raw_ops.ExtractGlimpseV2(
            input=image, size=[3, 4], offsets=offsets, noise=noise, uniform_noise=noise == "uniform"
        )
        return tf.abs(found) < 9.0, found[:, 1:2, 1:2] * 0.0

    return call


def _image_gradient(method: str, *whole: int) -> Any:
    return lambda grads, boxes, which: tf.raw_ops.CropAndResizeGradImage(
        grads=grads, boxes=boxes, box_ind=which, image_size=list(whole), T=tf.float32, method=method
    )


# ------------------------------------------------------------------------------------- rows
def _regression(x: Any) -> Any:
    return tuple(
        tf.raw_ops.IsotonicRegression(input=x, output_dtype=tf.float64 if x.dtype == tf.int32 else tf.float32)
    )


SAMPLES: list[Sample] = [
    *(
        Sample(_sampler(name, unique, **options), (_TRUE,), {}, (_OTHER_TRUE,), f"{name}-{unique}")
        for name, options in _SAMPLERS
        for unique in (False, True)
    ),
    Sample(_all, (_TRUE,), {}, (_OTHER_TRUE,), "AllCandidateSampler"),
    Sample(
        _hits, (_TRUE, np.array([1, 3, 5], np.int64)), {}, (_OTHER_TRUE, np.array([0, 2, 4, 5, 1], np.int64)), "ComputeAccidentalHits"
    ),
    *(
        Sample(_glimpse(name, scale, centered=centered, normalized=normalized), (_IMAGE, _OFFSETS), {}, (_OTHER_IMAGE, _OTHER_OFFSETS),
               f"{name}-{centered}-{normalized}")
        for name in ("ExtractGlimpse", "ExtractGlimpseV2")
        for centered, normalized, scale in ((True, True, 1.0), (True, False, 4.0), (False, True, 1.0), (False, False, 6.0))
    ),
    *(
        Sample(_noisy(noise), (_IMAGE, array(2, 2, kind="fraction")), {}, (_OTHER_IMAGE, array(1, 2, kind="fraction")), f"ExtractGlimpseV2-{noise}")
        for noise in ("uniform", "gaussian")
    ),
    *(
        Sample(_image_gradient(method, 2, 6, 7, 3), (array(3, *size, 3), _BOXES, _WHICH), {}, (array(2, *size, 3), _BOXES[1:], _WHICH[1:]),
               f"CropAndResizeGradImage-{method}-{size[0]}")
        for method in ("bilinear", "nearest")
        for size in ((3, 4), (1, 2))
    ),
    *(
        sample("CropAndResizeGradBoxes", [array(3, *size, 3), _IMAGE, _BOXES, _WHICH],
               [array(2, *size, 2), _OTHER_IMAGE, _BOXES[:2], np.array([0, 0], np.int32)], f"-{size[0]}")
        for size in ((3, 4), (1, 2))
    ),
    sample("Mfcc", [array(2, 5, 33, kind="positive")], [array(1, 3, 33, kind="positive")], sample_rate=16000),
    sample(
        "Mfcc", [array(1, 4, 17, kind="positive")], [array(2, 6, 17, kind="positive")], "-options", sample_rate=8000,
        upper_frequency_limit=3000.0, lower_frequency_limit=100.0, filterbank_channel_count=12, dct_coefficient_count=5,
    ),
    Sample(_regression, (array(2, 7),), {}, (array(4, 5),), "IsotonicRegression"),
    Sample(_regression, (ints(3, 6, dtype="int32"),), {}, (ints(2, 9, dtype="int32"),), "IsotonicRegression-int32"),
]  # fmt: skip
