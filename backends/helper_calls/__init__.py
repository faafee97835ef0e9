"""Rows that are the same text in every framework: a call of a helper that each backend's prelude has under one name and signature."""

from . import attention as attention
from . import convolution as convolution
from . import embedding as embedding
from . import fft as fft
from . import linear_algebra as linear_algebra
from . import losses as losses
from . import normalisation as normalisation
from . import pooling as pooling
from . import resampling as resampling
from . import statistical as statistical
from .table import rows as rows
