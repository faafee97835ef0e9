"""The framework-independent half of recording.

A frontend receives a ``Request`` (:mod:`.request`), makes a ``Recording`` in one or more attempts
(:mod:`.search`), and builds the graph with a ``Recorder`` (:mod:`.recorder`). Reading order of the
packages:

- :mod:`.reachability`: what the function can reach besides its arguments, and which code is the user's;
- :mod:`.environment_guards`: guards on what was found there, checked at each call;
- :mod:`.state`: changes made there, as inputs and outputs of the graph;
- :mod:`.patches`: functions and attributes that are replaced while a function is recorded;
- :mod:`.code`: the user's code as text: source lines of calls, names of results;
- :mod:`.loop_marks`: loops whose trip count turns out to be symbolic while they run;
- :mod:`.control_flow`: ``trace``, which converts statements that depend on values.
"""

from .code.provenance import Locator as Locator
from .environment_guards import EnvironmentGuards as EnvironmentGuards
from .escapes import refuse_escapes as refuse_escapes
from .lock import active as active
from .lock import recording as recording
from .reachability.outside import facts_outside as facts_outside
from .reachability.walk import Reached as Reached
from .recorder import Recorder as Recorder
from .request import Recording as Recording
from .request import Request as Request
