"""Variants of one call between which elements decide, where the target traces the call: branches of the program that it writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import CallMismatch
from ..trees import Tree, flatten, unflatten
from .variant import Variant


class Alternative(NamedTuple):
    """A variant whose recording fits a call, if the ``checks``, arrays without elements, are as expected. ``found`` is its result with the
    state. ``run`` gives both once more, where a branch of the program has to trace them itself."""

    variant: Variant
    found: Any
    checks: tuple[Any, ...]
    run: Callable[[], Any]


def joined(name: str, alternatives: Sequence[Alternative]) -> tuple[Any, dict[str, Any]]:
    """The result and state of the first alternative whose guards hold; that of the last one, which nobody takes for right, where none does.

    ``CallMismatch`` where they differ in structure, sizes or types, so that no program gives either.
    """
    target = alternatives[0].variant.target
    if len(alternatives) == 1 or target.either is None:
        return _checked(alternatives[0], alternatives[0].found, alternatives[0].checks)
    *others, last = alternatives
    trees: list[Tree] = []

    def arrays(found: Any) -> list[Any]:
        leaves, tree = flatten(found, lambda item: target.convert(item) is not None)
        trees.append(tree)
        if tree != trees[0]:
            raise CallMismatch(f"{name}: {target.name} traces this call, and recorded variants for it differ in the structure of results")
        return [target.convert(leaf) for leaf in leaves]

    chosen: Callable[[], list[Any]] = lambda: arrays(_checked(last, *last.run()))  # noqa: E731  (one of several functions)
    for other in reversed(others):
        chosen = functools.partial(_either, name, other, functools.partial(_arrays_of, arrays, other), chosen)
    found = chosen()
    result, state = unflatten(trees[0], found)
    return result, state


def _checked(one: Alternative, found: Any, checks: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
    result, state = one.variant.target.checked(found, checks, one.variant.program.checks)
    return result, state


def _arrays_of(arrays: Callable[[Any], list[Any]], one: Alternative) -> list[Any]:
    return arrays(one.run()[0])


def _either(name: str, one: Alternative, run: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]) -> list[Any]:
    target = one.variant.target
    assert target.either is not None
    try:
        found: list[Any] = target.either(one.checks, one.variant.program.checks, run, otherwise)
    except CallMismatch:
        raise
    except (TypeError, ValueError) as problem:
        raise CallMismatch(
            f"{name}: {target.name} traces this call, in which elements decide between recorded variants that give arrays of other sizes "
            f"or types ({str(problem).splitlines()[0]}): no program gives either. Let all ways through the function give the same, or call "
            "it outside of what traces it"
        ) from problem
    return found
