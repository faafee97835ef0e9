"""numpy call -> canonical operations: one row a function, one file a section of numpy's API."""

from . import bits as bits
from . import calculus as calculus
from . import collectives as collectives
from . import creation as creation
from . import editing as editing
from . import elementwise as elementwise
from . import fft as fft
from . import host_math as host_math
from . import indexing as indexing
from . import joining as joining
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from . import padding as padding
from . import polynomials as polynomials
from . import random as random
from . import reductions as reductions
from . import searching as searching
from . import segments as segments
from . import special as special
from . import statistics as statistics
from .table import NumpyBuilder as NumpyBuilder
from .table import rows as rows
