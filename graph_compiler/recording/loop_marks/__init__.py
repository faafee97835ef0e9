"""Marks on loops of the user's code whose trip count is symbolic, which a pass folds into loop nodes.

:mod:`.syntax` finds the loop that a frame runs, :mod:`.purity` shows that an iteration changes only
variables and arrays, and :mod:`.watching` marks the iterations and replaces ``range``, ``enumerate`` and
``zip``.
"""

from .watching import LoopCallbacks as LoopCallbacks
from .watching import Loops as Loops
from .watching import counting_arguments as counting_arguments
from .watching import loop_shims as loop_shims
