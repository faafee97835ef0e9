"""Canonical operation -> JAX source: one row an operation, one file a section of the vocabulary."""

from . import elementwise as elementwise
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from .table import rows as rows
