"""Samples of raw operations as functions of their arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tests.support.samples import Sample


def raw(name: str, **fixed: Any) -> Callable[..., Any]:
    """Return ``tf.raw_ops.<name>`` as a function of the operands that are not ``fixed``; several results are
    a tuple.
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
    """Return a sample of a raw operation.

    args, other: array operands of the recorded call and of another one.
    label: suffix of the sample's name.
    fixed: attributes, and operands that are numbers.
    """
    return Sample(
        raw(operation, **fixed),
        tuple(args),
        {},
        None if other is None else tuple(other),
        f"{operation}{label}",
    )
