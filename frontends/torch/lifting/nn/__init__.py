"""``torch.nn.functional`` in canonical operations."""

from . import activations as activations
from . import attention as attention
from . import convolution as convolution
from . import convolution_gradients as convolution_gradients
from . import dropout as dropout
from . import embedding as embedding
from . import linear as linear
from . import losses as losses
from . import normalisation as normalisation
from . import packing as packing
from . import pooling as pooling
from . import ranking_losses as ranking_losses
from . import recurrent as recurrent
from . import resampling as resampling
