"""Protocol of a framework that models are trained in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from .modules import default

Arrays = dict[str, Any]
"""Arrays of the framework by name."""
Make = Callable[..., Any]
"""Factory of the framework's own optimizer. Its arguments are private to the backend."""


@dataclass(frozen=True)
class StepState:
    """The state of training: everything that a step changes. Unused parts are empty dicts, or None.

    trained: arrays that gradients update.
    fixed: arrays that are frozen, or not trained by the original.
    buffers: arrays of the model that its calls write to (batch norm).
    places: what calls store elsewhere.
    optimizer: the framework's own optimizer state.
    ema: the exponential moving averages of the trained arrays.
    accumulated: the sum of the gradients since the last update.
    scaling: state of the loss scaling, for float16.
    rng: state of the random numbers.
    """

    trained: Arrays
    fixed: Arrays = field(default_factory=dict)
    buffers: Arrays = field(default_factory=dict)
    places: Arrays = field(default_factory=dict)
    optimizer: Any = None
    ema: Arrays = field(default_factory=dict)
    accumulated: Arrays = field(default_factory=dict)
    scaling: Arrays = field(default_factory=dict)
    rng: Any = None

    @property
    def parameters(self) -> Arrays:
        """All arrays of the model by name."""
        return {**self.fixed, **self.buffers, **self.trained}


Program = Callable[[StepState, Any, Any], tuple[Any, Any]]
"""Compiled step: from the state, the arrays of a batch and the learning rate (None: the optimizer's own)
to the next state and a structure of arrays.
"""


class Training(Protocol):
    """A framework's own optimizers, gradients and compilation of training steps.

    A step is written once, in ``graph_compiler.training``, as a function of a :class:`StepState`. In a
    framework that updates arrays in place, members return the arrays that they received.
    """

    @property
    @default
    def is_pure(self) -> bool:
        """True if steps mutate no array, so that one compiled step serves all states of one structure."""
        return False

    @property
    @default
    def compiles_models(self) -> bool:
        """True if a compiled graph is compiled as a model, and steps with it are not compiled as a whole."""
        return False

    # ------------------------------------------------------------------------------ optimizers
    def named(self, name: str, options: Mapping[str, Any]) -> Make:
        """Return the factory of the optimizer ``name`` of the table ``training.optimizers``.

        ``options`` are those of that table. Raise ``InvalidOption`` if the framework has none that
        computes the same.
        """

    def own(self, item: Any) -> Make | None:
        """Return ``item``, an optimizer of the framework that the user has made, as a factory.

        Return None for any other object.
        """

    def has_rate(self, make: Make) -> bool:
        """Return True if updates of this optimizer accept another learning rate."""

    def begun(self, make: Make, trained: Arrays) -> Any:
        """Return the state of the optimizer before its first update of ``trained``.

        ``trained`` are the arrays of the training state, not copies: the optimizer may refer to them.
        """

    def updated(
        self, make: Make, held: StepState, gradients: Arrays, rate: Any, is_finite: Any
    ) -> tuple[Arrays, Any]:
        """Return the trained arrays and the optimizer state after one update.

        rate: learning rate; None for that of the optimizer.
        is_finite: a boolean array; the update happens only if it is True. None for always.
        """

    def optimizer_arrays(self, make: Make, held: StepState) -> Arrays:
        """Return the optimizer state as arrays by name, to be saved."""

    def with_optimizer_arrays(self, make: Make, held: StepState, arrays: Arrays) -> Any:
        """Return the state of a new optimizer of the trained arrays, set to ``arrays``.

        Raise ``KeyError`` with the name of an array that is missing.
        """

    # ------------------------------------------------------------------------------ arrays
    def trainable(self, array: Any) -> Any:
        """Return a copy of ``array`` for training."""

    def kept(self, array: Any) -> Any:
        """Return a copy of ``array`` for the state that is not trained."""

    def values(self, arrays: Arrays) -> Arrays:
        """Return arrays of the state in the form that a graph computes with."""

    def snapshot(self, array: Any) -> Any:
        """Return a copy of an array of the state that later steps do not change."""

    @default
    def storable(self, array: Any) -> Any:
        """Return the array that a file stores for an array of the state."""
        return array

    @default
    def stored_spec(self, array: Any) -> list[Any] | None:
        """Return dtype and sizes of what a file stores for ``array``, which may be deleted already.

        Return None if they are those of ``array``.
        """
        return None

    @default
    def restored(self, array: Any, like: Any) -> Any:
        """Convert ``array``, read from a file, to the dtype and device of ``like``, an array of the state."""
        return array

    def put(self, held: Arrays, new: Arrays) -> Arrays:
        """Return the arrays of ``held`` by name, with the elements of ``new`` for names that ``new`` has.

        Mutable arrays that are trained are written to in place and returned.
        """

    def zeros_like(self, array: Any) -> Any:
        """Return zeros of the shape and dtype of ``array``."""

    def number(self, value: float | int) -> Any:
        """Return a float as a 0-d float32 array, an int as a 0-d int32 array."""

    def is_floating(self, array: Any) -> bool:
        """Return True if the dtype is real floating, so that the array can be trained."""

    @default
    def device_of(self, held: StepState) -> Any:
        """Return the device for batches, as :meth:`placed` takes it.

        Return None if the framework moves arrays itself.
        """
        return None

    @default
    def received(self, array: Any) -> Any:
        """Return ``array``, which another thread has placed, so that this thread may use it."""
        return array

    # ------------------------------------------------------------------------------ gradients
    def gradients(
        self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays
    ) -> tuple[Any, Any, Arrays]:
        """Return the value, the auxiliary output, and the gradients of ``function`` at ``trained``.

        ``function`` returns a scalar and an auxiliary output. Arrays that the value does not depend on
        have zero gradients.
        """

    @default
    def agreed(self, gradients: Arrays, metrics: Arrays) -> tuple[Arrays, Arrays]:
        """Return gradients and metrics of the whole batch, if each device has computed those of its part.

        The default returns them unchanged, for a step that one device runs.
        """
        return gradients, metrics

    @default
    def detached(self, array: Any) -> Any:
        """Return ``array`` without its derivative."""
        return array

    @default
    def scaled(self, arrays: Arrays, factor: Any) -> Arrays:
        """Multiply each array by ``factor``."""
        return {name: array * factor for name, array in arrays.items()}

    @default
    def added(self, left: Arrays, right: Arrays) -> Arrays:
        """Add arrays of the same name."""
        return {name: array + right[name] for name, array in left.items()}

    @default
    def mixed(self, left: Arrays, right: Arrays, weight: float) -> Arrays:
        """Compute ``weight * left + (1 - weight) * right``, by name."""
        return {name: weight * array + (1 - weight) * right[name] for name, array in left.items()}

    def norm(self, arrays: Arrays) -> Any:
        """Return the square root of the sum of all squares, in float32."""

    def minimum(self, left: Any, right: Any) -> Any:
        """Return the smaller of two numbers."""

    def is_finite(self, arrays: Arrays) -> Any:
        """Return a 0-d boolean array: True if no element of ``arrays`` is infinite or NaN."""

    def where(self, condition: Any, new: Arrays, old: Arrays) -> Arrays:
        """Return all of ``new`` if the 0-d boolean ``condition`` is True, otherwise all of ``old``."""

    # ------------------------------------------------------------------------------ random numbers
    def generator(self, like: Any) -> Any:
        """Return the source of random numbers for training, on the device of ``like``.

        It starts at the state of the framework's own generator.
        """

    def key(self, rng: Any) -> tuple[Any, Any]:
        """Return the key that one call of a graph draws random numbers from, and the next state."""

    @default
    def drawing(self, rng: Any) -> AbstractContextManager[None]:
        """Return a context inside which the framework's own generators draw from ``rng``."""
        return nullcontext()

    def rng_arrays(self, rng: Any) -> Arrays:
        """Return the state of the generator ``rng`` as arrays by name."""

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        """Return a generator in the state ``arrays``, on the device of ``like``."""

    # ------------------------------------------------------------------------------ running
    @default
    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Prepare a function for a single call, in the way that is fastest."""
        return function

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """Compile a step with the framework's compiler.

        is_consuming: True if the state before a step is not used again.
        options: options of the compiler for a compiled graph; otherwise None.
        """

    def placed(self, array: Any, where: Any) -> Any:
        """Return an array of NumPy or any framework as one of this framework, on a device or sharded.

        where: device, name of a device or sharding; None is the first device.
        """

    def is_device(self, item: Any) -> bool:
        """Return True for a device of the framework, a sharding, or the name of a device."""
