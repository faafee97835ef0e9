"""Samples of ``tf.image``."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import Call, by, call, drawn, each, f, i, u, without

_ANY = [call(f("bhwc")), call(f("hwc")), call(i("hw3", 0, 255, "uint8")), call(f("bhw1", dtype="float64"))]
_COLOURED = [
    call(u("bhw3")),
    call(u("hw3")),
    call(u("hw3", "float64")),
    call(
        np.array([[[0, 0, 0], [1, 1, 1], [1, 0, 0], [0.5, 0.5, 0.2], [0.2, 0.7, 0.7], [0, 0, 1]]], np.float32)
    ),
]
_METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
_BOXES = np.array(
    [[0, 0, 1, 1], [0, 0, 1, 0.9], [0.1, 0.2, 0.5, 0.6], [0.5, 0.5, 0.9, 1.0], [0.12, 0.2, 0.5, 0.6]],
    np.float32,
)
_SCORES = np.array([0.5, 0.9, 0.75, 0.3, 0.8], np.float32)
_SEEDED = np.array([1, 2], np.int32)


def _resized(called: Any, x: Any, *rest: Any, **options: Any) -> Any:
    shape = tf.shape(x)
    return called(x, [shape[-3] * 2, shape[-2] + 1], *rest, **options)


def _both(called: Any, x: Any, y: Any, *rest: Any, **options: Any) -> Any:
    return called(x, y, *rest, **options)


IMAGE: dict[str, list[Call]] = {
    "adjust_brightness": [
        call(u("bhwc"), 0.1),
        call(i("hw3", 0, 255, "uint8"), 0.2),
        call(u("hw3"), u("")),
        call(f("hw1", dtype="float64"), -0.5),
    ],
    "adjust_contrast": [
        call(u("bhwc"), 2.0),
        call(i("hw3", 0, 255, "uint8"), 1.5),
        call(u("hw3"), 0.5),
        without(u("hw3", "float16"), 0.5),
    ],
    "adjust_gamma": [call(u("bhwc"), 0.5), call(i("hw3", 0, 255, "uint8"), 1.5, 0.9), call(u("bhw3"), 2.0)],
    "adjust_hue": [call(u("bhw3"), 0.1), call(i("hw3", 0, 255, "uint8"), -0.3), call(u("hw3"), 0.9)],
    "adjust_saturation": [call(u("bhw3"), 0.5), call(i("hw3", 0, 255, "uint8"), 1.5), call(u("hw3"), 2.0)],
    "central_crop": [call(f("bhwc"), 0.5), call(f("hwc"), 0.3), call(i("hw3", 0, 255, "uint8"), 1.0)],
    "combined_non_max_suppression": [
        without(_BOXES[None, :, None], _SCORES[None, :, None], 3, 4),
        without(_BOXES[None, :, None], _SCORES[None, :, None], 2, 3, 0.3, 0.4, pad_per_class=True),
        without(_BOXES[None, :, None], np.stack([_SCORES, _SCORES[::-1]], -1)[None], 3, 4, clip_boxes=False),
    ],
    "convert_image_dtype": [
        call(u("hw3"), "uint8"),
        call(i("hw3", 0, 255, "uint8"), "float32"),
        call(u("bhw3"), "float64"),
        call(i("hw3", 0, 255, "uint8"), "int16"),
        call(u("hw3"), "int16", saturate=True),
        call(i("hw3", -300, 300, "int16"), "uint8"),
        call(i("hw3", 0, 255, "uint8"), "float16"),
    ],
    "crop_and_resize": [
        call(f("2hwc"), _BOXES, np.array([0, 1, 0, 1, 0], np.int32), [4, 5]),
        without(
            f("2hwc"),
            _BOXES,
            np.array([0, 1, 0, 1, 0], np.int32),
            [3, 3],
            method="nearest",
            extrapolation_value=2.0,
        ),
        call(f("2hwc"), _BOXES * 1.5 - 0.2, np.array([0, 1, 0, 1, 0], np.int32), [2, 6]),
    ],
    "crop_to_bounding_box": [
        call(f("bhwc"), 1, 2, 3, 3),
        call(f("hwc"), 0, 0, 2, 5),
        call(i("hw3"), 2, 1, 4, 1),
    ],
    "draw_bounding_boxes": [
        call(u("1hw3"), _BOXES[None], np.array([[1.0, 0, 0]], np.float32)),
        call(u("1hw3"), _BOXES[None], np.array([[1.0, 0, 0], [0, 1, 0]], np.float32)),
        call(u("1hw1"), _BOXES[None, :2], np.array([[1.0]], np.float32)),
    ],
    "extract_glimpse": [
        without(f("2hwc"), [3, 4], np.zeros((2, 2), np.float32)),
        without(f("bhwc"), [2, 2], f("b2"), centered=False, normalized=False),
        without(f("2hwc"), [5, 5], np.array([[0.9, 0.9], [-0.5, 0.2]], np.float32), noise="zero"),
    ],
    "extract_patches": [
        call(f("bhwc"), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
        call(f("bhwc"), [1, 3, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1], "SAME"),
        call(f("bhwc"), [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], "VALID"),
        call(i("bhwc"), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
    ],
    **each("flip_left_right flip_up_down transpose", _ANY),
    "rot90": [*_ANY, call(f("bhwc"), 2), call(f("hwc"), k=3), call(f("hwc"), k=-1)],
    "grayscale_to_rgb": [call(f("bhw1")), call(f("hw1")), call(i("hw1", 0, 255, "uint8"))],
    "rgb_to_grayscale": [call(u("bhw3")), call(i("hw3", 0, 255, "uint8")), call(u("hw3"))],
    "rgb_to_hsv": [*_COLOURED[:3], without(*_COLOURED[3].args)],
    **each("hsv_to_rgb rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb", _COLOURED),
    "image_gradients": [call(f("bhwc")), call(f("bhw1")), call(f("bhwc", dtype="float64"))],
    "sobel_edges": [call(f("bhwc")), call(f("bhw1")), call(f("bhwc", dtype="float64"))],
    "non_max_suppression": [
        call(_BOXES, _SCORES, 3),
        call(_BOXES, _SCORES, 5, iou_threshold=0.3, score_threshold=0.4),
        call(_BOXES, _SCORES, 2, 0.9),
    ],
    "non_max_suppression_overlaps": [
        call(np.eye(5, dtype="float32") + 0.2, _SCORES, 3),
        call(np.ones((5, 5), np.float32), _SCORES, 3),
        call(np.eye(5, dtype="float32") + 0.2, _SCORES, 4, overlap_threshold=0.1, score_threshold=0.4),
    ],
    "non_max_suppression_padded": [
        call(_BOXES, _SCORES, 3),
        call(_BOXES, _SCORES, 5, pad_to_max_output_size=True),
        call(_BOXES[None], _SCORES[None], 4, pad_to_max_output_size=True, sorted_input=False),
        call(_BOXES, _SCORES, 4, 0.3, 0.4, pad_to_max_output_size=True),
    ],
    "non_max_suppression_with_scores": [
        call(_BOXES, _SCORES, 3),
        call(_BOXES, _SCORES, 5, 0.3, 0.4),
        call(_BOXES, _SCORES, 4, soft_nms_sigma=0.5),
    ],
    "pad_to_bounding_box": [
        call(f("bhwc"), 1, 2, 9, 12),
        call(f("hwc"), 0, 0, 8, 8),
        call(i("hw3"), 2, 1, 12, 12),
    ],
    "per_image_standardization": [
        call(f("bhwc")),
        call(f("hwc")),
        call(i("hw3", 0, 255, "uint8")),
        without(f("hwc", dtype="float16")),
        without(np.ones((4, 5, 3), np.float32)),
    ],
    "psnr": [
        call(u("bhwc"), u("bhwc"), 1.0),
        call(u("hwc"), u("hwc"), max_val=2.0),
        call(i("hw3", 0, 255, "uint8"), i("hw3", 0, 255, "uint8"), 255),
    ],
    "ssim": [
        call(u("2tt1"), u("2tt1"), 1.0),
        call(u("tt3"), u("tt3"), max_val=1.0, filter_size=5, filter_sigma=1.0, k1=0.02, k2=0.1),
        call(u("tt1"), u("tt1"), 1.0, return_index_map=True),
        call(i("tt1", 0, 255, "uint8"), i("tt1", 0, 255, "uint8"), 255),
    ],
    "ssim_multiscale": [
        call(u("1tt1"), u("1tt1"), 1.0, filter_size=2, power_factors=(0.5, 0.5)),
        call(u("tt3"), u("tt3"), 1.0, power_factors=(0.3, 0.3, 0.4), filter_size=3),
        call(u("2tt1"), u("2tt1"), 1.0, power_factors=(1.0,), filter_size=11),
    ],
    "resize": [
        *(by(_resized, f("bhwc"), method=method) for method in _METHODS),
        *(by(_resized, f("bhwc"), method=method, antialias=True) for method in _METHODS[:5]),
        *(call(f("hwc"), [3, 4], method=method) for method in _METHODS),
        call(f("bhwc"), [12, 3], preserve_aspect_ratio=True),
        call(i("hw3", 0, 255, "uint8"), [4, 4]),
        call(i("hw3", 0, 255, "uint8"), [4, 9], "nearest"),
        call(f("hwc", dtype="float64"), [4, 4], antialias=True),
        *(call(f("bhwc"), [3, 4], method=method, antialias=True) for method in _METHODS),
    ],
    "resize_with_crop_or_pad": [
        call(f("bhwc"), 8, 3),
        call(f("hwc"), 3, 9),
        call(i("hw3"), 5, 5),
        by(lambda g, x: g(x, tf.shape(x)[1] + 1, 4), f("bhwc")),
    ],
    "resize_with_pad": [
        call(f("bhwc"), 8, 12),
        call(f("hwc"), 3, 9),
        call(f("bhwc"), 7, 5, method="bicubic", antialias=True),
    ],
    "total_variation": [call(f("bhwc")), call(f("hwc")), call(f("bhwc", dtype="float64"))],
    "random_brightness": [drawn(u("hwc"), 0.3), drawn(i("hw3", 0, 255, "uint8"), 0.2), drawn(u("bhwc"), 0.3)],
    "random_contrast": [
        drawn(u("hwc"), 0.3, 0.9),
        drawn(i("hw3", 0, 255, "uint8"), 0.2, 1.8),
        drawn(u("bhwc"), 0.5, 2.0),
    ],
    "random_hue": [drawn(u("hw3"), 0.3), drawn(u("bhw3"), 0.2), drawn(u("hw3"), 0.5)],
    "random_saturation": [drawn(u("hw3"), 0.3, 0.9), drawn(u("bhw3"), 0.2, 2.0), drawn(u("hw3"), 1.0, 5.0)],
    "random_crop": [drawn(u("hwc"), [2, 3, 2]), drawn(u("hw3"), [4, 4, 3]), drawn(i("hw3"), [1, 1, 3])],
    **each(
        "random_flip_left_right random_flip_up_down", [drawn(u("hwc")), drawn(u("bhwc")), drawn(i("hw3"))]
    ),
    "stateless_random_brightness": [
        call(u("hwc"), 0.3, (1, 2)),
        call(u("bhwc"), 0.3, _SEEDED),
        call(i("hw3", 0, 255, "uint8"), 0.2, seed=(5, 6)),
    ],
    "stateless_random_contrast": [
        call(u("hwc"), 0.3, 0.9, (1, 2)),
        call(u("bhwc"), 0.5, 2.0, _SEEDED),
        call(i("hw3", 0, 255, "uint8"), 0.2, 1.8, seed=(5, 6)),
    ],
    "stateless_random_hue": [
        call(u("hw3"), 0.3, (1, 2)),
        call(u("bhw3"), 0.2, _SEEDED),
        call(u("hw3"), 0.5, seed=(5, 6)),
    ],
    "stateless_random_saturation": [
        call(u("hw3"), 0.3, 0.9, (1, 2)),
        call(u("bhw3"), 0.5, 2.0, _SEEDED),
        call(u("hw3"), 1.0, 5.0, seed=(5, 6)),
    ],
    "stateless_random_crop": [
        call(u("hwc"), [2, 3, 2], (1, 2)),
        call(u("hw3"), [4, 4, 3], (7, 9)),
        call(i("hw3"), [1, 1, 3], seed=(5, 6)),
    ],
    **each(
        "stateless_random_flip_left_right stateless_random_flip_up_down",
        [call(u("hwc"), (1, 2)), call(u("bhwc"), _SEEDED), call(i("hw3"), seed=(5, 6))],
    ),
}
SAMPLES: dict[str, list[Call]] = {f"tf.image.{name}": calls for name, calls in IMAGE.items()}
