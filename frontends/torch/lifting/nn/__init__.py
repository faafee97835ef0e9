"""``torch.nn.functional`` in canonical operations."""

from . import activations as activations
from . import attention as attention
from . import convolution as convolution
from . import losses as losses
from . import normalisation as normalisation
from . import pooling as pooling
from . import recurrent as recurrent
