"""Trees of nested values: flattening, rebuilding, traversal and comparison."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, Union, cast

from ..registration import trait
from .kinds import (
    Setting,
    build,
    is_container,
    is_namedtuple,
    kind_of,
    parts_of,
    plain_class,
    registered_class,
)

Path = tuple[Any, ...]
C = TypeVar("C")


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    """Wrapper of a value that is static, even if it is a container or an array."""

    value: Any


def unfixed(value: Any) -> Any:
    return value.value if isinstance(value, Fixed) else value


_COMPARED_BY_VALUE = (
    Fixed,
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    enum.Enum,
    slice,
    range,
    frozenset,
)
_COMPARED_BY_PARTS = (float, complex, tuple, frozenset)
# Further classes whose objects never change and are compared by value. Their names are compared, so that no
# module has to be imported.
_VALUE_CLASSES = frozenset({
    ("fractions", "Fraction"), ("decimal", "Decimal"), ("uuid", "UUID"),
    *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
    # Python 3.13 defines paths in ``pathlib._local``.
    *((module, name) for module in ("pathlib", "pathlib._local") for name in
      ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")),
})  # fmt: skip
# Limit for an object that is compared by its contents, because each part costs every call a comparison. It is
# not tested for values, because no guard would compare the items of a long list of values.
_MOST_PARTS = 1024
_NEVER_OPENED = (
    str,
    bytes,
    type,
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    enum.Enum,
)
_STATIC = (*_COMPARED_BY_VALUE, *_NEVER_OPENED)


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """Leaf of a tree. Its value, such as an array, is stored apart from the tree."""

    def __repr__(self) -> str:
        return "*"


_LEAF = Leaf()


@dataclasses.dataclass(frozen=True, slots=True)
class TypedLeaf(Leaf):
    """Leaf whose recorded value is an instance of ``type``, such as a Python number."""

    type: type

    def __repr__(self) -> str:
        return self.type.__name__


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Static:
    """Value that is part of the structure, not a leaf. Such values are compared by :func:`same_static`."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and same_static(self.value, other.value)

    def __hash__(self) -> int:
        return hash((Static, type(self.value)))

    def __repr__(self) -> str:
        return repr(self.value)


@dataclasses.dataclass(frozen=True, slots=True)
class Branch:
    """Container, or object with attributes.

    type: class of the container or object.
    keys: keys of its items, or names of its attributes.
    children: trees of its items or attribute values.
    """

    type: type
    keys: tuple[Any, ...]
    children: tuple[Tree, ...]

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={child!r}" for key, child in zip(self.keys, self.children))
        return f"{self.type.__name__}({inside})"


class AppendOnly(Branch):
    """Branch without children, for a list to which the recorded function only appends."""

    __slots__ = ()


Tree = Union[Leaf, Static, Branch]


def same_static(left: Any, right: Any) -> bool:
    """Return True if two static values are treated as equal.

    Their types must be equal. As floats, NaN equals NaN, and 0.0 does not equal -0.0.

    >>> same_static(2, 2), same_static(2, 2.0), same_static(object(), object())
    (True, False, False)
    """
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same_static, left, right))
    if isinstance(left, Fixed):
        one, other = left.value, right.value
        # The comparison of two arrays is an array, which has no truth value.
        if isinstance(one, _COMPARED_BY_PARTS) or (hasattr(one, "dtype") and hasattr(one, "shape")):
            return same_static(one, other)
        return one is other or type(one) is type(other) and bool(one == other)
    if isinstance(left, float):
        # -0.0 equals 0.0 but leads to other results, and NaN does not equal itself.
        return left == right and str(left) == str(right) or (left != left and right != right)
    if isinstance(left, complex):
        return same_static(left.real, right.real) and same_static(left.imag, right.imag)
    if isinstance(left, frozenset):
        items = {item: item for item in right}
        return left == right and all(_are_same_items(item, items[item]) for item in left)
    if _is_numpy_scalar(type(left)):
        return bool(left.dtype == right.dtype and left.tobytes() == right.tobytes())
    if isinstance(left, types.MethodType):
        # Each access to a method makes another object.
        return left.__func__ is right.__func__ and left.__self__ is right.__self__
    # Equal decimals may differ in their digits, and equal times in their zones.
    return _is_value(left) and bool(left == right) and (not _is_named(left) or repr(left) == repr(right))


def same_keys(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Return True if keys of dicts are equal and of equal types, and those that are values are equal as such.

    >>> same_keys((1, "a"), (1, "a")), same_keys((1,), (True,)), same_keys((0.0,), (-0.0,))
    (True, False, False)
    """
    return len(left) == len(right) and all(map(_are_same_keys, left, right))


def _are_same_keys(one: Any, other: Any) -> bool:
    # Hashes first, because the comparison of two arrays has no truth value. Most keys are the same objects.
    return one is other or (hash(one) == hash(other) and one == other and _are_same_items(one, other))


def _are_same_items(one: Any, other: Any) -> bool:
    is_exact = isinstance(one, (tuple, frozenset, complex)) or _is_value(one) or _is_numpy_scalar(type(one))
    return type(one) is type(other) and (not is_exact or same_static(one, other))


def _is_numpy_scalar(cls: type) -> bool:
    names = {base.__name__ for base in cls.__mro__ if base.__module__ == "numpy"}
    # A structured scalar may be part of an array, which changes.
    return "generic" in names and "void" not in names


def _is_named(item: Any) -> bool:
    return (type(item).__module__, type(item).__name__) in _VALUE_CLASSES


def _is_value(item: Any) -> bool:
    cls = type(item)
    name = (cls.__module__, cls.__name__)
    return (
        isinstance(item, _COMPARED_BY_VALUE)
        or name in _VALUE_CLASSES
        or cls.__module__ == "numpy.dtypes"
        or name in trait("values")
    )


def _attributes(value: Any) -> list[tuple[str, Any]]:
    return list(vars(value).items()) if hasattr(value, "__dict__") else []


def items_of(value: Any) -> list[tuple[Any, Any]]:
    """Return (key, part) pairs of a container, or the items of the ``__dict__`` of another object.

    >>> items_of({"a": 1}), items_of([True]), items_of(2)
    ([('a', 1)], [(0, True)], [])
    """
    kind = None if isinstance(value, _STATIC) else kind_of(type(value))
    return list(kind[1](value)) if kind else _attributes(value)


@functools.cache
def _is_all_attributes(cls: Hashable) -> bool:
    try:
        # It cannot create exceptions, for example, which hold more than their attributes.
        object.__new__(cast(type, cls))
    except TypeError:
        return False
    return True


def _has_slots(cls: type) -> bool:
    return any(vars(base).get("__slots__") for base in cls.__mro__)


def _is_plain(value: Any) -> bool:
    """Return True if an object can be compared by its contents."""
    waiting, seen = [value], 0
    while waiting:
        item = waiting.pop()
        seen += 1
        if _is_value(item) or isinstance(item, type):
            continue
        # Objects with slots may hold more than their `__dict__`.
        is_container = isinstance(item, (list, tuple, dict))
        if (
            seen > _MOST_PARTS
            or not is_container
            and (callable(item) or not hasattr(item, "__dict__") or _has_slots(type(item)))
        ):
            return False
        waiting += item.values() if isinstance(item, dict) else item if is_container else vars(item).values()
    return True


# ------------------------------------------------------------------------------------- flatten and unflatten
def _flatten(
    value: Any,
    is_leaf: Callable[[Any], bool],
    leaves: list[Any],
    open_objects: Callable[[Any], bool],
    above: tuple[int, ...],
    always: Callable[[Any], bool],
) -> Tree:
    if is_leaf(value):
        leaves.append(value)
        return _LEAF
    # A container that contains itself cannot be rebuilt, so its inner occurrence is static.
    if isinstance(value, _STATIC) or id(value) in above:
        return Static(value)
    kind = kind_of(type(value))
    # Values may hold more than their attributes, or none.
    if kind is None and _is_value(value):
        return Static(value)
    opened = kind is None and (
        always(value) or open_objects(value) and _is_all_attributes(cast(Hashable, type(value)))
    )
    items = kind[1](value) if kind else (_attributes(value) if opened else ())
    before, above = len(leaves), (*above, id(value))
    pairs = [(key, _flatten(child, is_leaf, leaves, open_objects, above, always)) for key, child in items]
    if kind is None and len(leaves) == before and not (always(value) or opened and _is_plain(value)):
        return Static(value)
    keys, children = zip(*pairs) if pairs else ((), ())
    return Branch(type(value), keys, children)


def flatten(
    value: Any,
    is_leaf: Callable[[Any], bool],
    open_objects: Callable[[Any], bool] = lambda value: True,
    always: Callable[[Any], bool] = lambda value: False,
) -> tuple[list[Any], Tree]:
    """Return the leaves of ``value`` in order, and a tree from which :func:`unflatten` rebuilds it.

    Containers (:func:`is_container`) and objects with attributes usually become branches. Other values,
    except leaves, are static.

    is_leaf: predicate of leaves, evaluated first for each value.
    open_objects: predicate of objects whose attributes are visited.
    always: predicate of objects that become branches even without leaves.
    """
    leaves: list[Any] = []
    return leaves, _flatten(value, is_leaf, leaves, open_objects, (), always)


def plain_classes(tree: Tree) -> Tree:
    if not isinstance(tree, Branch):
        return tree
    return type(tree)(plain_class(tree.type), tree.keys, tuple(map(plain_classes, tree.children)))


def unflatten(tree: Tree, leaves: Iterable[Any]) -> Any:
    """Return the value that ``tree`` describes, with ``leaves`` at its leaves."""
    return _unflatten(tree, iter(leaves))


def call_of(tree: Tree, leaves: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments from the tree of a call and its leaves.

    Arguments that are :class:`Fixed` are unwrapped.
    """
    args, kwargs = unflatten(tree, leaves)
    return tuple(map(unfixed, args)), dict(zip(kwargs, map(unfixed, kwargs.values())))


def _unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    if isinstance(tree, Leaf):
        return next(leaves)
    if isinstance(tree, Static):
        return tree.value
    return build(tree.type, tree.keys, [_unflatten(child, leaves) for child in tree.children])


def entries_of(tree: Tree) -> dict[Any, Tree]:
    """Return the trees of the items or attributes of a value by key.

    >>> leaves, tree = flatten((1.5, "x"), is_leaf=lambda value: isinstance(value, float))
    >>> entries_of(tree), entries_of(Static((2, 3)))
    ({0: *, 1: 'x'}, {0: 2, 1: 3})
    """
    if isinstance(tree, Branch):
        return dict(zip(tree.keys, tree.children))
    return {key: Static(item) for key, item in items_of(tree.value)} if isinstance(tree, Static) else {}


def containers(value: Any) -> Iterator[Any]:
    """Yield the containers among ``value`` and its items at any depth, each once."""
    # The items are kept, because a container may make them anew, and an `id` that is free is used again.
    waiting, seen = [value], dict[int, Any]()
    while waiting:
        item = waiting.pop()
        kind = kind_of(type(item))
        if kind is not None and id(item) not in seen:
            seen[id(item)] = item
            yield item
            waiting += [child for _, child in kind[1](item)]


def count_leaves(tree: Tree) -> int:
    if isinstance(tree, Branch):
        return sum(map(count_leaves, tree.children))
    return isinstance(tree, Leaf)


def _parts(tree: Tree, prefix: Path = ()) -> Iterator[tuple[Path, Tree]]:
    waiting: list[tuple[Path, Tree]] = [(prefix, tree)]
    while waiting:
        path, part = waiting.pop()
        yield path, part
        if isinstance(part, Branch):
            # The last of the waiting trees is the next, so the children are appended in reverse.
            waiting += [((*path, key), child) for key, child in zip(part.keys, part.children)][::-1]


def leaves_of(tree: Tree) -> list[Leaf]:
    return [part for _, part in _parts(tree) if isinstance(part, Leaf)]


def terminals(tree: Tree) -> Iterator[Leaf | Static]:
    return (part for _, part in _parts(tree) if not isinstance(part, Branch))


def is_plain_nest(tree: Tree) -> bool:
    if isinstance(tree, Branch):
        return tree.type in (tuple, list, dict) and all(map(is_plain_nest, tree.children))
    return isinstance(tree, Leaf)


def statics(tree: Tree) -> Iterator[Any]:
    return (part.value for _, part in _parts(tree) if isinstance(part, Static))


def classes(tree: Tree) -> Iterator[type]:
    return (part.type for _, part in _parts(tree) if isinstance(part, Branch))


def static_objects(tree: Tree) -> list[Any]:
    return [*statics(tree), *dict.fromkeys(classes(tree))]


def paths(tree: Tree) -> Iterator[Path]:
    return (path for path, part in _parts(tree) if isinstance(part, Leaf))


def static_paths(tree: Tree) -> Iterator[tuple[Path, Any]]:
    return ((path, unfixed(part.value)) for path, part in _parts(tree) if isinstance(part, Static))


def same_structure(one: Tree, other: Tree) -> bool:
    """Return True if the trees have equal structure, whatever the order of their keys.

    >>> leaves = (Leaf(), Leaf())
    >>> same_structure(Branch(dict, ("a", "b"), leaves), Branch(dict, ("b", "a"), leaves))
    True
    """
    if not (isinstance(one, Branch) and isinstance(other, Branch)):
        return one == other
    children = dict(zip(other.keys, other.children))
    return (
        one.type is other.type
        and children.keys() == set(one.keys)
        and all(same_structure(child, children[key]) for key, child in zip(one.keys, one.children))
    )


def in_order_of(like: Tree, tree: Tree, leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves of ``tree`` in the order that their paths have in ``like``.

    Return them in their own order if the trees have leaves at different paths.

    >>> leaves = (Leaf(), Leaf())
    >>> in_order_of(Branch(dict, ("a", "b"), leaves), Branch(dict, ("b", "a"), leaves), [2.5, 1.5])
    [1.5, 2.5]
    """
    by_path = dict(zip(paths(tree), leaves))
    order = list(paths(like))
    return [by_path[path] for path in order] if by_path.keys() == set(order) else list(leaves)


def leaves_at(tree: Tree, value: Any) -> list[Any]:
    """Return the parts of ``value`` at the positions of the leaves of ``tree``.

    >>> leaves_at(Branch(dict, ("a", "b"), (Leaf(), Leaf())), {"b": 2.5, "a": 1.5})
    [1.5, 2.5]
    """
    if isinstance(tree, Leaf):
        return [value]
    if isinstance(tree, Static):
        return []
    places = enumerate(zip(tree.keys, tree.children))
    return [leaf for index, (key, child) in places for leaf in leaves_at(child, child_of(value, index, key))]


def child_of(value: Any, index: int, key: Any) -> Any:
    """Return the item or attribute of ``value`` with the key ``key``.

    In a tuple, a list or a registered container, return the item at the position ``index``.
    """
    if isinstance(key, Setting):
        return getattr(value, key)
    if registered_class(type(value)) is not None:
        return parts_of(value)[1][index]
    if isinstance(value, (tuple, list)):
        return value[index]
    return value[key] if isinstance(value, (deque, Mapping)) else getattr(value, key)


def map_structure(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply ``function`` to each leaf of nested tuples, lists, dicts and slices, and return the result.

    Instances of subclasses of dict are leaves. Named tuples keep their class; instances of other subclasses
    of tuple and list become tuples and lists.
    """
    cls = type(value)
    # Nearly all calls are of plain tuples and lists of leaves, so these are handled without recursion.
    if cls is tuple or cls is list:
        return cls(
            [
                function(item)
                if type(item) in _leaves or not isinstance(item, _STRUCTURES)
                else map_structure(function, item)
                for item in value
            ]
        )
    if cls is dict:
        return {key: map_structure(function, item) for key, item in value.items()}
    if cls is slice:
        return slice(*(map_structure(function, part) for part in (value.start, value.stop, value.step)))
    # Examples are ``torch.Size``, named tuples and struct sequences.
    if cls not in _leaves and isinstance(value, (tuple, list)):
        items = [map_structure(function, item) for item in value]
        return (
            type(value)(*items) if is_namedtuple(cls) else tuple(items) if isinstance(value, tuple) else items
        )
    return function(value)


def map_leaves(function: Callable[[Any], Any], value: Any, is_leaf: Callable[[Any], bool]) -> Any:
    """Apply ``function`` to the leaves of nested containers, and return a value of the same structure.

    Containers of any class (:func:`is_container`) are opened and keep their class.

    >>> map_leaves(lambda number: number * 2, deque([1, "x"], maxlen=3), lambda item: isinstance(item, int))
    deque([2, 'x'], maxlen=3)
    """
    leaves, tree = flatten(
        value, lambda item: not is_container(type(item)) and is_leaf(item), open_objects=lambda item: False
    )
    pairs = zip(paths(tree), leaves)
    return unflatten(
        tree,
        [item if path and isinstance(path[-1], Setting) else function(item) for path, item in pairs],
    )


def iterate_structure(value: Any) -> Iterator[Any]:
    """Return an iterator over the leaves of nested tuples, lists, dicts and slices, subclasses included."""
    found: list[Any] = []
    _gather((value,), found)
    return iter(found)


def _gather(items: Iterable[Any], found: list[Any]) -> None:
    for item in items:
        if type(item) in _leaves or not isinstance(item, _STRUCTURES):
            found.append(item)
        elif isinstance(item, slice):
            _gather((item.start, item.stop, item.step), found)
        else:
            _gather(item.values() if isinstance(item, dict) else item, found)


_ITERATED = (tuple, list, dict)
_STRUCTURES = (*_ITERATED, slice)
_leaves: set[type] = {int, float, bool, str, type(None)}


def leaf(cls: type[C]) -> type[C]:
    """Register a class whose objects are never containers, to traverse faster, and return it."""
    _leaves.add(cls)
    return cls


# --------------------------------------------------------------------------------------------------- likeness
# Comparison of nested arguments by structure and by properties of their arrays.


def likeness(
    items: Iterable[Any], kinds: Mapping[type, Callable[[Any], Any]], arrays: list[Any]
) -> list[Any]:
    """Return a description of nested items, to compare their structure and the properties of their arrays.

    The arrays are appended to ``arrays``. An item of an unknown class makes the description equal to no
    other.

    kinds: for each class of arrays, a function that returns the properties to compare.

    >>> found: list[float] = []
    >>> kinds = {float: type}
    >>> first = likeness([1.5, {"a": (2.5, None)}], kinds, found)
    >>> first == likeness([3.5, {"a": (4.5, None)}], kinds, [])
    True
    >>> found, likeness(["text"], kinds, found) == likeness(["text"], kinds, found)
    ([1.5, 2.5], False)
    """
    found: list[Any] = []
    for item in items:
        cls = type(item)
        if cls in kinds:
            arrays.append(item)
            found.append(kinds[cls](item))
        elif cls is dict:
            found.append((tuple(item), item and likeness(item.values(), kinds, arrays)))
        elif cls is list or cls is tuple:
            found.append((cls, likeness(item, kinds, arrays)))
        else:
            found.append(item if item is None else object())
    return found
