"""Passes over graphs: each takes a graph and gives ``(graph, changed)``; the graph it was given stays as it is.

Those that concern straight-line code alone are passes over blocks (:class:`.driver.Pass`), which are run on the blocks of regions too.
"""

from .bounded_loops import bounded_loops as bounded_loops
from .constant_folding import constant_folding as constant_folding
from .conv1x1_to_linear import conv1x1_to_linear as conv1x1_to_linear
from .copy_aliased_outputs import copy_aliased_outputs as copy_aliased_outputs
from .copy_overwritten import copy_overwritten as copy_overwritten
from .cse import cse as cse
from .dce import dce as dce
from .decompose import decompose as decompose
from .driver import GraphPass as GraphPass
from .driver import Pass as Pass
from .driver import passed as passed
from .early_values import early_values as early_values
from .fold_loops import StepsMissing as StepsMissing
from .fold_loops import fold_loops as fold_loops
from .forward_writes import forward_writes as forward_writes
from .freeze import freeze as freeze
from .full_selections import full_selections as full_selections
from .full_widths import full_widths as full_widths
from .generators import GeneratorState as GeneratorState
from .generators import bake_generators as bake_generators
from .generators import repeat_draws as repeat_draws
from .half_products import half_products as half_products
from .indexed_axes import indexed_axes as indexed_axes
from .inline_calls import inlined_calls as inlined_calls
from .inline_calls import without_checks as without_checks
from .interpreter import Interpreter as Interpreter
from .kernel_layout import kernel_layout as kernel_layout
from .known_sizes import SizesUnknown as SizesUnknown
from .known_sizes import require_known_sizes as require_known_sizes
from .layer_scans import scanned_layers as scanned_layers
from .layers import repeated_layers as repeated_layers
from .layout import layout as layout
from .loop_rows import loop_rows as loop_rows
from .moving_slices import moving_slices as moving_slices
from .pad_dynamic_sizes import pad_dynamic_sizes as pad_dynamic_sizes
from .ragged import NotWhole as NotWhole
from .roll import rolled as rolled
from .segment_scans import segment_scans as segment_scans
from .simplify_guards import simplify_guards as simplify_guards
from .snapshots import drop_snapshots as drop_snapshots
from .step_numbers import moves_with_steps as moves_with_steps
from .still_places import still_places as still_places
from .strong_zero import strong_zero as strong_zero
from .trip_bounds import trip_bounds as trip_bounds
from .unroll import unroll as unroll
from .unroll import unrolled as unrolled
