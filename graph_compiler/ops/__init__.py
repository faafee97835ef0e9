"""The canonical vocabulary: declarations of all operations, without any framework.

:mod:`.array_api` follows the Python array API standard section by section; the other modules extend it.
"""

from . import array_api as array_api
from . import collectives as collectives
from . import control as control
from . import dtypes as dtypes
from . import fft as fft
from . import gradients as gradients
from . import indexing as indexing
from . import linalg as linalg
from . import nn as nn
from . import random as random
from . import special as special
from . import statistics as statistics
from .registry import ArraySpec as ArraySpec
from .registry import Op as Op
from .registry import Unknown as Unknown
from .registry import all_ops as all_ops
from .registry import check_params as check_params
from .registry import declare as declare
from .registry import decomposition as decomposition
from .registry import get as get
from .registry import get_decomposition as get_decomposition
