"""Programs that JAX has traced and lowered are kept between processes, beside what XLA compiles of them.

A program is found again by all that its trace reads (``program_keys.py``). Where something else may matter, the function itself is traced,
and nothing is kept.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax import export

from ...trees import Tree
from ..compile_cache import cache_folder
from .packed import Form, Packed, weak
from .program_files import NotKept, ProgramFile, classes_of, read, write, write_none
from .program_keys import key_of

log = logging.getLogger("graph_compiler")
_LEAST_SECONDS = 0.05  # of a trace: what is traced in less is not worth a file


class KeptPrograms:
    """Of one function, whose whole ``text`` is given; None where it depends on more. ``traced`` is what ``jax.jit`` compiles, in calls that
    are not transformed: what was lowered has no derivative and takes no batches."""

    def __init__(self, function: Callable[..., Any], text: str | None) -> None:
        self._function, self._text = function, text or ""
        self._folder = cache_folder("jax") if text else None
        self.are_used = self._folder is not None  # the first trace shows whether it is so
        self.are_for_another_platform = False
        self._has_any = False
        self._tracing = threading.RLock()

    def traced(self, *args: Any) -> Packed:
        """The result, while JAX traces."""
        with self._tracing:
            found = self._found(args) if self.are_used else None
            self.are_used = self._has_any
        return Packed.of(self._function(*args)) if found is None else found

    def _found(self, args: tuple[Any, ...]) -> Packed | None:
        """By the program that is kept for such arguments, or is from now on; None where nothing may be kept."""
        try:
            key = key_of(self._text, args)
        except AttributeError as problem:  # the settings of JAX have no public names: another version may have others
            log.debug("no program of %s is kept: %s", self._function.__name__, problem)
            return None
        if self._folder is None or key is None:
            return None
        path, classes, call = Path(self._folder) / f"{key}.json", classes_of(self._function), _Call(self._function, args)
        try:
            kept = read(path, classes)
            if kept is None and call.is_quick():
                return call.traced()
            if kept is None:
                kept = call.lowered()
                write(path, kept, classes)
            result = call.by(kept)
        except NotKept:
            return None
        # JAX cannot write every program down, and has no exception of its own for it; what the function raises comes again from its trace.
        except Exception as problem:
            log.debug("the program of %s is not kept: %s: %s", self._function.__name__, type(problem).__name__, problem)
            write_none(path)
            return None
        self._has_any = True
        return result


class _Call:
    """The function for arguments of these structures. Results that are arguments are passed on, as ``jax.jit`` does."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        static = {place: arg for place, arg in enumerate(args) if isinstance(arg, (bool, int, float))}
        self._leaves, structure = jax.tree.flatten([arg for arg in args if not isinstance(arg, (bool, int, float))])
        self._form: Tree | None = None
        self._passed: list[int | None] = []

        def flat(*leaves: Any) -> list[Any]:
            given = iter(jax.tree.unflatten(structure, leaves))
            packed = Packed.of(function(*[static[place] if place in static else next(given) for place in range(len(args))]))
            places = {id(leaf): place for place, leaf in enumerate(leaves)}
            self._form, self._passed = packed.form.tree, [places.get(id(leaf)) for leaf in packed.leaves]
            return [leaf for leaf, place in zip(packed.leaves, self._passed) if place is None]

        self._jitted = jax.jit(flat, inline=True)

    def is_quick(self) -> bool:
        """Whether it is traced in no time."""
        start = time.perf_counter()
        self._jitted.trace(*self._leaves)
        return time.perf_counter() - start < _LEAST_SECONDS

    def traced(self) -> Packed:
        """The result by the function itself, which is traced once."""
        results = self._jitted(*self._leaves)
        return self._whole(results, self._passed, self._form)

    def lowered(self) -> ProgramFile:
        """The program. ``NotImplementedError`` and others where JAX cannot write it down."""
        with jax.core.eval_context():
            program = export.export(self._jitted)(*self._leaves)
        assert self._form is not None
        return ProgramFile(program, self._form, self._passed, [aval.weak_type for aval in program.out_avals])

    def by(self, kept: ProgramFile) -> Packed:
        """The result by a program."""
        results = [weak(array) if is_weak else array for array, is_weak in zip(kept.program.call(*self._leaves), kept.weak)]
        return self._whole(results, kept.passed, kept.form)

    def _whole(self, results: list[Any], passed: list[int | None], form: Tree | None) -> Packed:
        made = iter(results)
        assert form is not None
        return Packed([next(made) if place is None else self._leaves[place] for place in passed], Form(form))
