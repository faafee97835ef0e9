"""Helpers that generated torch source uses; each is copied into the source that needs it, one file a section here.

They are ordinary functions over tensors: no import of this package, only ``torch``, ``F`` and ``math``.
"""

from ...prefixes import prefixes as prefixes
from ...prefixes import section as section
from .activations import leaky_relu as leaky_relu
from .attention import attention_weights as attention_weights
from .control import associative_scan as associative_scan
from .control import interleaved as interleaved
from .control import run_again as run_again
from .convolution import col2im as col2im
from .convolution import im2col as im2col
from .data_types import converted as converted
from .elementwise import absolute as absolute
from .gradients import refuse_gradient as refuse_gradient
from .gradients import slope_of as slope_of
from .gradients import strong_product as strong_product
from .gradients import strong_zero as strong_zero
from .gradients import with_gradient as with_gradient
from .indexing import scatter_product as scatter_product
from .indexing import scatter_reduce_at as scatter_reduce_at
from .indexing import take_along_axis as take_along_axis
from .indexing import updated as updated
from .linear import grouped_matmul as grouped_matmul
from .linear_algebra import eig as eig
from .linear_algebra import eigvals as eigvals
from .manipulation import as_strided as as_strided
from .manipulation import pad_with_elements as pad_with_elements
from .normalisation import normalised_by as normalised_by
from .pooling import avg_pool_inside as avg_pool_inside
from .pooling import max_unpool as max_unpool
from .pooling import over_leading_axes as over_leading_axes
from .pooling import with_places_of as with_places_of
from .random import dropout as dropout
from .random import philox as philox
from .random import threefry as threefry
from .recurrent import whole_layer as whole_layer
from .searching import unique_with_first as unique_with_first
from .special import beta_fraction as beta_fraction
from .special import betainc as betainc
from .special import gammainc_slope as gammainc_slope
from .special import incomplete_gamma as incomplete_gamma
from .unsigned import divided as divided
from .unsigned import is_less as is_less
from .unsigned import shifted_right as shifted_right
from .unsigned import signed as signed
