"""Lifting of NumPy calls to canonical operations."""

from . import creation as creation
from . import driver as driver
from . import elementwise as elementwise
from . import indexing as indexing
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from . import random as random
from . import reductions as reductions
from . import statistics as statistics
from .table import NumpyBuilder as NumpyBuilder
from .table import rows as rows
