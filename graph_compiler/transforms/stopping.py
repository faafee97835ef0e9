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
    """The same arrays, which derivatives take for constants: ``jax.lax.stop_gradient``, ``Tensor.detach``, ``tf.stop_gradient``.

    Takes any structure of arrays, in a function of torch, JAX or TensorFlow, recorded or not. In NumPy, which has no derivatives, arrays
    are what they are; while such a function is recorded for another framework it raises ``UnsupportedOperation``.

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
