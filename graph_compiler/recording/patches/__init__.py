"""One mechanism by which a recording watches Python and stands in for it.

A feature is a table of :class:`Probe` rows: which function or attribute, what kind of probe, what is done
where it is read. A :class:`Probes` joins tables; :func:`probing` puts its shims in place for one recording
and takes them away. Shims are made once for a
process: when they are called, they ask which recordings of the thread are open.
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
