"""``stop_gradient``: what derivatives take for a constant."""

from __future__ import annotations

from typing import Any, TypeVar

from ..errors import UnsupportedOperation
from ..runtime.frameworks import backend_of
from ..tracing import active
from ..trees import map_structure
from .functions import owner_of

T = TypeVar("T")


def stop_gradient(value: T) -> T:
    """Return the same arrays as constants for derivatives: ``jax.lax.stop_gradient``, ``Tensor.detach``,
    ``tf.stop_gradient``.

    Works in functions of torch, JAX and TensorFlow, recorded or not. NumPy arrays are returned unchanged.

    Args:
        value: Arrays in any structure.

    Raises:
        UnsupportedOperation: A NumPy function that calls it is recorded for another framework.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(lambda x: x * transforms.stop_gradient(x))(torch.tensor(3.0))
    tensor(3.)
    """
    stopped: T = map_structure(_stopped, value)
    return stopped


def _stopped(item: Any) -> Any:
    owner = owner_of(item)
    if owner is not None:
        return backend_of(owner).derivatives().stop(item)  # type: ignore[union-attr]
    if active.anywhere and active.recording and hasattr(item, "dtype") and hasattr(item, "shape"):
        raise UnsupportedOperation(
            "stop_gradient of an array of a framework without derivatives cannot be recorded: a derivative in another framework would not "
            "stop there. Take the array as an argument of its own, and differentiate by the others"
        )
    return item


ignore_derivatives = stop_gradient
