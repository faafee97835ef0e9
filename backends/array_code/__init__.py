"""Prelude helpers that JAX and NumPy share, written for an array module ``xp``; one file for each section."""

from . import attention, elementwise, linear_algebra, pooling, resampling, statistical

FILES = (attention, elementwise, linear_algebra, pooling, resampling, statistical)
