"""Kernels that ``torch.vmap`` runs, and the public call of the user's that each belongs to.

A transform takes public calls apart: below the user's ``F.multilabel_soft_margin_loss`` comes a division by the number of classes, which torch's code has
computed from a size where nothing sees it. A number of a kernel that the call was not given ties the recording to its sizes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ....trees import iterate_structure
from ..basics import reads
from ..basics.names import name_of, row_key
from ..basics.tensors import hints
from ..numbers.numbers import decide_all
from .batching import Kernel, levels, physical_sizes

if TYPE_CHECKING:
    from .capture import Capture

# ATen operations that take sizes or positions as numbers: inside of a transform these were computed from sizes by code that
# cannot be seen, so the recording holds only for the sizes it has.
_SIZED = frozenset(
    {
        "view",
        "_unsafe_view",
        "reshape",
        "expand",
        "slice",
        "select",
        "narrow",
        "as_strided",
        "repeat",
        "unfold",
        "split",
        "split_with_sizes",
    }
)
_SIZED_PREFIXES = ("new_", "zeros", "ones", "full", "empty", "arange", "slice_", "select_", "rand")
_AXES = ("dim", "axis")  # how names of arguments begin that are no sizes


class Vmapped:
    """The public call that runs inside of a transform, by its name and what it was given."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self._call: str | None = None
        self._given: frozenset[Any] = frozenset()

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, with sizes as numbers; the kernels that come meanwhile are its own."""
        decide_all(self.capture, (args, kwargs))
        key = row_key(name_of(function))
        if key in reads.SIZES:
            sizes = physical_sizes(self.capture, args[0]) if key in _TOLD else None
            if sizes is not None:
                return _TOLD[key](sizes, *hints(args[1:]), **hints(kwargs))
            self.capture.fix_all_sizes()
        before = self._call, self._given
        self._call, self._given = key, frozenset(_numbers(hints((args, kwargs)))) | _defaults(function)
        try:
            return function(*hints(args), **hints(kwargs))
        finally:
            self._call, self._given = before

    def told(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments of a kernel that makes sizes, with those that stand behind its numbers; None where that cannot be told."""
        batch = levels()
        return None if batch is None else Kernel(self.capture, function, args, self._call, self._given, batch).with_sizes()

    def explains(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether ``torch.vmap`` alone runs, and all numbers of a kernel, but its axes, are those of the public call or of torch's schema."""
        if is_sized(kernel) or levels() is None:
            return False
        arguments = kernel._schema.arguments
        given = [*zip(arguments, args), *((argument, kwargs[argument.name]) for argument in arguments if argument.name in kwargs)]
        computing = [value for argument, value in given if not argument.name.startswith(_AXES) and not _is_default(argument, value)]
        return self._given.issuperset(_numbers(computing))


def is_sized(function: Any) -> bool:
    """Whether the operation has sizes among its arguments."""
    name = function._schema.name.partition("::")[2]
    return name in _SIZED or (name.startswith(_SIZED_PREFIXES) and not name.endswith("_like"))


def _size(sizes: tuple[Any, ...], dim: int | None = None) -> Any:
    return torch.Size(sizes) if dim is None else sizes[dim]


_TOLD: dict[str, Callable[..., Any]] = {"shape": _size, "size": _size}


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
