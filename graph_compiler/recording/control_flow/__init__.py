"""``trace``: Python statements on values that depend on the inputs, recorded as operations with regions.

The source of a function is rewritten (:mod:`.conversion`), so that its statements call :mod:`.statements`
with their blocks as functions.
"""

from .recorded_regions import RecordedRegions as RecordedRegions
from .regions import ArrayKind as ArrayKind
from .regions import Regions as Regions
from .regions import open_regions as open_regions
from .statements import trace as trace
