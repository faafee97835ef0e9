"""Code generation: from a graph to the source of a flat Python function, and from the source to the function."""

from .lines import WIDTH as WIDTH
from .loading import load as load
from .source import Program as Program
from .source import write as write
