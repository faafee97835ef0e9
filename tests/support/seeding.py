"""A fast way to seed torch."""

from __future__ import annotations

import torch


def seed(number: int) -> None:
    """Seed torch's generator of the CPU.

    ``torch.manual_seed`` also records the caller's stack for each kind of accelerator, which takes 2 ms
    under pytest.
    """
    torch.default_generator.manual_seed(number)
