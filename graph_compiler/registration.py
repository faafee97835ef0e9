"""What is known of frontends and backends before their frameworks are imported: one entry each, by name.

An entry is a small record in a module that imports no framework. The package's own stand in
``frontends/entries.py`` and ``backends/entries.py``, and are found there; those of other packages are found
by the entry points of a group, which are read once, when a name is asked for that is not one of the package's
own:

    [project.entry-points."graph_compiler.backends"]
    mlx = "graph_compiler_mlx:backend"     # a BackendEntry; importing graph_compiler_mlx must not import mlx
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .errors import FrameworkNotInstalled, InvalidRegistration, UnknownFramework, nearest

_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class ArrayProperty:
    """Something that is so of an array beside its shape and dtype: ``read`` tells it, ``words`` say what is
    wrong where it is otherwise than while recording (the text follows the name of the input). Of a program
    for another framework one that ``is_of_source`` tells nothing.
    """

    words: str
    read: Callable[[Any], bool | str]
    is_of_source: bool = False


@dataclass(frozen=True)
class Traits:
    """What the core has to know of code that is written in a framework.

    All of it is empty where the framework has nothing of the kind.
    """

    entry_methods: tuple[str, ...] = ()
    """Methods that hold the code of a model: a call of the object runs one of them (``forward``)."""
    module_marks: tuple[str, ...] = ()
    """Methods by which an object is known whose arrays the frontend finds and names itself (``state_dict``)."""
    hooks: tuple[str, ...] = ()
    """Attributes with functions that see how the arguments of a model are spelt."""
    reporting: frozenset[str] = frozenset()
    """Full names of functions that show a text only in what they raise."""
    passing_on: tuple[str, ...] = ()
    """Beginnings of names of modules of the framework, each with its last dot, through which a question to an array reaches a recording."""
    handing_on: frozenset[str] = frozenset()
    """Packages whose decorators treat an argument alike however it is spelt."""
    values: frozenset[tuple[str, str]] = frozenset()
    """Module and name of classes that are compared by value: their objects never change."""
    results: tuple[str, ...] = ()
    """Beginnings of names of modules whose classes of results hold what they are given, and do nothing: files may name them."""
    tracking: tuple[str, ...] = ()
    """Beginnings of names of modules whose containers the framework puts in the place of the user's own."""
    copies: frozenset[str] = frozenset()
    """Bare names of recorded calls that copy an array and do nothing else."""
    gradient_stops: frozenset[str] = frozenset()
    """Bare names of recorded calls that take an array out of a gradient."""
    is_stateless: bool = False
    """Whether objects of the framework hold no state of the user's."""
    facts: Mapping[str, ArrayProperty] = field(default_factory=dict)
    """Facts of arrays that a recording may rely on, by name."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A framework as a source or target: its name, and the module that is loaded when it is used.

    ``packages`` are the top-level packages that are the framework's own, of which the first must be
    importable; ``aliases`` what users call it too; ``install`` the command that installs it.
    """

    name: str
    module: str
    packages: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    install: str = ""

    @property
    def is_loaded(self) -> bool:
        """Whether the framework is imported."""
        return self.packages[0] in sys.modules

    def require(self) -> None:
        """``FrameworkNotInstalled`` where the framework cannot be imported."""
        if importlib.util.find_spec(self.packages[0]) is None:
            command = self.install or f"pip install {self.packages[0]}"
            raise FrameworkNotInstalled(
                f"{self.packages[0]} is not installed here; install it with: {command}"
            )


@dataclass(frozen=True, kw_only=True)
class BackendEntry(Entry):
    """A framework that graphs are written for. Its module is a :class:`graph_compiler.contracts.Backend`."""

    has_derivatives: bool = False
    """Whether the framework differentiates functions (``Backend.derivatives``)."""


@dataclass(frozen=True, kw_only=True)
class FrontendEntry(Entry):
    """A framework that functions are recorded from. Its module is a
    :class:`graph_compiler.contracts.Frontend`.

    Code that refers to one of its ``packages`` or of its ``libraries`` (of models that are written in it) is
    written in it.
    """

    libraries: tuple[str, ...] = ()
    computing: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """Of its packages those that compute with one of several frameworks in a process: what gives its name, once they are loaded."""
    traits: Traits = Traits()
    target: str | None = None
    """What ``transpile`` writes for where nothing else is asked."""
    parts: tuple[str, ...] = ()
    """Packages that the framework is built on, whose functions are its own too, and that tell nothing of the code that names them."""
    is_everywhere: bool = False
    """Whether its arrays are data for every framework, and its functions stand in the code of all: it counts after all others."""
    takes_unclear: bool = False
    """Whether code that names no framework is taken to be written in it, once its package is loaded."""
    refuses_everywhere: str = ""
    """Why code that names the framework of all code alone is not recorded with arrays of this one, in words; empty where it is."""
    takes_parameters: bool = False
    """Whether arguments of its functions may be parameters (``parameters=``)."""
    loads_models: bool = False
    """Whether its module has ``pretrained``, which reads a model by its name."""


E = TypeVar("E", bound=Entry)


class Registry(Generic[E]):
    """The entries of one group of entry points, which is also the name of the package that holds this
    package's own.
    """

    def __init__(self, kind: type[E], group: str, parameter: str) -> None:
        self._kind, self._group, self._parameter = kind, group, parameter
        self._others: dict[str, E] = {}
        self.problems: dict[str, InvalidRegistration] = {}
        """Names that packages register without success, each with what is said where one is asked for."""
        self._is_read = False

    @functools.cached_property
    def own(self) -> Mapping[str, E]:
        """This package's own; no entry point is read for them."""
        return {entry.name: entry for entry in importlib.import_module(f"{self._group}.entries").ENTRIES}

    def known(self) -> dict[str, E]:
        """This package's own, and those that were found by entry points so far. Reads none."""
        return {**self.own, **self._others}

    def all(self) -> dict[str, E]:
        """Every entry. Entry points are read at the first call."""
        if not self._is_read:
            from importlib.metadata import entry_points

            for point in entry_points(group=self._group):
                if point.name not in self.own:
                    self._read(point)
            self._is_read = True
        return self.known()

    def _read(self, point: Any) -> None:
        """One entry point. What is wrong with it concerns those alone who ask for its name."""
        where = f"the entry point {point.name} = {point.value} of {self._group}"
        try:
            self._add(point.name, point.load(), where)
        except InvalidRegistration as problem:
            self.problems[point.name] = problem
        # Code of another package is imported, and may raise anything.
        except Exception as problem:
            self.problems[point.name] = InvalidRegistration(
                f"{where} cannot be loaded: {type(problem).__name__}: {problem}"
            )

    def register(self, entry: E) -> None:
        """Adds an entry for this process, as an entry point does for all; ``InvalidRegistration`` for a name
        that is taken.
        """
        self._add(entry.name, entry, "the entry")

    def unregister(self, name: str) -> None:
        """Takes an entry away that :meth:`register` has added."""
        del self._others[name]
        _forget()

    def _add(self, name: str, entry: Any, where: str) -> None:
        if not isinstance(entry, self._kind):
            raise InvalidRegistration(
                f"{where} gives a {type(entry).__name__}; it must be a {self._kind.__name__} of {__name__}"
            )
        if entry.name != name:
            raise InvalidRegistration(
                f"{where} gives an entry with the name {entry.name!r}; both must have one name"
            )
        if (before := self.known().get(name)) is not None and before != entry:
            raise InvalidRegistration(
                f"{where} registers {name!r}, and {before.module} is registered under that name: rename one"
            )
        self._others[name] = entry
        _forget()

    def get(self, name: Any) -> E:
        """The entry of a name; ``UnknownFramework``, with the nearest names, where there is none."""
        found = self.known().get(name) if isinstance(name, str) else None
        if found is None and isinstance(name, str):
            found = self.all().get(name)
        if found is None:
            asked = str(getattr(name, "__name__", name)).lower()  # of a framework itself, to=jax
            entries = self.all()
            if problem := self.problems.get(asked):
                raise problem
            meant = next((entry.name for entry in entries.values() if asked in entry.aliases), asked)
            names = ", ".join(map(repr, entries))
            raise UnknownFramework(
                f"{self._parameter}={name!r} is not supported; known are {names}{nearest(meant, tuple(entries))}"
            )
        return found


frontends = Registry(FrontendEntry, f"{_PACKAGE}.frontends", "source")
backends = Registry(BackendEntry, f"{_PACKAGE}.backends", "to")


@functools.cache
def trait(name: str) -> Any:
    """A trait of all frontends that are known, in one: tuples and sets joined, a table with the rows of all.

    >>> trait("entry_methods"), "requires_grad" in trait("facts")
    (('forward',), True)
    """
    return _joined([getattr(entry.traits, name) for entry in frontends.known().values()])


def responds_to(item: Any, *names: str) -> bool:
    """Return True if `item` has all attributes of these names.

    >>> responds_to(1, "real", "imag"), responds_to(1, "shape")
    (True, False)
    """
    try:
        return all(hasattr(item, name) for name in names)
    # `__getattr__` of a class of the user's may raise anything, and `hasattr` catches AttributeError alone.
    except Exception:
        return False


def entry_method(item: Any, otherwise: Any = None) -> Any:
    """The method (of a class: the function) that holds the code of a model; of what has none, something else.

    >>> class Model:
    ...     def forward(self):
    ...         return 1
    >>> entry_method(Model())(), entry_method(len, len) is len
    (1, True)
    """
    return next(
        (getattr(item, name) for name in trait("entry_methods") if responds_to(item, name)), otherwise
    )


def is_module(item: Any) -> bool:
    """Whether this is an object (or a class of them) whose arrays the frontend itself finds and names.

    >>> is_module([])
    False
    """
    return any(responds_to(item, mark) for mark in trait("module_marks"))


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], Mapping):
        return {name: row for part in parts for name, row in part.items()}
    if isinstance(parts[0], frozenset):
        return frozenset().union(*parts)
    return tuple(dict.fromkeys(item for part in parts for item in part))


@functools.cache
def packages() -> frozenset[str]:
    """The top-level packages of all frameworks that are known, as sources or targets, and of what they are
    built on.
    """
    sources, targets = frontends.known().values(), backends.known().values()
    groups = [*(entry.packages + entry.parts for entry in sources), *(entry.packages for entry in targets)]
    return frozenset(package for group in groups for package in group)


@functools.cache
def stateless_packages() -> frozenset[str]:
    """The packages of frameworks whose objects hold no state of the user's."""
    return frozenset(
        package
        for entry in frontends.known().values()
        if entry.traits.is_stateless
        for package in entry.packages
    )


def _forget() -> None:
    """What was joined of all entries is joined anew."""
    for joined in (trait, packages, stateless_packages):
        joined.cache_clear()


def telling(entries: Iterable[FrontendEntry]) -> dict[str, str]:
    """Package -> the framework that it tells."""
    return {
        package: entry.computing[package]()
        if package in entry.computing and package in sys.modules
        else entry.name
        for entry in entries
        for package in (*entry.packages, *entry.libraries)
    }
