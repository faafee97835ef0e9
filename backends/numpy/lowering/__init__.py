"""Lowering rows of NumPy, one file for each group of operations."""

from ...common.helper_calls import rows as helper_calls
from . import arrays as arrays
from . import control as control
from . import elementwise as elementwise
from . import linear_algebra as linear_algebra
from . import nn as nn
from . import statistics as statistics
from .table import UNSUPPORTED as UNSUPPORTED
from .table import rows as rows

# NumPy's matrix products of convolutions need channels first.
rows.include(helper_calls, without=("conv_channels_last",))
