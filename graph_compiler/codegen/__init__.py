"""Code generation: writes a graph as the source of a flat Python function, and loads the source."""

from .lines import WIDTH as WIDTH
from .source import Program as Program
from .source import load as load
from .source import write as write
