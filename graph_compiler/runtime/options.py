"""Validation of the options of public functions, such as ``compile``, before anything is recorded."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InvalidOption, NotCompilable, nearest

_ON_MISS = ("retrace", "error")
_ON_LIMIT = ("original", "raise")
_NUMBERS = ("target", "strict")
_ROLL = ("auto", "never", "scan")
# Names of options in other libraries, mapped to the names used here.
_ALIASES = {
    "target": "to", "backend": "to", "framework": "to",
    "inputs": "args", "example_inputs": "args", "example_args": "args", "sample_inputs": "args",
    "example_kwargs": "kwargs", "static_args": "static_argnums", "frontend": "source",
}  # fmt: skip
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def validated(*also: Callable[..., Any]) -> Callable[[Decorated], Decorated]:
    """Return a decorator with which a function raises ``InvalidOption`` for unknown or invalid keywords.

    Known are the keyword-only parameters of the function and of the functions ``also``.

    >>> validated()(lambda *, seed=0: seed)(sead=1)
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: <lambda> has no option sead=; did you mean 'seed'?
    """

    def decorate(function: Decorated) -> Decorated:
        named: tuple[Callable[..., Any], ...] = (function, *also)
        known = [
            p.name
            for one in named
            for p in inspect.signature(one).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        ]

        @functools.wraps(function)
        def checked(*objs: Any, **options: Any) -> Any:
            for name in options:
                if name not in known:
                    remedy = nearest(_ALIASES.get(name, name), known) or f"; it has {', '.join(known)}"
                    raise InvalidOption(f"{function.__name__} has no option {name}={remedy}")
            check_options(options)
            return function(*objs, **options)

        checked.__signature__ = _with_options(function, also)  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate


def _with_options(function: Callable[..., Any], also: tuple[Callable[..., Any], ...]) -> inspect.Signature:
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if not (also and p.kind is p.VAR_KEYWORD)]
    more = (p for one in also for p in inspect.signature(one).parameters.values() if p.kind is p.KEYWORD_ONLY)
    return signature.replace(parameters=[*own, *(p for p in more if p.name not in signature.parameters)])


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ``InvalidOption`` for values of options that are known to be invalid.

    >>> check_options({"on_miss": "retrace", "max_variants": 3, "args": None})
    >>> check_options({"on_miss": "retry"})
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: on_miss= is 'retry', and has to be 'retrace' or 'error'
    """
    for name, item in options.items():
        if name in _VALIDATORS and not _VALIDATORS[name][0](item):
            raise InvalidOption(f"{name}= is {short_repr(item)}, and has to be {_VALIDATORS[name][1]}")
    if options.get("compile_options") and not options.get("return_backend_compiled_fn"):
        raise InvalidOption(
            "compile_options= are for the compiler of the target, which is only used with "
            "return_backend_compiled_fn=True"
        )


def path_of(name: str, item: Any) -> Path:
    """Convert a user's path to ``Path``.

    >>> path_of("path", 3)
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: path is 3, and has to be the name of a file or folder, ...
    """
    text = os.fspath(item) if isinstance(item, (str, os.PathLike)) else ""
    # ``os.PathLike`` also allows bytes.
    if text and isinstance(text, str):
        return Path(text)
    raise InvalidOption(
        f"{name} is {short_repr(item)}, and has to be the name of a file or folder, as a text or pathlib.Path"
    )


def require_function(user: str, item: Any) -> None:
    if not callable(item):
        raise NotCompilable(f"{user} takes a function, a model or a graph, and was given {short_repr(item)}")


def short_repr(item: Any) -> str:
    """Return the ``repr`` of ``item`` or, if that is unfit for a message, a text with its type.

    >>> short_repr("retry"), short_repr([0] * 100)
    ("'retry'", 'an object of type list')
    """
    text = repr(item)
    return (
        text
        if len(text) <= 60 and "\n" not in text and not hasattr(item, "shape")
        else f"an object of type {type(item).__name__}"
    )


def _is_list(item: Any) -> bool:
    return item is None or isinstance(item, (tuple, list))


def _is_dict(item: Any) -> bool:
    return item is None or isinstance(item, Mapping)


def _is_names(item: Any) -> bool:
    return _is_dict(item) and all(isinstance(name, str) for name in item or ())


def _is_tolerance(item: Any) -> bool:
    return item is None or isinstance(item, (int, float)) and not isinstance(item, bool) and item >= 0


def _is_seed(item: Any) -> bool:
    # NumPy accepts no negative seeds, and TensorFlow none beyond int32.
    return _is_integer(item) and 0 <= int(item) < 2**31


def _is_integer(item: Any) -> bool:
    return isinstance(item, Integral) and not isinstance(item, bool)


def _one_of(names: tuple[str, ...]) -> Callable[[Any], bool]:
    # The comparison of an array with a name has no truth value.
    return lambda item: isinstance(item, str) and item in names


def _one_or_more(kind: type | tuple[type, ...]) -> Callable[[Any], bool]:
    def fits(item: Any) -> bool:
        several = (
            item
            if isinstance(item, (tuple, list, set, frozenset, range))
            else ()
            if item is None
            else (item,)
        )
        return all(isinstance(one, kind) and not isinstance(one, bool) for one in several)

    return fits


def _paths_from(kind: type) -> Callable[[Any], bool]:
    def fits(item: Any) -> bool:
        paths = (
            [path if isinstance(path, (tuple, list)) else (path,) for path in item or ()]
            if _is_list(item)
            else None
        )
        return paths is not None and all(path and isinstance(path[0], kind) for path in paths)

    return fits


# Option -> predicate of valid values, and their description.
_VALIDATORS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "args": (_is_list, "a tuple or list of the arguments: args=(x,)"),
    "kwargs": (_is_names, "a dict of arguments by their names: kwargs={'x': x}"),
    "on_miss": (_one_of(_ON_MISS), " or ".join(map(repr, _ON_MISS))),
    "on_limit": (_one_of(_ON_LIMIT), " or ".join(map(repr, _ON_LIMIT))),
    # ``type`` instead of ``isinstance``, because True is an int.
    "max_variants": (lambda item: type(item) is int and item > 0, "a whole number above 0"),
    "roll": (_one_of(_ROLL), " or ".join(map(repr, _ROLL))),
    "numbers": (_one_of(_NUMBERS), " or ".join(map(repr, _NUMBERS))),
    "runs": (lambda item: type(item) is int and item > 0, "a whole number above 0"),
    "rtol": (_is_tolerance, "a number from 0 on, or None for that of the data type"),
    "atol": (_is_tolerance, "a number from 0 on, or None for that of the data type"),
    "seed": (_is_seed, "a whole number from 0 to 2**31 - 1"),
    "trace_control_flow": (lambda item: item is None or isinstance(item, bool), "True, False or None"),
    "compile_options": (_is_names, "a dict of options of the target's compiler"),
    "passes": (
        lambda item: isinstance(item, (tuple, list)) and all(map(callable, item)),
        "a list of passes (graph_compiler.passes.Pass)",
    ),
    "stateful": (_is_list, "a tuple or list of objects: stateful=[cache]"),
    "arg_stateful_idxs": (
        _paths_from(int),
        "a list of paths, each from the position of an argument: [[0], [1, 0]]",
    ),
    "kwarg_stateful_idxs": (
        _paths_from(str),
        "a list of paths, each from the name of an argument: [['cache'], ['caches', 0]]",
    ),
    "parameters": (_one_or_more((int, str)), "the name or position of an argument, or a list of these"),
    "static_argnums": (_one_or_more(int), "a position or a list of positions; names go into static_argnames"),
    "static_argnames": (_one_or_more(str), "a name or a list of names; positions go into static_argnums"),
}
