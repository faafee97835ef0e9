"""Versions of dicts, of which Python counts the changes (PEP 509; watched dicts from 3.12 on) and torch's compiler tells the count; and of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from ...tracing.conjunction import Version


class _Object:
    step = 0


def _stores(item: Any) -> Iterator[None]:
    """Changes of what an object holds, each done once the loop runs as fast as the interpreter makes it."""
    for step in range(64):
        item.step = step
        yield
    setattr(item, "other", 1)  # noqa: B010
    yield
    del item.other
    yield


def _items(held: dict[str, Any]) -> Iterator[None]:
    for step in range(64):
        held["a"] = step
        yield
    for change in (lambda: held.update(b=3), lambda: held.pop("a"), held.clear, lambda: held.update(c=1)):
        change()
        yield


def _counted() -> Version | None:
    """torch's function, where it is there and does what it is used for here.

    Python 3.13 tells watchers of a dict nothing of attributes that are stored in an object.
    """
    try:
        from torch._C._dynamo.guards import dict_version
    except ImportError:
        return None
    item, held = _Object(), dict[str, Any]()
    return dict_version if counts(dict_version, vars(item), _stores(item)) and counts(dict_version, held, _items(held)) else None


def counts(version: Version, held: dict[Any, Any], changes: Iterable[None]) -> bool:
    """Whether ``version`` gives another number of a dict after each of the ``changes`` made to it, and the same in between.

    >>> held = {}
    >>> counts(len, held, (held.update({number: 0}) for number in range(3)))
    True
    """
    seen = [version(held)]
    for _ in changes:
        seen += [version(held), version(held)]
    return len(set(seen)) == len(seen) // 2 + 1 and all(a == b for a, b in zip(seen[1::2], seen[2::2]))


dict_version: Version | None = _counted()


def versions_kept(tensors: Iterable[torch.Tensor]) -> AbstractContextManager[Any]:
    """Inside of the block these tensors are written to and put back; afterwards torch's counts of writes to them are as before.

    >>> weight = torch.zeros(2)
    >>> with versions_kept([weight]):
    ...     _ = weight.add_(1).sub_(1)
    >>> weight._version
    0
    """
    return torch.autograd._unsafe_preserve_version_counter(tuple(tensor for tensor in tensors if not tensor.is_inference()))
