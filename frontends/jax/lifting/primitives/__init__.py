"""Rows of ``jax.lax`` primitives: arrays first, then the parameters of the primitive by name."""

from . import elementwise as elementwise
from . import indexing as indexing
from . import linear_algebra as linear_algebra
from . import random as random
from . import reductions as reductions
from . import shapes as shapes
