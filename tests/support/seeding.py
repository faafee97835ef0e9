"""Seeding torch thousands of times."""

from __future__ import annotations

import torch


def seed(number: int) -> None:
    """``torch.manual_seed`` of the CPU alone: torch's own also notes the stack of its caller for every kind
    of accelerator, 2 ms below pytest.
    """
    torch.default_generator.manual_seed(number)
