"""torch as a target."""

from .native import target as target

name = "torch"
