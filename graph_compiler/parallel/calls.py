"""One call of a function over an axis of devices: which of its arrays are split, and the function as one of just these arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts import DeviceAxis, Parallelism
from ..contracts.parallelism import Arrays
from ..errors import CallMismatch, InvalidOption
from ..transforms.flat import is_array, is_value
from ..trees import Path, Tree, flatten, paths, unflatten


class GivenCall:
    """Arguments of a call: their arrays, and the rest. ``static`` are positions of what is part of the program; ``is_flat``: there is
    nothing but arrays, by position, beside it."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any], static: Sequence[int]) -> None:
        self.static = {place: args[place] for place in static}
        self.places = [place for place in range(len(args)) if place not in self.static]
        values = [*(args[place] for place in self.places), *kwargs.values()]
        are_arrays = all(map(is_array, values))
        self.is_flat = are_arrays and not kwargs
        if are_arrays:
            order, self.tree = _tree_of_arrays(len(self.places), tuple(kwargs))
            self.leaves = [values[place] for place in order]
        else:
            self.leaves, self.tree = flatten((values[: len(self.places)], kwargs), is_array)


@functools.lru_cache(maxsize=256)
def _tree_of_arrays(count: int, names: tuple[str, ...]) -> tuple[list[int], Tree]:
    """Of a call whose arguments are arrays and nothing else: so many, and these; and the order of the leaves."""
    return flatten((list(range(count)), dict(zip(names, range(count, count + len(names))))), lambda item: type(item) is int)


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call without its arrays: programs keep it, and with it no array."""

    static: dict[int, Any]
    tree: Tree
    is_flat: bool

    def of(self, arrays: Arrays) -> tuple[list[Any], dict[str, Any]]:
        """By position and by name, with these arrays."""
        args, kwargs = ([*arrays], {}) if self.is_flat else unflatten(self.tree, arrays)
        for place in sorted(self.static):
            args.insert(place, self.static[place])
        return args, kwargs


class SplitCall:
    """The arrays of a call, and for each whether it is split along its first axis.

    ``replicated`` are positions of arguments that are whole on each device; None where their layout tells. ``key`` is equal for calls that
    the same program serves.
    """

    def __init__(self, engine: Parallelism, name: str, axis: DeviceAxis, given: GivenCall, replicated: Sequence[int] | None) -> None:
        self._engine, self._name, self._axis, self._replicated = engine, name, axis, replicated
        self.static, self._places, self.tree, leaves = given.static, given.places, given.tree, given.leaves
        self.arguments = Arguments(given.static, given.tree, given.is_flat)
        self.arrays: Arrays = list(map(engine.array, leaves))
        if replicated is None:
            self.split = tuple(bool(leaf.shape) and not engine.is_replicated(leaf, axis) for leaf in leaves)
        else:
            self.split = tuple(bool(leaf.shape) and self._is_batch(path) for leaf, path in zip(leaves, self._paths))

    @functools.cached_property
    def _paths(self) -> list[Path]:
        return list(paths(self.tree))

    def _is_batch(self, path: Path) -> bool:
        return path[0] == 1 or self._places[path[1]] not in (self._replicated or ())

    @functools.cached_property
    def key(self) -> Hashable:
        """What a program is made for."""
        return self.tree, self.split, tuple((tuple(array.shape), array.dtype) for array in self.arrays), tuple(self.static.items())

    def unhashable(self, problem: TypeError) -> InvalidOption:
        """The error for a static argument that cannot be hashed."""
        return InvalidOption(
            f"Parallel of {self._name}: static_argnums= names argument {', '.join(map(str, self.static))}, and what was given cannot be "
            f"hashed ({problem}); static arguments are numbers, texts and the like. An array that is the same for all devices goes "
            "through parallel.replicate, or replicated_argnums="
        )

    def require_even(self, local_batch: bool) -> None:
        """``CallMismatch`` where the first axes of what is split differ, or do not divide into the devices."""
        count = self._axis.local if local_batch else self._axis.size
        batches = [place for place, is_split in enumerate(self.split) if is_split]
        for place in batches:
            shape, first = self.arrays[place].shape, self.arrays[batches[0]].shape[0]
            if shape[0] % count:
                raise CallMismatch(
                    f"Parallel of {self._name}: {self._words(place)} has the shape {list(shape)}, and its first axis, of {shape[0]}, does "
                    f"not divide into {count} devices; pass a multiple of {count}, or, where it is no batch, give it by parallel.replicate "
                    "or replicated_argnums="
                )
            if shape[0] != first:
                raise CallMismatch(
                    f"Parallel of {self._name}: {self._words(batches[0])} has a first axis of {first}, and {self._words(place)} the shape "
                    f"{list(shape)}; all batches have one size. What is no batch goes through parallel.replicate or replicated_argnums="
                )

    def _words(self, place: int) -> str:
        """``argument 0`` or ``argument 'x'``, and where in it."""
        path = self._paths[place]
        argument = repr(path[1]) if path[0] == 1 else str(self._places[path[1]])
        return f"argument {argument}" + "".join(f"[{key!r}]" for key in path[2:])

    def first_part(self) -> tuple[list[Any], dict[str, Any]]:
        """Arguments as the first device gets them."""
        parts = [array[: array.shape[0] // self._axis.size] if is_split else array for array, is_split in zip(self.arrays, self.split)]
        return self.arguments.of(parts)


_ALONE = flatten(0.0, is_value)[1]  # of a result that is one array


class FlatFunction:
    """A function as one of arrays, as a device runs it; :meth:`result` puts its result together from others.

    The first ``names`` of the arrays are parameters, which the function takes as a dict in front.
    """

    def __init__(
        self, function: Callable[..., Any], names: Sequence[str] | None, given: Arguments, engine: Parallelism, framework: str
    ) -> None:
        self._function, self._names, self._given, self._engine, self._framework = function, names, given, engine, framework
        self._result: Tree | None = None
        self.is_of_one_array = False  # what it has returned

    def __call__(self, arrays: Arrays) -> Arrays:
        count = len(self._names or ())
        leading = [] if self._names is None else [dict(zip(self._names, arrays))]
        args, kwargs = self._given.of(arrays[count:])
        found = self._function(*leading, *args, **kwargs)
        leaves, self._result = ([found], _ALONE) if is_array(found) else flatten(found, is_value)
        self.is_of_one_array = self._result is _ALONE
        native = list(map(self._engine.array, leaves))
        for array, leaf in zip(native, leaves):
            if array is None:
                name = getattr(self._function, "__name__", "the function")
                raise CallMismatch(f"Parallel of {name}: it gives a {type(leaf).__name__}, which is no array of {self._framework}")
        return native

    def result(self, arrays: Arrays) -> Any:
        """What the function has returned, with these arrays."""
        assert self._result is not None
        return unflatten(self._result, arrays)

    def places(self) -> list[str]:
        """Where each array stands in the result, in words."""
        assert self._result is not None
        return ["".join(f"[{key!r}]" for key in path) for path in paths(self._result)]
