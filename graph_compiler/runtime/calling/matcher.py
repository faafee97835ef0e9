"""Generated functions that check whether a call fits a variant, extract its arrays, and run it."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ...assumptions import in_order
from ...codegen.source import Program, load
from ...contracts import Target
from ...errors import GuardFailed
from ...ir.graph import Graph
from ...ir.node import Value
from ...ops.dtypes import dtype_name
from ...recording.environment_guards import GONE, Condition
from ...recording.patches.host_random import host_state, restore_host_state
from ...recording.state.places import ExternalState
from ...registration import responds_to
from ...sizes import Symbol
from ...trees import (
    AppendOnly,
    Branch,
    Leaf,
    Setting,
    Static,
    Tree,
    TypedLeaf,
    entries_of,
    is_container,
    is_like,
    is_stand_in,
    parts_of,
    plain_class,
    registered_class,
    same_keys,
    same_static,
)
from ..traits import arrays_written, write_argument


@dataclass(frozen=True)
class CallMiss:
    """Result of a call that did not complete.

    reason(): returns a text on why it did not complete.
    problem: an exception of the generated function, or None.
    """

    reason: Callable[[], str]
    problem: Exception | None = None


NO_FIT = CallMiss(lambda: "the call does not fit")


class UndecidedValues(GuardFailed):
    """Failure of a guard whose values are unknown while the target traces. Another variant may fit."""


Match = Callable[..., "tuple[Any, ...] | None"]
UnknownMatch = Callable[
    [tuple[Any, ...], dict[str, Any]], "tuple[tuple[Any, ...], list[tuple[Any, str]]] | None"
]
# A call that does not even look like the recorded one may raise these in the generated code.
_MISMATCH_ERRORS = (
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
)
_IDENTICAL = (bool, type(None))
_EQUAL = (int, str)
# Keys of these classes are written as literals. Others are bound to names.
_SPELLED = (bool, int, str, type(None))


class MatchCode(NamedTuple):
    """Source lines that match a call against a recording.

    lines: code that converts the arrays, and leaves by ``misfit`` or raises an error if a condition fails.
    on_elements: code for conditions on the elements of arrays, to run after ``lines``.
    names: variables that hold the arrays, converted to the target, and the numbers after ``lines``.
    bound: objects that the lines may refer to, by name.
    misfit: statement that leaves the generated function if the call does not fit.
    """

    lines: list[str]
    on_elements: list[str]
    names: list[str]
    bound: dict[str, Any]
    misfit: str


def match_code(graph: Graph, target: Target, is_foreign: bool, misfit: str, on_elements: str) -> MatchCode:
    """Return code that matches a call against the recording of ``graph``.

    misfit: statement for a call that does not fit.
    on_elements: statement for a condition on elements of arrays that does not hold.
    """
    return _Matcher(graph, target, None, is_foreign, misfit, on_elements).matching()


def matcher(
    graph: Graph,
    target: Target,
    held: Callable[[Any], Any] | None = None,
    is_foreign: bool = False,
) -> Match:
    """Return ``match(args, kwargs, state=())``, which returns a call's inputs; None if it does not fit.

    The arrays are converted to the target, those of the state by ``held``.
    """
    return _Matcher(graph, target, held, is_foreign).function()


def unknown_matcher(graph: Graph, target: Target) -> UnknownMatch:
    """Return a matcher for arrays whose sizes may be unknown while the target traces a function.

    For a call that fits, the matcher also returns conditions to check when the traced function runs.
    """
    return _UnknownSizeMatcher(graph, target).function()


def narrows(target: Target) -> bool:
    return bool(target.dtype("float64") == target.dtype("float32"))


class _Matcher:
    def __init__(
        self,
        graph: Graph,
        target: Target,
        held: Callable[[Any], Any] | None = None,
        is_foreign: bool = False,
        misfit: str = "return None",
        on_elements: str = "return None",
    ) -> None:
        self.graph, self.target, self.convert = graph, target, "convert"
        self.misfit, self._misfit_on_elements, self._reads_elements = misfit, on_elements, False
        self.written = arrays_written(graph)
        self.narrows = is_foreign and narrows(target)
        self.lines: list[str] = []
        self.on_elements: list[str] = []
        self.names: list[str] = []
        self.bound: dict[str, Any] = {
            "convert": target.convert,
            "held": held or target.convert,
            "same_static": same_static,
            "math": math,
            "dtype_name": dtype_name,
        }
        for number, cls in enumerate(target.array_types):
            self.bound[f"array_type_{number}"] = cls

    def matching(self) -> MatchCode:
        tree = self.graph.input_tree
        assert isinstance(tree, Branch)
        positional, keywords = tree.children
        self._call(positional, keywords)
        state = self.graph.state.places
        if state is not None and isinstance(state.tree, Branch):
            self.convert = "held"
            for index, child in enumerate(state.tree.children):
                self._tree(child, f"state[{index}]")
        for assumption in in_order(self.graph):
            self._reads_elements = False
            lines = assumption.lines(self)
            if self._reads_elements:
                self.on_elements += lines
            else:
                self.lines += lines
        return MatchCode(
            self.lines,
            self.on_elements,
            self.names,
            {**self.bound, "unlike": (*_MISMATCH_ERRORS, *self.target.undecided_errors)},
            self.misfit,
        )

    def function(self) -> Match:
        matching = self.matching()
        lines = [*matching.lines, *matching.on_elements, f"return {self._returned()}"]
        body = "\n".join(f"        {line}" for line in lines)
        source = (
            f"def match(args, kwargs, state=()):\n    try:\n{body}\n    except unlike:\n        return None\n"
        )
        return load(Program(source, "match", (), (), matching.bound))

    def _returned(self) -> str:
        return f"({', '.join(self.names)}{',' if len(self.names) == 1 else ''})"

    def _call(self, positional: Tree, keywords: Tree) -> None:
        # Positional or keyword arguments among which there is no array are one static value.
        args, kwargs = entries_of(positional), entries_of(keywords)
        self._require(f"len(args) == {len(args)} and len(kwargs) == {len(kwargs)}")
        for place, child in args.items():
            self._tree(child, f"args[{place}]")
        for name, child in kwargs.items():
            self._tree(child, f"kwargs[{name!r}]")

    def _require(self, condition: str) -> None:
        self.lines.append(self.require(condition))

    def _bind(self, prefix: str, item: Any) -> str:
        name = f"{prefix}_{len(self.bound)}"
        self.bound[name] = item
        return name

    def _tree(self, tree: Tree, access: str) -> None:
        if isinstance(tree, TypedLeaf) and responds_to(tree.type, "__array__"):
            self._scalar(tree.type, access)
        elif isinstance(tree, TypedLeaf):
            self._item(tree.type, access)
        elif isinstance(tree, Leaf):
            self._leaf(access)
        elif isinstance(tree, Static):
            self._static(tree.value, access)
        else:
            self._branch(tree, access)

    def _leaf(self, access: str, scalar: str | None = None) -> None:
        number = len(self.names)
        name, spec = f"array_{number}", self.graph.inputs[number].spec
        self.names.append(name)
        # Most arguments are arrays of the target. Comparing their class costs less than calling ``convert``.
        kept = [f"array_type_{i}" for i in range(len(self.target.array_types))]
        native = " and ".join(f"type({name}) is not {cls}" for cls in [*kept, *([scalar] if scalar else [])])
        self.lines += [
            f"{name} = given_{number} = {access}",
            f"if {native}:",
            f"    {name} = {self.convert}({name})",
            f"    if {name} is None: {self.misfit}",
        ]
        # The flat function writes to the converted array. Writing its values to the argument now raises
        # ``GuardFailed`` if the argument is read-only.
        if ("inputs", number) in self.written:
            write = self._bind("write", partial(write_argument, self.graph, self.target, number))
            self.lines.append(f"    {write}(given_{number}, {name})")
        # A converted array has lost its 64-bit dtype, so the dtype of the user's array is compared. Arrays of
        # the target, also traced ones, are not converted.
        if self.narrows:
            self.lines.append(
                f"    if {name} is not given_{number} and dtype_name(given_{number}) != {spec.dtype!r}: "
                f"{self.misfit}"
            )
        dtype = self.target.dtype(spec.dtype)
        self._require(
            "False"
            if dtype is None
            else f"{name}.dtype == {self._bind('dtype', dtype)} and {name}.ndim == {spec.ndim}"
        )

    def _item(self, cls: type, access: str) -> None:
        name = f"array_{len(self.names)}"
        self.lines.append(f"{name} = given_{len(self.names)} = {access}")
        self.names.append(name)
        bound = self._bind("class", cls)
        # A transform of the user may replace the number by a traced array.
        if cls in (int, float) and self.target.traced_number is not None:
            self.bound["traced_number"] = self.target.traced_number
            self.lines.append(f"if type({name}) is not {bound}: {name} = traced_number({name}, {bound})")
            self._require(f"{name} is not None")
        else:
            self._require(f"type({name}) is {bound}")

    def _scalar(self, cls: type, access: str) -> None:
        number = len(self.names)
        has_effect = any(
            effect.kind == "argument" and effect.target == number for effect in self.graph.effects
        )
        if has_effect or ("inputs", number) in self.written:
            self._leaf(access)
            return
        scalar = self._bind("class", cls)
        if self.target.keeps_scalars:
            self._leaf(access, scalar)
            return
        name = self._bind("scalar", None)
        self.lines += [f"{name} = {access}", f"if type({name}) is {scalar}: {name} = {name}.__array__()"]
        self._leaf(name)

    def _static(self, value: Any, access: str) -> None:
        if isinstance(value, _IDENTICAL):
            self._require(f"{access} is {value!r}")
        # ``True == 1``, so the class is compared, too.
        elif type(value) in _EQUAL:
            self._require(f"type({access}) is {type(value).__name__} and {access} == {value!r}")
        else:
            self._require(f"same_static({access}, {self._bind('static', value)})")

    def _branch(self, tree: Branch, access: str) -> None:
        name = f"branch_{len(self.lines)}"
        self.lines.append(f"{name} = {access}")
        cls = tree.type
        bound = self._bind("class", cls)
        is_one = f"type({name}) is {bound}"
        # Objects that an earlier call returned have a proxy class instead of the original one.
        if not is_container(cls):
            self.bound["plain_class"] = plain_class
            is_one += f" or plain_class(type({name})) is {bound}"
        elif is_stand_in(cls):
            self.bound["is_like"] = is_like
            is_one += f" or is_like(type({name}), {bound})"
        self._require(is_one)
        # The recording only appends to this list, so its items do not matter.
        if isinstance(tree, AppendOnly):
            return
        if registered_class(cls) is not None:
            self._registered(tree, name)
            return
        keys = tuple(key for key in tree.keys if not isinstance(key, Setting))
        # The original may iterate over the items, so their order matters.
        if issubclass(cls, Mapping) and not all(type(key) is str for key in keys):
            # Equal keys may differ, as 1 and True do.
            self.bound["same_keys"] = same_keys
            self._require(f"same_keys(tuple({name}), {self._bind('keys', keys)})")
        elif issubclass(cls, Mapping) and len(keys) > 1:
            self._require(f"tuple({name}) == {self._bind('keys', keys)}")
        elif issubclass(cls, (tuple, list, deque, Mapping)):
            self._require(f"len({name}) == {len(keys)}")
        if cls.__dictoffset__:
            self._own_attributes(tree, name)
        for i, (key, child) in enumerate(zip(tree.keys, tree.children)):
            self._tree(child, child_text(cls, name, i, key, self._spell))

    def _registered(self, tree: Branch, name: str) -> None:
        self.bound["parts_of"] = parts_of
        self.lines.append(f"keys, {name} = parts_of({name})")
        self._require(f"keys == {self._bind('keys', tree.keys)}")
        for i, child in enumerate(tree.children):
            self._tree(child, f"{name}[{i}]")

    def _own_attributes(self, tree: Branch, name: str) -> None:
        cls = tree.type
        if not issubclass(cls, (list, tuple, deque, Mapping)):
            self._require(f"{name}.__dict__.keys() <= {self._bind('keys', frozenset(tree.keys))}")
        elif issubclass(cls, (list, tuple, dict)) and not dataclasses.is_dataclass(cls):
            self._require(f"not {name}.__dict__ or {name}.__dict__ is {name}")

    def _spell(self, key: Any) -> str:
        return repr(key) if type(key) in _SPELLED else self._bind("key", key)

    # ---------------------------------------------------------------------------------- names for assumptions
    def given(self, number: int) -> str:
        return f"given_{number}"

    def on_host(self, number: int) -> str:
        self.bound["on_host"], self._reads_elements = self.target.on_host, True
        return f"on_host({self.names[number]})"

    def knows(self, symbol: Symbol) -> bool:
        return symbol.source in self._places and symbol.kind in ("size", "item")

    def size(self, symbol: Symbol) -> str:
        name = self._places[symbol.source]
        if symbol.kind == "item":
            return name
        # The shape of an array of JAX is a property, so it is read once.
        shape = name.replace("array", "shape")
        line = f"{shape} = {name}.shape"
        if line not in self.lines:
            self.lines.append(line)
        return f"{shape}[{symbol.axis}]"

    def bind(self, **items: Any) -> None:
        self.bound.update(items)

    def require(self, condition: str) -> str:
        misfit = self._misfit_on_elements if self._reads_elements else self.misfit
        return f"if not ({condition}): {misfit}"

    def require_of_sizes(self, condition: str, words: Callable[[], str]) -> list[str]:
        return [self.require(condition)]

    @functools.cached_property
    def _places(self) -> dict[Value, str]:
        return dict(zip(self.graph.inputs, self.names))


class _UnknownSizeMatcher(_Matcher):
    """Matcher that collects conditions on unknown sizes, to be checked when the traced function runs."""

    def matching(self) -> MatchCode:
        self.bound["size_of"] = self.target.size_of
        self.lines.append("conditions = []")
        return super().matching()

    def _returned(self) -> str:
        return f"{super()._returned()}, conditions"

    def size(self, symbol: Symbol) -> str:
        name = self._places[symbol.source]
        return name if symbol.kind == "item" else f"size_of({name}, {symbol.axis})"

    def require_of_sizes(self, condition: str, words: Callable[[], str]) -> list[str]:
        text = f"{words()}, which does not hold for this call"
        return [
            f"condition = {condition}",
            "if condition is False: return None",
            f"if condition is not True: conditions.append((condition, {text!r}))",
        ]


def child_text(cls: type, name: str, index: int, key: Any, spell: Callable[[Any], str] = repr) -> str:
    """Return the expression that reads one part of ``name``, a variable with an object of class ``cls``.

    ``key`` is the key or attribute of the part, and ``index`` its position among the parts.
    """
    if isinstance(key, Setting):
        return f"{name}.{key}"
    if issubclass(cls, (tuple, list)):
        return f"{name}[{index}]"
    if issubclass(cls, deque):
        return f"{name}[{key}]"
    if issubclass(cls, Mapping):
        return f"{name}[{spell(key)}]"
    return (
        f"{name}.{key}"
        if dataclasses.is_dataclass(cls) or str(key).isidentifier()
        # Attributes that were set by ``setattr`` may have names that are no identifiers.
        else f"vars({name})[{key!r}]"
    )


def leaf_texts(tree: Tree, name: str, leaves: str) -> str:
    """Return an expression for the leaves of ``name``, a variable with the structure ``tree``.

    leaves: name of a function that returns the leaves, for structures without such an expression.
    """
    texts = list(_leaf_texts(tree, name))
    return f"{leaves}({name})" if None in texts else f"({''.join(f'{text}, ' for text in texts)})"


def _leaf_texts(tree: Tree, name: str) -> Iterator[str | None]:
    if isinstance(tree, Leaf):
        yield name
    elif isinstance(tree, Branch):
        for index, (key, child) in enumerate(zip(tree.keys, tree.children)):
            is_spelled = type(key) in _SPELLED or not issubclass(tree.type, Mapping)
            if registered_class(tree.type) is not None or not is_spelled:
                yield None
            # Classes of results may override ``[]`` with a method that copies all items.
            elif issubclass(tree.type, dict) and not isinstance(key, Setting):
                yield from _leaf_texts(child, f"dict.__getitem__({name}, {key!r})")
            else:
                yield from _leaf_texts(child, child_text(tree.type, name, index, key))


class Matching:
    """Functions that match calls against one variant.

    If random numbers of Python or NumPy are inputs of the variant, ``match`` draws them when it reads the
    state, and :meth:`rewind` restores the generators.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        held: Callable[[Any], Any] | None,
        is_foreign: bool,
    ) -> None:
        self._graph, self._target, self._held, self._is_foreign = graph, target, held, is_foreign
        # State of the host's generators before the last draws.
        self._host_state: Any = None

    def code(self, misfit: str, on_elements: str) -> MatchCode:
        return match_code(self._graph, self._target, self._is_foreign, misfit, on_elements)

    @functools.cached_property
    def match(self) -> Match:
        match, state = (
            matcher(self._graph, self._target, self._held, self._is_foreign),
            self._graph.state.places,
        )
        if state is None:
            return match
        return (
            self._drawing(match, state)
            if state.draws
            else lambda args, kwargs, held=None: match(args, kwargs, held or state.read())
        )

    def _drawing(self, match: Match, state: ExternalState) -> Match:
        def drawn(args: Any, kwargs: Any, held: Any = None) -> Any:
            if held is None:
                self.mark()
                held = state.read()
            leaves = match(args, kwargs, held)
            if leaves is None:
                self.rewind()
            return leaves

        return drawn

    def mark(self) -> None:
        if (state := self._graph.state.places) is not None and state.draws:
            self._host_state = host_state()

    def fits(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        is_match = self.match(args, kwargs) is not None
        self.rewind()
        return is_match

    def rewind(self) -> None:
        if self._host_state is not None:
            restore_host_state(self._host_state)

    @functools.cached_property
    def match_unknown(self) -> UnknownMatch | None:
        return unknown_matcher(self._graph, self._target) if self._target.size_of is not None else None


# ------------------------------------------------------------------------------------------------- dispatcher
Attempt = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]

# One generated function does all of this. Separate functions cost a call of a small model 4 microseconds
# more, because after a model has run none of their code is left in the processor's caches.
# The result is built while the target may still compute it.
_IN_ORDER = """\
def attempt(args, kwargs, {defaults}):
    {followed}
    try:
        if not ({condition}): {misfit}
    except gone:
        {misfit}
    try:
        {lines}
        {on_elements}
    except unlike:
        {misfit}
    try:
        {weights}
        outcome = {call}
        result = {result}
        {wait}
        return result
    except Exception as problem:
        return failed(problem)
"""
_AHEAD = """\
def attempt(args, kwargs, {defaults}):
    if not runs_asynchronously(): return attempt_in_order(args, kwargs)
    try:
        {lines}
    except unlike:
        {misfit}
    try:
        {weights}
        outcome = {call}
        if not ({condition}): {doubt}
        {are_current}
        {on_elements}
        result = {result}
        {wait}
        return result
    except Doubt:
        pass
    except Exception as problem:
        return attempt_after_problem(problem, args, kwargs)
    return attempt_after_doubt(args, kwargs)
"""
# Statement that leaves the function of ``_AHEAD`` if a slow check fails.
DOUBT = "raise Doubt"
_NOTHING = "pass"


class CallCode(NamedTuple):
    """Expressions that call a variant's function with the variables of :class:`MatchCode`.

    call: calls the function. It may read ``latest``, the converted weights.
    leaves: the leaves of ``outcome``, the value of ``call``.
    result: the result of the call, from ``outcome``.
    bound: objects that these expressions refer to, by name.
    are_watched: True if ``call`` reads ``latest``.
    waits: True if the call has to wait for ``leaves`` while ``latest.may_be_written`` is True.
    """

    call: str
    leaves: str
    result: str
    bound: dict[str, Any]
    are_watched: bool = False
    waits: bool = False


def dispatcher(
    condition: Condition,
    matching: MatchCode,
    calling: CallCode,
    is_followed: Callable[[], bool] | None = None,
) -> Attempt:
    """Return ``attempt(args, kwargs)``, a generated function that matches and runs a call.

    condition: condition of the environment.
    calling: expressions that call the variant's function. Its ``bound`` has ``failed``.
    is_followed(): returns True while a compiler traces the call, which ``followed`` in ``calling.bound`` then
        runs; None if no compiler traces calls for the target.
    """
    parts = {
        "followed": "if is_followed(): return followed(args, kwargs)" if is_followed else _NOTHING,
        "weights": "latest = parameters.for_call()" if calling.are_watched else _NOTHING,
    }
    return _attempt(_IN_ORDER, condition, matching, calling, {"is_followed": is_followed}, parts)


def dispatcher_ahead(condition: Condition, matching: MatchCode, calling: CallCode) -> Attempt:
    """Return ``attempt(args, kwargs)``, a generated function that may make slow checks during the call."""
    are_watched = calling.are_watched
    parts = {
        "doubt": DOUBT,
        "weights": "latest = parameters.latest" if are_watched else _NOTHING,
        "are_current": f"if not parameters.is_current(latest): {DOUBT}" if are_watched else _NOTHING,
    }
    return _attempt(_AHEAD, condition, matching, calling, {"Doubt": _Doubt}, parts)


class _Doubt(Exception):
    """Exception of a check that fails while the function runs."""


def _attempt(
    source: str,
    condition: Condition,
    matching: MatchCode,
    calling: CallCode,
    bound: Mapping[str, Any],
    parts: Mapping[str, str],
) -> Attempt:
    known = {**condition.bound, **matching.bound, **calling.bound, **bound, "gone": GONE}
    parts = {
        **parts,
        "condition": condition.text,
        "lines": "\n        ".join(matching.lines or [_NOTHING]),
        "on_elements": "\n        ".join(matching.on_elements or [_NOTHING]),
        "misfit": matching.misfit,
        "call": calling.call,
        "result": calling.result,
        "wait": f"if latest.may_be_written: wait({calling.leaves})" if calling.waits else _NOTHING,
    }
    used = set(re.findall(r"\w+", source.format(defaults="", **parts))) & known.keys()
    # Default arguments become locals, which are read faster than globals.
    defaults = ", ".join(f"{name}={name}" for name in known if name in used)
    return load(Program(source.format(defaults=defaults, **parts), "attempt", (), (), known))
