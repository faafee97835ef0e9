"""Corpus of the architectures of ``keras.applications``, in inference and in training."""

from __future__ import annotations

from typing import Any

TRAINING = " in training"


def names() -> list[str]:
    """Return each architecture in both modes, the smallest of each family first."""
    from tests.frontends.keras import networks

    return [f"{name}{mode}" for name in networks.names() for mode in ("", TRAINING)]


def group_of(name: str) -> str:
    """Return the family and the mode."""
    from tests.frontends.keras import networks

    plain = name.removesuffix(TRAINING)
    return f"{networks.family(plain)}{name.removeprefix(plain)}"


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that results, gradients, variables after the call and names of parameters are those of Keras."""
    from tests.frontends.keras import networks

    return networks.judge_network(name.removesuffix(TRAINING), name.endswith(TRAINING), target)
