"""Samples of raw operations: a call of one of them as a function of its arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tests.support.samples import Sample


def raw(name: str, **fixed: Any) -> Callable[..., Any]:
    """``tf.raw_ops.NAME`` as a function of those operands that are not ``fixed``, in their order; results are
    a tuple where there are several.
    """
    function = getattr(tf.raw_ops, name)
    attributes = {attribute.name for attribute in op_def_registry.get(name).attr} | {"name", *fixed}
    operands = [operand for operand in inspect.signature(function).parameters if operand not in attributes]

    def call(*arrays: Any) -> Any:
        result = function(**dict(zip(operands, arrays)), **fixed)
        return tuple(result) if isinstance(result, (tuple, list)) else result

    call.__name__ = name
    return call


def sample(operation: str, args: Any, other: Any = None, label: str = "", /, **fixed: Any) -> Sample:
    """A sample of one raw operation: operands that are arrays, the same at other sizes, and what is fixed
    (attributes, and operands that are numbers).
    """
    return Sample(
        raw(operation, **fixed),
        tuple(args),
        {},
        None if other is None else tuple(other),
        f"{operation}{label}",
    )
