"""Graphs and arrays that are sharded or replicated over devices: ``shard``, ``replicate`` and ``hint``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

from ..contracts import Parallelism
from ..contracts.parallelism import Arrays, Layout, running_mesh
from ..contracts.training import StepState, Training
from ..errors import CallMismatch, InvalidOption, NotCompilable
from ..recording.control_flow.regions import regions
from ..registration import backends
from ..runtime import Graph
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..training import TrainState
from ..transforms.functions import framework_for, graph_of, is_array, is_value, name_of, owner_of, target_of
from ..trees import Tree, flatten, iterate_structure, map_leaves, unflatten
from .rules import layouts_of, names_in, require_fit

# ---------------------------------------------------------------------------------------------------- engines
# Lookup of the framework and the parallel engine of a function or of arrays.


def engine_named(framework: str, what: str) -> Parallelism:
    found = backend_of(framework).parallelism()
    if found is None:
        others = [
            entry.name
            for entry in backends.own.values()
            if entry.has_derivatives and importlib.util.find_spec(entry.packages[0])
        ]
        instead = ", ".join(f"graph_compiler.transpile(f, to={name!r})" for name in others)
        raise NotCompilable(
            f"{what}: {framework} runs on one device; use {instead or 'a framework that runs on many'}"
        )
    return found


def framework_of_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if not callable(function):
        raise NotCompilable(
            f"{function!r} cannot run on many devices: a function, a graph or a model is needed"
        )
    graph = graph_of(function)
    return target_of(graph, args, kwargs) if graph is not None else framework_for(function, args, kwargs)


def engine_of_arrays(value: Any, what: str) -> Parallelism:
    owners = (owner for item in iterate_structure(value) if (owner := owner_of(item)) is not None)
    return engine_named(next(owners, "numpy"), what)


def loaded_engines() -> Iterator[Parallelism]:
    for entry in backends.known().values():
        # A framework that is not imported runs nothing, and importing it would take seconds.
        if entry.packages[0] in sys.modules and (found := backend_of(entry.name).parallelism()) is not None:
            yield found


__all__ = [
    "engine_named",
    "engine_of_arrays",
    "framework_of_call",
    "graph_of",
    "loaded_engines",
    "name_of",
    "owner_of",
]


# ------------------------------------------------------------------------------------------------ replication
# ``replicate`` and ``unreplicate``: copy arrays to all devices, and back to one.

S = TypeVar("S", bound=TrainState)


def with_training(state: S, engine: Training, held: StepState) -> S:
    # The new state has no programs, because they belong to an engine.
    return type(state)(replace(state.plan, engine=engine), held, state.step)


T = TypeVar("T")


@public
def replicate(tree: T, devices: Any = None, axis_name: str = "device", *, local_batch: bool = False) -> T:
    """Return the same structure with its arrays replicated on every device.

    By default, :class:`Parallel` does not split such arrays. In JAX an array then has an empty
    ``PartitionSpec``, and in TensorFlow it is a mirrored ``tf.Variable``. In torch it is a ``DTensor`` with
    placement ``Replicate()`` over the original tensor, which is overwritten with the values of the first
    process.

    A replicated ``TrainState`` takes data-parallel steps: ``training.single_train_step(replicate(state),
    batch)`` splits the batch over the devices. In torch and TensorFlow each device computes the loss of its
    part, and gradients, losses and buffers are averaged, so the loss has to be a mean over the batch.

    Args:
        tree: Pytree of arrays, or a ``TrainState``.
        devices: As in :class:`Parallel`.
        axis_name: Name of the axis for collectives.
        local_batch: For a ``TrainState``: each process passes the part of its own devices instead of the
            whole batch.

    Raises:
        NotCompilable: There are no arrays but NumPy's, or a TensorFlow state scales its loss (float16).
        InvalidOption: ``devices`` do not exist or have to be set up first.
        CallMismatch: The state was already consumed.
    """
    if isinstance(tree, TrainState):
        tree.require_unconsumed()
        engine = engine_named(tree.graph._pipeline.target.name, "parallel.replicate")
        return with_training(
            tree,
            *engine.training_over_axis(
                tree.held, tree.plan.make, engine.axis(devices, axis_name), local_batch
            ),
        )
    engine = engine_of_arrays(tree, "parallel.replicate")
    leaves, structure = flatten(tree, is_array)
    found: T = unflatten(
        structure, engine.replicated(list(map(engine.array, leaves)), engine.axis(devices, axis_name))
    )
    return found


@public
def unreplicate(tree: T) -> T:
    """Return the same structure with replicated or sharded arrays as plain arrays on one device.

    NumPy arrays are returned unchanged. A ``TrainState`` trains on one device again. Raise ``NotCompilable``
    if there are no arrays but NumPy's, and ``CallMismatch`` if the state was already consumed.
    """
    if isinstance(tree, TrainState):
        tree.require_unconsumed()
        engine = engine_named(tree.graph._pipeline.target.name, "parallel.unreplicate")
        return with_training(tree, *engine.training_alone(tree.plan.engine, tree.held, tree.plan.make))
    engine = engine_of_arrays(tree, "parallel.unreplicate")
    leaves, structure = flatten(tree, is_array)
    own = (leaf if owner_of(leaf) is None else engine.gathered(leaf) for leaf in leaves)
    found: T = unflatten(structure, own)
    return found


# --------------------------------------------------------------------------------------------------- sharding
class Sharded:
    """Graph whose parameters are sharded over a mesh of devices. :func:`shard` returns it.

    Attributes:
        graph: The graph.
        mesh: The mesh.
        layouts: For each parameter, the mesh axes that its axes are split over.
        parameters: The sharded arrays by name.
    """

    @public
    def __init__(self, graph: Graph, mesh: Any, rules: Any, batch: Any, local_batch: bool) -> None:
        self.graph, self.mesh = graph, mesh
        self._engine = engine_named(target_of(graph, (), {}), f"shard of {graph.name}")
        sizes = axes_of(self._engine, mesh, graph.name)
        self._batch, self._local_batch = _batch_axes(batch, sizes), local_batch
        self._sizes, self._programs = sizes, dict[Hashable, _ShardedProgram]()
        held = graph.parameters
        self.layouts = layouts_of({name: tuple(array.shape) for name, array in held.items()}, rules, sizes)
        self.parameters = {
            name: self._engine.laid_out(array, mesh, self.layouts[name]) for name, array in held.items()
        }
        self.__name__ = graph.name

    def __repr__(self) -> str:
        return f"<{self.graph!r} over {', '.join(f'{size} {name}' for name, size in self._sizes.items())}>"

    @public
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.functional(self.parameters, *args, **kwargs)

    @public
    def functional(self, parameters: Mapping[str, Any], /, *args: Any, rng: Any = None, **kwargs: Any) -> Any:
        """Call the graph over the mesh, with ``parameters`` instead of its own and the random key ``rng``.

        Return the result; or ``(result, state)`` if the call changes state.

        Raises:
            CallMismatch: The size of the whole batch is no multiple of the number of devices that it is
                split over.
            UnsupportedOperation: The framework cannot run an operation on arrays of such layouts.
        """
        leaves, tree = flatten((args, kwargs, rng), is_array)
        arrays = list(map(self._engine.array, leaves))
        # The random key comes last, and is no batch, whatever its shape.
        given = len(arrays) - len(flatten(rng, is_array)[0])
        split = (*self._split(arrays[:given]), *(False for _ in arrays[given:]))
        key = tree, split, tuple(parameters), tuple((tuple(array.shape), array.dtype) for array in arrays)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = _ShardedProgram(self, tree, list(parameters), split)
        return program(list(parameters.values()), arrays)

    def _split(self, arrays: Arrays) -> tuple[bool, ...]:
        """Return, for each array, True if its first axis is split over the mesh axes of the batch."""
        rows = next((array.shape[0] for array in arrays if array.shape), 0)
        count = 1
        for name in self._batch:
            count *= self._sizes[name]
        if rows % count and not self._local_batch:
            raise CallMismatch(
                f"shard of {self.graph.name}: a batch of {rows} does not divide into the {count} devices of "
                f"{', '.join(self._batch)}; pass a multiple of {count}, or batch=() to leave it whole"
            )
        return tuple(bool(self._batch) and bool(array.shape) and array.shape[0] == rows for array in arrays)


class _ShardedProgram:
    """Graph for one structure of arguments, as a function that runs over the mesh."""

    def __init__(self, sharded: Sharded, tree: Tree, names: list[str], split: Sequence[bool]) -> None:
        engine, mesh = sharded._engine, sharded.mesh
        self._sharded, self._tree, self._names, self._result = sharded, tree, names, tree
        self._run: Callable[[Arrays, Arrays], Arrays] = engine.partitioned(
            self._flat, mesh, sharded._batch, split, sharded._local_batch
        )

    def _flat(self, parameters: Arrays, arrays: Arrays) -> Arrays:
        args, kwargs, rng = unflatten(self._tree, arrays)
        result, state = self._sharded.graph._functional(dict(zip(self._names, parameters)), args, kwargs, rng)
        # The engine may call this only while it compiles, so the structure is stored for later calls.
        leaves, self._result = flatten((result, state) if state else result, is_value)
        return list(map(self._sharded._engine.array, leaves))

    def __call__(self, parameters: Arrays, arrays: Arrays) -> Any:
        results = self._run(parameters, arrays)
        return unflatten(self._result, results)


@overload
def shard(
    graph: Graph,
    mesh: Any,
    rules: Any,
    *,
    batch: str | Sequence[str] | None = None,
    local_batch: bool = False,
) -> Sharded: ...
@overload
def shard(
    graph: TrainState,
    mesh: Any,
    rules: Any,
    *,
    batch: str | Sequence[str] | None = None,
    local_batch: bool = False,
) -> TrainState: ...
@public
def shard(
    graph: Any, mesh: Any, rules: Any, *, batch: str | Sequence[str] | None = None, local_batch: bool = False
) -> Any:
    """Return ``graph`` with its parameters sharded over a mesh.

    Apart from rounding, its results are those of one device.

    Args:
        graph: Recorded graph for JAX or torch; or a ``TrainState`` of one, which is returned with parameters
            and optimizer state sharded.
        mesh: ``jax.make_mesh(...)``, or torch's ``init_device_mesh(..., mesh_dim_names=...)`` with one
            process for each device.
        rules: Patterns of parameter names (``*`` matches any text), each with a layout: for each array axis,
            the mesh axis it is split over, several, or None. Instead of a layout, a function may compute it
            from the shape, the sizes of the mesh axes and the layout so far. The first match counts. A list
            of such sets is applied in order, as in ``[rules.tensor_parallel("model"), rules.fsdp("data")]``:
            a layout by a later set replaces that by an earlier one, and ``fsdp`` splits another axis.
            Parameters without a match are replicated.
        batch: Mesh axes that the batch is split over along its first axis, by default ``"data"`` if the mesh
            has it.
        local_batch: Each process passes the part of its own devices instead of the whole batch.

    Raises:
        InvalidOption: There is no mesh; or a rule or ``batch`` names an axis that the mesh lacks; or a rule
            of yours matches no parameter or does not fit a shape; or no rule of a predefined set matches.
        NotCompilable: The target has no layouts (NumPy, TensorFlow), or ``graph`` is neither a graph nor a
            ``TrainState``.
        CallMismatch: The state was already consumed.

    >>> import jax, torch, graph_compiler
    >>> from graph_compiler import parallel
    >>> graph = graph_compiler.transpile(torch.nn.Linear(4, 2), to="jax", args=(torch.ones(3, 4),))
    >>> sharded = parallel.shard(graph, jax.make_mesh((1,), ("model",)), {"weight": ("model", None)})
    >>> sharded.layouts, sharded(torch.ones(8, 4)).shape
    ({'weight': ('model', None), 'bias': ()}, (8, 2))
    """
    if isinstance(graph, TrainState):
        return _sharded_state(graph, mesh, rules, batch, local_batch)
    if not isinstance(graph, Graph):
        raise NotCompilable(
            f"parallel.shard takes a graph or a TrainState, not a {type(graph).__name__}: "
            "graph_compiler.transpile(model, to=..., args=...)"
        )
    return Sharded(graph, mesh, rules, batch, local_batch)


@public
def hint(x: T, layout: Layout) -> T:
    """Request a layout of arrays over the mesh that :func:`shard` runs the code over, and return them.

    If the code neither runs over a mesh nor is recorded, ``x`` is returned unchanged. Like
    ``jax.lax.with_sharding_constraint`` and ``DTensor.redistribute``. Apart from rounding, results do not
    depend on the layout. In a recorded function of torch or JAX it is an operation of the graph.

    Args:
        x: Arrays in tuples, lists, dicts, dataclasses and registered containers, also in instances of
            subclasses. NumPy arrays and other objects are returned unchanged.
        layout: For each array axis, the mesh axis it is split over, several, or None.

    Raises:
        InvalidOption: ``layout`` is not a layout, or does not fit the mesh that the code runs over or the
            shape of an array there.
    """
    # The iteration checks the layout, also if there is no mesh.
    list(names_in(layout, "parallel.hint has"))
    running, recording = running_mesh(), regions()

    def of(item: Any) -> Any:
        owner = owner_of(item)
        assert owner is not None
        if recording is not None:
            # Importing the engine registers the operator of hints in torch.
            backend_of(owner).parallelism()
            return recording.collective("sharding_hint", item, layout=tuple(layout))
        return _constrained(running, engine_named(owner, "parallel.hint"), item, tuple(layout))

    if running is None and recording is None:
        return x
    found: T = map_leaves(of, x, lambda item: owner_of(item) is not None)
    return found


def _constrained(mesh: Any, engine: Parallelism, array: Any, layout: Layout) -> Any:
    require_fit("parallel.hint: an array", tuple(array.shape), layout, axes_of(engine, mesh, "hint"))
    return engine.constrained(array, mesh, layout)


def _sharded_state(state: TrainState, mesh: Any, rules: Any, batch: Any, local_batch: bool) -> TrainState:
    state.require_unconsumed()
    engine = engine_named(state.graph._pipeline.target.name, f"shard of {state.graph.name}")
    sizes = axes_of(engine, mesh, state.graph.name)
    layouts = layouts_of(
        {name: tuple(array.shape) for name, array in state.held.parameters.items()}, rules, sizes
    )
    return with_training(
        state,
        *engine.training_over_mesh(
            state.held, state.plan.make, mesh, layouts, _batch_axes(batch, sizes), local_batch
        ),
    )


def axes_of(engine: Parallelism, mesh: Any, what: str) -> Mapping[str, int]:
    sizes = engine.mesh_axes(mesh)
    if sizes is None:
        raise InvalidOption(
            f"shard of {what}: mesh= is {mesh!r}, and has to be a mesh of the target whose axes have names: "
            f"{engine.a_mesh}"
        )
    return sizes


def _batch_axes(batch: Any, sizes: Mapping[str, int]) -> tuple[str, ...]:
    if batch is None:
        return ("data",) if "data" in sizes else ()
    found = (batch,) if isinstance(batch, str) else tuple(batch)
    if unknown := [name for name in found if name not in sizes]:
        raise InvalidOption(
            f"batch= names {unknown[0]!r}; axes of the mesh are {', '.join(map(repr, sizes))}"
        )
    return found
