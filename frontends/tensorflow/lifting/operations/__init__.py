"""Rows of TensorFlow's raw operations, a file for each family."""

from . import activations as activations
from . import bessel as bessel
from . import blocks as blocks
from . import boxes as boxes
from . import colours as colours
from . import convolution as convolution
from . import creation as creation
from . import ctc as ctc
from . import diagonals as diagonals
from . import elementwise as elementwise
from . import fft as fft
from . import gathering as gathering
from . import images as images
from . import integrals as integrals
from . import linear_algebra as linear_algebra
from . import matrix_functions as matrix_functions
from . import normalisation as normalisation
from . import pooling as pooling
from . import quantisation as quantisation
from . import random as random
from . import recurrent as recurrent
from . import reductions as reductions
from . import resampling as resampling
from . import shapes as shapes
from . import slicing as slicing
