"""Trial runs of rows while a function is traced, to infer symbolic result sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import GraphCompilerError
from ....ir.graph import Graph
from ....ir.node import Value
from ....ops.registry import ArraySpec
from ....sizes import Size
from ....trees import iterate_structure
from .driver import numbers, row_takes
from .table import JaxBuilder, rows


def abstract_eval(
    name: str, args: Any, kwargs: dict[str, Any], seen: tuple[ArraySpec, ...], knows: Callable[[Size], bool]
) -> tuple[list[ArraySpec], list[Size]] | None:
    """Infer the specs of a call's results by its row, and the conditions on sizes under which they are right.

    Return None if the row does not accept the call, if it infers other dtypes or current sizes than JAX,
    or if a size is not one of the current recording.

    args: arguments with values for arrays.
    kwargs: keyword arguments. Those that are None and unknown to the row are removed.
    seen: specs that JAX infers at the current sizes.
    knows: returns True for sizes of the current recording.
    """
    row = rows.get(name)
    b = JaxBuilder(Graph("abstract_eval", "canonical"))
    b.recorded = seen
    if row is None or not row_takes(row, args, kwargs):
        return None
    try:
        found = list(iterate_structure(row(b, *numbers(args), **numbers(kwargs))))
    except (NotImplementedError, GraphCompilerError):
        return None
    if not _fit(found, seen):
        return None
    conditions = [guard.condition for guard in b.graph.guards if isinstance(guard.condition, Size)]
    sizes = [dim for value in found for dim in value.shape if isinstance(dim, Size)]
    return ([value.spec for value in found], conditions) if all(map(knows, (*conditions, *sizes))) else None


def _fit(found: list[Any], seen: tuple[ArraySpec, ...]) -> bool:
    if len(found) != len(seen) or not all(isinstance(value, Value) for value in found):
        return False
    return all(
        value.dtype == spec.dtype and value.spec.hints == spec.hints for value, spec in zip(found, seen)
    )
