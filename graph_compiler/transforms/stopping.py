"""``stop_gradient``: what derivatives take for a constant."""

from __future__ import annotations

from typing import Any, TypeVar

from ..runtime.frameworks import backend_of
from ..trees import map_structure
from .functions import owner_of

T = TypeVar("T")


def stop_gradient(value: T) -> T:
    """The same arrays, which derivatives take for constants: ``jax.lax.stop_gradient``, ``Tensor.detach``, ``tf.stop_gradient``.

    Takes any structure of arrays, in a function of any framework, recorded or not.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(lambda x: x * transforms.stop_gradient(x))(torch.tensor(3.0))
    tensor(3.)
    """
    stopped: T = map_structure(_stopped, value)
    return stopped


def _stopped(item: Any) -> Any:
    owner = owner_of(item)
    return item if owner is None else backend_of(owner).derivatives().stop(item)  # type: ignore[union-attr]


ignore_derivatives = stop_gradient
