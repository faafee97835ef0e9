"""Passes over graphs: each takes a graph and returns ``(graph, changed)`` without modifying its argument.

Passes that rewrite one block at a time are :class:`.driver.Pass` objects, which can also run in regions.
"""

from .autodiff.strong_zero import strong_zero as strong_zero
from .cleanup.constant_folding import constant_folding as constant_folding
from .cleanup.cse import cse as cse
from .cleanup.dce import dce as dce
from .cleanup.freeze import freeze as freeze
from .cleanup.random_draws import GeneratorState as GeneratorState
from .cleanup.random_draws import bake_generators as bake_generators
from .cleanup.random_draws import repeat_draws as repeat_draws
from .cleanup.simplify_guards import simplify_guards as simplify_guards
from .cleanup.snapshots import drop_snapshots as drop_snapshots
from .driver import GraphPass as GraphPass
from .driver import Pass as Pass
from .driver import passed as passed
from .interpreter import Interpreter as Interpreter
from .loop_reconstruction.reconstruct import StepsMissing as StepsMissing
from .loop_reconstruction.reconstruct import fold_loops as fold_loops
from .loops.checkpoint_segments import segment_scans as segment_scans
from .loops.invariant_code_motion import early_values as early_values
from .loops.scalar_replacement import still_places as still_places
from .loops.scan_operands import loop_rows as loop_rows
from .loops.store_forwarding import forward_writes as forward_writes
from .loops.trip_count import indexed_axes as indexed_axes
from .loops.trip_count import trip_bounds as trip_bounds
from .lowering.copies import copy_aliased_outputs as copy_aliased_outputs
from .lowering.copies import copy_overwritten as copy_overwritten
from .lowering.decompose import decompose as decompose
from .lowering.layout import conv1x1_to_linear as conv1x1_to_linear
from .lowering.layout import kernel_layout as kernel_layout
from .lowering.layout import layout as layout
from .lowering.mixed_precision import half_products as half_products
from .masking.bounded_loops import bounded_loops as bounded_loops
from .masking.bounded_loops import full_widths as full_widths
from .masking.bounded_loops import moves_with_steps as moves_with_steps
from .masking.dynamic_sizes import SizesUnknown as SizesUnknown
from .masking.dynamic_sizes import pad_dynamic_sizes as pad_dynamic_sizes
from .masking.dynamic_sizes import require_known_sizes as require_known_sizes
from .masking.masked_updates import full_selections as full_selections
from .masking.moving_slices import moving_slices as moving_slices
from .masking.ragged import CannotPad as CannotPad
from .repeats.inline import inlined_calls as inlined_calls
from .repeats.inline import without_checks as without_checks
from .repeats.layer_scans import scanned_layers as scanned_layers
from .repeats.layers import repeated_layers as repeated_layers
from .repeats.to_scan import rolled as rolled
from .repeats.unroll import unroll as unroll
from .repeats.unroll import unrolled as unrolled
