"""Record once, run anywhere."""

from . import _rooms as _rooms  # first: from here on a bare checkout finds its backends and frontends

__version__ = "0.1.0.dev0"
