"""Rows of the primitives of ``jax.lax``: arrays first, then the parameters of the primitive by their names."""

from . import elementwise as elementwise
from . import indexing as indexing
from . import linear_algebra as linear_algebra
from . import random as random
from . import reductions as reductions
from . import shapes as shapes
