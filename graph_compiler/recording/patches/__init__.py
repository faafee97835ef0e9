"""Patches of functions and attributes while a function is recorded: to observe calls or to answer them.

A feature is a table of :class:`Patch` rows. :class:`PatchSet` joins tables, and :func:`patching` installs
their shims for one recording.
"""

from .patch import Patch as Patch
from .patch import PatchSet as PatchSet
from .patch import Session as Session
from .patch import assume_result as assume_result
from .patch import note_call as note_call
from .patch import patching as patching
from .patch import refuse_call as refuse_call
from .patch import replace_call as replace_call
from .patch import replace_call_anywhere as replace_call_anywhere
from .patch import replaced as replaced
from .patch import under_any_name as under_any_name
