"""Helpers that JAX and NumPy have alike but for the name of the module of arrays: one file a section, as in
the preludes.
"""

from . import attention, elementwise, linear_algebra, pooling, resampling, statistical

FILES = (attention, elementwise, linear_algebra, pooling, resampling, statistical)
