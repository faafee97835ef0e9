"""Neural-network operations, in the field's usual names."""

from . import activations as activations
from . import convolution as convolution
from . import layers as layers
from . import losses as losses
from . import normalisation as normalisation
from . import pooling as pooling
from . import recurrent as recurrent
