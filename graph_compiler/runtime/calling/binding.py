"""Binding of a call's arguments to the form in which a variant was recorded.

A call may pass by keyword what was recorded by position, leave out defaults, pass its arguments in one
container, or, inside JAX's transforms, have dicts with sorted keys.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from ...errors import CallMismatch, GuardFailed
from ...recording.code.syntax import is_of_library, unwrap_forwarding
from ...registration import entry_method, trait
from ...trees import (
    Branch,
    Fixed,
    Tree,
    build,
    entries_of,
    is_container,
    items_of,
    iterate_structure,
    same_static,
    unfixed,
)

if TYPE_CHECKING:
    from ..variant import Variant


# ------------------------------------------------------------------------------------------------- signatures
# Parameters of a callable, as far as its signature is known.


def positional(function: Callable[..., Any]) -> list[str]:
    """Return the names of the known parameters that may be passed by position, in order.

    >>> positional(lambda x, /, y, *, z: None)
    ['x', 'y']
    """
    return [
        p.name
        for p in _known_parameters(function) or ()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]


def recording_call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return source text that records a variant for a call like this one, with ``...`` for each argument.

    >>> recording_call((1,), {"mask": 2})
    'graph.add_variant((...,), {"mask": ...})'
    """
    by_position = f"{', '.join(['...'] * len(args))}{',' if len(args) == 1 else ''}"
    by_keyword = ", ".join(f'"{name}": ...' for name in kwargs)
    return f"graph.add_variant(({by_position}), {{{by_keyword}}})"


def is_open_ended(function: Callable[..., Any]) -> bool:
    parameters = _known_parameters(function)
    return parameters is None or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def known_names(function: Callable[..., Any]) -> list[str] | None:
    parameters = _known_parameters(function)
    if parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters]


def require_arguments(function: Callable[..., Any], option: str, names: Iterable[str]) -> None:
    known = known_names(function)
    unknown = [name for name in names if known is not None and name not in known]
    if unknown:
        raise CallMismatch(
            f"{option}: the function has no argument {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(known or ()) or 'none'}"
        )


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function, or of a model's entry method; None if it is unknown.

    >>> signature_of(lambda x, *, y=2: None), signature_of(dict)
    (<Signature (x, *, y=2)>, None)
    """
    if isinstance(function, MissingOriginal):
        # ``inspect.signature`` ignores a ``__signature__`` that is None.
        return function.__signature__
    try:
        return inspect.signature(entry_method(function, function))
    except (TypeError, ValueError):
        return None


def _known_parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    found = signature_of(function)
    return None if found is None else list(found.parameters.values())


# ---------------------------------------------------------------------------------------------------- binding
Call = tuple[tuple[Any, ...], dict[str, Any]]
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# Defaults of these classes are compared by value, all others by identity.
_VALUES = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
)


class ArgumentForm(NamedTuple):
    """Division of a call's arguments into positional and keyword arguments.

    positional: number of arguments passed by position.
    keywords: names of the arguments passed by keyword.
    """

    positional: int
    keywords: tuple[str, ...]


def argument_form(call: Tree) -> ArgumentForm:
    assert isinstance(call, Branch)
    positional, keywords = call.children
    return ArgumentForm(len(entries_of(positional)), tuple(entries_of(keywords)))


class ArgumentBinding:
    """Parameters of a callable, used to move arguments of a call between positions and keywords.

    parameters: the parameters that a call binds to, without a bound ``self``.
    seen: names of parameters for which a decorator may notice whether they are passed by position or by
        keyword.

    >>> binding = ArgumentBinding.of(lambda x, scale=1, *, shift=0: None)
    >>> binding.rebind(((2,), {"scale": 3}), ArgumentForm(2, ()))
    ((2, 3), {})
    >>> binding.rebind(((2,), {"shift": 0}), ArgumentForm(1, ("scale",)))
    ((2,), {'scale': 1})
    >>> binding.rebind(((2,), {"shift": 4}), ArgumentForm(2, ())) is None
    True
    """

    def __init__(
        self,
        parameters: tuple[inspect.Parameter, ...],
        texts: frozenset[str] = frozenset(),
        static: frozenset[str] = frozenset(),
    ) -> None:
        self.parameters = parameters
        self._by_name = {p.name: p for p in parameters if p.kind in (*_BY_POSITION, *_NAMED)}
        self._order = [p.name for p in parameters if p.kind in _BY_POSITION]
        self._keywords = frozenset(p.name for p in parameters if p.kind in _NAMED)
        beginnings = tuple(text for text in texts if text.endswith("_"))
        self.seen = frozenset(name for name in self._by_name if name in texts or name.startswith(beginnings))
        self._static = static

    @classmethod
    def of(cls, function: Callable[..., Any], static: frozenset[str] = frozenset()) -> ArgumentBinding | None:
        """Return the binding of a function, method, partial or model; None if its parameters are unknown."""
        if isinstance(function, MissingOriginal):
            told = function.binding
            return None if told is None else cls(told.parameters, told.seen, static)
        found = _signature(function)
        return None if found is None else cls(found[0], found[1], static)

    def rebind(self, call: Call, recorded: ArgumentForm) -> Call | None:
        """Return an equivalent call with arguments passed as in ``recorded``, or None if none is known."""
        bound = self._bound(*call)
        if bound is None:
            return None
        given, rest, extra = bound
        wanted = [
            *self._order[: recorded.positional],
            *(name for name in recorded.keywords if name in self._keywords),
        ]
        if (
            len(rest) != max(recorded.positional - len(self._order), 0)
            or extra.keys() != set(recorded.keywords) - self._keywords
        ):
            return None
        if not self._has_defaults(given, wanted) or not self._is_unseen(
            len(call[0]), given, recorded.positional, wanted
        ):
            return None
        filled = {name: given[name] if name in given else self._default(name) for name in wanted}
        positional, keywords = wanted[: recorded.positional], wanted[recorded.positional :]
        return (*(filled[name] for name in positional), *rest), {
            **{name: filled[name] for name in keywords},
            **extra,
        }

    def _bound(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]] | None:
        given = dict(zip(self._order, args))
        if any(name in given for name in kwargs if name in self._keywords):
            return None
        extra = {name: item for name, item in kwargs.items() if name not in self._keywords}
        return (
            {**given, **{name: item for name, item in kwargs.items() if name in self._keywords}},
            args[len(self._order) :],
            extra,
        )

    def _has_defaults(self, given: Mapping[str, Any], wanted: list[str]) -> bool:
        left_out = (name for name in given if name not in wanted)
        is_filled = all(
            name in given or self._by_name[name].default is not inspect.Parameter.empty for name in wanted
        )
        return is_filled and all(
            _is_default(self._by_name[name].default, unfixed(given[name])) for name in left_out
        )

    def _default(self, name: str) -> Any:
        default = self._by_name[name].default
        return Fixed(default) if name in self._static else default

    def _is_unseen(
        self, count: int, given: Mapping[str, Any], recorded_count: int, wanted: list[str]
    ) -> bool:
        # A decorator may see how these arguments are passed, so both calls must pass them alike.
        before, after = self._order[:count], self._order[:recorded_count]
        return all((name in before, name in given) == (name in after, name in wanted) for name in self.seen)


class MissingOriginal:
    """Stand-in for the original function of a loaded graph.

    binding: parameters of the original; None if the file does not have them.
    """

    def __init__(self, binding: ArgumentBinding | None) -> None:
        self.binding = binding
        self.__signature__ = None if binding is None else inspect.Signature(binding.parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise GuardFailed("a loaded graph has no original")


class AlternativeCalls:
    """Search for variants of a graph that were recorded with arguments passed in another form."""

    def __init__(self, original: Callable[[], Any], static: frozenset[str]) -> None:
        self._original, self._static = original, static

    @functools.cached_property
    def binding(self) -> ArgumentBinding | None:
        return ArgumentBinding.of(self._original(), self._static)

    def others(
        self, variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[tuple[Variant, Call]]:
        """Yield variants recorded in another form than the call's, each with the call in that form."""
        binding = None if not variants or has_hooks(self._original()) else self.binding
        if binding is None:
            return
        given, rebound = (len(args), set(kwargs)), dict[ArgumentForm, Union[Call, None]]()
        for variant in variants:
            form = argument_form(variant.graph.input_tree)
            if (form.positional, set(form.keywords)) == given:
                continue
            # Many variants share a form, so the call is rebound once for each form.
            if form not in rebound:
                rebound[form] = binding.rebind((args, kwargs), form)
            if (call := rebound[form]) is not None:
                yield variant, call

    def with_recorded_form(
        self, variants: Sequence[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Call:
        return next((call for _, call in self.others(variants, args, kwargs)), (args, kwargs))


def has_hooks(function: Any) -> bool:
    return any(getattr(function, hooks, None) for hooks in trait("hooks"))


def _is_default(default: Any, item: Any) -> bool:
    return item is default or isinstance(default, _VALUES) and same_static(item, default)


def _signature(function: Any) -> tuple[tuple[inspect.Parameter, ...], frozenset[str]] | None:
    """Return the parameters of ``function``, and strings by which decorators may look them up; or None."""
    if isinstance(function, functools.partial):
        return _of_partial(function)
    called = _call_target(function)
    is_method = inspect.ismethod(called)
    found = None if called is None else unwrap_forwarding(called.__func__ if is_method else called)
    if found is None:
        return None
    parameters = _parameters(found[0])
    # A call of a bound method does not pass its first parameter, ``self``.
    return None if parameters is None else (parameters[is_method:], found[1])


def _of_partial(
    function: functools.partial[Any],
) -> tuple[tuple[inspect.Parameter, ...], frozenset[str]] | None:
    found = unwrap_forwarding(function.func)
    parameters = (
        None
        if found is None
        else _parameters(functools.partial(found[0], *function.args, **function.keywords))
    )
    return None if found is None or parameters is None else (parameters, found[1])


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...] | None:
    try:
        # Decorators that forward their arguments are unwrapped already. Any other ``__wrapped__`` may have
        # other parameters than the function that is called.
        return tuple(inspect.signature(function, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        return None


def _call_target(function: Any) -> Any:
    if inspect.isroutine(function) or hasattr(function, "__wrapped__"):
        return function
    call = type(function).__call__
    # A library's ``__call__`` runs the entry method (``forward``) of the model.
    if (method := entry_method(function)) is not None and is_of_library(call):
        return method
    return getattr(call, "__get__", lambda *_: None)(function, type(function))


def unpack_container(
    variants: Iterable[Variant],
    signature: inspect.Signature | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the call, with its only argument unpacked if that seems to be a container of the arguments."""
    if len(args) != 1 or kwargs or not isinstance(args[0], (Mapping, list, tuple)):
        return args, kwargs
    (held,) = args
    recorded = [variant.graph.input_tree for variant in variants]
    if any(_takes_one(tree, held) for tree in recorded):
        return args, kwargs
    if isinstance(held, Mapping):
        return ((), dict(held)) if _are_names(held, signature, recorded) else (args, kwargs)
    return (
        (tuple(held), {})
        if any(argument_form(tree).positional == len(held) > 1 for tree in recorded)
        else (args, kwargs)
    )


def takes_container(variants: Iterable[Variant], held: Any) -> bool:
    recorded = [variant.graph.input_tree for variant in variants]
    return any(
        _takes_one(tree, held) and argument_form(tree).positional == 1 and not argument_form(tree).keywords
        for tree in recorded
    )


def _takes_one(call: Tree, held: Any) -> bool:
    positional = call.children[0] if isinstance(call, Branch) else None
    first = positional.children[0] if isinstance(positional, Branch) and positional.children else None
    return isinstance(first, Branch) and issubclass(first.type, Mapping) == isinstance(held, Mapping)


def _are_names(held: Mapping[Any, Any], signature: inspect.Signature | None, recorded: list[Tree]) -> bool:
    parameters = [] if signature is None else signature.parameters.values()
    known = {parameter.name for parameter in parameters if parameter.kind in _NAMED}
    known.update(name for tree in recorded for name in argument_form(tree).keywords)
    return bool(held) and set(held) <= known


def calls_in_recorded_order(
    variants: Iterable[Variant], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[Variant, Call]]:
    for variant in variants:
        # JAX sorts the keys of dicts in a traced call. In any other call their order is the user's.
        if variant.target.sorts_keys and any(
            map(variant.target.is_traced, iterate_structure((args, kwargs)))
        ):
            call = with_key_order(variant.graph.input_tree, (args, kwargs))
            if call is not None:
                yield variant, call


def with_key_order(tree: Tree, value: Any) -> Any:
    """Return a copy of ``value`` with plain dicts reordered as in ``tree``, or None if nothing is reordered.

    >>> from graph_compiler.trees import flatten
    >>> _, tree = flatten(({"w": 1.5, "b": 2.5},), lambda item: isinstance(item, float))
    >>> with_key_order(tree, ({"b": 0.0, "w": 1.0},)), with_key_order(tree, ({"w": 1.0, "b": 0.0},))
    (({'w': 1.0, 'b': 0.0},), None)
    """
    if not isinstance(tree, Branch) or not is_container(type(value)):
        return None
    held = dict(items_of(value))
    if held.keys() != set(tree.keys):
        return None
    found = {key: with_key_order(child, held[key]) for key, child in zip(tree.keys, tree.children)}
    # JAX sorts the keys of a plain dict, and keeps the order of an ``OrderedDict``.
    is_sorted = type(value) is dict and list(held) != list(tree.keys)
    if not is_sorted and all(child is None for child in found.values()):
        return None
    keys = tree.keys if is_sorted else tuple(held)
    return build(type(value), keys, [held[key] if found[key] is None else found[key] for key in keys])


# ------------------------------------------------------------------------------------------- static arguments
class StaticArguments:
    """Positions and names of the static arguments of a function.

    The constructor raises ``CallMismatch`` for names and positions that the function is known not to have.

    names: names of the static arguments, where known.
    numbers: positions of those that may be passed by position. Negative ones count from the last positional
        argument of each call.

    >>> StaticArguments(lambda x, axis: None, -1, None).names
    frozenset({'axis'})
    >>> StaticArguments(lambda x, *scales: None, -1, None).marked((2, 3, 4), {})[0]
    (2, 3, Fixed(value=4))
    """

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: int | Iterable[int] | None,
        argnames: str | Iterable[str] | None,
    ) -> None:
        order, open_ended = positional(function), is_open_ended(function)
        names, numbers = set(_as_iterable(argnames)), set(_as_iterable(argnums))
        require_arguments(function, "static_argnames", names)
        # A function with ``*args``, or with unknown parameters, may have any position.
        if not open_ended and (
            unknown := [number for number in numbers if not -len(order) <= number < len(order)]
        ):
            raise CallMismatch(
                f"static_argnums: the function has no argument {unknown[0]}; it has "
                f"{', '.join(order) or 'none'}"
            )
        if not open_ended:
            numbers = {number % len(order) for number in numbers}
        self.names = frozenset(names | {order[number] for number in numbers if 0 <= number < len(order)})
        self.numbers = frozenset(numbers | {number for number, name in enumerate(order) if name in names})

    @classmethod
    def told(cls, names: Iterable[str], numbers: Iterable[int]) -> StaticArguments:
        # A loaded graph has no function whose parameters ``__init__`` could read.
        made = cls.__new__(cls)
        made.names, made.numbers = frozenset(names), frozenset(numbers)
        return made

    def marked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        marked = tuple(
            _fix(item, i) if i in self.numbers or i - len(args) in self.numbers else item
            for i, item in enumerate(args)
        )
        return marked, {
            name: _fix(item, name) if name in self.names else item for name, item in kwargs.items()
        }


def _fix(item: Any, where: Any) -> Any:
    if isinstance(item, Fixed):
        return item
    try:
        # Calls are told apart by their static arguments, which therefore must be hashable.
        hash(item)
    except TypeError:
        raise CallMismatch(
            f"the static argument {where!r} of type {type(item).__name__} cannot be hashed, so calls cannot "
            "be told apart by it"
        ) from None
    return Fixed(item)


def own_static_arguments(function: Callable[..., Any], argnums: Any, argnames: Any) -> tuple[Any, Any]:
    """Return those of ``argnums`` and ``argnames`` that ``function`` may have, each as a list or None."""
    order, named = positional(function), known_names(function)
    numbers = [
        number
        for number in _as_iterable(argnums)
        if is_open_ended(function) or -len(order) <= number < len(order)
    ]
    return numbers or None, [
        name for name in _as_iterable(argnames) if named is None or name in named
    ] or None


def _as_iterable(item: Any) -> Iterable[Any]:
    return (item,) if isinstance(item, (int, str)) else item or ()
