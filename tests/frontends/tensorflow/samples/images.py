"""Samples of resampling, crops and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array, ints

from .table import raw, sample

_IMAGE, _OTHER = array(2, 5, 6, 3), array(1, 7, 4, 3)
_WAYS: list[dict[str, Any]] = [
    {"align_corners": False, "half_pixel_centers": True},
    {"align_corners": True, "half_pixel_centers": False},
    {"align_corners": False, "half_pixel_centers": False},
]
_SIZES = ([9, 4], [3, 11], [1, 6])
_COLOURS, _OTHER_COLOURS = array(2, 3, 4, 3, kind="fraction"), array(1, 5, 2, 3, kind="fraction")
_GREYS = np.array(
    [[0, 0, 0], [0.5, 0.5, 0.5], [1, 0, 0], [1, 1, 0], [0, 1, 1], [0.2, 0.2, 0.1], [1, 0, 1]], np.float32
)
# But for the whole image no position is an element up to rounding: compiled without optimisation, XLA
# computes a position twice and rounds it differently, so that the neighbours are of one element and the
# weights of the other.
_BOXES = np.array(
    [[0.0, 0.0, 1.0, 1.0], [0.2, 0.3, 0.7, 0.9], [-0.3, 0.1, 1.2, 0.83], [0.8, 0.9, 0.1, 0.25]], np.float32
)

_MAPS = np.array(
    [[0.8, 0.3, -1.2, -0.2, 1.1, 0.7, 0.01, 0.02], [1.3, -0.4, 2.1, 0.5, 0.9, -3.3, 0.0, 0.0]], np.float32
)


def _gradient(name: str, forward: str, size: Any, **options: Any) -> Any:
    def call(x: Any) -> Any:
        made = raw(forward, size=size, **options)(x)
        return getattr(tf.raw_ops, name)(grads=made * 2.0, original_image=x, **options)

    return call


def _nearest_gradient(size: Any, **options: Any) -> Any:
    def call(x: Any) -> Any:
        made = raw("ResizeNearestNeighbor", size=size, **options)(x)
        return tf.raw_ops.ResizeNearestNeighborGrad(grads=made * 2.0, size=tf.shape(x)[1:3], **options)

    return call


def _way(options: dict[str, Any]) -> str:
    return "-" + (
        "aligned" if options["align_corners"] else "half_pixel" if options["half_pixel_centers"] else "legacy"
    )


_BOXES_KEPT = np.array(
    [[0, 0, 1, 1], [0, 0, 1.2, 0.9], [0.1, 0.2, 0.5, 0.6], [0.9, 1.0, 0.5, 0.5], [0.12, 0.2, 0.5, 0.6]],
    np.float32,
)
_SCORES = np.array([0.5, 0.9, 0.75, 0.3, 0.8], np.float32)
_LIMITS = {"iou_threshold": 0.3, "score_threshold": 0.4}
_SUPPRESSED = (
    ("NonMaxSuppression", {"iou_threshold": 0.3}), ("NonMaxSuppressionV2", {"iou_threshold": 0.3}), ("NonMaxSuppressionV3", _LIMITS),
)  # fmt: skip
_DRAWN = np.array(
    [
        [[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.6], [-0.5, 0.3, 0.5, 1.5]],
        [[0.3, 0.3, 0.3, 0.9], [1.2, 0, 1.5, 1], [0.5, 0.5, 0.1, 0.1]],
    ],
    np.float32,
)


SAMPLES: list[Sample] = [
    *(
        sample(name, [_IMAGE], [_OTHER], f"{_way(way)}-{size[0]}", size=size, **way)
        for name in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor")
        for way in _WAYS
        for size in _SIZES
    ),
    sample(
        "ResizeBilinear",
        [ints(2, 5, 6, 3, low=0, high=255, dtype="uint8")],
        None,
        "-uint8",
        size=[7, 8],
        half_pixel_centers=True,
    ),
    sample(
        "ResizeNearestNeighbor",
        [ints(2, 5, 6, 3, low=0, high=255, dtype="uint8")],
        None,
        "-uint8",
        size=[7, 8],
        half_pixel_centers=True,
    ),
    *(
        sample("ResizeArea", [_IMAGE], [_OTHER], f"-{aligned}-{size[0]}", size=size, align_corners=aligned)
        for aligned in (False, True)
        for size in _SIZES
    ),
    *(
        Sample(
            _gradient(f"{name}Grad", name, [9, 4], **way), (_IMAGE,), {}, (_OTHER,), f"{name}Grad{_way(way)}"
        )
        for name in ("ResizeBilinear", "ResizeBicubic")
        for way in _WAYS
    ),
    *(
        Sample(
            _nearest_gradient([9, 4], **way),
            (_IMAGE,),
            {},
            (_OTHER,),
            f"ResizeNearestNeighborGrad{_way(way)}",
        )
        for way in _WAYS
    ),
    *(
        sample(
            "ScaleAndTranslate",
            [_IMAGE],
            [_OTHER],
            f"-{kind}-{antialias}",
            size=[4, 8],
            scale=[0.8, 1.3],
            translation=[0.2, -0.5],
            kernel_type=kind,
            antialias=antialias,
        )
        for kind in (
            "lanczos1",
            "lanczos3",
            "lanczos5",
            "gaussian",
            "box",
            "triangle",
            "keyscubic",
            "mitchellcubic",
        )
        for antialias in (True, False)
    ),
    sample(
        "ScaleAndTranslateGrad",
        [array(2, 4, 8, 3), _IMAGE],
        [array(1, 4, 8, 3), _OTHER],
        scale=[0.8, 1.3],
        translation=[0.2, -0.5],
    ),
    *(
        sample(
            "CropAndResize",
            [_IMAGE, _BOXES, np.array([0, 1, 0, 1], np.int32)],
            [_OTHER, _BOXES[:2], np.array([0, 0], np.int32)],
            f"-{method}-{size[0]}",
            crop_size=size,
            method=method,
            extrapolation_value=7.0,
        )
        for method in ("bilinear", "nearest")
        for size in ([3, 4], [1, 2])
    ),
    *(sample(name, [_COLOURS], [_OTHER_COLOURS]) for name in ("RGBToHSV", "HSVToRGB")),
    *(sample(name, [_GREYS], None, "-edges") for name in ("RGBToHSV", "HSVToRGB")),
    sample("AdjustContrastv2", [_COLOURS, np.float32(1.7)], [_OTHER_COLOURS, np.float32(0.4)]),
    sample("AdjustHue", [_COLOURS, np.float32(0.3)], [_OTHER_COLOURS, np.float32(-0.4)]),
    sample("AdjustSaturation", [_COLOURS, np.float32(1.7)], [_OTHER_COLOURS, np.float32(0.4)]),
    *(
        sample(
            "ImageProjectiveTransformV3",
            [_IMAGE, _MAPS],
            [_OTHER, _MAPS[:1]],
            f"-{way}-{mode}",
            output_shape=[6, 7],
            fill_value=2.0,
            interpolation=way,
            fill_mode=mode,
        )
        for way in ("NEAREST", "BILINEAR")
        for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
    ),
    sample("DrawBoundingBoxes", [array(2, 6, 7, 3), _DRAWN], [array(2, 9, 5, 3), _DRAWN[:, :2].copy()]),
    sample("DrawBoundingBoxes", [array(2, 6, 7, 1), _DRAWN], None, "-grey"),
    sample(
        "DrawBoundingBoxesV2",
        [array(2, 6, 7, 3), _DRAWN, array(2, 4)],
        [array(2, 9, 5, 3), _DRAWN[:, :2].copy(), array(2, 4)],
    ),
    sample(
        "DrawBoundingBoxesV2",
        [array(2, 6, 7, 1), _DRAWN, array(2, 1)],
        [array(2, 9, 5, 1), _DRAWN, array(2, 1)],
        "-grey",
    ),
    *(
        sample(name, [_BOXES_KEPT, _SCORES], [_BOXES_KEPT[:3], _SCORES[:3]], max_output_size=3, **options)
        for name, options in _SUPPRESSED
    ),
    *(
        sample(name, [_BOXES_KEPT[:0], _SCORES[:0]], None, "-no boxes", max_output_size=3, **options)
        for name, options in (
            *_SUPPRESSED,
            # TensorFlow itself crashes if it has to pad for this operation.
            ("NonMaxSuppressionV4", _LIMITS),
            ("NonMaxSuppressionV5", {**_LIMITS, "soft_nms_sigma": 0.5}),
        )
    ),
    sample(
        "NonMaxSuppressionWithOverlaps",
        [np.zeros((0, 0), "float32"), _SCORES[:0]],
        None,
        "-no boxes",
        max_output_size=3,
        overlap_threshold=0.1,
        score_threshold=0.4,
    ),
    sample(
        "CombinedNonMaxSuppression",
        [_BOXES_KEPT[None, :0, None], np.zeros((1, 0, 2), "float32")],
        None,
        "-no boxes",
        max_output_size_per_class=3,
        max_total_size=4,
        **_LIMITS,
    ),
    *(
        sample(
            "NonMaxSuppressionV4",
            [_BOXES_KEPT, _SCORES],
            None,
            f"-{pad}",
            max_output_size=4,
            pad_to_max_output_size=pad,
            **_LIMITS,
        )
        for pad in (False, True)
    ),
    *(
        sample(
            "NonMaxSuppressionV5",
            [_BOXES_KEPT, _SCORES],
            None,
            f"-{pad}-{sigma}",
            max_output_size=4,
            pad_to_max_output_size=pad,
            soft_nms_sigma=sigma,
            **_LIMITS,
        )
        for pad, sigma in ((False, 0.0), (True, 0.0), (True, 0.5), (False, 0.1))
    ),
    sample(
        "NonMaxSuppressionWithOverlaps",
        [np.eye(5, dtype="float32") + 0.2, _SCORES],
        [np.eye(3, dtype="float32"), _SCORES[:3]],
        max_output_size=3,
        overlap_threshold=0.1,
        score_threshold=0.4,
    ),
    *(
        sample(
            "CombinedNonMaxSuppression",
            [_BOXES_KEPT[None, :, None], np.stack([_SCORES, _SCORES[::-1]], -1)[None]],
            None,
            f"-{number}",
            max_output_size_per_class=3,
            **_LIMITS,
            **options,
        )
        for number, options in enumerate(
            (
                {"max_total_size": 4},
                {"max_total_size": 9, "clip_boxes": False},
                {"max_total_size": 9, "pad_per_class": True},
            )
        )
    ),
    sample(
        "ImageProjectiveTransformV2",
        [_IMAGE, _MAPS],
        [_OTHER, _MAPS[:1]],
        output_shape=[6, 7],
        interpolation="BILINEAR",
    ),
]
