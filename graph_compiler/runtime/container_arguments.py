"""Calls that hand over all arguments in one container, as training loops do: ``model({"input_ids": ..., "attention_mask": ...})``."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..trees import Branch, Tree
from .spelling import spelling_of

if TYPE_CHECKING:
    from .variant import Variant

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def spread(
    variants: Iterable[Variant], signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that one dict holds by name, or one list by position; the call as it is where the original takes such a container
    itself."""
    if len(args) != 1 or kwargs or not isinstance(args[0], (Mapping, list, tuple)):
        return args, kwargs
    (held,) = args
    recorded = [variant.graph.input_tree for variant in variants]
    if any(_takes_one(tree, held) for tree in recorded):
        return args, kwargs
    if isinstance(held, Mapping):
        return ((), dict(held)) if _are_names(held, signature, recorded) else (args, kwargs)
    return (tuple(held), {}) if any(spelling_of(tree).positional == len(held) > 1 for tree in recorded) else (args, kwargs)


def takes_whole(variants: Iterable[Variant], held: Any) -> bool:
    """Whether a recorded call has such a container as its only argument, and does not take what is in it for its arguments."""
    recorded = [variant.graph.input_tree for variant in variants]
    return any(_takes_one(tree, held) and spelling_of(tree).positional == 1 and not spelling_of(tree).keywords for tree in recorded)


def _takes_one(call: Tree, held: Any) -> bool:
    """Whether the recorded call has such a container as its first argument."""
    positional = call.children[0] if isinstance(call, Branch) else None
    first = positional.children[0] if isinstance(positional, Branch) and positional.children else None
    return isinstance(first, Branch) and issubclass(first.type, Mapping) == isinstance(held, Mapping)


def _are_names(held: Mapping[Any, Any], signature: inspect.Signature | None, recorded: list[Tree]) -> bool:
    parameters = [] if signature is None else signature.parameters.values()
    known = {parameter.name for parameter in parameters if parameter.kind in _NAMED}
    known.update(name for tree in recorded for name in spelling_of(tree).keywords)
    return bool(held) and set(held) <= known
