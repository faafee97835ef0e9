"""Loops of the user's code whose number of steps its syntax leaves open: seen while recording, for a pass to
fold.

:mod:`.syntax` finds the loop that a frame runs, :mod:`.purity` shows that a step has no effect but on
variables and arrays, :mod:`.watching` marks the steps, :mod:`.shims` stand for ``range``, ``enumerate`` and
``zip``.
"""

from .watching import Loops as Loops
from .watching import Means as Means
from .watching import counting_arguments as counting_arguments
from .watching import loop_shims as loop_shims
