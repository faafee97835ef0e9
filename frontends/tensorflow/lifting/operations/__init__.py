"""Rows of TensorFlow's raw operations, a file for each family."""

from . import boxes as boxes
from . import convolution as convolution
from . import elementwise as elementwise
from . import gathering as gathering
from . import images as images
from . import linear_algebra as linear_algebra
from . import nn as nn
from . import pooling as pooling
from . import quantisation as quantisation
from . import random as random
from . import recurrent as recurrent
from . import reductions as reductions
from . import resampling as resampling
from . import shapes as shapes
from . import signals as signals
from . import special as special
