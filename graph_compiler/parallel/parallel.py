"""``Parallel``: a function that runs on several devices, each with its part of a batch."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts import DeviceAxis, Parallelism, Spread
from ..contracts.parallelism import REDUCTIONS, Arrays, ModuleFunction
from ..errors import CallMismatch, GuardFailed, InvalidOption, NotCompilable, nearest
from ..forwarding import forward
from ..recording.faults import is_fault
from ..runtime import Graph
from ..runtime.boundary import public
from ..runtime.options import require_function
from ..transforms.functions import is_array, is_value
from ..trees import Fixed, Path, Static, Tree, flatten, likeness, paths, unflatten
from .sharding import engine_named, framework_of_call, name_of

concat = REDUCTIONS[0]
"""Value of ``reduce=``: join the devices' results along the first axis.

Numbers become an array with one for each device.
"""
mean = REDUCTIONS[1]
"""Value of ``reduce=``: the mean over the devices."""
sum = REDUCTIONS[2]
"""Value of ``reduce=``: the sum over the devices."""
first = REDUCTIONS[3]
"""Value of ``reduce=``: the results of the first device, for results that are equal on all devices."""
none = REDUCTIONS[4]
"""Value of ``reduce=``: for each array of the result, a list with those of the devices of this process."""


def require_reduction(reduce: Any) -> None:
    if reduce not in REDUCTIONS if isinstance(reduce, str) else not callable(reduce):
        close = nearest(reduce, REDUCTIONS) if isinstance(reduce, str) else ""
        raise InvalidOption(
            f"reduce= is {reduce!r}, and has to be one of {', '.join(map(repr, REDUCTIONS))}, or a function "
            f"of the results of all devices, stacked along a first axis{close}"
        )


__all__ = ["concat", "first", "mean", "none", "require_reduction", "sum"]


class FlattenedCall:
    """Arguments of a call, split into the arrays and everything else.

    static: static arguments by position.
    places: positions of the other positional arguments.
    is_flat: True if all non-static arguments are arrays passed by position.
    leaves: the arrays in the non-static arguments.
    tree: the structure of the non-static arguments.
    """

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any], static: Sequence[int]) -> None:
        self.static = {place: args[place] for place in static}
        self.places = [place for place in range(len(args)) if place not in self.static]
        values = [*(args[place] for place in self.places), *kwargs.values()]
        are_arrays = all(map(is_array, values))
        self.is_flat = are_arrays and not kwargs
        # Flattening is slow. Most calls pass arrays alone, and the structure of these is cached.
        if are_arrays:
            order, self.tree = _tree_of_arrays(len(self.places), tuple(kwargs))
            self.leaves = [values[place] for place in order]
        else:
            self.leaves, self.tree = flatten((values[: len(self.places)], kwargs), is_array)


@functools.lru_cache(maxsize=256)
def _tree_of_arrays(count: int, names: tuple[str, ...]) -> tuple[list[int], Tree]:
    """Return ``(order, tree)`` for a call with arrays alone; ``order`` has each leaf's argument index."""
    return flatten(
        (list(range(count)), dict(zip(names, range(count, count + len(names))))),
        lambda item: type(item) is int,
    )


@dataclass(frozen=True)
class CallStructure:
    """Structure of the arguments of a call, from which :meth:`of` rebuilds them.

    static: static arguments by position.
    tree: structure of the other arguments.
    is_flat: True if all other arguments are arrays passed by position.
    """

    static: dict[int, Any]
    tree: Tree
    is_flat: bool

    def of(self, arrays: Arrays) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = ([*arrays], {}) if self.is_flat else unflatten(self.tree, arrays)
        # The positions are those among all arguments, so the lowest is inserted first.
        for place in sorted(self.static):
            args.insert(place, self.static[place])
        return args, kwargs


class ShardedCall:
    """Arrays of a call, and which of them are split along their first axis.

    static: static arguments by position.
    tree: the structure of the other arguments.
    arrays: the arrays, as arrays of the engine's framework.
    split: for each array, True if it is split.
    """

    def __init__(
        self,
        engine: Parallelism,
        name: str,
        axis: DeviceAxis,
        given: FlattenedCall,
        replicated: Sequence[int] | None,
        local_batch: bool,
    ) -> None:
        self._engine, self._name, self._replicated = engine, name, replicated
        self._parts = axis.local if local_batch else axis.size
        self.static, self._places, self.tree, leaves = given.static, given.places, given.tree, given.leaves
        self.arguments = CallStructure(given.static, given.tree, given.is_flat)
        self.arrays: Arrays = list(map(engine.array, leaves))
        if replicated is None:
            self.split = tuple(bool(leaf.shape) and not engine.is_replicated(leaf, axis) for leaf in leaves)
        else:
            self.split = tuple(
                bool(leaf.shape) and self._is_batch(path) for leaf, path in zip(leaves, self._paths)
            )

    @functools.cached_property
    def _paths(self) -> list[Path]:
        return list(paths(self.tree))

    def _is_batch(self, path: Path) -> bool:
        return path[0] == 1 or self._places[path[1]] not in (self._replicated or ())

    @functools.cached_property
    def key(self) -> Hashable:
        """Key for a cache of programs: structure, split arrays, shapes, dtypes and static arguments.

        Raise ``TypeError`` if a static argument is not hashable.
        """
        return (
            self.tree,
            self.split,
            tuple((tuple(array.shape), array.dtype) for array in self.arrays),
            tuple((place, hash(item), Static(Fixed(item))) for place, item in self.static.items()),
        )

    def unhashable_error(self, problem: TypeError) -> InvalidOption:
        return InvalidOption(
            f"Parallel of {self._name}: static_argnums= names argument {', '.join(map(str, self.static))}, "
            f"and what was given cannot be hashed ({problem}); static arguments are numbers, texts and the "
            "like. An array that is the same for all devices goes through parallel.replicate, or "
            "replicated_argnums="
        )

    def require_even(self) -> None:
        count = self._parts
        batches = [place for place, is_split in enumerate(self.split) if is_split]
        for place in batches:
            shape, first = self.arrays[place].shape, self.arrays[batches[0]].shape[0]
            if shape[0] % count:
                raise CallMismatch(
                    f"Parallel of {self._name}: {self._words(place)} has the shape {list(shape)}, and its "
                    f"first axis, of {shape[0]}, does not divide into {count} devices; pass a multiple of "
                    f"{count}, or, where it is no batch, give it by parallel.replicate or replicated_argnums="
                )
            if shape[0] != first:
                raise CallMismatch(
                    f"Parallel of {self._name}: {self._words(batches[0])} has a first axis of {first}, and "
                    f"{self._words(place)} the shape {list(shape)}; all batches have one size. What is no "
                    "batch goes through parallel.replicate or replicated_argnums="
                )

    def _words(self, place: int) -> str:
        path = self._paths[place]
        argument = repr(path[1]) if path[0] == 1 else str(self._places[path[1]])
        return f"argument {argument}" + "".join(f"[{key!r}]" for key in path[2:])

    def first_part(self) -> tuple[list[Any], dict[str, Any]]:
        parts = [
            array[: array.shape[0] // self._parts] if is_split else array
            for array, is_split in zip(self.arrays, self.split)
        ]
        return self.arguments.of(parts)


# Structure of a result that is one array.
_ALONE = flatten(0.0, is_value)[1]


class FlattenedDeviceFunction:
    """Function from a flat list of arrays to a flat list of arrays, which a device runs.

    names: names of the parameters, which are the first arrays; None if the function takes none.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Sequence[str] | None,
        given: CallStructure,
        engine: Parallelism,
        framework: str,
    ) -> None:
        self._function, self._names, self._given, self._engine, self._framework = (
            function,
            names,
            given,
            engine,
            framework,
        )
        self._result: Tree | None = None
        # True if the last result was one array.
        self.is_of_one_array = False

    def __call__(self, arrays: Arrays) -> Arrays:
        count = len(self._names or ())
        leading = [] if self._names is None else [dict(zip(self._names, arrays))]
        args, kwargs = self._given.of(arrays[count:])
        # Arguments that do not fit are an error of the user.
        found = forward(self._function, *leading, *args, **kwargs)
        # A single array needs no flattening.
        leaves, self._result = ([found], _ALONE) if is_array(found) else flatten(found, is_value)
        self.is_of_one_array = self._result is _ALONE
        native = list(map(self._engine.array, leaves))
        for array, leaf in zip(native, leaves):
            if array is None:
                name = getattr(self._function, "__name__", "the function")
                raise CallMismatch(
                    f"Parallel of {name}: it gives a {type(leaf).__name__}, which is no array of "
                    f"{self._framework}"
                )
        return native

    def result(self, arrays: Arrays) -> Any:
        assert self._result is not None
        return unflatten(self._result, arrays)

    def places(self) -> list[str]:
        assert self._result is not None
        return ["".join(f"[{key!r}]" for key in path) for path in paths(self._result)]


@dataclass
class _ParallelProgram:
    """Function compiled for all devices.

    is_checked: False until results under ``"first"`` were checked; True for other reductions.
    """

    flat: FlattenedDeviceFunction
    run: Callable[[Arrays], Arrays]
    is_checked: bool


@dataclass(frozen=True)
class _PlacedParameters:
    """Parameters of a module or graph, and their arrays on all devices.

    placed: the arrays that are passed to the devices, in the same order.
    """

    given: Mapping[str, Any]
    placed: Arrays

    def is_of(self, parameters: Mapping[str, Any]) -> bool:
        return [*parameters] == [*self.given] and all(
            map(operator.is_, self.given.values(), parameters.values())
        )


class _ParallelContext:
    """Framework, devices and function that the calls of a ``Parallel`` in one framework share.

    with_parameters: the function with its parameters as arguments; None if none need to be passed.
    kinds: for each class of arrays, the function that returns the properties of an array by which a call is
        compared with the last one.
    """

    def __init__(
        self, framework: str, engine: Parallelism, axis: DeviceAxis, with_parameters: ModuleFunction | None
    ) -> None:
        self.framework, self.engine, self.axis, self.with_parameters = (
            framework,
            engine,
            axis,
            with_parameters,
        )
        self.kinds = engine.call_keys()
        self._placed = _PlacedParameters({}, [])

    def placed_parameters(self) -> _PlacedParameters:
        """Return the parameters with their arrays on the devices, placed again if one has been replaced."""
        if self.with_parameters is not None and not self._placed.is_of(
            parameters := dict(self.with_parameters.parameters)
        ):
            self._placed = _PlacedParameters(
                parameters, self.engine.broadcast_parameters(list(parameters.values()), self.axis)
            )
        return self._placed

    def live(self) -> list[tuple[Callable[[], Any], Any]] | None:
        """Return pairs of a function and its result, which is the same object while no parameter is replaced.

        Return None if the parameters cannot be read.
        """
        try:
            return (
                [(live, live()) for live in self.with_parameters.live()]
                if self.with_parameters is not None
                else []
            )
        except GuardFailed:
            # A weight was replaced by one of another shape.
            return None


@dataclass(frozen=True)
class _PreparedCall:
    """Program and placed parameters of the last call, to be run again for a call of equal likeness.

    alike: likeness (:func:`graph_compiler.trees.likeness`) of the arguments of the last call.
    live: pairs of a function and its result while no parameter is replaced; None if unknown.
    """

    context: _ParallelContext
    alike: list[Any]
    live: list[tuple[Callable[[], Any], Any]] | None
    placed: Arrays
    program: _ParallelProgram

    def is_current(self) -> bool:
        try:
            for live, given in self.live or ():
                if live() is not given:
                    return False
        except GuardFailed:
            return False
        return self.live is not None


class Parallel:
    """Function that runs on several devices, each with its part of the batch. It is called like the original.

    Arrays are split along their first axis, in the order of the devices. These are not split: arguments in
    ``replicated_argnums`` or, without it, what :func:`replicate` returned; arrays without axes; Python
    numbers; and the parameters of a graph or module. JAX runs it as a compiled ``jax.shard_map``, TensorFlow
    as a ``tf.distribute.MirroredStrategy`` in a ``tf.function``, torch in one process for each device (start
    them with ``torchrun``, and call ``torch.distributed.init_process_group``), where the parameters of
    modules and graphs are overwritten with those of the first process. Inside it, :func:`psum` and the other
    collectives use ``axis_name``.

    Args:
        function: Graph, torch module, or function of torch, JAX or TensorFlow.
        devices: A number, for the first devices; JAX devices, names of TensorFlow devices, or a torch
            ``DeviceMesh`` of one axis. Default: all, in TensorFlow all GPUs if there are any.
        reduce: How the devices' results are combined. ``"concat"`` joins them along the first axis,
            ``"mean"`` and ``"sum"`` reduce over the devices, ``"first"`` returns those of the first device,
            which must be equal on all devices, ``"none"`` a list with one array for each device of this
            process. A function gets the results stacked along a new first axis.
        axis_name: Name of the axis for collectives.
        static_argnums: Positions, counted from 0, of arguments that are compiled into the program. They have
            to be hashable; each new value is compiled again.
        replicated_argnums: Positions, counted from 0, of arguments that are not split. Default: arrays that
            are already replicated over the devices, as by :func:`replicate`, are not split.
        local_batch: Each process passes the part of its own devices instead of the whole batch.

    Raises:
        InvalidOption: An option is invalid; a static argument is not hashable; or JAX traces an argument,
            and ``replicated_argnums`` is not given.
        CallMismatch: Batches differ in size, or their size is no multiple of the number of devices; a static
            argument is not passed by position; results are found to differ under ``"first"``; a result
            cannot be converted to an array of the framework; or ``reduce`` is a function that fails or
            returns no array.
        NotCompilable: ``function`` is not callable, or NumPy's, or it is a graph that changes state.
        CollectiveFailed: Another process has ended, waits elsewhere, or has a batch of another size.

    >>> import jax.numpy as jnp
    >>> from graph_compiler import parallel
    >>> share = lambda x: x / parallel.psum(x.sum(), "device")
    >>> parallel.Parallel(share, devices=jnp.ones(1).devices())(jnp.ones(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    @public
    def __init__(
        self,
        function: Any,
        devices: Any = None,
        reduce: str | Callable[[Any], Any] = concat,
        axis_name: str = "device",
        static_argnums: int | Sequence[int] = (),
        *,
        replicated_argnums: int | Sequence[int] | None = None,
        local_batch: bool = False,
    ) -> None:
        require_function("Parallel", function)
        require_reduction(reduce)
        if not isinstance(axis_name, str):
            raise InvalidOption(f"axis_name= is {axis_name!r}, and has to be a text")
        self.function, self.devices, self.reduce, self.axis_name, self.local_batch = (
            function,
            devices,
            reduce,
            axis_name,
            local_batch,
        )
        self._static = _positions("static_argnums", static_argnums)
        self._replicated = (
            None if replicated_argnums is None else _positions("replicated_argnums", replicated_argnums)
        )
        # Keyed by the classes of the arrays in the arguments.
        self._contexts: dict[tuple[type, ...], _ParallelContext] = {}
        self._programs: dict[Hashable, _ParallelProgram] = {}
        # The variants that the programs contain, if the function is a graph.
        self._variants: Sequence[Any] = ()
        # Keys of calls that were checked.
        self._known: set[Hashable] = set()
        self._prepared: _PreparedCall | None = None
        self.__name__ = f"Parallel({name_of(function)})"
        self.__doc__ = getattr(function, "__doc__", None)

    def __repr__(self) -> str:
        return f"<{self.__name__} over {self.axis_name!r}>"

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        arrays: Arrays = []
        prepared = self._prepared
        # A call like the last one runs the last program without being flattened again.
        if (
            prepared is None
            or likeness((*args, kwargs), prepared.context.kinds, arrays) != prepared.alike
            or not prepared.is_current()
        ):
            prepared, arrays = self._prepare_call(args, kwargs)
        program = prepared.program
        try:
            results = program.run([*prepared.placed, *arrays])
        except GuardFailed:
            # Values may decide between variants: record one for this call, and call again.
            if not self._record(self._split(prepared.context, self._given(args, kwargs)), True):
                raise
            return self(*args, **kwargs)
        # Checked once for each program, because it compares arrays of all devices.
        if not program.is_checked:
            self._require_equal(prepared.context, program.flat, results)
            program.is_checked = True
        return results[0] if program.flat.is_of_one_array else program.flat.result(results)

    def _prepare_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_PreparedCall, Arrays]:
        """Check a call, record and compile what is missing, and return the prepared call and its arrays."""
        given = self._given(args, kwargs)
        context = self._context_for(given, args, kwargs)
        call = self._split(context, given)
        self._check(call)
        live, parameters = context.live(), context.placed_parameters()
        key = context.framework, call.key, tuple(parameters.given)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._program(context, call, list(parameters.given))
        arrays: Arrays = []
        prepared = _PreparedCall(
            context, likeness((*args, kwargs), context.kinds, arrays), live, parameters.placed, program
        )
        is_as_given = len(arrays) == len(call.arrays) and all(map(operator.is_, arrays, call.arrays))
        # Checks on values select a variant in each call, and arrays that were converted must be converted
        # again.
        self._prepared = prepared if is_as_given and not self._has_checks() else None
        return prepared, call.arrays

    def _context_for(
        self, given: FlattenedCall, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _ParallelContext:
        kinds = tuple(map(type, given.leaves))
        found = self._contexts.get(kinds) if kinds else None
        if found is None:
            framework = framework_of_call(self.function, args, kwargs)
            # The parameters are placed once for each context.
            known = [context for context in self._contexts.values() if context.framework == framework]
            found = self._contexts[kinds] = known[0] if known else self._new_context(framework)
        return found

    def _new_context(self, framework: str) -> _ParallelContext:
        engine = engine_named(framework, self.__name__)
        function = (
            _GraphOfParameters(self.function)
            if isinstance(self.function, Graph)
            else engine.as_module_function(self.function)
        )
        return _ParallelContext(framework, engine, engine.axis(self.devices, self.axis_name), function)

    def _split(self, context: _ParallelContext, given: FlattenedCall) -> ShardedCall:
        return ShardedCall(
            context.engine,
            name_of(self.function),
            context.axis,
            given,
            self._replicated,
            self.local_batch,
        )

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FlattenedCall:
        return FlattenedCall(
            args, kwargs, [_require_position(place, args, self.__name__) for place in self._static]
        )

    def _check(self, call: ShardedCall) -> None:
        try:
            is_new = call.key not in self._known
        except TypeError as problem:
            raise call.unhashable_error(problem) from None
        if is_new:
            # Calls of equal keys have equal shapes.
            call.require_even()
        self._record(call, is_new)
        self._known.add(call.key)

    def _program(self, context: _ParallelContext, call: ShardedCall, names: list[str]) -> _ParallelProgram:
        of_parameters = context.with_parameters is not None
        flat = FlattenedDeviceFunction(
            context.with_parameters or self.function,
            names if of_parameters else None,
            call.arguments,
            context.engine,
            context.framework,
        )
        how = Spread(
            context.axis,
            (*(False for _ in names), *call.split),
            self._reduction(),
            self.local_batch,
            len(names),
        )
        return _ParallelProgram(flat, context.engine.spread(flat, how), self.reduce != first)

    def _reduction(self) -> str | Callable[[Any], Any]:
        given = self.reduce
        if isinstance(given, str):
            return given

        def reduced(stacked: Any) -> Any:
            try:
                found = forward(given, stacked)
            # The function is the user's, and may raise anything.
            except Exception as problem:
                if is_fault(problem):
                    raise
                raise self._reduction_error(
                    f"fails with {type(problem).__name__}: {problem}", stacked
                ) from problem
            if not is_value(found):
                raise self._reduction_error(
                    f"gives a {type(found).__name__}, and has to give an array", stacked
                )
            return found

        return reduced

    def _reduction_error(self, what: str, stacked: Any) -> CallMismatch:
        return CallMismatch(
            f"{self.__name__}: the function reduce= {what}; it is given the results of all devices, stacked "
            f"along a first axis: {list(stacked.shape)}"
        )

    def _record(self, call: ShardedCall, is_new: bool) -> bool:
        """Record the graph for one device's part of the batch if needed; return True if it was."""
        graph = self.function
        if not isinstance(graph, Graph) or not (is_new or self._has_checks()):
            return False
        before = len(graph.variants)
        _record_first(graph, call)
        if list(map(id, graph.variants)) != list(map(id, self._variants)):
            # Compiled programs contain the variants that the graph had before.
            self._programs.clear()
            self._prepared, self._variants = None, graph.variants
        return len(graph.variants) > before

    def _has_checks(self) -> bool:
        return isinstance(self.function, Graph) and any(
            variant.program.checks for variant in self.function.variants
        )

    def _require_equal(
        self, context: _ParallelContext, flat: FlattenedDeviceFunction, results: Arrays
    ) -> None:
        differ = [context.engine.differs_between_devices(array, context.axis) for array in results]
        if any(differ):
            where = ", ".join(f"result{place}" for place, found in zip(flat.places(), differ) if found)
            raise CallMismatch(
                f"{self.__name__}: reduce= is 'first', and {where} differs between the devices; take "
                f"parallel.pmean(result, {self.axis_name!r}) inside of the function, or reduce='mean', "
                "'concat' or 'none'"
            )


def _positions(option: str, given: Any) -> tuple[int, ...]:
    found = tuple(given) if isinstance(given, (tuple, list, range)) else (given,)
    if any(type(number) is not int or number < 0 for number in found):
        raise InvalidOption(
            f"{option}= is {given!r}, and has to be a position of an argument, or several, counted from 0"
        )
    return found


def _require_position(place: int, args: tuple[Any, ...], name: str) -> int:
    if place >= len(args):
        raise CallMismatch(
            f"{name}: static_argnums= names argument {place}, and {len(args)} are given by position"
        )
    return place


def _record_first(graph: Graph, call: ShardedCall) -> None:
    args, kwargs = call.first_part()
    if all(
        variant.matching.match(tuple(args), kwargs) is None for variant in graph.variants if not variant.state
    ):
        target = graph._pipeline.target.target
        # Traced arrays have no values to record with.
        if not any(map(target.is_traced, call.arrays)):
            graph.add_variant(tuple(args), kwargs, "the part of a batch for one device")


class _GraphOfParameters:
    """Adapter of a graph to ``ModuleFunction``, which takes the parameters as its first argument."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self.__name__ = graph, graph.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._graph.parameters

    def live(self) -> Sequence[Callable[[], Any]]:
        # The identity of the arrays is enough: no call writes to them, because ``__call__`` rejects calls
        # that change state.
        return [variant.parameters for variant in self._graph.variants]

    def __call__(self, parameters: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        result, state = self._graph._functional(parameters, args, kwargs, kwargs.pop("rng", None))
        if state:
            changed = ", ".join(f"argument {key}" if str(key).isdigit() else key for key in state)
            raise NotCompilable(
                f"Parallel of {self._graph.name}: each device would change {changed} in its own way. Call "
                "graph.functional(parameters, x) in a function of yours, and return the result and "
                "parallel.pmean(state, axis_name); or set the model to eval()"
            )
        return result
