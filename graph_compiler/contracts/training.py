"""What a framework that models are trained in has to provide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from .checked import default

Arrays = dict[str, Any]
"""Arrays of the framework by name."""
Make = Callable[..., Any]
"""The framework's own optimizer. What it is called with is the engine's affair."""


@dataclass(frozen=True)
class Held:
    """Everything that a training step changes. Arrays are those of the framework; what is not used is an
    empty dict, or None.

    ``trained`` are updated by gradients; ``fixed`` are frozen, or not trained by the original; ``buffers``
    are what calls of the model write to (batch norm); ``places`` what they keep elsewhere. ``optimizer`` is
    the framework's own state; ``accumulated`` the sum of the gradients since the last update. ``scaling`` is
    that of the loss, for float16.
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


Program = Callable[[Held, Any, Any], tuple[Any, Any]]
"""A step that was compiled: what is held, the arrays of a batch, the learning rate or None -> what is held then, and a structure of
arrays."""


class Training(Protocol):
    """A framework's own optimizers, gradients and compiler of steps.

    A step is written once, in ``graph_compiler.training``, as a function of what is :class:`Held`. Where the
    framework updates arrays in place, members give the arrays that they were given, changed.
    """

    @property
    @default
    def is_pure(self) -> bool:
        """Whether steps change no array, so that one compiled step serves all states of its form."""
        return False

    @property
    @default
    def compiles_models(self) -> bool:
        """Whether of a graph that is compiled the model is compiled by itself, rather than whole steps."""
        return False

    # ------------------------------------------------------------------------------ optimizers
    def named(self, name: str, options: Mapping[str, Any]) -> Make:
        """The optimizer of a name of the table in ``training.optimizers``, with options of the table.
        ``InvalidOption`` where the framework has none that computes the same.
        """

    def own(self, item: Any) -> Make | None:
        """An optimizer of the framework that the user has made; None for what is none."""

    def has_rate(self, make: Make) -> bool:
        """Whether updates of this optimizer may be told another learning rate."""

    def begun(self, make: Make, trained: Arrays) -> Any:
        """The state of the optimizer before its first update. ``trained`` are the arrays that are held."""

    def updated(
        self, make: Make, held: Held, gradients: Arrays, rate: Any, is_finite: Any
    ) -> tuple[Arrays, Any]:
        """The trained arrays, and the state of the optimizer, after one update: with this learning rate
        (None: that of the optimizer), and where ``is_finite`` (None: always).
        """

    def optimizer_arrays(self, make: Make, held: Held) -> Arrays:
        """The state of the optimizer as arrays by name: what a file holds."""

    def with_optimizer_arrays(self, make: Make, held: Held, arrays: Arrays) -> Any:
        """The state of a new optimizer of the arrays that are held, with these arrays in it; ``KeyError``
        names one that is missing.
        """

    # ------------------------------------------------------------------------------ arrays
    def trainable(self, array: Any) -> Any:
        """A copy that is trained."""

    def kept(self, array: Any) -> Any:
        """A copy that is held, and is not trained."""

    def values(self, arrays: Arrays) -> Arrays:
        """What is held as arrays that a graph computes with."""

    def snapshot(self, array: Any) -> Any:
        """A copy of what is held, which later steps leave alone."""

    @default
    def storable(self, array: Any) -> Any:
        """What a file holds of a held array."""
        return array

    @default
    def stored_spec(self, array: Any) -> list[Any] | None:
        """Type and sizes of what a file holds of it, where these are others; it may have no elements any
        more.
        """
        return None

    @default
    def restored(self, array: Any, like: Any) -> Any:
        """An array of a file as one like a held array."""
        return array

    def put(self, held: Arrays, new: Arrays) -> Arrays:
        """The arrays that are held after these take their place, by name."""

    def zeros_like(self, array: Any) -> Any:
        """Zeros of this shape and type."""

    def number(self, value: float | int) -> Any:
        """A float as a float32 array, an integer as an int32 one, without axes."""

    def is_floating(self, array: Any) -> bool:
        """Whether it can be trained: real numbers with a fraction."""

    @default
    def device_of(self, held: Held) -> Any:
        """Where batches have to be for what is held, as :meth:`placed` takes it; None where the framework
        sees to that.
        """
        return None

    @default
    def received(self, array: Any) -> Any:
        """An array that another thread has placed, as this one may use it."""
        return array

    # ------------------------------------------------------------------------------ gradients
    def gradients(
        self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays
    ) -> tuple[Any, Any, Arrays]:
        """Value, what is handed on, and the gradient of a function that gives a number and more; zeros where
        nothing depends on an array.
        """

    @default
    def agreed(self, gradients: Arrays, metrics: Arrays) -> tuple[Arrays, Arrays]:
        """Of all devices, where each has computed those of its part of a batch."""
        return gradients, metrics

    @default
    def detached(self, array: Any) -> Any:
        """Without what the framework keeps for a gradient."""
        return array

    @default
    def scaled(self, arrays: Arrays, factor: Any) -> Arrays:
        """Each times a number."""
        return {name: array * factor for name, array in arrays.items()}

    @default
    def added(self, left: Arrays, right: Arrays) -> Arrays:
        """Sums, by name."""
        return {name: array + right[name] for name, array in left.items()}

    @default
    def mixed(self, left: Arrays, right: Arrays, weight: float) -> Arrays:
        """``weight * left + (1 - weight) * right``, by name."""
        return {name: weight * array + (1 - weight) * right[name] for name, array in left.items()}

    def norm(self, arrays: Arrays) -> Any:
        """The square root of the sum of all squares, in float32."""

    def minimum(self, left: Any, right: Any) -> Any:
        """The smaller one of two numbers."""

    def is_finite(self, arrays: Arrays) -> Any:
        """Whether no element is infinite or NaN."""

    def where(self, condition: Any, new: Arrays, old: Arrays) -> Arrays:
        """All of ``new`` where a single boolean holds, else all of ``old``."""

    # ------------------------------------------------------------------------------ random numbers
    def generator(self, like: Any) -> Any:
        """What random numbers of steps are drawn from, on the device of an array: it begins where the
        framework's own sequence is.
        """

    def key(self, rng: Any) -> tuple[Any, Any]:
        """What one call of a graph draws from, and what is held then."""

    @default
    def drawing(self, rng: Any) -> AbstractContextManager[None]:
        """Inside of the block the framework's own generators give the numbers of what is held."""
        return nullcontext()

    def rng_arrays(self, rng: Any) -> Arrays:
        """The state of the generator as arrays."""

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        """A generator in this state, on the device of an array."""

    # ------------------------------------------------------------------------------ running
    @default
    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is called once, as fast as that goes."""
        return function

    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        """A step by the framework's compiler. ``is_consuming``: what is held before is not used again.
        ``options``: of a graph that is compiled, those of the compiler, else None.
        """

    def placed(self, array: Any, where: Any) -> Any:
        """A host array, or one of any framework, as an array of this one on a device, or as a sharding says;
        None: on the first one.
        """

    def is_device(self, item: Any) -> bool:
        """Whether this says where arrays of the framework are: a device, a sharding, or its name."""
