"""Graphs that users call: their variants, the selection of a variant, and parameters."""

from .graph import Graph as Graph
from .lazy import LazyGraph as LazyGraph
from .variant import Variant as Variant
