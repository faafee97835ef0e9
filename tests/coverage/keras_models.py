"""The architectures of ``keras.applications``, as they predict and in training."""

from __future__ import annotations

from typing import Any

from .outcome import Skipped

TRAINING = " in training"


def names() -> list[str]:
    """Each architecture in both modes."""
    from ..keras_source import networks

    return [f"{name}{mode}" for name in networks.names() for mode in ("", TRAINING)]


def judge(name: str, target: str) -> dict[str, Any]:
    """Results at another number of images, names of parameters, variables afterwards; in training gradients too.

    With random weights some networks are chaotic: what TensorFlow itself gives is another number where the images change by their last
    digit. Of these nothing can be said.
    """
    from ..keras_source import networks

    judged = networks.judge_training if name.endswith(TRAINING) else networks.judge_prediction
    try:
        return {"variants": judged(name.removesuffix(TRAINING), target)}
    except AssertionError:
        if not name.endswith(TRAINING) and (moved := networks.moved_by_rounding(name)) > 1e-5:
            raise Skipped(f"TensorFlow's own result moves by {moved:.0e} where the images change by their last digit") from None
        raise
