"""Protocol for running functions on many devices (``Parallelism``), and the axes that are running."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, Protocol, Union

from ..errors import CallMismatch, GuardFailed, InvalidOption
from ..recording.control_flow.regions import regions
from .modules import default
from .training import Make, StepState, Training

Arrays = list[Any]
Layout = tuple[Union[str, tuple[str, ...], None], ...]
"""Sharding of an array: for each of its axes the mesh axis or axes that it is split over, or None.

Axes that are left out are not split.
"""

_mesh: ContextVar[Any] = ContextVar("mesh", default=None)
_collected: ContextVar[tuple[Any, Any]] = ContextVar("collected", default=(None, None))
_axes: ContextVar[Mapping[str, tuple[str, Any, Any]]] = ContextVar("axes", default=MappingProxyType({}))
REDUCTIONS = ("concat", "mean", "sum", "first", "none")


@dataclass(frozen=True)
class DeviceAxis:
    """Named sequence of devices that a function runs on.

    name: name of the axis in collectives.
    size: number of devices.
    local: number of the devices that belong to this process.
    native: the framework's object for the axis.
    """

    name: str
    size: int
    local: int
    native: Any


@dataclass(frozen=True)
class Spread:
    """Specification of how :meth:`Parallelism.spread` runs a function on the devices of an axis.

    axis: the devices.
    split: for each argument, True if it is sharded along its first axis, and False if it is replicated.
    reduce: how the results of the devices are combined: one of ``REDUCTIONS``, or a function of these
        results stacked along a new first axis.
    local_batch: True if each process passes only the rows of its own devices.
    parameters: number of leading arguments that are parameters, as returned by
        :meth:`Parallelism.broadcast_parameters`.
    """

    axis: DeviceAxis
    split: tuple[bool, ...]
    reduce: str | Callable[[Any], Any]
    local_batch: bool = False
    parameters: int = 0


class ModuleFunction(Protocol):
    """Module as a function of its parameters and arguments."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Current parameters by name."""

    def live(self) -> Sequence[Callable[[], Any]]:
        """Return functions that show replaced parameters: one of them then returns another object."""

    def __call__(self, parameters: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the module with these parameters."""


def is_count(devices: Any) -> bool:
    """Return True if ``devices`` is an integer (a number of devices) and not a bool."""
    return isinstance(devices, Integral) and not isinstance(devices, bool)


def require_count(count: int, known: int, kind: str) -> int:
    """Return ``count`` as an int; raise ``InvalidOption`` unless it is from 1 to ``known``.

    known: the number of existing devices.
    kind: name of the devices in the message.
    """
    if not 1 <= count <= known:
        raise InvalidOption(
            f"devices= is {count}, and has to be a number from 1 to {known}, for there are {known} {kind}"
        )
    return int(count)


def batches(arrays: Sequence[Any], parts: int) -> list[tuple[Any, bool]]:
    """Pair each array with True if it is a batch, to be split over ``parts`` devices, and else with False.

    An array is a batch if its first axis is as long as that of the first array that has axes. Raise
    ``CallMismatch`` if ``parts`` does not divide this length.

    >>> import numpy as np
    >>> [is_split for _, is_split in batches([np.ones((4, 2)), np.ones((1, 2)), np.ones(4), np.ones(())], 2)]
    [True, False, True, False]
    """
    first = next((array for array in arrays if len(array.shape)), None)
    if first is None:
        return [(array, False) for array in arrays]
    rows = first.shape[0]
    if rows % parts:
        raise CallMismatch(
            f"a batch has the shape {list(first.shape)}, and its {rows} rows do not divide into {parts} "
            "devices; pass a multiple of "
            f"{parts}, or leave the rest of the last batch out (drop_last=True)"
        )
    return [(array, bool(len(array.shape)) and array.shape[0] == rows) for array in arrays]


def begin_axis(axis_name: str, framework: str, native: Any = None) -> Token[Any]:
    """Mark the axis ``axis_name`` as running, and return a token for :func:`end_axis`.

    ``native`` is the framework's object for the axis.
    """
    return _axes.set({**_axes.get(), axis_name: (framework, native, regions())})


end_axis = _axes.reset


@contextmanager
def running_over(axis_name: str | None, framework: str, native: Any = None) -> Iterator[None]:
    """Mark the axis ``axis_name`` as running inside the ``with`` block, or no axis if the name is None.

    ``native`` is as in :func:`begin_axis`.
    """
    if axis_name is None:
        yield
        return
    token = begin_axis(axis_name, framework, native)
    try:
        yield
    finally:
        end_axis(token)


def running_axes() -> Mapping[str, str]:
    """Return the names of the running axes, each with its framework.

    While a function is recorded, these are the axes that began in this recording.
    """
    return {
        name: framework for name, (framework, _, recording) in _axes.get().items() if recording is regions()
    }


def native_axis(axis_name: str, framework: str) -> Any:
    """Return the object that ``framework`` has for the running axis ``axis_name``.

    Raise ``LookupError`` if no axis of this name and framework is running, or if it has no object.
    """
    owner, native, _ = _axes.get()[axis_name]
    if owner != framework or native is None:
        raise LookupError(axis_name)
    return native


# Outcomes and their guards on elements.
DeviceGuards = list[tuple[Any, Any]]


@contextmanager
def collected_guards(trace: Any) -> Iterator[DeviceGuards]:
    """Collect guards that ``trace`` computes inside the ``with`` block, instead of asserting them there.

    The yielded list has pairs of an outcome and its guard. The caller has to check the outcomes.
    """
    found: DeviceGuards = []
    token = _collected.set((trace, found))
    try:
        yield found
    finally:
        _collected.reset(token)


def guards_collected_from(trace: Any) -> DeviceGuards | None:
    owner, found = _collected.get()
    return found if owner is trace else None


def outcomes_by_place(collected: DeviceGuards, guards: list[Any]) -> dict[int, Any]:
    """Return the outcomes in ``collected`` by the index of their guard in ``guards``.

    New guards are appended to ``guards``, and outcomes of one guard are combined by ``&``.
    """
    outcomes: dict[int, Any] = {}
    for holds, guard in collected:
        place = next((place for place, known in enumerate(guards) if known is guard), len(guards))
        guards += [guard] if place == len(guards) else []
        outcomes[place] = outcomes[place] & holds if place in outcomes else holds
    return outcomes


def require_outcomes(outcomes: Mapping[int, Any], guards: Sequence[Any]) -> None:
    """Raise ``GuardFailed`` if one of ``outcomes``, by the index of its guard in ``guards``, is False."""
    for place, holds in outcomes.items():
        if not holds:
            raise GuardFailed(
                f"{guards[place].recorded()}, and is another on a device of this call. A recording sees one "
                "device, so psum returns its array unchanged there; write the condition with where, or with "
                "if under graph_compiler.trace"
            )


@contextmanager
def running_over_mesh(mesh: Any) -> Iterator[None]:
    token = _mesh.set(mesh)
    try:
        yield
    finally:
        _mesh.reset(token)


def running_mesh() -> Any:
    return _mesh.get()


class Parallelism(Protocol):
    """Execution of functions and training steps on several devices by one framework.

    Errors that are recognized as communication errors are raised as ``CollectiveFailed``.
    """

    def array(self, item: Any) -> Any:
        """Convert a number or an array to a native array; return None for other objects."""

    @default
    def call_keys(self) -> Mapping[type, Callable[[Any], Any]]:
        """Return, by class of arrays, the function that returns the properties of an array to compare.

        A call whose properties differ from those of the last call is prepared again.
        """
        return {}

    def axis(self, devices: Any, name: str) -> DeviceAxis:
        """Return ``devices`` as an axis named ``name``.

        Raise ``InvalidOption`` if ``devices`` is invalid, or if devices have to be set up first.

        devices: None for all devices of the framework's default kind, a number for that many of the first
            ones, or what the framework accepts, such as a list of its devices or a mesh of one axis.
        """

    def is_replicated(self, array: Any, axis: DeviceAxis) -> bool:
        """Return True if ``array`` is replicated, so that a call passes it whole to each device of ``axis``.

        Raise ``InvalidOption`` if its sharding is unknown because it is traced.
        """

    def replicated(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        """Return ``arrays`` replicated on ``axis``. Mutable arrays may be changed in place."""

    @default
    def broadcast_parameters(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        """Return the parameters ``arrays`` as arguments for a function that :meth:`spread` returns.

        Mutable arrays may be changed in place.
        """
        return self.replicated(arrays, axis)

    def gathered(self, array: Any) -> Any:
        """Return a replicated or sharded array as a plain array, gathering its shards."""

    @default
    def as_module_function(self, function: Any) -> ModuleFunction | None:
        """Return ``function`` as a function of its parameters if it is a module that needs this, or None."""
        return None

    def spread(self, function: Callable[[Arrays], Arrays], how: Spread) -> Callable[[Arrays], Arrays]:
        """Return a function that runs ``function`` on every device of the axis and reduces the results.

        For the reduction ``"none"``, each result is a list with the arrays of devices. The returned function
        may replace entries of the list of arrays that it is called with.
        """

    def differs_between_devices(self, array: Any, axis: DeviceAxis) -> bool:
        """Return True if ``array``, a result of the reduction ``"first"``, is not the same on all devices.

        A framework may return False without a comparison. Every process must call this.
        """

    def collective(self, name: str, array: Any, axis_name: str) -> Any:
        """Apply the collective ``name`` (``psum``, ``pmean``, ``pmax`` or ``pmin``) over ``axis_name``.

        Raise ``LookupError`` if no such axis is running.
        """

    def reducible(self, name: str, array: Any) -> Any:
        """Return ``array`` in the dtype that the result of the collective ``name`` has for it."""

    def all_gather(self, array: Any, axis_name: str) -> Any:
        """Gather ``array`` over the axis, stacked along a new first axis.

        Raise ``LookupError`` if no such axis is running.
        """

    def axis_index(self, axis_name: str) -> Any:
        """Return the index along the axis, as int32.

        Raise ``LookupError`` if no such axis is running.
        """

    def axis_size(self, axis_name: str) -> int:
        """Return the size of the axis. Raise ``LookupError`` if no such axis is running.

        The size may be a traced scalar if it is unknown while tracing.
        """

    @property
    def a_mesh(self) -> str:
        """Python expression that makes a mesh, for error messages; ``"there is none"`` without meshes."""

    def mesh_axes(self, mesh: Any) -> Mapping[str, int] | None:
        """Return the sizes of the axes of a mesh of the framework, by name.

        Return None for a mesh whose axes have no names, and for another object. Raise ``NotCompilable`` if
        the framework has no meshes.
        """

    def laid_out(self, array: Any, mesh: Any, layout: Layout) -> Any:
        """Return ``array``, sharded over ``mesh`` by ``layout``."""

    def constrained(self, array: Any, mesh: Any, layout: Layout) -> Any:
        """Return ``array`` with the constraint that it is sharded over ``mesh`` by ``layout``."""

    def partitioned(
        self,
        function: Callable[[Arrays, Arrays], Arrays],
        mesh: Any,
        batch: Sequence[str],
        split: Sequence[bool],
        local_batch: bool,
    ) -> Callable[[Arrays, Arrays], Arrays]:
        """Return a function that runs ``function`` over ``mesh``.

        Both take the sharded parameters and the arguments, and return the results.

        split: for each argument, True if it is sharded along its first axis over the axes ``batch`` of the
            mesh.
        local_batch: as in :class:`Spread`.
        """

    # ------------------------------------------------------------------------------ distributed training
    def training_over_axis(
        self, held: StepState, make: Make, axis: DeviceAxis, local_batch: bool
    ) -> tuple[Training, StepState]:
        """Return training that splits each batch over ``axis``, and a copy of the state ``held`` for it.

        ``make`` is the factory of the optimizer, and ``local_batch`` is as in :class:`Spread`. Raise
        ``NotCompilable`` if the framework cannot train this state on several devices.
        """

    def training_over_mesh(
        self,
        held: StepState,
        make: Make,
        mesh: Any,
        layouts: Mapping[str, Layout],
        batch: Sequence[str],
        local_batch: bool,
    ) -> tuple[Training, StepState]:
        """Return training over ``mesh``, and a copy of the state ``held`` that is sharded over it.

        make, local_batch: as in :meth:`training_over_axis`.
        layouts: shardings by parameter name; a parameter without one is replicated.
        batch: axes of the mesh that batches are split over.
        """

    def training_alone(self, training: Training, held: StepState, make: Make) -> tuple[Training, StepState]:
        """Return training on one device, and a copy of ``held``, a state of ``training``, for it."""
