"""Neural-network operations in numpy; what is a call of a helper stands in ``backends/helper_calls``."""

from . import activations as activations
from . import embedding as embedding
from . import linear as linear
