"""Protocol for a framework's training steps (``Training``), and the state that a step changes."""

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
    """State of training: the arrays of the model, and other state that a step changes.

    A field that is not used is an empty dict, or None.

    trained: arrays that gradients update.
    fixed: arrays of the model that a step does not change.
    buffers: other arrays of the model that its calls write to, such as running means.
    places: arrays that calls store outside the model's parameters and buffers.
    optimizer: the framework's own optimizer state.
    ema: the exponential moving averages of the trained arrays.
    accumulated: the sums of the gradients since the last update.
    scaling: state of the loss scaling for float16.
    rng: the source of random numbers: a generator or a key.
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
        """Trained, fixed and buffer arrays of the model by name."""
        return {**self.fixed, **self.buffers, **self.trained}


Program = Callable[[StepState, Any, Any], tuple[Any, Any]]
"""Compiled step: from the state, the arrays of a batch and the learning rate (None: the optimizer's own)
to the next state and a structure of arrays.
"""


class Training(Protocol):
    """Optimizers, gradients and compilation of training steps of a framework."""

    @property
    @default
    def shares_steps(self) -> bool:
        """True if a compiled step can run for other states of the same structure."""
        return False

    @property
    @default
    def compiles_models(self) -> bool:
        """True if the framework compiles the model that a step calls, instead of the whole step."""
        return False

    # ------------------------------------------------------------------------------ optimizers
    def named(self, name: str, options: Mapping[str, Any]) -> Make:
        """Return a factory of the optimizer ``name``, with these options of ``training.optimizer``.

        Raise ``InvalidOption`` if the framework cannot run this optimizer, and ``FrameworkNotInstalled`` if
        the library of its optimizers is missing.
        """

    def factory_of_own(self, item: Any) -> Make | None:
        """Return a factory of the user's own optimizer ``item``, or None for any other object.

        ``item`` may be an optimizer of the framework or, if the framework accepts that, its class or a
        function that creates it. ``InvalidOption`` may be raised for an optimizer that steps cannot use.
        """

    def has_rate(self, make: Make) -> bool:
        """Return True if :meth:`updated` can set the learning rate of this optimizer."""

    def new_optimizer_state(self, make: Make, trained: Arrays) -> Any:
        """Return the state of the optimizer before its first update of ``trained``.

        ``trained`` are the arrays of the training state themselves, because the optimizer may refer to
        them. ``InvalidOption`` may be raised for an optimizer that steps cannot use.
        """

    def updated(
        self, make: Make, held: StepState, gradients: Arrays, rate: Any, is_finite: Any
    ) -> tuple[Arrays, Any]:
        """Return the trained arrays and the optimizer state after one update with ``gradients``.

        rate: learning rate; None for the optimizer's own.
        is_finite: result of :meth:`is_finite`; if it is False, nothing is updated. None for an unconditional
            update.
        """

    def optimizer_arrays(self, make: Make, held: StepState) -> Arrays:
        """Return the arrays of the optimizer state by name, to be saved in a file."""

    def with_optimizer_arrays(self, make: Make, held: StepState, arrays: Arrays) -> Any:
        """Return the state of a new optimizer of the trained arrays, set to ``arrays``.

        Raise ``KeyError`` with the name of an array that is missing, unless the framework's optimizers
        create their state at the first update.
        """

    # ------------------------------------------------------------------------------ arrays
    def trainable(self, array: Any) -> Any:
        """Return a copy of ``array`` that an optimizer can update.

        In torch, it requires gradients; in TensorFlow, it is a variable.
        """

    def copied(self, array: Any) -> Any:
        """Return a copy of ``array`` for the fields of the state that are not trained."""

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
        """Return dtype and sizes of the array that a file stores for ``array``, as one list.

        Return None if they are those of ``array``. The elements of ``array`` may have been deleted.
        """
        return None

    @default
    def restored(self, array: Any, like: Any) -> Any:
        """Return the array of the state for its stored form ``array``: the inverse of :meth:`storable`.

        ``like`` is the array of this name in an existing state.
        """
        return array

    def with_elements(self, held: Arrays, new: Arrays) -> Arrays:
        """Return the arrays of ``held`` by name, with the elements of ``new`` for names that ``new`` has.

        Variables, and mutable arrays that are trained, are written to in place. Names that ``held`` does not
        have are ignored.
        """

    def zeros_like(self, array: Any) -> Any:
        """Return zeros of the shape and dtype of ``array``."""

    def number(self, value: float | int) -> Any:
        """Return a float as a 0-d float32 array, or an int as a 0-d int32 array."""

    def is_floating(self, array: Any) -> bool:
        """Return True if the dtype of ``array`` is real floating-point, so that ``array`` can be trained."""

    @default
    def device_of(self, held: StepState) -> Any:
        """Return the device to place batches on by :meth:`placed`, or None if they need no move."""
        return None

    @default
    def synchronized(self, array: Any) -> Any:
        """Make ``array``, which another thread placed, safe to use in this one, and return it."""
        return array

    # ------------------------------------------------------------------------------ gradients
    def gradients(
        self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays
    ) -> tuple[Any, Any, Arrays]:
        """Return the value, the auxiliary output, and the gradients of ``function`` at ``trained``.

        ``function`` returns a scalar and an auxiliary output. An array that the scalar does not depend on
        has a gradient of zeros.
        """

    @default
    def averaged(self, gradients: Arrays, metrics: Arrays) -> tuple[Arrays, Arrays]:
        """Return gradients and metrics averaged over devices that compute them for parts of a batch.

        Metrics that are not floating-point stay unchanged.
        """
        return gradients, metrics

    @default
    def detached(self, array: Any) -> Any:
        """Return a result of :meth:`gradients` without the record of operations for further gradients."""
        return array

    @default
    def scaled(self, arrays: Arrays, factor: Any) -> Arrays:
        """Return each array multiplied by ``factor``, by name."""
        return {name: array * factor for name, array in arrays.items()}

    @default
    def added(self, left: Arrays, right: Arrays) -> Arrays:
        """Return the sum of the arrays of ``left`` and ``right`` for each name in ``left``."""
        return {name: array + right[name] for name, array in left.items()}

    @default
    def mixed(self, left: Arrays, right: Arrays, weight: float) -> Arrays:
        """Return ``weight * left + (1 - weight) * right`` for each name in ``left``."""
        return {name: weight * array + (1 - weight) * right[name] for name, array in left.items()}

    def norm(self, arrays: Arrays) -> Any:
        """Return the Euclidean norm of the elements of all ``arrays`` together, as a 0-d array."""

    def minimum(self, left: Any, right: Any) -> Any:
        """Return the smaller of two scalars; ``right`` may be a Python number."""

    def is_finite(self, arrays: Arrays) -> Any:
        """Return True, as a bool or 0-d boolean array, if no element of ``arrays`` is infinite or NaN.

        There is at least one array.
        """

    def where(self, condition: Any, new: Arrays, old: Arrays) -> Arrays:
        """Return ``new`` if the scalar ``condition`` is True, and otherwise ``old``."""

    # ------------------------------------------------------------------------------ random numbers
    def generator(self, like: Any) -> Any:
        """Return a new source of random numbers: a generator on the device of ``like``, or a key."""

    def key(self, rng: Any) -> tuple[Any, Any]:
        """Return the key or generator for the random numbers of one call of a graph, and the next ``rng``."""

    @default
    def drawing(self, rng: Any) -> AbstractContextManager[None]:
        """Return a context in which the framework's own generator continues ``rng``, if graphs use it.

        The context then restores the generator's state, and stores the new one in ``rng`` if no exception
        was raised.
        """
        return nullcontext()

    def rng_arrays(self, rng: Any) -> Arrays:
        """Return the state of the generator or key ``rng`` as arrays by name."""

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        """Return a generator or key with the state ``arrays`` of :meth:`rng_arrays`.

        If the state of a generator is from another kind of device, only the seed is restored.
        """

    # ------------------------------------------------------------------------------ compilation and devices
    @default
    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function equivalent to ``function``, to be called once, outside of a compiled step."""
        return function

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """Return ``step``, compiled if the framework compiles steps as a whole.

        is_consuming: True if the state before a step is not used again.
        options: options of the compiler for a compiled graph; otherwise None.
        """

    def placed(self, array: Any, where: Any) -> Any:
        """Return an array of any framework as an array of this framework, on a device or sharded.

        where: device or sharding, in a form that :meth:`is_device` accepts; None leaves the choice to the
            framework.
        """

    def is_device(self, item: Any) -> bool:
        """Return True if the framework takes ``item`` for a device or a sharding."""
