"""Inputs whose elements have to lie within bounds, because they are indices: checked where nobody has to wait for them."""

from __future__ import annotations

from typing import Any


def lies_within(elements: Any, low: int, high: int, besides: int | None = None) -> bool:
    """Whether all elements of a numpy array lie in ``[low, high)`` or are ``besides``.

    >>> import numpy
    >>> lies_within(numpy.array([0, 3]), 0, 4), lies_within(numpy.array([-1, 3]), 0, 4), lies_within(numpy.array([-1, 3]), 0, 4, besides=-1)
    (True, False, True)
    """
    if besides is not None:
        elements = elements[elements != besides]
    return elements.size == 0 or bool(elements.min() >= low and elements.max() < high)
