"""What a running recording offers to its parts, as protocols: every other room knows these, and not the class that implements them."""

from .parts import HostDraws as HostDraws
from .parts import ModelWeights as ModelWeights
from .trace import Trace as Trace
