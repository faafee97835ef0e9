"""Graphs that people call: variants, the choice among them, parameters."""

from .graph import Graph as Graph
from .lazy import LazyGraph as LazyGraph
from .variant import Variant as Variant
