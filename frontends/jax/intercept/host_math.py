"""Python's ``math``, ``int``, ``float`` and ``len`` on symbolic sizes while a JAX function is traced."""

from __future__ import annotations

import sys
from typing import Any

import jax

from ....recording.code.ownership import skip_patch_frames
from ....recording.patches.host_math import Symbols
from ....recording.patches.patch import Replacement
from ....sizes import Size, computed, expression_of, is_symbolic
from ..sizes import current, decided, symbolic
from .asking import is_jax


def dimension_shims() -> list[Replacement]:
    """Return a replacement of ``jax.export.is_symbolic_dim`` that also accepts symbolic sizes.

    Keras calls this function. Return an empty list if ``jax.export`` has not been imported.
    """
    export = sys.modules.get("jax.export")
    asked = getattr(export, "is_symbolic_dim", None)
    return (
        [(vars(export), "is_symbolic_dim", lambda item: is_symbolic(item) or asked(item))]
        if export and asked
        else []
    )


def _length(item: Any) -> Any:
    return (
        item.shape[0]
        if isinstance(item, jax.core.Tracer) and item.ndim and is_symbolic(item.shape[0])
        else None
    )


def _number(item: Any) -> Any:
    """Return the only element of a tracer as a symbolic number, and any other item unchanged.

    A tracer is returned unchanged, too, if the recording answers no reads, or if its read has no symbolic
    answer.
    """
    if not isinstance(item, jax.core.Tracer) or (reads := current().shown.reads) is None:
        return item
    own = current().shown.own_of(item)
    number = None if own is None else reads.number(own, 2)
    return item if number is None else number


def _opened(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    operands = tuple(map(expression_of, args))
    is_open = all(isinstance(item, (Size, int, float)) for item in operands)
    # JAX's own code gets numbers.
    return operands if is_open and not is_jax(skip_patch_frames(sys._getframe(1))) else None


SYMBOLS = Symbols(
    is_symbolic,
    _opened,
    lambda function, operands: symbolic(computed(function, operands, decided)),
    _number,
    _length,
)
