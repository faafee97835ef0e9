"""Intermediate representation: values, nodes, blocks and graphs, with their builder, printer and verifier."""

from .block import Block as Block
from .block import Region as Region
from .builder import Builder as Builder
from .graph import Effect as Effect
from .graph import Graph as Graph
from .graph import Guard as Guard
from .node import Node as Node
from .node import Origin as Origin
from .node import Value as Value
from .printer import to_text as to_text
from .record import CallRecord as CallRecord
from .verifier import verify as verify
