"""torch call -> canonical operations: one row a function, one file a section of torch's API."""

from . import creation as creation
from . import data_types as data_types
from . import decompositions as decompositions
from . import diagonals as diagonals
from . import differences as differences
from . import distances as distances
from . import elementwise as elementwise
from . import fft as fft
from . import gradients as gradients
from . import indexing as indexing
from . import joining as joining
from . import least_squares as least_squares
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from . import nn as nn
from . import padding as padding
from . import quantisation as quantisation
from . import random as random
from . import reductions as reductions
from . import scattering as scattering
from . import searching as searching
from . import segments as segments
from . import special as special
from . import windows as windows
from .table import TorchBuilder as TorchBuilder
from .table import rows as rows
