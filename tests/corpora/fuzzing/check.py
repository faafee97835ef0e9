"""Judgement of a random program: right, a clear error, wrong, or a crash."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

import graph_compiler
from graph_compiler.errors import GraphCompilerError, InternalError, TargetRefused
from tests.corpora.programs.table import LIFTED, TARGETS, state_of
from tests.support.canonical import lifted
from tests.support.compare import arrays, assert_same
from tests.support.seeding import seed

from .program import load
from .rounding import unstable

_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|<random program \d+>:\d+|\d+|\S*\(\S*\)|tensor\(.*", re.S)


@dataclass(frozen=True)
class Setting:
    """A way to compile a program.

    lazy: record at the first call instead of before.
    compiled: return a function that the backend compiles.
    """

    to: str
    lazy: bool = False
    compiled: bool = False

    def __str__(self) -> str:
        return f"{self.to}{', compiled' if self.compiled else ''}, recorded {'at the first call' if self.lazy else 'before'}"


@dataclass(frozen=True)
class Verdict:
    """The judgement of a program in one setting.

    kind: ``"right"``, ``"error"`` (a clear one of graph_compiler), ``"untold"`` (nothing can be
        concluded), ``"wrong"`` or ``"crash"``.
    reason: the cause, without the names and numbers of the program, so that equal causes can be grouped.
    detail: the whole message.
    """

    kind: str
    reason: str = ""
    detail: str = ""

    @property
    def fails(self) -> bool:
        """True if a bug was found."""
        return self.kind in ("wrong", "crash")


def settings(draws: bool, targets: tuple[str, ...] = TARGETS) -> Iterator[Setting]:
    """Yield every setting. A program that draws random numbers is judged in torch alone, because other
    targets draw other numbers.
    """
    for to in targets:
        if to == "torch" or not draws:
            yield from (Setting(to, lazy=False), Setting(to, lazy=True))
    if "jax" in targets and not draws:
        yield Setting("jax", lazy=True, compiled=True)


def judge(source: str, setting: Setting) -> Verdict:
    """Run a program directly and as a graph, call after call, and compare results, arguments, buffers and, in
    torch, memory.

    Judging ends at the first call that is not right.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed(0)
        try:
            scope = load(source)
        except SyntaxError as problem:
            # The reducer may remove the loop around a ``break``.
            return Verdict("untold", "no program", str(problem))
        original, function = scope["make"](), scope["make"]()
        try:
            graph = _compiled(function, setting, scope)
        except Exception as problem:
            return _of_error(problem, _expected(scope["make"](), scope["calls"][0]))
        for make_call in scope["calls"]:
            verdict = _of_call(original, function, graph, make_call, setting)
            if verdict.kind == "untold" or verdict.fails:
                return _untold(source, setting, verdict) if verdict.kind == "wrong" else verdict
            # Neither what the original did before it raised nor later calls are compared.
            if verdict != Verdict("right"):
                return verdict
    return Verdict("right")


def _compiled(function: Any, setting: Setting, scope: dict[str, Any]) -> Any:
    to = "torch" if setting.to == LIFTED else setting.to
    graph = graph_compiler.compile(
        function, to=to, source="torch", return_backend_compiled_fn=setting.compiled
    )
    graph = lifted(graph) if setting.to == LIFTED else graph
    if not setting.lazy:
        graph.add_variant(scope["calls"][0](), {}, "args= given")
    return graph


def _expected(function: Any, make_call: Any) -> Any:
    """Return (result, arguments after the call), or the exception that torch raises."""
    call = make_call()
    seed(1)
    try:
        return function(*call), call
    except Exception as problem:
        return problem


def _of_call(original: Any, function: Any, graph: Any, make_call: Any, setting: Setting) -> Verdict:
    expected = _expected(original, make_call)
    ours = make_call()
    seed(1)
    try:
        found = graph(*ours)
    except Exception as problem:
        return _of_error(problem, expected)
    if isinstance(expected, Exception):
        # The exception depends on elements, or nothing uses the result of the call that raises.
        return Verdict("untold", f"torch raises {type(expected).__name__}")
    try:
        assert_same((found, ours), expected)
        assert_same(state_of(function), state_of(original))
        if setting.to == "torch":
            assert memory_of((found, ours)) == memory_of(expected), (
                f"memory {memory_of((found, ours))}, expected {memory_of(expected)}"
            )
    except AssertionError as problem:
        return Verdict("wrong", _general(str(problem)), str(problem))
    return Verdict("right")


def _of_error(problem: Exception, expected: Any) -> Verdict:
    if isinstance(problem, GraphCompilerError) and not isinstance(problem, (TargetRefused, InternalError)):
        return Verdict("error", f"{type(problem).__name__}: {_general(str(problem))}", str(problem))
    if isinstance(expected, Exception) and type(problem) is type(expected):
        return Verdict("right", f"as torch: {type(problem).__name__}", str(problem))
    return Verdict(
        "crash", f"{type(problem).__name__}: {_general(str(problem))}", f"{type(problem).__name__}: {problem}"
    )


def _general(message: str) -> str:
    """Return a message without the names and numbers of one program."""
    lines = [line for line in message.splitlines() if line.strip()]
    picked = lines[1] if len(lines) > 1 and lines[0].rstrip().endswith(":") else lines[0] if lines else ""
    return _QUOTED.sub("_", picked)[:160]


def _untold(source: str, setting: Setting, verdict: Verdict) -> Verdict:
    """Return the verdict, or ``"untold"`` if the original depends on rounding or is undefined in a target
    with 32 bits.
    """

    def run() -> Any:
        scope = load(source)
        function = scope["make"]()
        return [(_expected(function, make_call), dict(state_of(function))) for make_call in scope["calls"]]

    def differs(moved: Any, steady: Any) -> bool:
        try:
            for (a, state), (b, other) in zip(moved, steady):
                assert isinstance(a, Exception) == isinstance(b, Exception)
                if not isinstance(a, Exception):
                    assert_same(a, b)
                    assert_same(state, other)
        except AssertionError:
            return True
        return False

    reason = unstable(run, differs)
    # In torch itself only rounding may differ.
    tells = not reason or (setting.to == "torch" and reason != "rounding decides")
    return verdict if tells else Verdict("untold", reason, verdict.detail)


def memory_of(tree: Any) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return for each tensor (the number of the first tensor with the same storage, storage offset, strides)."""
    tensors = [item for item in arrays(tree).values() if isinstance(item, torch.Tensor)]
    places = [tensor.untyped_storage()._cdata for tensor in tensors]
    return [
        (places.index(place), tensor.storage_offset(), _strides(tensor))
        for place, tensor in zip(places, tensors)
    ]


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    return (
        tuple(stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1)
        if tensor.numel()
        else ()
    )
