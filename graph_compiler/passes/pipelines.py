"""Lists of passes for a target. :func:`canonical_passes` lists those that lower a canonical graph."""

from __future__ import annotations

from functools import partial

from ..contracts import Backend
from . import (
    GraphPass,
    bounded_loops,
    conv1x1_to_linear,
    cse,
    dce,
    decompose,
    drop_restoring_reshapes,
    fill_parts,
    forward_writes,
    hoist_invariants,
    inlined_calls,
    kernel_layout,
    layout,
    masked_scatter_to_where,
    moving_slices,
    pad_dynamic_sizes,
    pad_indexed_axes,
    pad_ragged_arrays,
    repeated_layers,
    replace_scalars,
    require_known_sizes,
    rolled,
    rows_to_operands,
    scalar_literals,
    scanned_layers,
    simplify_branches,
    simplify_guards,
    unrolled,
)
from .lowering.layout import FIRST
from .repeats.find import SignatureCache
from .repeats.to_scan import FEWEST


def loops(target: Backend, roll: str, keys: SignatureCache | None = None) -> list[GraphPass]:
    rows = target.rows
    fewest = {"auto": rows.rolls, "scan": FEWEST, "never": 0}[roll]
    return [rolled(fewest, rows.counts, keys)] if fewest and "scan" in rows.structured else []


def layers(target: Backend, roll: str, keys: SignatureCache | None = None) -> list[GraphPass]:
    return (
        [partial(repeated_layers, keys=keys)] if roll != "never" and "call" in target.rows.structured else []
    )


def canonical_passes(target: Backend, roll: str, raises_out_of_bounds: bool) -> list[GraphPass]:
    """Return, in order, the passes that lower a canonical graph for ``target``.

    ``raises_out_of_bounds`` is True if the source framework raises an error for indices out of bounds.
    """
    rows = target.rows
    in_arrays: list[GraphPass] = [
        masked_scatter_to_where,
        bounded_loops,
        dce,
        pad_ragged_arrays,
        moving_slices,
        replace_scalars,
    ]
    return [
        scalar_literals,
        fill_parts,
        simplify_branches,
        *([] if rows.counts else in_arrays),
        forward_writes,
        dce,
        # `rows_to_operands` adds sequences of scalars, and `hoist_invariants` can compute more from these for
        # all iterations at once, so it runs again.
        *([] if rows.counts else [hoist_invariants, rows_to_operands, hoist_invariants]),
        *loops(target, roll),
        *([pad_indexed_axes] if rows.bounded and raises_out_of_bounds else []),
        partial(decompose, rows=rows),
        *([pad_dynamic_sizes] if rows.bounded else []),
        *([unrolled(rows.unrolls)] if rows.unrolls else []),
        *([partial(require_known_sizes, framework=rows.framework)] if rows.bounded else []),
        # Functions with operations that prefer the channels last are inlined before `layout`: otherwise each
        # call would permute its arrays back.
        *([partial(inlined_calls, prefers=rows.channels_last)] if rows.channels_last else []),
        drop_restoring_reshapes,
        partial(layout, prefers=rows.channels_last),
        *([partial(layout, prefers=rows.channels_first, preferred=FIRST)] if rows.channels_first else []),
        *([kernel_layout] if "conv_channels_last" in rows else []),
        conv1x1_to_linear,
        cse,
        dce,
        simplify_guards,
        *([scanned_layers(FEWEST)] if roll == "scan" and rows.stacks else []),
        *([target.copy_overwritable_values] if target.copy_overwritable_values else []),
    ]
