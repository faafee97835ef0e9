"""Canonical operations: most of the Python array API standard (2024.12), and operations beyond it.

An operation that the standard has, too, has its name. :func:`get` returns the declaration of an operation.
"""

from __future__ import annotations

from . import collectives as collectives
from . import control as control
from . import convolution as convolution
from . import dtypes as dtypes
from . import elementwise as elementwise
from . import indexing as indexing
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from . import nn as nn
from . import random as random
from . import recurrent as recurrent
from . import statistics as statistics
from .registry import ArraySpec as ArraySpec
from .registry import Op as Op
from .registry import Unknown as Unknown
from .registry import all_ops as all_ops
from .registry import complete_params as complete_params
from .registry import declare as declare
from .registry import decomposition as decomposition
from .registry import get as get
from .registry import get_decomposition as get_decomposition
