"""What a running recording offers to its parts, as protocols: every other room knows these, and not the class
that implements them.
"""

from .trace import HostDraws as HostDraws
from .trace import ModelWeights as ModelWeights
from .trace import Trace as Trace
