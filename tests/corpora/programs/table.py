"""What a program is, and the comparison of its graph with the original."""

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
ELSEWHERE = "elsewhere"  # every target but the framework that a program is written in


@dataclass(frozen=True)
class Program:
    """``make()`` gives a fresh function or model; ``calls`` give the arguments of one call each, the first is
    recorded.

    ``errors``: target, or ELSEWHERE -> words of the message of the error that is right there. ``draws``:
    whether random numbers differ between targets. ``variants`` is how many variants there must be after all
    calls, where it matters. ``changes``: number of a call -> what the user does to the function (its closure,
    its globals, its modules) before that call. ``targets`` are those that the program is right for, the
    framework that it is written in first.
    """

    name: str
    make: Callable[[], Any]
    calls: tuple[Callable[[], tuple[Any, ...]], ...]
    errors: dict[str, str] = field(default_factory=dict)
    variants: int | None = None
    changes: dict[int, Callable[[Any], Any]] = field(default_factory=dict)
    targets: tuple[str, ...] = TARGETS

    def error(self, to: str) -> str | None:
        """The words of the error that is right in a target."""
        if to == LIFTED:  # what cannot be said in canonical operations
            return self.errors.get("jax", self.errors.get(ELSEWHERE))
        return self.errors.get("torch") if to == "torch" else self.errors.get(to, self.errors.get(ELSEWHERE))


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without the warnings that torch or numpy give for it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return called


def state_of(function: Any) -> dict[str, Any]:
    """What a call may leave behind in a module's buffers."""
    return dict(function.state_dict()) if isinstance(function, torch.nn.Module) else {}


def attributes_of(function: Any) -> dict[str, Any]:
    """What a call may leave behind in attributes of modules, or of the object that is called or whose method
    is.
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
    """(result or the error's class name, arguments afterwards)."""
    args, kwargs = (call[:-1], call[-1]) if call and isinstance(call[-1], Keywords) else (call, {})
    return function(*args, **kwargs), call


class Keywords(dict[str, Any]):
    """The last part of a call that are its keyword arguments."""


def compiled(program: Program, function: Any, to: str, lazy: bool) -> Any:
    """The program's graph for a target."""
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
    """Return the graph, after every call has given what the original gives, changed the arguments as it does,
    and left the same state.
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
    """Of every array or scalar its class: a framework's own, whichever the graph is for."""
    return {path: type(item) for path, item in arrays(tree).items()}


def _nothing(function: Any) -> None:
    """No change."""
