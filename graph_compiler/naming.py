"""Names for generated code: legal, unique, and distinct from builtins and from names that the code uses."""

from __future__ import annotations

import builtins
import functools
import heapq
import keyword
import re
import unicodedata
from collections.abc import Iterable

_ILLEGAL = re.compile(r"\W+")
_ALWAYS_RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))


@functools.lru_cache(maxsize=4096)
def legal(text: str) -> str:
    """Return an identifier made from ``text``. A keyword is returned unchanged.

    >>> legal("encoder.layer.0"), legal("3d"), legal(""), legal("x²")
    ('encoder_layer_0', '_3d', 'value', 'x2')
    """
    # Python normalises names in the same way, so that different texts could become one name later.
    normal = text if text.isascii() else unicodedata.normalize("NFKC", text)
    name = _ILLEGAL.sub("_", normal).strip("_") or "value"
    name = f"_{name}" if name[0].isdigit() else name
    # Some characters are letters for regular expressions, but not allowed in names.
    return name if name.isidentifier() else legal(ascii(name))


class Namespace:
    """Source of names for generated code.

    The names differ from builtins, keywords, the names in ``reserved`` and names in use.

    >>> names = Namespace(reserved=["jnp"])
    >>> names.unique("add"), names.unique("add"), names.unique("jnp"), names.unique("list")
    ('add', 'add_1', 'jnp_1', 'list_1')
    >>> names.release("add")
    >>> names.unique("add"), names.unique("add")
    ('add', 'add_2')
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken: set[str] = set(reserved)
        self._next: dict[str, int] = {}
        self._base: dict[str, str] = {}
        self._free: dict[str, list[tuple[int, str]]] = {}

    def unique(self, wanted: str) -> str:
        base = legal(wanted)
        return heapq.heappop(self._free[base])[1] if self._free.get(base) else self.lasting(wanted)

    def lasting(self, wanted: str) -> str:
        """Return a name made from ``wanted`` that this namespace has not returned before.

        >>> names = Namespace()
        >>> names.unique("top"), names.release("top"), names.lasting("top"), names.unique("top")
        ('top', None, 'top_1', 'top')
        """
        name = base = legal(wanted)
        while name in self._taken or name in _ALWAYS_RESERVED:
            count = self._next.get(base, 0) + 1
            self._next[base] = count
            name = f"{base}_{count}"
        self._taken.add(name)
        self._base[name] = base
        return name

    def __contains__(self, name: str) -> bool:
        return name in self._taken or name in _ALWAYS_RESERVED

    def reserve(self, *names: str) -> None:
        self._taken.update(names)
        # A name that was released would be given out again.
        for name in self._base.keys() & set(names):
            self.take_back(name)

    def take_back(self, name: str) -> bool:
        """Mark a name of this namespace as in use again; return True if it was released."""
        free = self._free.get(self._base[name], [])
        is_free = (len(name), name) in free
        if is_free:
            free.remove((len(name), name))
            heapq.heapify(free)
        return is_free

    def release(self, name: str) -> None:
        # The name without a number, or with the smallest number, is used again first.
        heapq.heappush(self._free.setdefault(self._base[name], []), (len(name), name))
