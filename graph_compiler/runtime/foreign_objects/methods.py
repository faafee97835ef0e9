"""Methods of objects that a graph for another framework returns.

Such objects hold arrays of the target, while their methods expect arrays of the original's framework, so
method calls are converted.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ...recording.state.container_updates import ContainerUpdate, at
from ...trees import STANDS_FOR, Branch, Leaf, Tree, is_container, iterate_structure, plain_class
from .conversion import CallConverter, is_inside

if TYPE_CHECKING:
    from ...contracts import Frontend, Target

_OPERATORS = frozenset({"__len__", "__getitem__", "__call__", "__contains__"})


class ProxyClasses:
    """Proxy classes, for one pair of frameworks, whose methods convert the arrays that they are called with.

    For example, a key-value cache reports its length by ``self.keys.numel()``, a method that JAX arrays lack.
    """

    def __init__(self, frontend: Frontend, target: Target) -> None:
        self.converter = CallConverter(frontend, target, False, self.tree, self.take)
        self._classes: dict[type, type] = {}

    def tree(self, tree: Tree) -> Tree:
        """Replace the classes of objects that hold arrays by proxy classes in the structure of a result."""
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
        """Return a function that sets the proxy class of those of its arguments that a call updates.

        Its argument is ``(args, kwargs)``. Return None if ``updates`` change no argument.
        """
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
    """Return True if the object itself holds arrays, directly or in containers, and is no container."""
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
    """Disable ``cls.__init_subclass__``, where a library may register subclasses, inside the context."""
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
    is_method = (
        inspect.isfunction(item)
        and not inspect.isgeneratorfunction(item)
        and not inspect.iscoroutinefunction(item)
    )
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
