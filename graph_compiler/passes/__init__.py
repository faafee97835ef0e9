"""Passes over graphs: each takes a graph and gives ``(graph, changed)``; the graph it was given stays as it is.

Those that concern straight-line code alone are passes over blocks (:class:`.driver.Pass`), which are run on the blocks of regions too.
"""

from .bounded import bounded as bounded
from .cache_constants import cache_constants as cache_constants
from .decompose import decompose as decompose
from .driver import GraphPass as GraphPass
from .driver import Pass as Pass
from .driver import passed as passed
from .freeze import freeze as freeze
from .generators import GeneratorState as GeneratorState
from .generators import bake_generators as bake_generators
from .generators import repeat_draws as repeat_draws
from .implied import drop_implied as drop_implied
from .interpreter import Interpreter as Interpreter
from .layout import layout as layout
from .own_effects import own_effects as own_effects
from .own_results import own_results as own_results
from .pointwise import pointwise as pointwise
from .prune import prune as prune
from .segment_scans import segment_scans as segment_scans
from .share import share as share
from .snapshots import drop_snapshots as drop_snapshots
