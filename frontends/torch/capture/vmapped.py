"""Kernels that ``torch.vmap`` runs, and the public call of the user's that each belongs to.

A transform takes public calls apart: below the user's ``F.multilabel_soft_margin_loss`` comes a division by the number of classes, which torch's code has
computed from a size where nothing sees it. A number of a kernel that the call was not given ties the recording to its sizes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ....trees import iterate_structure

_AXES = ("dim", "axis")  # how names of arguments begin that are no sizes


class Vmapped:
    """The public call that runs inside of a transform, by what it was given."""

    def __init__(self) -> None:
        self._given: frozenset[Any] = frozenset()

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, with sizes as numbers; the kernels that come meanwhile are its own."""
        before, self._given = self._given, frozenset(_numbers((args, kwargs))) | _defaults(function)
        try:
            return function(*args, **kwargs)
        finally:
            self._given = before

    def explains(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether all numbers of a kernel, but its axes, are those of the public call or of torch's schema."""
        arguments = kernel._schema.arguments
        given = [*zip(arguments, args), *((argument, kwargs[argument.name]) for argument in arguments if argument.name in kwargs)]
        computing = [value for argument, value in given if not argument.name.startswith(_AXES) and not _is_default(argument, value)]
        return self._given.issuperset(_numbers(computing))


def _numbers(structure: Any) -> list[Any]:
    return [item for item in iterate_structure(structure) if type(item) in (int, float)]


def _is_default(argument: Any, value: Any) -> bool:
    return argument.has_default_value() and type(value) in (int, float) and argument.default_value == value


@functools.lru_cache(maxsize=512)
def _defaults(function: Callable[..., Any]) -> frozenset[Any]:
    """The numbers that a function of torch written in Python takes where it is given none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(parameter.default for parameter in parameters if type(parameter.default) in (int, float))
