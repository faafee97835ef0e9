"""Protocols that frontends and backends implement, and the check of a module against them.

A class may inherit from its protocol. It then has the protocol's default members (marked by ``default``),
which suit a framework with eager, immutable arrays that convert to NumPy.
"""

from .backend import Backend as Backend
from .backend import Dialect as Dialect
from .backend import RecordedDialect as RecordedDialect
from .backend import Structured as Structured
from .backend import Target as Target
from .backend import TargetDialect as TargetDialect
from .backend import Tracer as Tracer
from .derivatives import Derivatives as Derivatives
from .frontend import ArrayAccess as ArrayAccess
from .frontend import Fillable as Fillable
from .frontend import Frontend as Frontend
from .frontend import Live as Live
from .frontend import LoadsModels as LoadsModels
from .frontend import Reference as Reference
from .frontend import SavedCalls as SavedCalls
from .frontend import Stamp as Stamp
from .frontend import Unwatched as Unwatched
from .frontend import Watch as Watch
from .frontend import Weights as Weights
from .modules import default as default
from .modules import require as require
from .parallelism import DeviceAxis as DeviceAxis
from .parallelism import Parallelism as Parallelism
from .parallelism import Spread as Spread
from .training import StepState as StepState
from .training import Training as Training
