"""Neural-network operations in JAX, one file a section; what is a call of a helper stands in ``backends/helper_calls``."""

from . import activations as activations
from . import embedding as embedding
from . import linear as linear
