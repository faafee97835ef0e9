"""The framework-neutral half of recording: the recorder, where calls come from, and what a recording is."""

from .active import active as active
from .active import recording as recording
from .environment_guards import EnvironmentGuards as EnvironmentGuards
from .escapes import refuse_escapes as refuse_escapes
from .provenance import Locator as Locator
from .reach.outside import facts_outside as facts_outside
from .reach.walk import Reached as Reached
from .recorder import Recorder as Recorder
from .request import Recording as Recording
from .request import Request as Request
