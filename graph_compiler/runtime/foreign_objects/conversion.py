"""Calls of the original's own code with arrays of the target's framework.

Arrays are converted to the original's framework before the call, and the results to the target's after it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import GuardFailed
from ...recording.state.container_updates import at
from ...registration import is_module
from ...trees import Path, Tree, build, flatten, items_of, paths, unflatten
from ..calling.widening import widen

if TYPE_CHECKING:
    from ...contracts import Frontend, Target

_here = threading.local()
_NO_TYPES: Mapping[Path, str] = {}


def is_inside() -> bool:
    return getattr(_here, "depth", 0) > 0


class CallConverter:
    """Converts calls between the target's and the original's framework.

    Containers and objects in the arguments keep their identity; arrays in them are replaced for the call
    and put back after it.

    same_framework: return results unchanged.
    made(tree): maps the structure of a result to the structure to return.
    take(item): called with each object in the arguments that receives an array of the target.
    """

    def __init__(
        self,
        frontend: Frontend,
        target: Target,
        same_framework: bool,
        made: Callable[[Tree], Tree] = lambda tree: tree,
        take: Callable[[Any], None] = lambda item: None,
    ) -> None:
        self.frontend, self.target, self.same_framework, self.made, self.take = (
            frontend,
            target,
            same_framework,
            made,
            take,
        )

    def call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        types: Mapping[Path, str] = _NO_TYPES,
    ) -> Any:
        """Call a function of the original's framework with converted arguments, and convert its result.

        Arrays of the arguments that the function writes to or replaces are updated. `types` are the
        dtypes, by path, of arrays that the target has narrowed.
        """
        crossing = _ConvertedCall(self, types)
        # New outer containers, in which the arguments themselves can be replaced.
        given: list[Any] = [list(args), dict(kwargs)]
        crossing.replace(given, crossing.entering)
        # While the original's code runs, proxy classes do not convert arrays.
        _here.depth = getattr(_here, "depth", 0) + 1
        try:
            result = function(*given[0], **given[1])
        finally:
            _here.depth -= 1
            crossing.replace(given, crossing.leaving)
        return result if self.same_framework else crossing.result(result, given)

    def native(self, array: Any) -> Any:
        """Convert an array of the original's framework to one of the target that shares no memory with it.

        Return any other object unchanged.
        """
        # NumPy scalars, which have no ``__setitem__``, are converted as 0-d arrays.
        native = self.target.convert(
            array.__array__()
            if hasattr(type(array), "__array__") and not hasattr(array, "__setitem__")
            else array
        )
        return array if native is None else self.target.copy(native) if self.target.shares else native


class _ConvertedCall:
    """State of one converted call: the arrays that were passed, and what they were converted to."""

    def __init__(self, converter: CallConverter, types: Mapping[Path, str]) -> None:
        self._types = types
        self._converter, self._reference, self._array_access = (
            converter,
            converter.frontend.reference,
            converter.frontend.array_access,
        )
        # Arrays that are of the original's framework already. They are passed and returned unchanged.
        self._own: dict[int, Any] = {}
        # By the id of a converted array: that array, the array it was converted from, and its stamp.
        self._entered: dict[int, tuple[Any, Any, Any]] = {}

    def replace(self, given: list[Any], change: Callable[[Any, Path], Any]) -> None:
        leaves, tree = flatten(given, self._reference.is_array, _is_opened)
        for path, leaf in zip(paths(tree), leaves):
            if (other := change(leaf, path)) is not leaf:
                self._put(given, path, other)

    def entering(self, array: Any, path: Path) -> Any:
        if self._array_access.is_own(array):
            self._own[id(array)] = array
            return array
        own = self._reference.leaves((widen(array, self._types.get(path), self._converter.target),), {})[0]
        if own is not array:
            self._entered[id(own)] = own, array, self._array_access.Stamp(own)
        return own

    def leaving(self, array: Any, path: Path) -> Any:
        """Return the array to put in place of ``array`` after the call.

        This is the array that was passed, updated if the call wrote to its converted copy, or a new array of
        the target.
        """
        if id(array) in self._entered:
            own, given, stamp = self._entered[id(array)]
            if stamp.fits(own):
                return given
            try:
                self._converter.target.write_back(given, self._converter.native(own))
            except GuardFailed:
                # A path of two keys is an argument itself, which no container holds and nothing can replace.
                if len(path) == 2:
                    raise
            else:
                return given
        return (
            array
            if id(array) in self._own or self._converter.same_framework
            else self._converter.native(array)
        )

    def result(self, result: Any, given: list[Any]) -> Any:
        """Convert the arrays in a result.

        Containers and objects of the arguments are returned themselves; all others are rebuilt.
        """
        known = {id(item): item for item in _containers_in(given)}

        def is_leaf(item: Any) -> bool:
            return (
                id(item) in known
                or not isinstance(item, type)
                and (self._reference.is_array(item) or hasattr(item, "__array__"))
            )

        leaves, tree = flatten(result, is_leaf, _is_opened)
        if not leaves:
            return result
        return unflatten(
            self._converter.made(tree),
            [leaf if id(leaf) in known else self._converter.native(leaf) for leaf in leaves],
        )

    def _put(self, given: list[Any], path: tuple[Any, ...], item: Any) -> None:
        """Set the item at ``path``, rebuilding tuples on the way."""
        container = at(given, path[:-1])
        if isinstance(container, tuple):
            pairs = [(key, item if key == path[-1] else child) for key, child in items_of(container)]
            self._put(
                given,
                path[:-1],
                build(type(container), [key for key, _ in pairs], [child for _, child in pairs]),
            )
        elif isinstance(container, (list, deque, Mapping)):
            container[path[-1]] = item  # type: ignore[index]
        else:
            object.__setattr__(container, path[-1], item)
        if not self._array_access.is_own(item):
            self._take_owner(given, path)

    def _take_owner(self, given: list[Any], path: tuple[Any, ...]) -> None:
        for length in range(len(path) - 1, 1, -1):
            owner = at(given, path[:length])
            if not isinstance(owner, (tuple, list, deque, Mapping)):
                self._converter.take(owner)
                return


def _is_opened(item: Any) -> bool:
    return not is_module(item)


def _containers_in(value: Any) -> Iterator[Any]:
    waiting, seen = [value], set[int]()
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type) or callable(item) or not _is_opened(item):
            continue
        seen.add(id(item))
        if parts := items_of(item):
            yield item
            waiting += [part for _, part in parts]
