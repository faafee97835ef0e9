"""torch call -> canonical operations: one row a function, one file a section of torch's API."""

from . import creation as creation
from . import data_types as data_types
from . import elementwise as elementwise
from . import linear_algebra as linear_algebra
from . import nn as nn
from . import random as random
from . import special as special
from .table import TorchBuilder as TorchBuilder
from .table import rows as rows
