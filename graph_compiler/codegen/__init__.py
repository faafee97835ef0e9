"""From a graph to the text of a flat Python function, and from that text to the function."""

from .lines import WIDTH as WIDTH
from .loading import load as load
from .source import Program as Program
from .source import write as write
