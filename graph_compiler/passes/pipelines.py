"""Order of the passes for a target. :func:`canonical_passes` lists those that run on a canonical graph."""

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
    early_values,
    forward_writes,
    full_selections,
    full_widths,
    indexed_axes,
    inlined_calls,
    kernel_layout,
    layout,
    loop_rows,
    moving_slices,
    pad_dynamic_sizes,
    repeated_layers,
    require_known_sizes,
    rolled,
    scanned_layers,
    simplify_guards,
    still_places,
    unrolled,
)
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


def _layer_scans(target: Backend, roll: str) -> list[GraphPass]:
    return [scanned_layers(FEWEST)] if roll == "scan" and target.rows.stacks else []


def canonical_passes(target: Backend, roll: str, raises_out_of_bounds: bool) -> list[GraphPass]:
    """Return, in order, the passes that turn a canonical graph into one that ``target`` can write.

    ``roll`` is the option of ``compile``: ``"auto"``, ``"scan"`` or ``"never"``.
    ``raises_out_of_bounds`` is True if the source framework raises an error for indices out of bounds.
    """
    rows = target.rows
    in_arrays: list[GraphPass] = [
        full_selections,
        bounded_loops,
        dce,
        full_widths,
        moving_slices,
        still_places,
    ]
    return [
        *([] if rows.counts else in_arrays),
        forward_writes,
        dce,
        # `loop_rows` adds sequences of scalars, and `early_values` can compute more from these for all
        # iterations at once, so it runs again.
        *([] if rows.counts else [early_values, loop_rows, early_values]),
        *loops(target, roll),
        *([indexed_axes] if rows.bounded and raises_out_of_bounds else []),
        partial(decompose, rows=rows),
        *([pad_dynamic_sizes] if rows.bounded else []),
        *([unrolled(rows.unrolls)] if rows.unrolls else []),
        *([partial(require_known_sizes, framework=rows.framework)] if rows.bounded else []),
        # Functions with operations that prefer the channels last are inlined before `layout`: otherwise each
        # call would permute its arrays back.
        *([partial(inlined_calls, prefers=rows.channels_last)] if rows.channels_last else []),
        partial(layout, prefers=rows.channels_last),
        *([kernel_layout] if "conv_channels_last" in rows else []),
        conv1x1_to_linear,
        cse,
        dce,
        simplify_guards,
        *_layer_scans(target, roll),
        *([target.copy_aliased_outputs] if target.copy_aliased_outputs else []),
    ]
