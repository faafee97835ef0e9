"""Workaround that lets torchvision be imported if its compiled operators cannot be loaded.

The CPU-only build of torch has no matching torchvision; the one on PyPI contains operators for another
build. transformers and timm import torchvision if it is installed, and fail with it. To declare the
operators, without code, is enough to import torchvision and to run every model that does not call them.
"""

from __future__ import annotations

import importlib.util
import sys

import torch

_ROI = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool({_ROI}) -> (Tensor, Tensor)",
    f"ps_roi_align({_ROI}, int sampling_ratio) -> (Tensor, Tensor)",
    f"ps_roi_pool({_ROI}) -> (Tensor, Tensor)",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor",
)
# A ``Library`` removes its operators when it is collected.
_kept: list[torch.library.Library] = []


def declared() -> bool:
    """Return True if torch has torchvision's operators."""
    try:
        _ = torch.ops.torchvision.nms
    except (AttributeError, RuntimeError):
        return False
    return True


def _imports() -> bool:
    try:
        import torchvision  # noqa: F401
    except Exception:
        # A half-loaded extension module may raise anything.
        return False
    return True


def _forget() -> None:
    for name in [name for name in sys.modules if name == "torchvision" or name.startswith("torchvision.")]:
        del sys.modules[name]


def _declare() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in SCHEMAS:
        library.define(schema)
    _kept.append(library)


def ensure_torchvision() -> None:
    """Make torchvision importable, by declaring its operators if it is installed and cannot load them.

    Call this before transformers is imported.
    """
    if _kept or "torchvision" in sys.modules or importlib.util.find_spec("torchvision") is None or declared():
        return
    if not _imports():
        _forget()
        if not declared():
            _declare()
