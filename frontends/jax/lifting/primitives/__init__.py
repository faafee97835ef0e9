"""Rows of the primitives of ``jax.lax``: arrays first, then the parameters of the primitive by their names."""

from . import collectives as collectives
from . import convolution as convolution
from . import creation as creation
from . import elementwise as elementwise
from . import fft as fft
from . import gathering as gathering
from . import gradients as gradients
from . import linear_algebra as linear_algebra
from . import monoids as monoids
from . import pooling as pooling
from . import random as random
from . import reductions as reductions
from . import scattering as scattering
from . import shapes as shapes
from . import slicing as slicing
from . import sorting as sorting
