"""Patches of functions and attributes while a function is recorded: to observe calls or to answer them.

A feature is a table of :class:`Probe` rows: the function or attribute, the kind of patch, and what to do
when it is called. :class:`Probes` joins tables, and :func:`probing` installs their shims for one
recording. Shims are made once per process; when called, they look up the recordings that are open in their
thread.
"""

from .patch import ASSUME as ASSUME
from .patch import INPUT as INPUT
from .patch import NOTE as NOTE
from .patch import REFUSE as REFUSE
from .patch import STAND_IN as STAND_IN
from .patch import Probe as Probe
from .patch import Probes as Probes
from .patch import Session as Session
from .patch import probing as probing
from .patch import replaced as replaced
from .patch import under_any_name as under_any_name
