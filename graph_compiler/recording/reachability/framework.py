"""Detection of the framework that a callable is written in.

Its class, its arguments and what its code refers to decide.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import GraphCompilerError, SourceNotFound
from ...registration import FrontendEntry, frameworks_by_package, frontends, responds_to, trait
from ...trees import iterate_structure
from ..code.names import HANDLERS
from ..code.ownership import OWN, owner_of, package_of
from ..code.syntax import place_of
from .namespaces import entry_of, spaces_of
from .references import function_layers, named_objects, wrapped_by

_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def is_self_contained(function: Any) -> bool:
    """Return True for a function whose code refers only to functions in modules of frameworks.

    It has no defaults, closure or attributes, and its code has no nested functions, imports, handlers or
    writes to names. A name after a dot may be an attribute of an argument (``x.T``), but no constant or
    class of such a module.

    >>> import numpy as np
    >>> scale = 2
    >>> functions = (lambda x: np.sqrt(x.T) * 2), (lambda x: x * scale), (lambda x: len(x) * np.pi)
    >>> [is_self_contained(function) for function in functions]
    [True, False, False]
    """
    if type(function) is not types.FunctionType:
        return False
    if (
        function.__defaults__
        or function.__kwdefaults__
        or function.__dict__
        or (names := _plain_names(function.__code__)) is None
    ):
        return False
    for name in names[0]:
        module = function.__globals__.get(name)
        if type(module) is not types.ModuleType or owner_of(module) != "framework":
            return False
        held = vars(module)
        for member in names[1]:
            if member in held and (not callable(item := held[member]) or isinstance(item, type)):
                return False
    return True


def packages_named(function: types.FunctionType) -> list[str]:
    names = _plain_names(function.__code__)
    return [package_of(function.__globals__[name].__name__) for name in names[0]] if names else []


@functools.lru_cache(maxsize=4096)
def _plain_names(code: types.CodeType) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the names of the globals and of the attributes that ``code`` reads.

    Return None if it has closure variables, nested code or exception handlers, reads an attribute that
    begins with an underscore, or imports, stores or deletes a global or an attribute.
    """
    if code.co_freevars or code.co_cellvars:
        return None
    globals_read, others = dict[str, None](), dict[str, None]()
    for step in dis.get_instructions(code):
        if step.opname in HANDLERS or type(step.argval) is types.CodeType:
            return None
        if step.opname == "LOAD_GLOBAL":
            globals_read[step.argval] = None
        elif step.opcode in dis.hasname:
            if step.opname not in _READS or step.argval.startswith("_"):
                return None
            others[step.argval] = None
    return tuple(globals_read), tuple(others)


def framework_of(
    obj: Any, call: tuple[Sequence[Any], Mapping[str, Any]] | None = None, arrays: bool = True
) -> str | None:
    """Return the framework that ``obj`` is written in; None if it is unknown or has no frontend.

    It is the framework that the class and the code refer to. If they refer to several or none, it is that
    of the arguments in ``call``, ``(args, kwargs)``: a torch function may be called, and so recorded, with
    JAX arrays. NumPy is chosen last, and only with a call, because a function that uses it may well
    compute with tensors. Unless ``arrays``, arrays that the code names are ignored. Frontends of other
    packages are loaded only if none of this package fits.

    >>> import numpy as np
    >>> framework_of(lambda x: x + np.pi), framework_of(lambda x: x + np.pi, ((1.0,), {}))
    (None, 'numpy')
    """
    given = [package for item in iterate_structure(call or ()) for package in _of_class(type(item))]
    named = list(dict.fromkeys(_of_object(obj, arrays)))
    entries: Mapping[str, FrontendEntry] = frontends.own
    found = _told(named, given, entries)
    # Entry points of other packages are read only if needed, because that is slow.
    if not (first := _first(found, entries)) and any(map(_is_unknown, (*named, *given))):
        found = _told(named, given, entries := frontends.all())
        first = _first(found, entries)
    return first or (found[0] if call is not None and found else None)


def _told(named: Iterable[str], given: Iterable[str], entries: Mapping[str, FrontendEntry]) -> list[str]:
    """Return the frameworks of the packages in ``named`` (by the code) and ``given`` (by the arguments).

    Those of ``given`` come first, unless the code names exactly one framework, not counting those with
    ``is_everywhere``. Packages without a frontend are left out.
    """
    table = frameworks_by_package(entries.values())
    by_code, by_arrays = (
        [table[package] for package in dict.fromkeys(items) if package in table] for items in (named, given)
    )
    theirs = {framework for framework in by_code if not entries[framework].is_everywhere}
    return [*by_code, *by_arrays] if len(theirs) == 1 else [*by_arrays, *by_code]


def _first(found: Iterable[str], entries: Mapping[str, FrontendEntry]) -> str | None:
    return next((framework for framework in found if not entries[framework].is_everywhere), None)


def _is_unknown(package: str) -> bool:
    return (
        package not in ("", "__main__", OWN, *frameworks_by_package(frontends.own.values()))
        and package not in sys.stdlib_module_names
    )


@contextmanager
def telling_framework(obj: Any, written_in: str) -> Iterator[None]:
    """Raise ``SourceNotFound`` for a ``TypeError`` inside the block if the chosen framework is wrong.

    That is so if ``obj`` is recorded as ``written_in`` one framework but refers only to another. Otherwise
    the ``TypeError`` is raised unchanged.
    """
    try:
        yield
    except TypeError as problem:
        found = (
            [] if isinstance(problem, GraphCompilerError) else _told(_of_object(obj), (), frontends.known())
        )
        other = _first(found, frontends.known())
        # The error has another cause if the code uses the framework it is recorded in.
        if other is None or written_in in found:
            raise
        raise SourceNotFound(
            f"this is recorded as {written_in}, and refers to {other} alone{place_of(obj)}: pass "
            f"source={other!r}; {problem}"
        ) from problem


def is_of_framework(cls: type) -> bool:
    """Return True if the package of ``cls`` has a frontend entry: a framework or a library of models.

    >>> is_of_framework(dict)
    False
    """
    return package_of(cls.__module__) in frameworks_by_package(frontends.known().values())


def _of_object(obj: Any, arrays: bool = True) -> Iterator[str]:
    """Yield the packages that a callable belongs or refers to, first those of its class.

    A package may be yielded several times. For a partial, those of its arguments count too.
    """
    if is_self_contained(obj):
        yield from packages_named(obj)
        return
    if isinstance(obj, functools.partial):
        for item in (*obj.args, *obj.keywords.values()):
            yield from _of_instance(item)
        yield from _of_object(obj.func, arrays)
        return
    yield from _of_class(type(obj))
    # ``jax.vmap`` of a model is a function that wraps it.
    yield from _of_class(type(inspect.unwrap(obj)))
    owner = getattr(obj, "__self__", obj)
    yield from _of_class(type(owner))
    for item in (*_held(owner), *wrapped_by(obj)):
        yield from _of_instance(item)
    yield from _packages_referenced(obj, arrays)


def _held(owner: Any) -> list[Any]:
    return (
        []
        if isinstance(owner, types.FunctionType | types.ModuleType)
        else list(getattr(owner, "__dict__", {}).values())
    )


def _of_class(cls: type) -> Iterator[str]:
    return (package_of(base.__module__) for base in cls.__mro__)


def _of_instance(item: Any) -> Iterator[str]:
    return iter(()) if _is_tracking(item) else _of_class(type(item))


def _is_tracking(item: Any) -> bool:
    return isinstance(item, (list, tuple, dict)) and str(type(item).__module__).startswith(trait("tracking"))


def _called(obj: Any) -> Iterable[types.FunctionType]:
    # The function may be a framework's own.
    of_obj = [*function_layers(obj)]
    return dict.fromkeys(
        (*of_obj, *(function for space in spaces_of([entry_of(obj)]) for function in space.functions))
    )


def _packages_referenced(obj: Any, arrays: bool) -> Iterator[str]:
    """Yield the packages of the objects that the code of ``obj``, or of functions it calls, refers to.

    Each object contributes the package of its module and those of its class's MRO. Unless ``arrays``,
    objects that have a ``shape`` and a ``dtype`` are skipped.
    """
    for item in (item for function in _called(obj) for item in named_objects(function)):
        item = item.func if isinstance(item, functools.partial) else item
        if not arrays and responds_to(item, "shape", "dtype"):
            continue
        if not _is_tracking(item):
            yield package_of(
                item.__name__ if isinstance(item, types.ModuleType) else getattr(item, "__module__", None)
            )
        # A model of the user's is recognised by the base classes of its class.
        yield from (_of_class(item) if isinstance(item, type) else _of_instance(item))
