"""Declares whole families of operations that share one rule and differ in meaning only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .registry import ArraySpec, declare
from .rules import Input

Rule = Callable[..., ArraySpec]


def declare_unary(section: str, rule: Callable[[Input], ArraySpec], meanings: Mapping[str, str]) -> None:
    """Declares one operation of one array for each ``name: meaning``."""
    for name, meaning in meanings.items():

        def infer(x: Input, /) -> ArraySpec:
            return rule(x)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)


def declare_binary(section: str, rule: Callable[[Input, Input], ArraySpec], meanings: Mapping[str, str]) -> None:
    """Declares one operation of two operands for each ``name: meaning``."""
    for name, meaning in meanings.items():

        def infer(x1: Input, x2: Input, /) -> ArraySpec:
            return rule(x1, x2)

        infer.__doc__ = meaning
        declare(section, name=name)(infer)
