"""Protocols of a running recording, for packages that must not import the class that implements them."""

from .trace import HostDraws as HostDraws
from .trace import ModelWeights as ModelWeights
from .trace import Trace as Trace
