"""Calls beyond ``max_variants``: the original runs itself, with its arguments in its own framework and its results in the target's."""

from __future__ import annotations

import collections
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GuardFailed, TooManyVariants
from ..tracing.updates import at
from ..trees import build, containers, flatten, items_of, iterate_structure, paths, unflatten
from .explain import why_missed

if TYPE_CHECKING:
    from .graph import Graph
    from .pipeline import Pipeline
    from .variant import Variant

_PACKAGE = str(Path(__file__).parents[1])
_REMEDY = "Raise max_variants, or pass what differs as an array"


class Limit:
    """How many variants a graph may have, and what calls do that would need one more."""

    def __init__(self, variants: int = 16, on_limit: str = "original") -> None:
        self.options, self.calls = (variants, on_limit), 0  # how many calls the original has run

    def is_reached(self, graph: Graph) -> bool:
        """Whether no further variant may be recorded."""
        return len(graph.variants) >= self.options[0]

    def lets_original_run(self, graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the original runs in the place of one more variant."""
        return self.is_reached(graph) and self.options[1] != "raise" and _why_not(graph.pipeline, args, kwargs) is None

    def run_original(self, graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The original's result, in arrays of the target; a warning at the first such call."""
        self.calls += 1
        if self.calls == 1:
            _tell(graph, args, kwargs)
        return _Border(graph.pipeline).call(args, kwargs)

    def refuse(self, graph: Graph, why: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """``TooManyVariants``, and why the original does not run."""
        because = None if self.options[1] == "raise" else _why_not(graph.pipeline, args, kwargs)
        also = f" ({because})" if because else ""
        raise TooManyVariants(f"{graph.name} was recorded {len(graph.variants)} times and this call fits none: {why}{also}. {_REMEDY}")

    def explain(self) -> str:
        """Line of :meth:`Graph.explain`; empty where no call went beyond the limit."""
        return f"beyond {self.options[0]} variants: the original ran {self.calls} calls" if self.calls else ""


def _why_not(pipeline: Pipeline, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Why the original cannot run in the place of a variant, in words; None where it can."""
    native, given = pipeline.target.target, list(iterate_structure((args, kwargs)))
    if not pipeline.has_original:
        return "there is no original"
    if pipeline.options.freeze or not pipeline.options.include_generators:
        return "the original would not keep to freeze= or include_generators="
    if pipeline.same_framework:
        return None
    if any(map(native.is_traced, given)):
        return f"{native.name} traces this call, in which the original cannot run"
    return f"{native.name} follows this call for a gradient, which would stop at the original" if native.follows(given) else None


def _tell(graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Warns that the original runs from now on, with the guard that fails for most variants."""
    reason = _most_frequent(graph.variants, args, kwargs)
    warnings.warn(
        f"{graph.name} was recorded {len(graph.variants)} times, which is max_variants, and this call fits none: {reason}. For such calls the original "
        f"runs from now on, uncompiled. {_REMEDY}; on_limit='raise' makes it an error",
        RuntimeWarning,
        stacklevel=_level_of_user(),
    )


def _most_frequent(variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Of the reasons why the variants do not fit one that most of them have, numbers apart."""
    reasons = [why_missed(variant, args, kwargs) for variant in variants]
    kinds = [re.sub(r"\d+", "", reason) for reason in reasons]
    kind, count = collections.Counter(kinds).most_common(1)[0]
    return f"{reasons[-1 - kinds[::-1].index(kind)]} (so of {count} of {len(reasons)})"


def _level_of_user() -> int:
    """How far above the caller, which is 1, the first frame outside of this package is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


class _Border:
    """Arrays on their way into the original and back. Containers and objects stay the ones that they are; arrays in them are replaced."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._target = pipeline, pipeline.target.target
        self._checking, self._keeping = pipeline.frontend.checking, pipeline.frontend.keeping
        self._own: dict[int, Any] = {}  # arrays of the original's framework that the call is given: they stay what they are
        self._entered: dict[int, tuple[Any, Any, Any]] = {}  # an array made for the original, what it was made of, and its stamp then

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given: list[Any] = [list(args), dict(kwargs)]
        self._replace(given, self._entering)
        if not self._entered and self._pipeline.same_framework:
            return self._pipeline.call(args, kwargs)
        try:
            result = self._pipeline.call(tuple(given[0]), given[1])
        finally:
            self._replace(given, self._leaving)
        known = {id(item): item for item in containers(given)}
        return result if self._pipeline.same_framework else self._result(result, known)

    def _replace(self, given: list[Any], change: Callable[[Any, bool], Any]) -> None:
        leaves, tree = flatten(given, self._checking.is_array, lambda item: not hasattr(item, "state_dict"))
        for path, leaf in zip(paths(tree), leaves):
            if (other := change(leaf, len(path) == 2)) is not leaf:
                _put(given, path, other)

    def _entering(self, array: Any, is_argument: bool) -> Any:
        if self._keeping.is_own(array):
            self._own[id(array)] = array
            return array
        own = self._checking.leaves((array,), {})[0]
        if own is not array:
            self._entered[id(own)] = own, array, self._keeping.Stamp(own)
        return own

    def _leaving(self, array: Any, is_argument: bool) -> Any:
        """What stands in the place of an array after the call: the one that was given, with what was written to it, or a new one of the target."""
        if id(array) in self._entered:
            own, given, stamp = self._entered[id(array)]
            if stamp.fits(own):
                return given
            try:
                self._target.write_back(given, self._native(own))
            except GuardFailed:
                if is_argument:
                    raise
            else:
                return given
        return array if id(array) in self._own or self._pipeline.same_framework else self._native(array)

    def _native(self, array: Any) -> Any:
        native = self._target.convert(
            array.__array__() if hasattr(type(array), "__array__") and not hasattr(array, "__setitem__") else array
        )
        return array if native is None else self._target.copy(native) if self._target.shares else native

    def _result(self, result: Any, known: dict[int, Any]) -> Any:
        """A result in arrays of the target, in new containers except those of the arguments."""

        def is_leaf(item: Any) -> bool:
            return id(item) in known or not isinstance(item, type) and (self._checking.is_array(item) or hasattr(item, "__array__"))

        leaves, tree = flatten(result, is_leaf)
        return unflatten(tree, [leaf if id(leaf) in known else self._native(leaf) for leaf in leaves]) if leaves else result


def _put(given: list[Any], path: tuple[Any, ...], item: Any) -> None:
    """Puts something at a path; a tuple on the way is made anew."""
    container = at(given, path[:-1])
    if isinstance(container, tuple):
        pairs = list(items_of(container))
        index = [key for key, _ in pairs].index(path[-1])
        children = [*(child for _, child in pairs[:index]), item, *(child for _, child in pairs[index + 1 :])]
        _put(given, path[:-1], build(type(container), [key for key, _ in pairs], children))
    elif isinstance(container, (list, collections.deque, collections.abc.Mapping)):
        container[path[-1]] = item  # type: ignore[index]
    else:
        object.__setattr__(container, path[-1], item)


__all__ = ["Limit"]
