"""Rows that write canonical operations as torch source, one file for each kind of operation."""

from . import arrays as arrays
from . import control as control
from . import elementwise as elementwise
from . import linear_algebra as linear_algebra
from . import nn as nn
from . import statistics as statistics
from .table import UNSUPPORTED as UNSUPPORTED
from .table import rows as rows
