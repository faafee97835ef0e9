"""Python's own statements on values that depend on the inputs, as operations of the graph that run blocks:
``trace``.

The source of a function is rewritten (:mod:`.conversion`): each ``if``, ``while`` and ``for`` calls
:mod:`.statements` with its blocks as functions. Outside of a recording, and on values that Python knows,
these run as Python's own; on arrays of an open recording both branches, and one step of a loop, are recorded
by the frontend (:class:`.regions.Regions`).
"""

from .decorator import trace as trace
from .recorded_regions import RecordedRegions as RecordedRegions
from .regions import Kind as Kind
from .regions import Regions as Regions
from .regions import open_regions as open_regions
