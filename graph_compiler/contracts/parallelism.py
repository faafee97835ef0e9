"""What a framework that functions are spread over devices in has to provide."""

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
from .checked import default
from .training import Held, Make, Training

Arrays = list[Any]
Layout = tuple[Union[str, tuple[str, ...], None], ...]
"""For each axis of an array, the axis of the mesh that it is split over, several of them, or None; axes that are left out are whole."""

_mesh: ContextVar[Any] = ContextVar("mesh", default=None)
_axes: ContextVar[Mapping[str, tuple[str, Any, Any]]] = ContextVar("axes", default=MappingProxyType({}))
REDUCTIONS = ("concat", "mean", "sum", "first", "none")


@dataclass(frozen=True)
class DeviceAxis:
    """Devices in a row: ``size`` of them, of which ``local`` belong to this process.

    ``native`` is what the framework knows them by.
    """

    name: str
    size: int
    local: int
    native: Any


@dataclass(frozen=True)
class Spread:
    """How a function runs on the devices of an axis.

    ``split`` says which arrays are divided along their first axis; the others are whole on every device.
    ``reduce`` is one of
    ``REDUCTIONS``, or a function of the results of all devices, stacked along a new first axis.
    ``local_batch``: a process gives the part of its own devices. So many arrays in front are ``parameters``,
    as :meth:`Parallelism.everywhere` gives them.
    """

    axis: DeviceAxis
    split: tuple[bool, ...]
    reduce: str | Callable[[Any], Any]
    local_batch: bool = False
    parameters: int = 0


class Opened(Protocol):
    """A module as a function of a dict of its parameters, or of others in their place, and of the arguments."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the moment, by name."""

    def live(self) -> Sequence[Callable[[], Any]]:
        """Functions of which each gives the very object of before as long as ``parameters`` are the same."""

    def __call__(self, parameters: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        """What the module gives with these."""


def is_count(devices: Any) -> bool:
    """Return True if ``devices=`` is a number of devices; True and False are none."""
    return isinstance(devices, Integral) and not isinstance(devices, bool)


def require_count(count: int, known: int, kind: str) -> int:
    """Return ``count``, or raise ``InvalidOption`` unless there are as many devices of this kind."""
    if not 1 <= count <= known:
        raise InvalidOption(
            f"devices= is {count}, and has to be a number from 1 to {known}, for there are {known} {kind}"
        )
    return int(count)


def begin_axis(axis_name: str, framework: str, native: Any = None) -> Token[Any]:
    """From here on code runs over this axis of a framework, which knows it by ``native``; :func:`end_axis`
    ends it.
    """
    return _axes.set({**_axes.get(), axis_name: (framework, native, regions())})


end_axis = _axes.reset


@contextmanager
def running_over(axis_name: str | None, framework: str, native: Any = None) -> Iterator[None]:
    """Inside of the block code runs over this axis, if it has a name."""
    if axis_name is None:
        yield
        return
    token = begin_axis(axis_name, framework, native)
    try:
        yield
    finally:
        end_axis(token)


def running_axes() -> Mapping[str, str]:
    """Names of the axes that the code of this moment runs over, each with its framework; while a function is
    recorded those that began in it, for it may run over others than those it is recorded in.
    """
    return {
        name: framework for name, (framework, _, recording) in _axes.get().items() if recording is regions()
    }


def native_axis(axis_name: str, framework: str) -> Any:
    """What a framework knows an axis by that the code of this moment runs over; ``LookupError`` where it runs
    over none of this name.
    """
    owner, native, _ = _axes.get()[axis_name]
    if owner != framework or native is None:
        raise LookupError(axis_name)
    return native


@contextmanager
def running_over_mesh(mesh: Any) -> Iterator[None]:
    """Inside of the block code runs over this mesh, as hints ask for: engines say so of what they partition."""
    token = _mesh.set(mesh)
    try:
        yield
    finally:
        _mesh.reset(token)


def running_mesh() -> Any:
    """The mesh that the code of this moment runs over, or None."""
    return _mesh.get()


class Parallelism(Protocol):
    """A framework's own means to run one function on many devices.

    Errors of communication are ``CollectiveFailed``.
    """

    def array(self, item: Any) -> Any:
        """A number or an array of any framework as a native array; None for what is neither."""

    @default
    def likenesses(self) -> Mapping[type, Callable[[Any], Any]]:
        """By classes of arrays, what decides how an array that is an argument is taken: a call whose arrays
        are equal in this to those of the last one is not taken apart again. Calls with arrays of other
        classes are.
        """
        return {}

    def axis(self, devices: Any, name: str) -> DeviceAxis:
        """Return the devices as an axis: all for None, the first ones for a number of them.

        Raise ``InvalidOption`` for anything that names no devices, or if they have to be set up first.
        """

    def is_replicated(self, array: Any, axis: DeviceAxis) -> bool:
        """Whether the array was put on every device by :meth:`replicated`, or was computed from such arrays
        alone.
        """

    def replicated(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        """The arrays (of the first process), whole on every device."""

    @default
    def everywhere(self, arrays: Arrays, axis: DeviceAxis) -> Arrays:
        """Parameters with the elements of the first process, as functions of :meth:`spread` take them for
        what is not split.
        """
        return self.replicated(arrays, axis)

    def single(self, array: Any) -> Any:
        """A replicated or laid-out array as a plain one, whole, on one device."""

    @default
    def opened(self, function: Any) -> Opened | None:
        """A module as a function of its parameters, where a function may not close over arrays that have
        gradients; else None.
        """
        return None

    def spread(self, function: Callable[[Arrays], Arrays], how: Spread) -> Callable[[Arrays], Arrays]:
        """The function on every device, :class:`running_over` the axis; results are reduced. Of the reduction
        ``"none"`` each result is a list, with one array for each device of this process.
        """

    def differing(self, array: Any, axis: DeviceAxis) -> bool:
        """Whether the devices hold different elements of an array that the reduction ``"first"`` has given.

        Every process asks.
        """

    def collective(self, name: str, array: Any, axis_name: str) -> Any:
        """``psum``, ``pmean``, ``pmax`` or ``pmin`` over the axis; ``LookupError`` where no function runs
        over such an axis here.
        """

    def all_gather(self, array: Any, axis_name: str) -> Any:
        """The arrays of all devices, stacked along a new first axis; ``LookupError`` as above."""

    def axis_index(self, axis_name: str) -> Any:
        """The number of this device on the axis, of type int32; ``LookupError`` as above."""

    def axis_size(self, axis_name: str) -> int:
        """How many devices the axis has; ``LookupError`` as above."""

    @property
    def a_mesh(self) -> str:
        """How a user makes a mesh."""

    def mesh_axes(self, mesh: Any) -> Mapping[str, int] | None:
        """Names and sizes of the axes of a mesh of the framework; None for what is none."""

    def laid_out(self, array: Any, mesh: Any, layout: Layout) -> Any:
        """The array, split over the mesh."""

    def constrained(self, array: Any, mesh: Any, layout: Layout) -> Any:
        """An array inside of a function that :meth:`partitioned` runs, laid out so."""

    def partitioned(
        self,
        function: Callable[[Arrays, Arrays], Arrays],
        mesh: Any,
        batch: Sequence[str],
        split: Sequence[bool],
        local_batch: bool,
    ) -> Callable[[Arrays, Arrays], Arrays]:
        """A function of laid-out arrays and of arguments as if it ran on one device. Arguments that are
        ``split`` are divided along their first axis over the axes ``batch`` of the mesh; ``local_batch`` as
        in :class:`Spread`.
        """

    # ------------------------------------------------------------------------------ training
    def training_over_axis(
        self, held: Held, make: Make, axis: DeviceAxis, local_batch: bool
    ) -> tuple[Training, Held]:
        """Steps that split a batch over the axis, and what they hold, whole on every device: the mean of the
        devices' losses is trained.
        """

    def training_over_mesh(
        self,
        held: Held,
        make: Make,
        mesh: Any,
        layouts: Mapping[str, Layout],
        batch: Sequence[str],
        local_batch: bool,
    ) -> tuple[Training, Held]:
        """Steps over a mesh, as if they ran on one device, and what they hold, laid out by the names of
        parameters.
        """

    def training_alone(self, training: Training, held: Held, make: Make) -> tuple[Training, Held]:
        """Steps on one device, and what such steps, over an axis or a mesh, hold."""
