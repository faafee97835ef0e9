"""Versions of dicts, from Python's own counter or that of torch's compiler, and versions of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch

from ....recording.environment_guards.versions import (
    VersionsOf,
    detects_every_change,
    is_readable,
    memory_versions,
    versions_counted_by,
)
from ..compat import dict_version, versions_preserved


def _versions_of() -> VersionsOf | None:
    """Return a function that reads versions of dicts, or None if no working one exists.

    From Python 3.12 on dicts have no readable version, so torch's compiler has to watch them.
    """
    if is_readable:
        return memory_versions
    try:
        version = dict_version()
    except ImportError:
        return None
    return found if detects_every_change(found := versions_counted_by(version)) else None


versions_of: VersionsOf | None = _versions_of()


def restore_versions(tensors: Iterable[torch.Tensor]) -> AbstractContextManager[Any]:
    """Restore torch's version counters of `tensors` after the ``with`` block.

    The block itself must restore the elements. Inference tensors, which have no version, are left out.

    >>> weight = torch.zeros(2)
    >>> with restore_versions([weight]):
    ...     _ = weight.add_(1).sub_(1)
    >>> weight._version
    0
    """
    return versions_preserved(tuple(tensor for tensor in tensors if not tensor.is_inference()))
