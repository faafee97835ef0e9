"""Calls that write to other arguments than their first.

A row maps a bare name to a function of the call's arguments, which returns a dict from position or keyword
to the new value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..basics.writing import statistics_order
from .nn.attention import embedding_renorm
from .nn.normalisation import batch_norm_statistics, instance_norm_statistics
from .table import TorchBuilder

Written = Callable[[TorchBuilder, list[Any], dict[str, Any]], dict[Any, Any]]
Statistics = Callable[[TorchBuilder, Any, Any, Any, Any], tuple[Any, Any]]


def _running_statistics(key: str, compute: Statistics) -> Written:
    def written(b: TorchBuilder, args: list[Any], kwargs: dict[str, Any]) -> dict[Any, Any]:
        order = statistics_order(key, tuple(args), kwargs)
        given = {"momentum": 0.1, **dict(zip(order, args)), **kwargs}
        new = compute(b, given["input"], given["running_mean"], given["running_var"], given["momentum"])
        places = (
            order.index(name) if order.index(name) < len(args) else name
            for name in ("running_mean", "running_var")
        )
        return dict(zip(places, new))

    return written


def _renormalised(*order: str) -> Written:
    """Return the row for the weight of an embedding with ``max_norm``, whose arguments have this `order`."""

    def written(b: TorchBuilder, args: list[Any], kwargs: dict[str, Any]) -> dict[Any, Any]:
        given = {"norm_type": 2.0, **dict(zip(order, args)), **kwargs}
        new = embedding_renorm(b, given["weight"], given["input"], given["max_norm"], given["norm_type"])
        return {1 if len(args) > 1 else "weight": new}

    return written


WRITTEN: dict[str, Written] = {
    key: _running_statistics(
        key, instance_norm_statistics if key == "instance_norm" else batch_norm_statistics
    )
    for key in (
        "batch_norm",
        "instance_norm",
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_batch_norm_with_update",
    )
}
WRITTEN["embedding"] = _renormalised("input", "weight", "padding_idx", "max_norm", "norm_type")
WRITTEN["embedding_bag"] = _renormalised("input", "weight", "offsets", "max_norm", "norm_type")
