"""Rows of TensorFlow's raw operations, a file for each family."""

from . import elementwise as elementwise
