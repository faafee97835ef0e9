"""Neural-network operations in torch, one file a section."""

from . import activations as activations
from . import attention as attention
from . import convolution as convolution
from . import embedding as embedding
from . import linear as linear
from . import losses as losses
from . import normalisation as normalisation
from . import pooling as pooling
from . import recurrent as recurrent
from . import resampling as resampling
