"""Rows of losses: one formula serves the function of ``torch.nn.functional`` and the kernel, which spell their reduction differently."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from ..table import TorchBuilder, rows

Formula = TypeVar("Formula", bound=Callable[..., Any])
_OF_KERNELS = {0: "none", 1: "mean", 2: "sum"}


def loss(name: str, *kernels: str) -> Callable[[Formula], Formula]:
    """Add the rows of ``torch.nn.functional.NAME`` and of ``kernels``, or of the kernel of this name where none are given and torch has it.

    The formula has the signature of the kernel, with ``reduction`` as one of none, mean, sum and batchmean.
    """
    signature = inspect.signature(getattr(torch.nn.functional, name))
    builder = inspect.Parameter("b", inspect.Parameter.POSITIONAL_ONLY)

    def register(formula: Formula) -> Formula:
        def function(b: TorchBuilder, *args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            old = (given.pop("size_average", None), given.pop("reduce", None))
            return formula(b, **{**given, "reduction": reduction_of(*old, given.get("reduction", "mean"))})

        def kernel(b: TorchBuilder, *args: Any, **kwargs: Any) -> Any:
            given = of_kernel.bind(b, *args, **kwargs).arguments
            return formula(**{**given, "reduction": reduction_of(None, None, given.get("reduction", 1))})

        of_kernel = inspect.signature(formula)
        rows.row(f"nn.functional.{name}")(_with_signature(function, inspect.Signature([builder, *signature.parameters.values()])))
        if kernels or hasattr(torch.ops.aten, name):
            rows.row(*(kernels or (name,)))(_with_signature(kernel, of_kernel))
        return formula

    return register


def _with_signature(row: Any, signature: inspect.Signature) -> Any:
    row.__signature__ = signature
    return row


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str | int) -> str:
    """none, mean, sum or batchmean, from torch's older and newer ways to say it."""
    if size_average is None and reduce is None:
        return reduction if isinstance(reduction, str) else _OF_KERNELS[reduction]
    if reduce is False:
        return "none"
    return "mean" if size_average in (None, True) else "sum"


def reduced(b: TorchBuilder, losses: Any, reduction: str) -> Any:
    """The losses as they are, their mean or their sum."""
    return losses if reduction == "none" else b.mean(losses) if reduction == "mean" else b.sum(losses)
