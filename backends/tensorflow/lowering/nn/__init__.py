"""Neural-network operations in TensorFlow, one file a section; those that are calls of helpers stand in ``backends/helper_calls``."""

from . import activations as activations
from . import attention as attention
from . import embedding as embedding
from . import linear as linear
