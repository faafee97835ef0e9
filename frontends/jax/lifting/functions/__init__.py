"""Rows of public functions of JAX, which stand whole where their arguments allow it; other calls are opened into primitives.

A row has the signature of the function after the builder, as far as it takes its arguments; with others the call is opened.
"""

from . import basics as basics
from . import elementwise as elementwise
from . import fft as fft
from . import linear_algebra as linear_algebra
from . import nn as nn
from . import searching as searching
