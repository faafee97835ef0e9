"""Intermediate representation: values, nodes, blocks and graphs, with their builder, printer and verifier."""

from .builder import Builder as Builder
from .graph import Effect as Effect
from .graph import Graph as Graph
from .graph import Guard as Guard
from .graph import to_text as to_text
from .node import Block as Block
from .node import CallRecord as CallRecord
from .node import Node as Node
from .node import Origin as Origin
from .node import Region as Region
from .node import Value as Value
from .verifier import verify as verify
