"""The arguments that a derivative is taken of, as a list of arrays, and the function as one of just these arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..contracts.derivatives import Arrays
from ..errors import CallMismatch, InvalidOption
from ..trees import Branch, Path, Static, Tree, flatten, is_container, iterate_structure, paths, unflatten
from .flat import is_value, native
from .functions import Function, where
from .refusing import refusing

Names = Sequence[str]

_OF_ALL = ("jvp", "vjp", "linearize")  # which are taken of all arguments, of which some may have no derivative


def positions(argnums: int | Sequence[int] | None, argnames: str | Names | None) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Which arguments are meant: the first one where nothing is said. ``InvalidOption`` for what is neither a number nor a name."""
    if argnums is None:
        argnums = () if argnames is not None else 0
    numbers = tuple(argnums) if isinstance(argnums, (tuple, list, range)) else (argnums,)
    names = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if any(type(number) is not int for number in numbers):
        raise InvalidOption(f"argnums= is {argnums!r}, and has to be a position of an argument, or several")
    if any(type(name) is not str for name in names):
        raise InvalidOption(f"argnames= is {argnames!r}, and has to be a name of an argument, or several")
    return numbers, names


def position_of(function: Any, name: str, args: Sequence[Any]) -> int | None:
    """Where an argument of that name stands in ``args``; None where it does not."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    return names.index(name) if name in names[: len(args)] else None


class Call:
    """One call of a function: ``arrays`` are those of the chosen arguments that have derivatives.

    As a function of such arrays it gives the results that have derivatives, and everything else that the function has given.
    """

    def __init__(
        self,
        function: Function,
        words: str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        chosen: tuple[Sequence[int], Names],
        has_aux: bool,
    ) -> None:
        self.function, self.words, self.has_aux = function, words, has_aux
        self._args, self._kwargs = list(args), dict(kwargs)
        self._places = [*map(self._place, chosen[0]), *map(self._place, chosen[1])]
        leaves, self._tree = flatten([self._held(place)[place] for place in self._places], is_value)
        self._leaves = [function.derivatives.array(function.number(leaf)) for leaf in leaves]
        self._has = [self._has_derivative(leaf, path) for leaf, path in zip(self._leaves, paths(self._tree))]
        self._require_differentiable()
        self.arrays = [leaf for leaf, has in zip(self._leaves, self._has) if has]
        self._result: tuple[Tree, list[bool]] | None = None
        self._aux: Tree | None = None
        if any(isinstance(leaf, (float, complex)) and has for leaf, has in zip(leaves, self._has)):
            function.prepare(*self._with(self.arrays))

    # ------------------------------------------------------------------------------ arguments
    def _held(self, place: int | str) -> Any:
        return self._args if isinstance(place, int) else self._kwargs

    def _place(self, key: int | str) -> int | str:
        """Where an argument stands in the call; one that is named may be given by position."""
        if isinstance(key, int) and -len(self._args) <= key < len(self._args):
            return key % len(self._args)
        if isinstance(key, str) and (key in self._kwargs or (place := position_of(self.function.call, key, self._args)) is not None):
            return key if key in self._kwargs else place  # type: ignore[return-value]
        what = f"argument {key}" if isinstance(key, int) else f"argument {key!r}"
        given = ", ".join((f"{len(self._args)} by position", *map(repr, self._kwargs)))
        raise CallMismatch(f"{self.words} of {self.function.name}: there is no {what}; given are {given}{where(self.function.call)}")

    def _has_derivative(self, leaf: Any, path: Path) -> bool:
        is_untrained = self._places[path[0]] == 0 and len(path) == 2 and path[1] in self.function.untrained
        return self.function.derivatives.is_differentiable(leaf) and not is_untrained

    def _require_differentiable(self) -> None:
        if not self._places:
            raise InvalidOption(f"{self.words} of {self.function.name}: say of which argument, argnums= or argnames=")
        for place in self._places if not any(self._has) or self.words not in _OF_ALL else ():
            argument = self._held(place)[place]
            found = [self.function.derivatives.array(item) for item in iterate_structure(argument) if is_value(item)]
            if is_container(type(argument)) and not [*iterate_structure(argument)]:
                continue  # the gradient of a graph's parameters where it has none
            if not any(map(self.function.derivatives.is_differentiable, found)):
                what = ", ".join(map(_shown, found)) or repr(argument)
                raise CallMismatch(
                    f"{self.words} of {self.function.name}: argument {place!r} is {what}, which has no derivative; pass floating-point "
                    f"numbers, or name another argument, argnums={where(self.function.call)}"
                )

    def like_arguments(self, arrays: Sequence[Any], leading: Sequence[int] = ()) -> list[Any]:
        """Each chosen argument with other arrays, which have these ``leading`` axes more, in the place of those with derivatives; zeros in
        the place of the others."""
        given, zeros = iter(arrays), self.function.derivatives.zeros_like
        leaves = [next(given) if has else zeros(leaf, leading) for leaf, has in zip(self._leaves, self._has)]
        found: list[Any] = unflatten(_with_zeros(self._tree), leaves)
        return found

    def places_with_derivatives(self) -> list[int]:
        """Which of all arrays in the chosen arguments :attr:`arrays` are."""
        return [place for place, has in enumerate(self._has) if has]

    def tangents(self, given: Sequence[Any]) -> Arrays:
        """Tangents for :attr:`arrays`, out of structures as the chosen arguments have them. ``CallMismatch`` where they differ."""
        leaves, tree = flatten(list(given), is_value)
        if tree != self._tree and len(leaves) != len(self._leaves):
            raise CallMismatch(
                f"{self.words} of {self.function.name}: tangents have {len(leaves)} arrays, and the arguments {len(self._leaves)}"
            )
        tangents = [array for array, has in zip(leaves, self._has) if has]
        return [matching(self, "tangent", place, item, array) for place, (item, array) in enumerate(zip(tangents, self.arrays))]

    # ------------------------------------------------------------------------------ its derivatives
    def pulled(self) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """As :meth:`Derivatives.pulled`."""
        if not self.arrays:
            return *self(self.arrays), lambda cotangents: []
        with self._refusing():
            results, handed, pull = self.function.derivatives.pulled(self, self.arrays)
        return results, handed, self._refusing()(pull)

    def pushed(self, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """As :meth:`Derivatives.pushed`."""
        if not self.arrays:
            results, handed = self(self.arrays)
            return results, list(map(self.function.derivatives.zeros_like, results)), handed
        with self._refusing():
            return self.function.derivatives.pushed(self, self.arrays, tangents)

    def linearised(self) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        """As :meth:`Derivatives.linearised`."""
        with self._refusing():
            results, handed, push = self.function.derivatives.linearised(self, self.arrays)
        return results, handed, self._refusing()(push)

    def _refusing(self) -> Any:
        return refusing(self.words, self.function)

    # ------------------------------------------------------------------------------ the function
    def __call__(self, arrays: Arrays) -> tuple[Arrays, Arrays]:
        """Results with a derivative; results without, and what is handed on beside them."""
        args, kwargs = self._with(arrays)
        return self._taken_apart(self.function.run(*args, **kwargs))

    def _with(self, arrays: Arrays) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of the function with these arrays in the place of those with derivatives."""
        args, kwargs = list(self._args), dict(self._kwargs)
        given = iter(arrays)
        found = unflatten(self._tree, [next(given) if has else leaf for leaf, has in zip(self._leaves, self._has)])
        for place, argument in zip(self._places, found):
            (args if isinstance(place, int) else kwargs)[place] = argument  # type: ignore[index]
        return tuple(args), kwargs

    def _taken_apart(self, result: Any) -> tuple[Arrays, Arrays]:
        derivatives = self.function.derivatives
        aux: Any = ()
        if self.has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise CallMismatch(
                    f"{self.words} of {self.function.name}: with has_aux=True it has to return a pair (result, aux), and returned "
                    f"{type(result).__name__}{where(self.function.call)}"
                )
            result, aux = result
        leaves, tree = flatten(result, is_value)
        results = native(self.function, self.words, leaves)
        has = list(map(derivatives.is_differentiable, results))
        if not any(has):
            what = ", ".join(map(_shown, results)) or f"a {type(result).__name__}"
            raise CallMismatch(
                f"{self.words} of {self.function.name}: its result is {what}, which has no derivative; return floating-point numbers"
                f"{where(self.function.call)}"
            )
        handed, self._aux = flatten(aux, is_value)
        self._result = tree, has
        others = [array for array, one in zip(results, has) if not one]
        return [array for array, one in zip(results, has) if one], [*others, *map(derivatives.array, handed)]

    def result(self, results: Arrays, handed: Arrays) -> Any:
        """What the function has returned, put together from its arrays."""
        tree, has = self._of_result()
        with_derivative, others = iter(results), iter(handed)
        return unflatten(tree, [next(with_derivative if one else others) for one in has])

    def like_result(self, results: Arrays, handed: Arrays) -> Any:
        """The same with zeros in the place of results without derivatives: their tangents."""
        return self.result(results, list(map(self.function.derivatives.zeros_like, handed)))

    def results_without(self) -> int:
        """How many results have no derivative."""
        return self._of_result()[1].count(False)

    def aux(self, handed: Arrays) -> Any:
        """What is handed on beside the result."""
        assert self._aux is not None
        return unflatten(self._aux, handed[self.results_without() :])

    def cotangents(self, given: Any, results: Arrays) -> Arrays:
        """Cotangents of the results with derivatives, out of a structure as the result has it. ``CallMismatch`` where it differs."""
        _, has = self._of_result()
        leaves, _ = flatten(given, is_value)
        if len(leaves) != len(has):
            raise CallMismatch(f"{self.words} of {self.function.name}: {len(leaves)} cotangents were given for {len(has)} results")
        chosen = [array for array, one in zip(leaves, has) if one]
        return [matching(self, "cotangent", place, item, array) for place, (item, array) in enumerate(zip(chosen, results))]

    def _of_result(self) -> tuple[Tree, list[bool]]:
        assert self._result is not None
        return self._result


def _with_zeros(tree: Tree) -> Tree:
    """The structure with zeros for its whole numbers, which have no derivative."""
    if isinstance(tree, Static):
        return Static(type(tree.value)(0)) if type(tree.value) in (int, bool) else tree
    return replace(tree, children=tuple(map(_with_zeros, tree.children))) if isinstance(tree, Branch) else tree


def matching(call: Call, kind: str, place: int, item: Any, array: Any) -> Any:
    """A tangent or cotangent as an array of the type and shape of the array that it belongs to; ``CallMismatch`` where it has others."""
    found = call.function.derivatives.array(item)
    if tuple(found.shape) != tuple(array.shape):
        raise CallMismatch(
            f"{call.words} of {call.function.name}: {kind} {place} has the shape {list(found.shape)}, and what it belongs to "
            f"{list(array.shape)}"
        )
    return found if found.dtype == array.dtype else call.function.derivatives.cast(found, array)


def _shown(array: Any) -> str:
    name = str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]
    return f"{name}{list(array.shape)}"


def single(items: Sequence[Any], argnums: Any, argnames: Any) -> Any:
    """Derivatives of several arguments as they were asked for: one alone where one is, a tuple, a dict of those that are named, or both."""
    numbers, names = positions(argnums, argnames)
    by_position = items[0] if isinstance(argnums, int) or argnums is None else tuple(items[: len(numbers)])
    by_name = items[len(numbers)] if isinstance(argnames, str) else dict(zip(names, items[len(numbers) :]))
    if not names:
        return by_position
    return by_name if not numbers else (by_position, by_name)
