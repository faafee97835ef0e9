"""Entries of frontends and backends, which are known before their frameworks are imported.

An entry is a small record in a module that imports no framework. The entries of this package are in
``frontends/entries.py`` and ``backends/entries.py``, and those of other packages are entry points:

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
    """Property of arrays besides shape and dtype, on which a recording may rely.

    words: end of the message about an input whose property differs from the recording. The name of the
        input precedes it.
    read(array): returns the property.
    is_of_source: True if programs for other frameworks do not depend on the property.
    """

    words: str
    read: Callable[[Any], bool | str]
    is_of_source: bool = False


@dataclass(frozen=True)
class Traits:
    """Properties of code written in a framework, which the core needs.

    entry_methods: names of methods with the code of a model, which a call of the object runs (``forward``).
    module_marks: names of methods (``state_dict``) that mark a model, an object whose arrays the frontend
        finds and names.
    hooks: names of attributes with functions that receive the arguments of a model as they were passed.
    message_functions: full names of functions that use string arguments only in the exceptions that they
        raise.
    skipped_modules: prefixes of modules, with a final dot, whose frames are skipped in the search for the
        code that reads a value.
    forwarding_packages: packages whose decorators are taken to pass on positional and keyword arguments
        alike, except for arguments that the code of the decorator names.
    values: module and name of classes that are compared by value, because their objects cannot change.
    results: prefixes of modules that are imported if a saved file names one of their classes.
    tracking: prefixes of modules with containers that the framework puts in place of the user's.
    copies: bare names of recorded calls that only copy an array.
    gradient_stops: bare names of recorded calls that detach an array from a gradient.
    is_stateless: True if objects of the framework hold no state of the user's.
    stateless_modules: modules whose objects hold no state of the user's, although other objects of the
        framework may.
    facts: properties of arrays that a recording may rely on, by name.
    unwrapping: functions that return the array whose memory holds the elements of an array, such as the
        tensor that ``torch.func.grad`` has wrapped, and any other array itself.
    """

    entry_methods: tuple[str, ...] = ()
    module_marks: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    message_functions: frozenset[str] = frozenset()
    skipped_modules: tuple[str, ...] = ()
    forwarding_packages: frozenset[str] = frozenset()
    values: frozenset[tuple[str, str]] = frozenset()
    results: tuple[str, ...] = ()
    tracking: tuple[str, ...] = ()
    copies: frozenset[str] = frozenset()
    gradient_stops: frozenset[str] = frozenset()
    is_stateless: bool = False
    stateless_modules: frozenset[str] = frozenset()
    facts: Mapping[str, ArrayProperty] = field(default_factory=dict)
    unwrapping: tuple[Callable[[Any], Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Registration of a framework as a source or target.

    name: name under which the framework is registered.
    module: module to import when the framework is used, or ``module:object``.
    packages: top-level packages with the framework's code, the first of which must be installed.
    aliases: other names that users call the framework by.
    install: the command that installs the framework; empty for ``pip install`` with its first package.
    """

    name: str
    module: str
    packages: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    install: str = ""

    @property
    def is_loaded(self) -> bool:
        return self.packages[0] in sys.modules

    def require(self) -> None:
        # This looks the package up without importing it.
        if importlib.util.find_spec(self.packages[0]) is None:
            command = self.install or f"pip install {self.packages[0]}"
            raise FrameworkNotInstalled(
                f"{self.packages[0]} is not installed here; install it with: {command}"
            )


@dataclass(frozen=True, kw_only=True)
class BackendEntry(Entry):
    """Registration of a framework that graphs are written for.

    Its module implements :class:`graph_compiler.contracts.Backend`.

    has_derivatives: True if the framework differentiates functions (``Backend.derivatives``).
    """

    has_derivatives: bool = False


@dataclass(frozen=True, kw_only=True)
class FrontendEntry(Entry):
    """Registration of a framework whose functions can be recorded.

    Its module implements :class:`graph_compiler.contracts.Frontend`.

    libraries: packages of models. Code that refers to one of them may be taken for code of the framework.
    computing: for each package that computes with one of several frameworks, such as Keras, a function that
        returns the name of the framework whose code it counts as.
    traits: properties of code written in the framework.
    target: default target of ``transpile``; None if there is none.
    parts: further packages that count as frameworks' code, such as SciPy. Code that names them may be written
        in any framework.
    is_everywhere: True if code of any framework may use its arrays and functions, so that it is inferred
        only if no other framework is.
    takes_unclear: True if code that names no framework counts as written in it, once its package is
        loaded.
    refuses_everywhere: reason why code that names only the ``is_everywhere`` framework (NumPy) is not
        recorded with arrays of this one; empty if it is.
    takes_parameters: True if arguments of its functions may be parameters (``parameters=``).
    loads_models: True if its module has ``pretrained``, which loads a model by name.
    """

    libraries: tuple[str, ...] = ()
    computing: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    traits: Traits = Traits()
    target: str | None = None
    parts: tuple[str, ...] = ()
    is_everywhere: bool = False
    takes_unclear: bool = False
    refuses_everywhere: str = ""
    takes_parameters: bool = False
    loads_models: bool = False


E = TypeVar("E", bound=Entry)


class Registry(Generic[E]):
    """Entries of frontends or of backends, by name: this package's own, and those of other packages.

    problems: an error for each name, in lower case, that another package failed to register.
    """

    def __init__(self, kind: type[E], group: str, parameter: str) -> None:
        self._kind, self._group, self._parameter = kind, group, parameter
        self._others: dict[str, E] = {}
        self.problems: dict[str, InvalidRegistration] = {}
        self._is_read = False

    @functools.cached_property
    def own(self) -> Mapping[str, E]:
        return {entry.name: entry for entry in importlib.import_module(f"{self._group}.entries").ENTRIES}

    def known(self) -> dict[str, E]:
        """Return the entries that are known without reading more entry points."""
        return {**self.own, **self._others}

    def all(self) -> dict[str, E]:
        """Return the entries, including those of entry points, which the first call reads."""
        if not self._is_read:
            from importlib.metadata import entry_points

            for point in entry_points(group=self._group):
                # Another package cannot replace an entry of this one.
                if point.name not in self.own:
                    self._read(point)
            self._is_read = True
        return self.known()

    def _read(self, point: Any) -> None:
        where = f"the entry point {point.name} = {point.value} of {self._group}"
        # An error is not raised, because it concerns only those who request the name.
        try:
            self._add(point.load(), where, point.name)
        except InvalidRegistration as problem:
            self.problems[point.name.lower()] = problem
        # Code of another package is imported, and may raise anything.
        except Exception as problem:
            self.problems[point.name.lower()] = InvalidRegistration(
                f"{where} cannot be loaded: {type(problem).__name__}: {problem}"
            )

    def register(self, entry: E) -> None:
        """Add an entry for this process only."""
        self._add(entry, "the entry")

    def unregister(self, name: str) -> None:
        del self._others[name]
        _clear_caches()

    def _add(self, entry: Any, where: str, name: str | None = None) -> None:
        if not isinstance(entry, self._kind):
            raise InvalidRegistration(
                f"{where} gives a {type(entry).__name__}; it must be a {self._kind.__name__} of {__name__}"
            )
        if name not in (None, entry.name):
            raise InvalidRegistration(
                f"{where} gives an entry with the name {entry.name!r}; both must have one name"
            )
        if (before := self.known().get(entry.name)) is not None and before != entry:
            raise InvalidRegistration(
                f"{where} registers {entry.name!r}, and {before.module} is registered under that name: "
                "rename one"
            )
        self._others[entry.name] = entry
        _clear_caches()

    def get(self, name: Any) -> E:
        """Return the entry with this name, or raise ``UnknownFramework`` or the error of its registration."""
        # Reading entry points takes time, so it is left to names that are unknown without them.
        found = self.known().get(name) if isinstance(name, str) else None
        if found is None and isinstance(name, str):
            found = self.all().get(name)
        if found is None:
            # Users may pass the module of a framework, as in `to=jax`.
            asked = str(getattr(name, "__name__", name)).lower()
            entries = self.all()
            if problem := self.problems.get(asked):
                raise problem
            meant = next((entry.name for entry in entries.values() if asked in entry.aliases), asked)
            names = ", ".join(map(repr, entries))
            raise UnknownFramework(
                f"{self._parameter}={name!r} is not supported; known are {names}"
                f"{nearest(meant, tuple(entries))}"
            )
        return found


frontends = Registry(FrontendEntry, f"{_PACKAGE}.frontends", "source")
backends = Registry(BackendEntry, f"{_PACKAGE}.backends", "to")


@functools.cache
def trait(name: str) -> Any:
    """Return the values of a trait that is a collection, merged over all known frontends.

    >>> trait("entry_methods"), "requires_grad" in trait("facts")
    (('forward',), True)
    """
    return _merge([getattr(entry.traits, name) for entry in frontends.known().values()])


def responds_to(item: Any, *names: str) -> bool:
    """Return True if ``item`` has all attributes of these names, and reading them raises nothing.

    >>> responds_to(1, "real", "imag"), responds_to(1, "shape")
    (True, False)
    """
    try:
        return all(hasattr(item, name) for name in names)
    # `__getattr__` of a class of the user's may raise anything, and `hasattr` catches AttributeError alone.
    except Exception:
        return False


def entry_method(item: Any, otherwise: Any = None) -> Any:
    """Return the entry method of a model or model class, such as ``forward``, or ``otherwise``.

    >>> class Model:
    ...     def forward(self):
    ...         return 1
    >>> entry_method(Model())(), entry_method(len, len) is len
    (1, True)
    """
    return next(
        (getattr(item, name) for name in trait("entry_methods") if responds_to(item, name)), otherwise
    )


def has_module_mark(item: Any) -> bool:
    """Return True if ``item`` has an attribute named in the trait ``module_marks``, such as ``state_dict``.

    >>> has_module_mark([])
    False
    """
    return any(responds_to(item, mark) for mark in trait("module_marks"))


def _merge(parts: list[Any]) -> Any:
    if isinstance(parts[0], Mapping):
        return {name: row for part in parts for name, row in part.items()}
    if isinstance(parts[0], frozenset):
        return frozenset().union(*parts)
    return tuple(dict.fromkeys(item for part in parts for item in part))


@functools.cache
def packages() -> frozenset[str]:
    """Return the packages of the known frontends and backends, with the ``parts`` of frontends."""
    sources, targets = frontends.known().values(), backends.known().values()
    groups = [*(entry.packages + entry.parts for entry in sources), *(entry.packages for entry in targets)]
    return frozenset(package for group in groups for package in group)


@functools.cache
def stateless_modules() -> frozenset[str]:
    return frozenset(
        module
        for entry in frontends.known().values()
        for module in (
            *entry.traits.stateless_modules,
            *(entry.packages if entry.traits.is_stateless else ()),
        )
    )


def _clear_caches() -> None:
    for joined in (trait, packages, stateless_modules):
        joined.cache_clear()


def frameworks_by_package(entries: Iterable[FrontendEntry]) -> dict[str, str]:
    """Map the packages and libraries of ``entries`` to the frameworks of code that names them."""
    return {
        package: entry.computing[package]()
        if package in entry.computing and package in sys.modules
        else entry.name
        for entry in entries
        for package in (*entry.packages, *entry.libraries)
    }
