"""Versions of dicts, from Python's own count of their changes or from that of torch's compiler; and versions
of tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch

from ....recording.environment_guards.versions import VersionsOf, counted, gathered, is_readable, tell
from ..compat import dict_version, versions_preserved


def _versions_of() -> VersionsOf | None:
    """torch watches dicts where Python tells no version of theirs (from 3.12 on); None where that does not do
    what it is used for here.
    """
    if is_readable:
        return gathered
    try:
        version = dict_version()
    except ImportError:
        return None
    return found if tell(found := counted(version)) else None


versions_of: VersionsOf | None = _versions_of()


def versions_kept(tensors: Iterable[torch.Tensor]) -> AbstractContextManager[Any]:
    """Inside of the block these tensors are written to and put back; afterwards torch's counts of writes to
    them are as before.

    >>> weight = torch.zeros(2)
    >>> with versions_kept([weight]):
    ...     _ = weight.add_(1).sub_(1)
    >>> weight._version
    0
    """
    return versions_preserved(tuple(tensor for tensor in tensors if not tensor.is_inference()))
