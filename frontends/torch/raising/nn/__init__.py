"""``torch.nn.functional`` in canonical operations."""

from . import activations as activations
from . import attention as attention
from . import dropout as dropout
from . import embedding as embedding
from . import linear as linear
