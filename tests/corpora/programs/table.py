"""Rows of the tables of programs, and the comparison of a program's graph with the original."""

from __future__ import annotations

import copy
import functools
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

import graph_compiler as gc
from tests.support.canonical import lifted
from tests.support.compare import arrays, assert_same
from tests.support.seeding import seed
from tests.support.selection import is_jitted

LIFTED = "torch by canonical operations"
TARGETS = ("torch", "jax", "numpy", "tensorflow", LIFTED)
# Every target but the framework that a program is written in.
ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Program:
    """A program with its calls and the expected errors.

    make: returns a new function or model.
    calls: functions that return the arguments of one call each; the first is recorded.
    errors: target, or ``ELSEWHERE``, to words of the message of the expected error.
    variants: number of variants after all calls; None if it does not matter.
    changes: number of a call to a function that changes the program (its closure, globals, modules) before
        that call.
    targets: targets that the program runs in, the framework that it is written in first.
    """

    name: str
    make: Callable[[], Any]
    calls: tuple[Callable[[], tuple[Any, ...]], ...]
    errors: dict[str, str] = field(default_factory=dict)
    variants: int | None = None
    changes: dict[int, Callable[[Any], Any]] = field(default_factory=dict)
    targets: tuple[str, ...] = TARGETS

    def error(self, to: str) -> str | None:
        """Return words of the message of the error that is expected in a target, or None."""
        # What JAX rejects cannot be expressed in canonical operations.
        if to == LIFTED:
            return self.errors.get("jax", self.errors.get(ELSEWHERE))
        return self.errors.get("torch") if to == "torch" else self.errors.get(to, self.errors.get(ELSEWHERE))


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with warnings ignored."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return called


def state_of(function: Any) -> dict[str, Any]:
    """Return the buffers and parameters of a module; an empty dict for any other callable."""
    return dict(function.state_dict()) if isinstance(function, torch.nn.Module) else {}


def attributes_of(function: Any) -> dict[str, Any]:
    """Return the public attributes of a module and its submodules, or of the callable object or the owner of
    a method.
    """
    owner = function.__self__ if isinstance(function, types.MethodType) else function
    objects = (
        dict(owner.named_modules())
        if isinstance(owner, torch.nn.Module)
        else {"": owner}
        if hasattr(owner, "__dict__")
        else {}
    )
    return {
        f"{path}.{name}": item
        for path, one in objects.items()
        for name, item in vars(one).items()
        if name[0] != "_"
    }


def outcome(function: Any, call: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return (result, arguments after the call)."""
    args, kwargs = (call[:-1], call[-1]) if call and isinstance(call[-1], Keywords) else (call, {})
    return function(*args, **kwargs), call


class Keywords(dict[str, Any]):
    """The keyword arguments of a call, as its last item."""


def compiled(program: Program, function: Any, to: str, lazy: bool) -> Any:
    """Return the program's graph for a target; unless ``lazy``, it has recorded the first call."""
    if to == LIFTED:
        graph = lifted(gc.compile(function, to="torch"))
    else:
        graph = gc.compile(function, to=to, return_backend_compiled_fn=is_jitted(program.name, to))
    if not lazy:
        call = copy.deepcopy(program.calls[0]())
        args, kwargs = (call[:-1], call[-1]) if call and isinstance(call[-1], Keywords) else (call, {})
        graph.add_variant(args, dict(kwargs), "args= given")
    return graph


def check(program: Program, to: str, lazy: bool) -> Any:
    """Assert that each call of the graph gives the original's result and makes the same changes to arguments,
    buffers and attributes.

    Return the graph.
    """
    original, function = program.make(), program.make()
    seed(0)
    graph = compiled(program, function, to, lazy)
    for number, make_call in enumerate(program.calls):
        ours, theirs = make_call(), make_call()
        for callable_ in (original, function):
            program.changes.get(number, _nothing)(callable_)
        seed(1)
        expected, changed = outcome(original, theirs)
        seed(1)
        found, ours = outcome(graph, ours)
        assert_same(found, expected)
        assert_same(ours, changed)
        assert_same(state_of(function), state_of(original))
        assert_same(attributes_of(function), attributes_of(original))
        assert _classes(attributes_of(function)) == _classes(attributes_of(original))
    if program.variants is not None:
        assert len(graph.variants) == program.variants, graph.explain()
    return graph


def _classes(tree: Any) -> dict[Any, type]:
    """Map the path of each array to its class. State must consist of arrays of the source framework, whatever
    the target is.
    """
    return {path: type(item) for path, item in arrays(tree).items()}


def _nothing(function: Any) -> None: ...
