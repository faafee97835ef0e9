"""Rows that lift torch calls to canonical operations."""

from . import creation as creation
from . import decompositions as decompositions
from . import elementwise as elementwise
from . import indexing as indexing
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from . import nn as nn
from . import random as random
from . import reductions as reductions
from .table import TorchBuilder as TorchBuilder
from .table import rows as rows
