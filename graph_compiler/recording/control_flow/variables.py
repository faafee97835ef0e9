"""Variables that blocks share with the code around them, and the structure of their values."""

from __future__ import annotations

import dis
import functools
import itertools
import sys
import types
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import TracingError
from ...forwarding import forwards
from ...ops.dtypes import is_in_range
from ...sizes import is_symbolic
from .regions import ArrayKind, Regions

if TYPE_CHECKING:
    from .regions import Regions


_DEEPEST = 4


class AppendableList:
    """Base of lists that recorded loops append to.

    Operations that are not defined here or in a subclass are mostly those of the list that :meth:`plain`
    returns.

    parts: items and ``StackedItems``.
    """

    def __init__(self, regions: Regions, parts: Sequence[Any]) -> None:
        self.regions, self.parts = regions, list(parts)
        regions.lists[id(self)] = self

    def append(self, item: Any, /) -> None:
        self.parts.append(item)

    def extend(self, items: Iterable[Any], /) -> None:
        self.parts.extend(items.pieces if isinstance(items, AppendableList) else items)

    def __iadd__(self, items: Any) -> Any:
        if not isinstance(items, (list, tuple, AppendableList)):
            # With an array ``+=`` computes a sum.
            return self.plain() + items
        self.extend(items)
        return self

    def symbolic_length(self) -> Any:
        raise NotImplementedError

    @property
    def pieces(self) -> list[Any]:
        raise NotImplementedError

    def plain(self) -> list[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.plain())

    @forwards
    def __getattr__(self, name: str) -> Any:
        # Special methods are looked up on the class, so this is a check of a feature such as ``__array__``.
        if name.startswith("__"):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        return getattr(self.plain(), name)

    __hash__ = None  # type: ignore[assignment]


class GrowingView(AppendableList):
    def count(self) -> int:
        return int(self.symbolic_length())


# Python looks special methods up on the class, so ``__getattr__`` does not serve them.
def _of_items(name: str) -> Callable[..., Any]:
    def method(self: AppendableList, *args: Any) -> Any:
        return getattr(self.plain(), name)(
            *(arg.plain() if isinstance(arg, AppendableList) else arg for arg in args)
        )

    return method


_BY_ITEMS = (
    "__getitem__", "__bool__", "__add__", "__radd__", "__iter__",
    "__reversed__", "__contains__", "__setitem__", "__delitem__", "__mul__",
    "__rmul__", "__imul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    "__repr__", "__str__", "__format__",
    "__reduce_ex__", "__sizeof__",
)  # fmt: skip
for _name in _BY_ITEMS:
    setattr(AppendableList, _name, _of_items(_name))


def plain(item: Any, depth: int = 0) -> Any:
    """Return ``item`` with plain lists in place of ``AppendableList`` objects, also in containers in it.

    Four levels of tuples, lists and dicts are searched. Lists and dicts are changed in place.
    """
    if isinstance(item, AppendableList):
        return item.plain()
    if depth < _DEEPEST and type(item) in (tuple, list, dict):
        parts = {
            key: plain(part, depth + 1)
            for key, part in (item.items() if type(item) is dict else enumerate(item))
        }
        if any(part is not (item[key]) for key, part in parts.items()):
            if type(item) is tuple:
                return tuple(parts.values())
            for key, part in parts.items():
                item[key] = part
    return item


NUMBERS = (bool, int, float, complex)
# First letters of dtypes: bool, unsigned integer, integer, float, complex.
_ORDER = ("b", "u", "i", "f", "c")


class _Undefined:
    def __repr__(self) -> str:
        return "no value"


UNDEFINED = _Undefined()


class ContentsDiffer(TracingError):
    """Error for a variable that a loop cannot carry."""


class ClosureCells:
    """Access to variables in the closure cells of functions that are blocks of a statement.

    cells: the cells to read and write, by name; at first those that the functions assign or delete.
    """

    def __init__(self, *functions: types.FunctionType) -> None:
        found = [
            pair
            for function in functions
            for pair in zip(function.__code__.co_freevars, function.__closure__ or ())
        ]
        stored = frozenset().union(*(stored_in(function.__code__) for function in functions))
        self.cells: dict[str, types.CellType] = {name: cell for name, cell in found if name in stored}
        self._around = dict(found)
        self._appended = frozenset().union(*(appended_in(function.__code__) for function in functions))

    def read(self) -> dict[str, Any]:
        return {name: _contents(cell) for name, cell in self.cells.items()}

    def around(self) -> Iterator[tuple[str, Any]]:
        return ((name, _contents(cell)) for name, cell in self._around.items())

    def shared(self) -> set[tuple[str, int]]:
        return {(name, place) for name, cell in self.cells.items() for place in _shared(cell)}

    def write(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if value is not UNDEFINED:
                self.cells[name].cell_contents = value
            elif _contents(self.cells[name]) is not UNDEFINED:
                del self.cells[name].cell_contents

    def arrays(self, regions: Regions) -> list[Any]:
        return [
            leaf
            for cell in self._around.values()
            for leaf in flatten_containers(_contents(cell))[1]
            if regions.is_array(leaf)
        ]

    def lists(self) -> dict[str, list[Any]]:
        found = {name: _contents(cell) for name, cell in self._around.items()}
        found = {
            name: item.parts if isinstance(item, AppendableList) else item for name, item in found.items()
        }
        return {name: item for name, item in found.items() if type(item) is list}

    def growing(self, outside: Container[int]) -> dict[str, Any]:
        """Return the lists that a recorded loop may extend by ``append`` or ``extend``, by variable.

        ``outside`` contains the ids of closure cells whose lists are left out.
        """
        found = {}
        for name in self._appended - self.cells.keys():
            item = _contents(cell := self._around[name])
            if id(cell) not in outside and (
                isinstance(item, AppendableList) or type(item) is list and sys.getrefcount(item) <= _HOLDERS
            ):
                found[name] = item
        return found

    def add(self, name: str) -> None:
        self.cells[name] = self._around[name]

    def holds(self, item: Any) -> bool:
        return any(item is cell for cell in self.cells.values())


def _shared(cell: types.CellType) -> list[int]:
    item = _contents(cell)
    form, leaves = flatten_containers(item)
    # The three references are the cell, the variable here, and the argument.
    if form.cls is not None and sys.getrefcount(item) > _HOLDERS:
        return list(range(len(leaves)))
    del item
    return [place for place in range(len(leaves)) if sys.getrefcount(leaves[place]) > _HOLDERS]


# References to an object that nothing else refers to: the container, the variable that is tested, and the
# argument of ``getrefcount``.
_HOLDERS = 3


def is_shared(items: Any) -> bool:
    for key in items if type(items) is dict else range(len(items)):
        item = items[key]
        if (
            type(item) in (list, dict)
            and sys.getrefcount(item) > _HOLDERS
            or type(item) in (list, dict, tuple)
            and is_shared(item)
        ):
            return True
    return False


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNDEFINED


@functools.lru_cache(maxsize=1024)
def stored_in(code: types.CodeType) -> frozenset[str]:
    own = {
        step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_DEREF", "DELETE_DEREF")
    }
    inner = (stored_in(item) for item in code.co_consts if isinstance(item, types.CodeType))
    return frozenset(own).union(*inner) & frozenset(code.co_freevars)


@functools.lru_cache(maxsize=1024)
def appended_in(code: types.CodeType) -> frozenset[str]:
    steps = list(dis.get_instructions(code))
    own = {
        one.argval
        for one, two in itertools.pairwise(steps)
        if one.opname == "LOAD_DEREF" and two.argval in ("append", "extend")
    }
    inner = (appended_in(item) for item in code.co_consts if isinstance(item, types.CodeType))
    return frozenset(own).union(*inner) & frozenset(code.co_freevars)


# -------------------------------------------------------------------------------- forms of containers
@dataclass(frozen=True)
class ContainerForm:
    """Structure of nested tuples, lists and dicts without their leaves.

    cls: class of the container; None for a leaf.
    keys: keys of a dict.
    parts: forms of the items.
    """

    cls: type | None = None
    keys: tuple[Any, ...] = ()
    parts: tuple[ContainerForm, ...] = ()

    @property
    def may_change(self) -> bool:
        return self.cls in (list, dict) or any(part.may_change for part in self.parts)

    def rebuilt(self, leaves: Iterator[Any]) -> Any:
        if self.cls is None:
            return next(leaves)
        items = [part.rebuilt(leaves) for part in self.parts]
        if self.cls is dict:
            return dict(zip(self.keys, items))
        return self.cls(*items) if hasattr(self.cls, "_fields") else self.cls(items)


def flatten_containers(item: Any) -> tuple[ContainerForm, list[Any]]:
    """Return the form of nested tuples, lists and dicts, and their leaves.

    Instances of their subclasses are leaves, except for named tuples.
    """
    is_named = isinstance(item, tuple) and hasattr(type(item), "_fields")
    if type(item) not in (tuple, list, dict) and not is_named:
        return ContainerForm(), [item]
    keys, items = (tuple(item), list(item.values())) if type(item) is dict else ((), list(item))
    parts = [flatten_containers(one) for one in items]
    return ContainerForm(type(item), keys, tuple(form for form, _ in parts)), [
        leaf for _, leaves in parts for leaf in leaves
    ]


# -------------------------------------------------------------------------------- leaves of variables
@dataclass(frozen=True, eq=False)
class VariableLeaf:
    """Leaf of the value of a variable.

    kind: dtype and shape; None if they are unknown.
    """

    item: Any
    kind: ArrayKind | None

    @property
    def is_constant(self) -> bool:
        return type(self.item) in NUMBERS or self.kind is None

    def is_same(self, other: VariableLeaf) -> bool:
        """Return True for the same object, or equal Python numbers, strings or bytes of one class.

        NaN equals NaN, and 0.0 differs from -0.0.
        """
        if self.item is other.item:
            return True
        if type(self.item) is not type(other.item) or not self.is_constant or not other.is_constant:
            return False
        if type(self.item) in (float, complex):
            return repr(self.item) == repr(other.item)
        return type(self.item) in (bool, int, str, bytes) and bool(self.item == other.item)

    def __str__(self) -> str:
        return (
            "no value"
            if self.item is UNDEFINED
            else f"{self.item!r:.60}"
            if self.is_constant
            else str(self.kind)
        )


@dataclass(frozen=True, eq=False)
class VariableContents:
    form: ContainerForm
    leaves: tuple[VariableLeaf, ...]

    @property
    def is_undefined(self) -> bool:
        return len(self.leaves) == 1 and self.leaves[0].item is UNDEFINED

    def __str__(self) -> str:
        if self.form.cls is None:
            return str(self.leaves[0])
        return f"a {self.form.cls.__name__} of {', '.join(map(str, self.leaves)) or 'nothing'}"


def describe_contents(regions: Regions, value: Any) -> VariableContents:
    form, leaves = flatten_containers(value)
    return VariableContents(form, tuple(VariableLeaf(item, _kind(regions, item)) for item in leaves))


def _kind(regions: Regions, item: Any) -> ArrayKind | None:
    return (
        regions.kind(item) if type(item) in NUMBERS or is_symbolic(item) or regions.is_array(item) else None
    )


def common_kind(leaf: VariableLeaf, other: VariableLeaf) -> ArrayKind | None:
    """Return the kind of a variable that holds one leaf or the other, or None if there is none."""
    one, two = leaf.kind, other.kind
    # No array dtype can hold a number of the dtype "object".
    if one is None or two is None or "object" in (one.dtype, two.dtype):
        return None
    # Two numbers take the wider kind, as in Python.
    if one.number and two.number:
        return max(one, two, key=lambda kind: _place(kind.dtype))
    if one.number != two.number:
        number, array = (leaf, two) if one.number else (other, one)
        return array if _can_become(number, array) else None
    return one if (one.dtype, one.shape) == (two.dtype, two.shape) else None


def _can_become(number: VariableLeaf, array: ArrayKind) -> bool:
    assert number.kind is not None
    is_wide = _place(number.kind.dtype) <= _place(array.dtype)
    # Other numbers are symbols and arrays, whose values differ between calls.
    is_known = type(number.item) in NUMBERS
    return not array.shape and is_wide and not (is_known and not is_in_range(number.item, array.dtype))


def _place(dtype: str) -> int:
    kind = "b" if dtype == "bool" else "f" if dtype == "bfloat16" else dtype[0]
    return _ORDER.index(kind) if kind in _ORDER else -1
