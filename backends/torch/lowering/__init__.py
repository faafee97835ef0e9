"""Canonical operation -> torch source: one row an operation, one file a section of the vocabulary."""

from . import collectives as collectives
from . import control as control
from . import creation as creation
from . import data_types as data_types
from . import derivatives as derivatives
from . import elementwise as elementwise
from . import fft as fft
from . import indexing as indexing
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from . import nn as nn
from . import random as random
from . import searching as searching
from . import special as special
from . import statistical as statistical
from .table import UNSUPPORTED as UNSUPPORTED
from .table import rows as rows
