"""One mechanism by which a recording watches Python and stands in for it.

A feature is a table of :class:`Probe` rows: which function or attribute, what kind of probe, what is done where it is read. A
:class:`Probes` joins tables; :func:`probing` puts its shims in place for one recording and takes them away. Shims are made once for a
process: when they are called, they ask which recordings of the thread are open.
"""

from .kinds import ASSUME as ASSUME
from .kinds import INPUT as INPUT
from .kinds import NOTE as NOTE
from .kinds import REFUSE as REFUSE
from .kinds import STAND_IN as STAND_IN
from .probe import Probe as Probe
from .probe import Probes as Probes
from .probe import Session as Session
from .probe import probing as probing
from .replaced import replaced as replaced
from .replaced import under_any_name as under_any_name
