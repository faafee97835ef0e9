"""Conversion of calls, results and objects between the original's framework and that of a graph."""

from __future__ import annotations

import functools
import inspect
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..errors import GuardFailed
from ..ops.dtypes import NARROWED, dtype_name
from ..recording.code.syntax import runs_later
from ..recording.state.container_updates import ContainerUpdate, at
from ..registration import has_module_mark
from ..trees import (
    STANDS_FOR,
    Branch,
    Leaf,
    Path,
    Tree,
    build,
    flatten,
    is_container,
    items_of,
    iterate_structure,
    paths,
    plain_class,
    unflatten,
)

if TYPE_CHECKING:
    from ..contracts import Frontend, Target


# --------------------------------------------------------------------------------------------------- widening
# Conversion of arrays that a target without 64-bit dtypes has narrowed, back to the recorded dtypes.

Call = tuple[tuple[Any, ...], dict[str, Any]]


def widen(array: Any, wide: str | None, target: Target) -> Any:
    """Return ``array`` as a NumPy array of its recorded dtype ``wide`` if the target has narrowed it.

    Otherwise, and while the target traces it, return ``array`` itself.
    """
    is_narrowed = (
        wide is not None and isinstance(array, target.array_types) and dtype_name(array) == NARROWED[wide]
    )
    return target.to_numpy(array).astype(wide) if is_narrowed and not target.is_traced(array) else array


# ------------------------------------------------------------------------------------------------- conversion
# Calls of the original's own code with arrays of the target's framework.
#
# Arrays are converted to the original's framework before the call, and the results to the target's after it.

_here = threading.local()
_NO_TYPES: Mapping[Path, str] = {}


def is_inside() -> bool:
    return getattr(_here, "depth", 0) > 0


class CallConverter:
    """Converter of calls between the target's and the original's framework.

    same_framework: True to return results unchanged.
    made(tree): maps the structure of a result to the structure to return.
    take(item): called with objects in the arguments that receive arrays of the target.
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
        """Call a function of the original's framework with converted arguments.

        During the call, containers of the caller may hold converted arrays. Raise ``GuardFailed`` if a write
        to a converted array cannot reach the caller.

        types: recorded dtypes of arrays that the target may have narrowed, by their paths in
            ``(args, kwargs)``.
        """
        # New outer containers, in which the arguments themselves can be replaced.
        given: list[Any] = [list(args), dict(kwargs)]
        crossing = _ConvertedCall(self, types, given)
        crossing.replace(crossing.entering)
        # While the original's code runs, proxy classes do not convert arrays.
        _here.depth = getattr(_here, "depth", 0) + 1
        try:
            result = function(*given[0], **given[1])
        finally:
            _here.depth -= 1
            crossing.replace(crossing.leaving)
        return result if self.same_framework else crossing.result(result)

    def native(self, array: Any) -> Any:
        """Return ``array`` as a new array of the target; ``array`` itself if there is nothing to convert."""
        # NumPy scalars, which have no ``__setitem__``, are converted as 0-d arrays.
        native = self.target.convert(
            array.__array__()
            if hasattr(type(array), "__array__") and not hasattr(array, "__setitem__")
            else array
        )
        return array if native is None or native is array else self.target.copy(native)


class _ConvertedCall:
    """State of one converted call: its arguments ``given``, the arrays in them, and their conversions."""

    def __init__(self, converter: CallConverter, types: Mapping[Path, str], given: list[Any]) -> None:
        self._types, self._given = types, given
        self._converter, self._reference, self._array_access = (
            converter,
            converter.frontend.reference,
            converter.frontend.array_access,
        )
        # Arrays that are of the original's framework already. They stay in the arguments unchanged.
        self._own: dict[int, Any] = {}
        # By the id of a converted array: that array, the array it was converted from, and its stamp.
        self._entered: dict[int, tuple[Any, Any, Any]] = {}

    def replace(self, change: Callable[[Any, Path], Any]) -> None:
        leaves, tree = flatten(self._given, self._reference.is_array, _is_opened)
        for path, leaf in zip(paths(tree), leaves):
            if (other := change(leaf, path)) is not leaf:
                self._put(path, other)

    def entering(self, array: Any, path: Path) -> Any:
        if self._array_access.is_own(array):
            self._own[id(array)] = array
            return array
        own = self._reference.leaves((widen(array, self._types.get(path), self._converter.target),), {})[0]
        if own is not array:
            self._entered[id(own)] = own, array, self._array_access.Stamp(own)
        return own

    def leaving(self, array: Any, path: Path) -> Any:
        if id(array) in self._entered:
            own, given, stamp = self._entered[id(array)]
            if stamp.fits(own):
                return given
            try:
                self._converter.target.write_back(given, self._converter.native(own))
            except GuardFailed:
                if not self._is_replaced_for_caller(path):
                    raise
            else:
                return given
        return (
            array
            if id(array) in self._own or self._converter.same_framework
            else self._converter.native(array)
        )

    def _is_replaced_for_caller(self, path: Path) -> bool:
        """Return True if the caller sees an array that replaces the one at ``path``."""
        # The first two keys lead to an argument. A tuple is replaced by a new one in the container around it,
        # and there is none of the caller's around an argument.
        around = (at(self._given, path[:length]) for length in range(2, len(path)))
        return any(not isinstance(container, tuple) for container in around)

    def result(self, result: Any) -> Any:
        known = {id(item): item for item in _containers_in(self._given)}

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

    def _put(self, path: tuple[Any, ...], item: Any) -> None:
        container = at(self._given, path[:-1])
        if isinstance(container, tuple):
            pairs = [(key, item if key == path[-1] else child) for key, child in items_of(container)]
            self._put(
                path[:-1],
                build(type(container), [key for key, _ in pairs], [child for _, child in pairs]),
            )
        elif isinstance(container, (list, deque, Mapping)):
            container[path[-1]] = item  # type: ignore[index]
        else:
            object.__setattr__(container, path[-1], item)
        if not self._array_access.is_own(item):
            self._take_owner(path)

    def _take_owner(self, path: tuple[Any, ...]) -> None:
        for length in range(len(path) - 1, 1, -1):
            owner = at(self._given, path[:length])
            if not isinstance(owner, (tuple, list, deque, Mapping)):
                self._converter.take(owner)
                return


def _is_opened(item: Any) -> bool:
    return not has_module_mark(item)


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


# ---------------------------------------------------------------------------------------------------- methods
# Methods of objects that a graph for another framework returns.
#
# Such objects hold arrays of the target, while their methods expect arrays of the original's framework, so
# method calls are converted.

_OPERATORS = frozenset({"__len__", "__getitem__", "__call__", "__contains__"})


class ProxyClasses:
    """Proxy classes: subclasses of the user's classes, for objects that hold arrays of the target.

    The user's methods expect arrays of the original's framework, so proxy classes convert arrays for them.
    """

    def __init__(self, frontend: Frontend, target: Target) -> None:
        self.converter = CallConverter(frontend, target, False, self.tree, self.take)
        self._classes: dict[type, type] = {}

    def tree(self, tree: Tree) -> Tree:
        """Return the structure of a result with proxy classes for objects that hold arrays, if possible."""
        if not isinstance(tree, Branch):
            return tree
        children = tuple(map(self.tree, tree.children))
        return type(tree)(self._class(tree.type) if _holds_arrays(tree) else tree.type, tree.keys, children)

    def take(self, item: Any) -> None:
        if (cls := self._class(type(item))) is not type(item):
            # The class of an object with another memory layout (``__slots__``) cannot be replaced.
            with suppress(TypeError):
                # The user's class may define ``__setattr__``.
                object.__setattr__(item, "__class__", cls)

    def taking(self, updates: Iterable[ContainerUpdate]) -> Callable[[Any], None] | None:
        """Return a function that sets proxy classes of changed arguments; None if no argument changes."""
        changed = [
            update.path
            for update in updates
            if update.path and update.path[0] in (0, 1) and len(update.path) > 1
        ]

        def take(arguments: Any) -> None:
            for path in changed:
                owner = next(
                    (
                        item
                        for item in (at(arguments, path[:end]) for end in range(len(path), 1, -1))
                        if not is_container(type(item))
                    ),
                    None,
                )
                if (
                    owner is not None
                    and not isinstance(owner, type)
                    and _has_arrays(owner, self.converter.target)
                ):
                    self.take(owner)

        return take if changed else None

    def _class(self, cls: type) -> type:
        if cls not in self._classes:
            self._classes[cls] = (
                cls if is_container(cls) or plain_class(cls) is not cls else _proxy_class(cls, self.converter)
            )
        return self._classes[cls]


def _holds_arrays(tree: Branch) -> bool:
    if is_container(tree.type):
        return False
    waiting = list(tree.children)
    while waiting:
        child = waiting.pop()
        if isinstance(child, Leaf):
            return True
        if isinstance(child, Branch) and is_container(child.type):
            waiting += child.children
    return False


def _has_arrays(item: Any, target: Target) -> bool:
    return any(
        isinstance(part, target.array_types)
        for part in iterate_structure(list(getattr(item, "__dict__", {}).values()))
    )


def _reduce(self: Any, protocol: Any) -> Any:
    return _restore, (plain_class(type(self)),), vars(self)


def _restore(cls: type) -> Any:
    return object.__new__(cls)


def _proxy_class(cls: type, converter: CallConverter) -> type:
    members = {name: _member(item, converter) for name, item in _members(cls).items()}
    found = {name: item for name, item in members.items() if item is not None}
    if not found:
        return cls
    told = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        STANDS_FOR: cls,
    }
    # Some classes cannot be subclassed; their objects keep their class.
    with _without_init_subclass(cls), suppress(TypeError):
        # With slots of its own the class would have another memory layout, and could not become the class of
        # an existing object.
        return type(cls)(cls.__name__, (cls,), {**found, **told, "__slots__": (), "__reduce_ex__": _reduce})
    return cls


@contextmanager
def _without_init_subclass(cls: type) -> Iterator[None]:
    """Disable ``cls.__init_subclass__`` in the context, because a library may register subclasses there."""
    own = vars(cls).get("__init_subclass__")
    type.__setattr__(cls, "__init_subclass__", classmethod(lambda cls: None))
    try:
        yield
    finally:
        if own is None:
            type.__delattr__(cls, "__init_subclass__")
        else:
            type.__setattr__(cls, "__init_subclass__", own)


def _members(cls: type) -> dict[str, Any]:
    own = [base for base in reversed(cls.__mro__) if base is not object]
    members = {name: item for base in own for name, item in vars(base).items()}
    return {name: item for name, item in members.items() if not name.startswith("__") or name in _OPERATORS}


def _member(item: Any, converter: CallConverter) -> Any:
    if isinstance(item, property):
        read, write, delete = (
            None if part is None else _converting_method(part, converter)
            for part in (item.fget, item.fset, item.fdel)
        )
        return property(read, write, delete, item.__doc__)
    is_method = inspect.isfunction(item) and not runs_later(item.__code__)
    return _converting_method(item, converter) if is_method else None


def _converting_method(function: Any, converter: CallConverter) -> Any:
    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # The original's own code calls its methods with its own arrays; traced arrays cannot be converted.
        if is_inside() or any(
            map(converter.target.is_traced, iterate_structure(([*vars(self).values()], args, kwargs)))
        ):
            return function(self, *args, **kwargs)
        return converter.call(function, (self, *args), kwargs)

    return method
