"""Compilation of functions by ``jax.jit``, and caches of compiled programs between processes."""

from __future__ import annotations

import ast
import base64
import functools
import hashlib
import inspect
import json
import logging
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jaxlib
import numpy as np
from jax import export
from jax._src import config, core
from jax._src.interpreters.partial_eval import DynamicJaxprTrace
from jax.experimental.compilation_cache import compilation_cache

from ...errors import InvalidFile, Signal
from ...forwarding import forwards
from ...ir.json import KnownClasses, tree_from_json, tree_to_json
from ...recording.faults import is_fault
from ...recording.request import AbandonedWay, log_abandoned_way
from ...trees import Tree, flatten, unflatten
from ..common.compilers import CompiledShapes, NewShape, cache_folder, compiled_or_plain

# -------------------------------------------------------------------------------------------- packed results
# Results of compiled functions, divided into arrays and static structure.


def is_leaf(item: Any) -> bool:
    return isinstance(item, (jax.Array, np.ndarray)) or hasattr(item, "aval") or type(item) is object


def weak(array: Any) -> Any:
    # JAX has no public function that makes a dtype weak.
    return jax.lax.convert_element_type_p.bind(array, new_dtype=array.dtype, weak_type=True, sharding=None)


class Packed:
    """Result of a compiled function as a pytree, whose leaves are the arrays."""

    def __init__(self, leaves: Any, form: ResultStructure) -> None:
        self.leaves, self.form = leaves, form

    @classmethod
    def of(cls, result: Any) -> Packed:
        leaves, tree = flatten(result, is_leaf)
        return cls(leaves, ResultStructure(tree))

    def unpacked(self) -> Any:
        return unflatten(self.form.tree, self.leaves)


class ResultStructure:
    """Static part of a result, which ``jax.jit`` compares and hashes."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultStructure) and self.tree == other.tree

    def __hash__(self) -> int:
        # Trees may have members that are not hashable, so all structures have one hash, and `==` decides.
        return hash(ResultStructure)


jax.tree_util.register_pytree_node(
    Packed, lambda packed: (packed.leaves, packed.form), lambda form, leaves: Packed(leaves, form)
)


# ---------------------------------------------------------------------------------------------- program cache
# Caches of compiled programs between processes.
#
# Lowered programs are stored in files of this package. XLA's own cache is enabled, in a folder of this
# package, only while a graph is compiled, and not at all if the user has configured or disabled it.

_FORMAT = 1
# The module docstring describes the recording, which does not affect the program.
_HEADER = re.compile(r'\A"""[\s\S]*?"""')
_IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
# The versions of these packages are part of every key.
_OWN = ("jax", "numpy")
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
# With these settings JAX may run the function operation by operation.
_WATCHING = ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit")


def key_of(text: str, args: Iterable[Any]) -> str | None:
    is_off = not jax.config.jax_enable_compilation_cache
    if is_off or any(getattr(jax.config, name) for name in _WATCHING) or _is_in_a_context():
        return None
    facts = [_HEADER.sub("", text), *_versions(), *_settings(), *map(_described, args), *_packages(text)]
    return None if None in facts else hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()


def _versions() -> Iterator[str]:
    device = jax.local_devices()[0]
    numpy: Any = sys.modules["numpy"]
    yield from (str(_FORMAT), jax.__version__, jaxlib.__version__, numpy.__version__)
    yield from (device.platform, device.device_kind, device.client.platform_version)


def _settings() -> Iterator[str]:
    return (f"{name}={value!r}" for name, value in sorted(jax.config.values.items()) if "cache" not in name)


def _is_in_a_context() -> bool:
    seen: list[Any] = []
    # JAX has no public list of open contexts. A new thread has none, so its context is compared.
    context = config.trace_context
    thread = threading.Thread(target=lambda: seen.append(context()))
    thread.start()
    thread.join()
    return bool(context() != seen[0])


def _described(arg: Any) -> str | None:
    if isinstance(arg, jax.core.Tracer):
        aval = arg.aval
        return repr((str(aval.dtype), aval.shape, aval.weak_type, str(getattr(aval, "memory_space", ""))))
    if type(arg) is dict:
        parts = {
            name: _described(array) if isinstance(array, jax.core.Tracer) else None
            for name, array in arg.items()
        }
        return None if None in parts.values() else repr(sorted(parts.items()))
    if type(arg) is tuple:
        members = list(map(_described, arg))
        return None if None in members else repr(members)
    return repr(arg) if type(arg) in (bool, int, float) else None


def _packages(text: str) -> Iterator[str | None]:
    for name in dict.fromkeys(_IMPORT.findall(text)):
        if name in _OWN or name in sys.stdlib_module_names:
            continue
        module = sys.modules.get(name)
        # Code outside of site-packages may change without a new version.
        version, file = getattr(module, "__version__", None), getattr(module, "__file__", None) or ""
        yield (
            f"{name} {version}" if version and _INSTALLED.search(file) and name != "graph_compiler" else None
        )


Classes = Mapping[tuple[str, str], type]


class NotStorable(Signal):
    """Signal for a file that says that its program cannot be stored."""


@dataclass(frozen=True)
class ProgramFile:
    """Stored program of a function.

    form: structure of the result.
    passed: for each array of the result, the index of the same array among those of the arguments, or None if
        the program computes it.
    weak: for each computed array, True if its dtype is weak.
    """

    program: export.Exported
    form: Tree
    passed: list[int | None]
    weak: list[bool]


def classes_of(function: Callable[..., Any]) -> Classes:
    # A decorated function would return the globals of its decorator.
    held = inspect.unwrap(function).__globals__.values()
    return {(cls.__module__, cls.__qualname__): cls for cls in held if isinstance(cls, type)}


def write(path: Path, kept: ProgramFile, classes: Classes) -> None:
    """Write the program ``kept`` to ``path`` atomically.

    Raise an exception if the structure of the result cannot be read back with ``classes``.
    """
    form = tree_to_json(kept.form, repr)
    # Static parts of a result, such as the user's objects, may have no text that can be read back.
    if _form(json.loads(json.dumps(form)), classes) != kept.form:
        raise InvalidFile("the form of the result cannot be kept")
    program = base64.b64encode(kept.program.serialize()).decode()
    _put(path, {"form": form, "passed": kept.passed, "weak": kept.weak, "program": program})


def write_none(path: Path) -> None:
    with suppress(OSError):
        _put(path, {})


def _put(path: Path, held: dict[str, Any]) -> None:
    body = json.dumps({"key": path.stem, **held})
    # Another process may read the file at any time, so it is written under another name and renamed.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{_digest(body)}\n{body}")
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def read(path: Path, classes: Classes) -> ProgramFile | None:
    """Return the program at ``path``, or None if the file is missing, corrupt, or of another key.

    Raise ``NotStorable`` if the file says that its program cannot be stored.
    """
    try:
        digest, _, body = path.read_text().partition("\n")
        held = json.loads(body) if digest == _digest(body) else {}
    except (OSError, ValueError):
        return None
    if held.get("key") != path.stem:
        return None
    if "program" not in held:
        raise NotStorable
    program = export.deserialize(bytearray(base64.b64decode(held["program"])))
    return ProgramFile(program, _form(held["form"], classes), held["passed"], held["weak"])


def _form(data: Any, classes: Classes) -> Tree:
    return tree_from_json(data, ast.literal_eval, KnownClasses(classes))


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


log = logging.getLogger("graph_compiler")
# Functions that trace faster than this are not worth a file.
_LEAST_SECONDS = 0.05


class StoredPrograms:
    """Stored programs of one function, for calls that JAX does not transform.

    are_used: True if programs are looked up and stored.
    are_for_another_platform: True once JAX has rejected a stored program on this platform.
    """

    def __init__(self, function: Callable[..., Any], text: str | None) -> None:
        self._function, self._text = function, text or ""
        self._folder = cache_folder("jax") if text else None
        # The first trace shows whether the program can be stored.
        self.are_used = self._folder is not None
        self.are_for_another_platform = False
        self._has_any = False
        self._gave_up: AbandonedWay | None = None
        self._tracing = threading.RLock()

    def describe(self) -> str:
        return "" if self._gave_up is None else f"gave up: {self._gave_up}"

    def traced(self, *args: Any) -> Packed:
        with self._tracing:
            found = self._found(args) if self.are_used else None
            self.are_used = self._has_any
        return Packed.of(self._function(*args)) if found is None else found

    def _found(self, args: tuple[Any, ...]) -> Packed | None:
        try:
            key = key_of(self._text, args)
        # JAX's settings have no public names, so another version may rename them.
        except AttributeError as problem:
            log.debug("no program of %s is kept: %s", self._function.__name__, problem)
            return None
        if self._folder is None or key is None:
            return None
        path, classes, call = (
            Path(self._folder) / f"{key}.json",
            classes_of(self._function),
            _ExportedCall(self._function, args),
        )
        try:
            kept = read(path, classes)
            if kept is None and call.is_quick():
                return call.traced()
            if kept is None:
                kept = call.lowered()
                write(path, kept, classes)
            result = call.by(kept)
        except NotStorable:
            return None
        # JAX cannot export every program, and has no exception class of its own for that. An exception of the
        # function itself is raised again by its trace.
        except Exception as problem:
            if is_fault(problem):
                raise
            self._gave_up = log_abandoned_way(self._function.__name__, "keeping its program on disk", problem)
            write_none(path)
            return None
        self._has_any = True
        return result


class _ExportedCall:
    """Lowering of a function for arguments of one structure, with Python numbers as constants."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        static = {place: arg for place, arg in enumerate(args) if isinstance(arg, (bool, int, float))}
        self._leaves, structure = jax.tree.flatten(
            [arg for arg in args if not isinstance(arg, (bool, int, float))]
        )
        self._form: Tree | None = None
        self._passed: list[int | None] = []

        def flat(*leaves: Any) -> list[Any]:
            given = iter(jax.tree.unflatten(structure, leaves))
            packed = Packed.of(
                function(*[static[place] if place in static else next(given) for place in range(len(args))])
            )
            # An exported program would return a new array for an argument that is returned unchanged.
            places = {id(leaf): place for place, leaf in enumerate(leaves)}
            self._form, self._passed = packed.form.tree, [places.get(id(leaf)) for leaf in packed.leaves]
            return [leaf for leaf, place in zip(packed.leaves, self._passed) if place is None]

        self._jitted = jax.jit(flat, inline=True)

    def is_quick(self) -> bool:
        start = time.perf_counter()
        self._jitted.trace(*self._leaves)
        return time.perf_counter() - start < _LEAST_SECONDS

    def traced(self) -> Packed:
        results = self._jitted(*self._leaves)
        return self._whole(results, self._passed, self._form)

    def lowered(self) -> ProgramFile:
        # The export is a trace of its own, and must not be part of the current one.
        with jax.core.eval_context():
            program = export.export(self._jitted)(*self._leaves)
        assert self._form is not None
        return ProgramFile(program, self._form, self._passed, [aval.weak_type for aval in program.out_avals])

    def by(self, kept: ProgramFile) -> Packed:
        results = [
            weak(array) if is_weak else array
            for array, is_weak in zip(kept.program.call(*self._leaves), kept.weak)
        ]
        return self._whole(results, kept.passed, kept.form)

    def _whole(self, results: list[Any], passed: list[int | None], form: Tree | None) -> Packed:
        made = iter(results)
        assert form is not None
        return Packed(
            [next(made) if place is None else self._leaves[place] for place in passed], ResultStructure(form)
        )


_SETTINGS = {"jax_persistent_cache_min_compile_time_secs": 0.1}


class PersistentCache:
    """Switch that enables XLA's cache from the end of a trace until :meth:`close`.

    It enables nothing if the user has configured or disabled a cache, or if there is no cache folder.
    """

    def __init__(self) -> None:
        self._before: dict[str, Any] | None = None

    def opened_by(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*args: Any) -> Any:
            result = function(*args)
            self._open()
            return result

        return traced

    def _open(self) -> None:
        folder = cache_folder("xla")
        is_users = jax.config.jax_compilation_cache_dir or not jax.config.jax_enable_compilation_cache
        if self._before is not None or is_users or folder is None:
            return
        settings = {"jax_compilation_cache_dir": folder, **_SETTINGS}
        self._before = {name: getattr(jax.config, name) for name in settings}
        for name, value in settings.items():
            jax.config.update(name, value)

    @property
    def is_open(self) -> bool:
        return self._before is not None

    def close(self) -> None:
        for name, value in (self._before or {}).items():
            jax.config.update(name, value)
        # JAX opens its cache once, and would go on to use this package's folder.
        compilation_cache.reset_cache()
        self._before = None


# --------------------------------------------------------------------------------------------------- compiled
def compiled(
    function: Callable[..., Any],
    options: dict[str, Any],
    static: tuple[int, ...],
    text: str | None,
    by_default: bool,
) -> Callable[..., Any]:
    """Return ``function`` compiled by ``jax.jit`` with ``options``.

    static: positions of static arguments.
    text: complete source of the function, for a cache of programs between processes; None for no cache.
    by_default: True if the user has not asked for compilation; a call with new shapes may then run uncompiled
        the first time.
    """
    options = {**options, **({"static_argnums": static} if static else {})}
    cache, programs = PersistentCache(), StoredPrograms(function, text)
    shapes = CompiledShapes(function, by_default, static)
    entries = _Entries.of(function, options, cache, programs, shapes)

    # The program may call back into the user's Python.
    @forwards
    def call(*args: Any) -> Any:
        try:
            if not core.trace_state_clean():
                is_inlined = by_default and _is_staged(args, static)
                return function(*args) if is_inlined else entries.transformed(*args).unpacked()
            if programs.are_for_another_platform:
                return entries.transformed(*args).unpacked()
            result = entries.outermost(*args).unpacked()
        except NewShape:
            return function(*args)
        except (ValueError, RuntimeError) as problem:
            if (entry := _entry_after(problem, args, function, entries, programs)) is None:
                raise
            found = entry(*args)
            return found.unpacked() if isinstance(found, Packed) else found
        finally:
            if cache.is_open:
                cache.close()
        if shapes.message is not None:
            shapes.warn()
        return result

    return compiled_or_plain(
        call,
        function,
        _why_not_compiled,
        "jax.jit",
        lambda: ", ".join(filter(None, (shapes.describe(), programs.describe()))),
        is_wanted=not by_default,
    )


@dataclass(frozen=True)
class _Entries:
    """One function compiled in several ways.

    outermost: counts shapes, and runs a stored program if there is one.
    transformed: runs no stored program, because these have no derivative and no batching rule.
    nested: for calls inside of another compiled function, where JAX rejects compiler options; adds none to
        those of the user.
    """

    outermost: Callable[..., Packed]
    transformed: Callable[..., Packed]
    nested: Callable[..., Packed]

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        options: dict[str, Any],
        cache: PersistentCache,
        programs: StoredPrograms,
        shapes: CompiledShapes,
    ) -> _Entries:
        wanted = options.get("compiler_options") or {}
        # By default XLA would drop casts to half precision between two operations.
        exact = {**options, "compiler_options": {"xla_allow_excess_precision": False, **wanted}}

        def jitted(traced: Callable[..., Packed], options: dict[str, Any]) -> Callable[..., Packed]:
            program: Callable[..., Packed] = jax.jit(
                functools.wraps(function)(cache.opened_by(traced)), **options
            )
            return program

        def counted(*args: Any) -> Packed:
            shapes.note(args)
            return programs.traced(*args)

        def plain(*args: Any) -> Packed:
            return Packed.of(function(*args))

        return cls(jitted(counted, exact), jitted(plain, exact), jitted(plain, options))


def _entry_after(
    problem: Exception,
    args: tuple[Any, ...],
    function: Callable[..., Any],
    entries: _Entries,
    programs: StoredPrograms,
) -> Callable[..., Any] | None:
    """Return the function to call instead after ``problem``, or None if ``problem`` has to be raised.

    Set ``programs.are_for_another_platform`` if ``problem`` says that a stored program is for another one.
    """
    # The stored program is for another platform, such as a GPU that is no longer the default device.
    if "was exported for" in str(problem):
        programs.are_for_another_platform = True
        return entries.transformed
    # Uncompiled, the operation that reads the array raises at its line.
    if _holds_deleted(args) or "incompatible devices" in str(problem):
        return function
    # Compiler options are those of the enclosing compiled function.
    return entries.nested if "top-level" in str(problem) else None


def _is_staged(args: tuple[Any, ...], static: tuple[int, ...]) -> bool:
    trace: Any = core.trace_ctx.trace
    while trace is not None and not isinstance(trace, DynamicJaxprTrace):
        trace = getattr(trace, "parent_trace", None)
    return trace is not None or any(not isinstance(args[place], (bool, int, float)) for place in static)


def _holds_deleted(args: tuple[Any, ...]) -> bool:
    arrays = [
        leaf
        for leaf in jax.tree.leaves(args)
        if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    ]
    return any(array.is_deleted() for array in arrays)


def _why_not_compiled(problem: Exception) -> str | None:
    of_elements = isinstance(
        problem, (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError)
    )
    return "a size in it depends on the elements of an array" if of_elements else None
