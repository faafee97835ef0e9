"""The Python array API standard (2024.12) by its sections, with its names, argument names and semantics."""

from . import creation as creation
from . import elementwise as elementwise
from . import linear_algebra as linear_algebra
from . import manipulation as manipulation
from . import searching as searching
from . import statistical as statistical
