"""Protocol of a framework that functions are distributed over devices in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, Protocol, Union

from ..errors import InvalidOption
from ..recording.control_flow.regions import regions
from .modules import default
from .training import Make, StepState, Training

Arrays = list[Any]
Layout = tuple[Union[str, tuple[str, ...], None], ...]
"""Sharding of an array: for each of its axes the mesh axis or axes that it is split over, or None.

Axes that are left out are not split.
"""

_mesh: ContextVar[Any] = ContextVar("mesh", default=None)
_axes: ContextVar[Mapping[str, tuple[str, Any, Any]]] = ContextVar("axes", default=MappingProxyType({}))
REDUCTIONS = ("concat", "mean", "sum", "first", "none")


@dataclass(frozen=True)
class DeviceAxis:
    """A named row of devices.

    name: name of the axis in collectives.
    size: number of devices.
    local: how many of them belong to this process.
    native: the framework's object for the axis.
    """

    name: str
    size: int
    local: int
    native: Any


@dataclass(frozen=True)
class Spread:
    """Specification of a run of a function on the devices of an axis.

    axis: the devices.
    split: for each array, True if it is sharded along its first axis; others are replicated.
    reduce: one of ``REDUCTIONS``, or a function of the results of all devices, stacked along a new first
        axis.
    local_batch: True if each process passes the part of its own devices.
    parameters: number of leading arrays that are parameters, as returned by
        :meth:`Parallelism.everywhere`.
    """

    axis: DeviceAxis
    split: tuple[bool, ...]
    reduce: str | Callable[[Any], Any]
    local_batch: bool = False
    parameters: int = 0


class ModuleFunction(Protocol):
    """A module as a function of its parameters and arguments."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The current parameters by name."""

    def live(self) -> Sequence[Callable[[], Any]]:
        """Return functions, each of which returns the same object as long as ``parameters`` are unchanged."""

    def __call__(self, parameters: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the module with these parameters."""


def is_count(devices: Any) -> bool:
    """Return True if ``devices`` is a number of devices. Booleans are no numbers."""
    return isinstance(devices, Integral) and not isinstance(devices, bool)


def require_count(count: int, known: int, kind: str) -> int:
    """Return ``count``; raise ``InvalidOption`` unless it is from 1 to ``known``, the number of devices.

    kind: name of the devices in the message.
    """
    if not 1 <= count <= known:
        raise InvalidOption(
            f"devices= is {count}, and has to be a number from 1 to {known}, for there are {known} {kind}"
        )
    return int(count)


def begin_axis(axis_name: str, framework: str, native: Any = None) -> Token[Any]:
    """Mark the axis ``axis_name`` as running in this context, and return a token for :func:`end_axis`.

    native: the framework's object for the axis.
    """
    return _axes.set({**_axes.get(), axis_name: (framework, native, regions())})


end_axis = _axes.reset


@contextmanager
def running_over(axis_name: str | None, framework: str, native: Any = None) -> Iterator[None]:
    """Mark the axis ``axis_name`` as running inside the context. Do nothing if it is None."""
    if axis_name is None:
        yield
        return
    token = begin_axis(axis_name, framework, native)
    try:
        yield
    finally:
        end_axis(token)


def running_axes() -> Mapping[str, str]:
    """Return the names of the running axes with their frameworks.

    While a function is recorded, only axes that began in it are returned, because it may later run over
    others.
    """
    return {
        name: framework for name, (framework, _, recording) in _axes.get().items() if recording is regions()
    }


def native_axis(axis_name: str, framework: str) -> Any:
    """Return the framework's object for the running axis ``axis_name``.

    Raise ``LookupError`` if no axis of this name and framework is running, or if it has no object.
    """
    owner, native, _ = _axes.get()[axis_name]
    if owner != framework or native is None:
        raise LookupError(axis_name)
    return native


@contextmanager
def running_over_mesh(mesh: Any) -> Iterator[None]:
    """Mark a mesh as running inside the context, for sharding hints in functions that are partitioned."""
    token = _mesh.set(mesh)
    try:
        yield
    finally:
        _mesh.reset(token)


def running_mesh() -> Any:
    return _mesh.get()


class Parallelism(Protocol):
    """A framework's own way to run one function on many devices.

    Communication errors are raised as ``CollectiveFailed``.
    """

    def array(self, item: Any) -> Any:
        """Convert a number or an array of any framework to a native array; None for any other object."""

    @default
    def likenesses(self) -> Mapping[type, Callable[[Any], Any]]:
        """Return, by class of array, a function for the properties that decide how an argument is handled.

        A call is flattened again only if these differ from those of the last call, or if it has arrays of
        other classes.
        """
        return {}

    def axis(self, devices: Any, name: str) -> DeviceAxis:
        """Return the devices as an axis named ``name``: all for None, the first ones for a number.

        Raise ``InvalidOption`` for anything that is no device, or if devices have to be set up first.
        """

    def is_replicated(self, array: Any, axis: DeviceAxis) -> bool:
        """Return True if ``array`` is replicated over the devices of ``axis``.

        A call must not split such an array as a batch. Raise ``InvalidOption`` if its sharding cannot be
        read, because it is traced.
        """

    def replicated(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        """Return the arrays of the first process, replicated on every device."""

    @default
    def everywhere(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        """Return parameters with the elements of the first process, as arguments of :meth:`spread`.

        They are passed as replicated arguments.
        """
        return self.replicated(arrays, axis)

    def single(self, array: Any) -> Any:
        """Return a replicated or sharded array as one array on one device."""

    @default
    def opened(self, function: Any) -> ModuleFunction | None:
        """Return ``function`` as a function of its parameters if it is a module; otherwise None.

        A framework needs this if functions may not close over arrays that have gradients.
        """
        return None

    def spread(self, function: Callable[[Arrays], Arrays], how: Spread) -> Callable[[Arrays], Arrays]:
        """Return ``function`` running on every device of the axis, with results reduced.

        For the reduction ``"none"``, each result is a list with one array per device of this process.
        """

    def differing(self, array: Any, axis: DeviceAxis) -> bool:
        """Return True if devices hold different elements of ``array``, a result of the reduction ``"first"``.

        Every process must call this.
        """

    def collective(self, name: str, array: Any, axis_name: str) -> Any:
        """Apply the collective ``name`` (``psum``, ``pmean``, ``pmax`` or ``pmin``) over the axis.

        Raise ``LookupError`` if no such axis is running.
        """

    def all_gather(self, array: Any, axis_name: str) -> Any:
        """Return the arrays of all devices, stacked along a new first axis.

        Raise ``LookupError`` if no such axis is running.
        """

    def axis_index(self, axis_name: str) -> Any:
        """Return the index of this device on the axis, as int32.

        Raise ``LookupError`` if no such axis is running.
        """

    def axis_size(self, axis_name: str) -> int:
        """Return the number of devices of the axis. Raise ``LookupError`` if no such axis is running."""

    @property
    def a_mesh(self) -> str:
        """Python expression that makes a mesh, for error messages."""

    def mesh_axes(self, mesh: Any) -> Mapping[str, int] | None:
        """Return names and sizes of the axes of a mesh of the framework; None for any other object."""

    def laid_out(self, array: Any, mesh: Any, layout: Layout) -> Any:
        """Return the array sharded over the mesh."""

    def constrained(self, array: Any, mesh: Any, layout: Layout) -> Any:
        """Return the array with a constraint on its sharding.

        Called inside a function that :meth:`partitioned` runs.
        """

    def partitioned(
        self,
        function: Callable[[Arrays, Arrays], Arrays],
        mesh: Any,
        batch: Sequence[str],
        split: Sequence[bool],
        local_batch: bool,
    ) -> Callable[[Arrays, Arrays], Arrays]:
        """Return a function of sharded arrays and of arguments.

        It computes what ``function`` would compute on one device.

        split: for each argument, True if it is sharded along its first axis over the axes ``batch`` of the
            mesh.
        local_batch: as in :class:`Spread`.
        """

    # ------------------------------------------------------------------------------ training
    def training_over_axis(
        self, held: StepState, make: Make, axis: DeviceAxis, local_batch: bool
    ) -> tuple[Training, StepState]:
        """Return training that splits each batch over the axis, and its state, replicated on every device.

        The training minimises the mean of the devices' losses. ``make`` makes the optimizer.
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
        """Return training over a mesh that computes what it would on one device, and its sharded state.

        layouts: shardings by parameter name.
        batch: axes of the mesh that batches are split over.
        """

    def training_alone(self, training: Training, held: StepState, make: Make) -> tuple[Training, StepState]:
        """Return training on one device, and the unsharded state of a training over an axis or a mesh."""
