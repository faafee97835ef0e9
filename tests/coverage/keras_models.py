"""The architectures of ``keras.applications``, as they predict and in training."""

from __future__ import annotations

from typing import Any

TRAINING = " in training"


def names() -> list[str]:
    """Each architecture in both modes."""
    from ..keras_source import networks

    return [f"{name}{mode}" for name in networks.names() for mode in ("", TRAINING)]


def judge(name: str, target: str) -> dict[str, Any]:
    """Results at another number of images, names of parameters, variables afterwards; in training gradients too."""
    from ..keras_source import networks

    judged = networks.judge_training if name.endswith(TRAINING) else networks.judge_prediction
    return {"variants": judged(name.removesuffix(TRAINING), target)}
