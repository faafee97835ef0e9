"""Attributes of TensorFlow's classes and modules that are others while a function is traced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, attributes: Mapping[str, Any]) -> Iterator[None]:
    """Inside of the block a class or module has these attributes.

    >>> class Shape: rank = 2
    >>> with replaced(Shape, {"rank": 3}): print(Shape.rank)
    3
    >>> Shape.rank
    2
    """
    own = {name: vars(owner)[name] for name in attributes if name in vars(owner)}
    for name, attribute in attributes.items():
        setattr(owner, name, attribute)
    try:
        yield
    finally:
        for name in attributes:
            setattr(owner, name, own[name]) if name in own else delattr(owner, name)
