"""The half of recording that knows no framework.

A frontend is asked by a ``Request`` (:mod:`.request`), makes a ``Recording`` in one or several attempts
(:mod:`.attempts`), and writes its graph with a ``Recorder`` (:mod:`.recorder`). Around the call it watches
Python. In the order to read:

- :mod:`.reach`: what the function can reach without being given it, and whose code that is;
- :mod:`.environment`: what was found there, as guards that each call checks;
- :mod:`.state`: what the function changes there, as inputs and outputs of the graph;
- :mod:`.probes`: names and attributes of Python that tell, or hold something else, while a function is
  recorded;
- :mod:`.source`: the user's code as text: the line of a call, the names of its results;
- :mod:`.loops`: loops whose number of steps is found to be open while they run;
- :mod:`.control_flow`: ``trace``, which records statements on values.
"""

from .code.provenance import Locator as Locator
from .environment_guards.guards import EnvironmentGuards as EnvironmentGuards
from .escapes import refuse_escapes as refuse_escapes
from .lock import active as active
from .lock import recording as recording
from .reachability.outside import facts_outside as facts_outside
from .reachability.walk import Reached as Reached
from .recorder import Recorder as Recorder
from .request import Recording as Recording
from .request import Request as Request
