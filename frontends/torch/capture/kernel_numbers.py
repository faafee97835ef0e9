"""The numbers of kernels: which may have come of sizes, and which the public call has that the kernel belongs to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ....trees import iterate_structure

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
_NO_SIZES = ("dim", "axis", "reduction", "correction")  # how names of arguments begin that are no sizes


def is_sized(function: Any) -> bool:
    """Whether the operation has sizes among its arguments."""
    name = function._schema.name.partition("::")[2]
    return name in _SIZED or (name.startswith(_SIZED_PREFIXES) and not name.endswith("_like"))


def computing(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The numbers of a kernel that it computes with: all but axes, and defaults of torch's schema."""
    arguments = kernel._schema.arguments
    given = [*zip(arguments, args), *((argument, kwargs[argument.name]) for argument in arguments if argument.name in kwargs)]
    return _numbers_in([value for argument, value in given if not argument.name.startswith(_NO_SIZES) and not _is_default(argument, value)])


def given_numbers(function: Callable[..., Any], arguments: Any) -> frozenset[Any]:
    """The numbers that a public call has: those of its arguments, and its own."""
    return frozenset(_numbers_in(arguments)) | _defaults(function)


def _numbers_in(structure: Any) -> list[Any]:
    """The plain numbers of a structure."""
    return [item for item in iterate_structure(structure) if type(item) in (int, float)]


def _is_default(argument: Any, value: Any) -> bool:
    """Whether a number is the one that torch's schema has."""
    return argument.has_default_value() and type(value) in (int, float) and argument.default_value == value


@functools.lru_cache(maxsize=512)
def _defaults(function: Callable[..., Any]) -> frozenset[Any]:
    """The numbers that a function of torch written in Python takes where it is given none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(parameter.default for parameter in parameters if type(parameter.default) in (int, float))
