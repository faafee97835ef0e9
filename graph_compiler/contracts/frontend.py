"""Protocols of a framework that functions are recorded from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from ..errors import InvalidFile
from ..ir.graph import Graph
from ..ir.node import Value
from ..recording import Recording, Request
from ..trees import Branch, Leaf, flatten
from .dialect import Dialect
from .modules import default


class Watch(Protocol):
    """Detector of changes of arrays since the watch was made."""

    def changed(self) -> bool:
        """Return True if one of the arrays has other memory or was written to."""


class Unwatched:
    """Watch of immutable arrays."""

    def changed(self) -> bool:
        return False


class Stamp(Protocol):
    """Version of an array's contents, from memory or write counters. It does not keep the array alive."""

    def fits(self, array: Any) -> bool:
        """Return True if ``array`` is unchanged since the stamp was made of it."""


class _Unchanging:
    """Stamp of an immutable array."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        pass

    def fits(self, array: Any) -> bool:
        return True


_MakesStamp = Callable[[Any], Stamp]


class Live(Protocol):
    """Function that returns the current arrays of some names.

    It returns the same mapping as long as no array is replaced.
    """

    def __call__(self) -> Mapping[str, Any]:
        """Return the arrays by name."""

    @default
    def watch(self, names: Iterable[str]) -> Watch:
        """Return a watch of the arrays that have these names now.

        The default is for immutable arrays.
        """
        return Unwatched()

    @property
    @default
    def is_counted(self) -> bool:
        """True if replacing an array changes a dict in ``dicts``, which the environment check detects.

        ``refresh`` then updates ``current``, the mapping that a call returns.
        """
        return False

    @property
    @default
    def is_captured(self) -> bool:
        """True if functions traced by the framework's compiler may call this.

        The compiled function then reads the current arrays at each call, and they need not be arguments.
        """
        return False

    @property
    @default
    def read(self) -> Callable[[], Mapping[str, Any]] | None:
        """Function that reads the arrays in plain code that a compiler can trace and guard.

        None if there is none.
        """
        return None


class Fillable(Protocol):
    """Weights that a user may provide later (``load_weights``)."""

    def names(self) -> Iterable[str]:
        """Return the names of all weights and buffers."""

    def other_names(self) -> Mapping[str, str]:
        """Return further names of weights that have several, each with its name in :meth:`names`."""

    def held(self, name: str) -> Any:
        """Return the current array of the weight ``name``."""

    def is_persistent(self, name: str) -> bool:
        """Return True if files of weights contain ``name``; False for a non-persistent buffer."""

    def recomputed(self, names: Iterable[str]) -> Mapping[str, Any]:
        """Return arrays for those of ``names`` that their module computes when it is built.

        No file contains these. Names that need another source are left out.
        """

    def fill(self, name: str, array: Any) -> None:
        """Set the elements of the weight ``name``. ``array`` is of any framework, or read from a file."""


class Weights(Protocol):
    """Storage of the arrays of the user's model.

    For a framework whose functions store none, there are no names.
    """

    def live(self, names: Iterable[str]) -> Live:
        """Return a function that returns the current arrays of ``names``."""

    def owner_of(self, name: str) -> Any:
        """Return the object that holds the buffer ``name``.

        Calls of graphs that change the same object run one after the other.
        """

    def rebind(self, name: str, array: Any) -> None:
        """Replace the array of the buffer ``name``."""

    def leave(self, name: str, elements: Any, rebound: bool) -> Any:
        """Set the elements of the buffer ``name`` to those of a NumPy array and return the buffer's array.

        If ``rebound``, the buffer gets a new array; otherwise its array is written to, if it is mutable.
        """

    def is_trained(self, name: str) -> bool:
        """Return True if an optimizer may change the array ``name``, and False for a buffer.

        A weight that is frozen counts as trained.
        """

    @property
    @default
    def tells_buffers(self) -> bool:
        """True if the framework distinguishes weights from buffers.

        A weight is then trained even if calls write to it. If this is False, an array that calls write to
        is a buffer.
        """
        return True

    @default
    def is_frozen(self, name: str) -> bool:
        """Return True if the original model currently excludes the weight ``name`` from training.

        torch does so with ``requires_grad=False``. A buffer is not frozen.
        """
        return False

    @default
    def buffers(self) -> Iterable[Any]:
        """Return the arrays that calls write to."""
        return ()

    @default
    def awaited(self, names: Iterable[str] | None = None) -> list[str]:
        """Return those of ``names``, or of all names, whose arrays have no elements yet.

        In torch, these are on the device ``meta``.
        """
        return []

    @property
    @default
    def fillable(self) -> Fillable | None:
        """Interface for providing weights later; None if they are always present."""
        return None

    @property
    @default
    def has_modes(self) -> bool:
        """True if the model has a training mode, which ``set_training`` and ``in_mode`` set."""
        return False

    @default
    def set_training(self, mode: bool) -> None:
        """Set the training mode of the model's modules."""
        return

    @default
    def is_training(self) -> bool:
        """Return the training mode; True, as in a new module, if there is none."""
        return True

    @default
    def in_mode(self, mode: bool) -> AbstractContextManager[None]:
        """Return a context inside which the model is in this mode."""
        return nullcontext()


class Reference(Protocol):
    """The original function as a reference for verification.

    It provides new inputs, runs without side effects, and intermediate results.
    """

    def is_array(self, item: Any) -> bool:
        """Return True for an array that the framework's functions accept."""

    def to_numpy(self, array: Any) -> Any:
        """Return the elements as a NumPy array."""

    def fresh(self, shape: Sequence[int], dtype: str, seen: tuple[float, float], seed: int) -> Any:
        """Return a random array of this shape and dtype.

        ``seen`` are the least and the greatest element of the array that it replaces. Random elements lie
        between, or nearby if the two are equal floats.
        """

    @default
    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arrays in the arguments as arrays of the framework."""
        return flatten((args, kwargs), self.is_array)[0]

    @default
    def ranges(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[float, float], ...]:
        """Return the least and the greatest element of each array in the arguments."""
        arrays = [np.asarray(self.to_numpy(array)) for array in self.leaves(args, kwargs)]
        return tuple(
            # An empty array has no least element, and ``min`` raises.
            (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
            for array in arrays
        )

    @default
    def with_facts(self, array: Any, facts: Mapping[str, Any]) -> Any:
        """Return ``array``, or a copy, with the properties that the recording relied on (``Traits.facts``).

        A new array is passed, which may be changed in place.
        """
        return array

    @default
    def copied(self, leaves: Sequence[Any]) -> list[Any]:
        """Return copies of the arrays; the arrays themselves if they are immutable."""
        return list(leaves)

    @default
    def random_kept(self) -> AbstractContextManager[None]:
        """Return a context after which the framework's generator is restored."""
        return nullcontext()

    @default
    def undone(self, weights: Any, seed: int) -> AbstractContextManager[None]:
        """Return a context after which weights and other state that calls change are restored.

        Inside it, the generator starts from ``seed``.
        """
        return nullcontext()

    @default
    def observe(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[str, list[Any]]]:
        """Return name and results of every call in a run of ``function``.

        Return an empty list if calls cannot be observed.
        """
        function(*args, **kwargs)
        return []

    @default
    def with_intermediates(self, graph: Graph) -> tuple[Graph, list[Value]]:
        """Return a graph that returns all intermediate values of ``graph``, and these values.

        Mutable arrays are copied when they are made.
        """
        made = [value for node in graph.nodes for value in node.outputs]
        tree = Branch(tuple, tuple(range(len(made))), (Leaf(),) * len(made))
        return graph.derive(outputs=list(made), output_tree=tree, guards=[]), made

    @property
    @default
    def saved(self) -> Callable[[Any], Callable[[], None]] | None:
        """Function of an array that returns a function which restores its elements.

        None if arrays are immutable.
        """
        return None

    @property
    @default
    def watching(self) -> Callable[[Graph], Any] | None:
        """Function from a recorded graph to `watch`, or to None if writes of the graph cannot be detected.

        `watch(arrays)` is called before a call, with the arrays that it writes to; it returns a function
        that returns True while none of them has been written to. The property is None if the framework
        cannot detect writes.
        """
        return None

    @property
    @default
    def COPY(self) -> str:
        """Name of the call that copies an array, if random numbers can become constants; otherwise empty."""
        return ""

    @property
    @default
    def RANDOM_STATE(self) -> tuple[str, str]:
        """Names of the calls that read and set the framework's generator; empty if it has none."""
        return ("", "")


class ArrayAccess(Protocol):
    """Access to the arrays of the user's objects."""

    def is_own(self, item: Any) -> bool:
        """Return True for an array of the framework."""

    def own(self, elements: Any, dtype: str) -> Any:
        """Return a new array of the framework, of this dtype, with the elements of a NumPy array."""

    @default
    def write(self, array: Any, elements: Any) -> None:
        """Write the elements of a NumPy array to an array, as the framework's own calls do.

        The default raises ``NotImplementedError``, for immutable arrays.
        """
        raise NotImplementedError("arrays of this framework never change")

    @property
    @default
    def Stamp(self) -> _MakesStamp:
        """Constructor of the stamp of an array."""
        return _Unchanging


class SavedCalls(Protocol):
    """Calls and objects that a file of a recorded graph may contain.

    The defaults are for a frontend that records canonical graphs.
    """

    @default
    def spell(self, item: Any) -> str | None:
        """Return the text of an object of the framework, such as a dtype; None if it has none."""
        return None

    @default
    def read(self, text: str) -> Any:
        """Return the object for a text. Raise ``InvalidFile`` for an unknown text."""
        raise InvalidFile(f"{text!r:.80} is no object that a saved graph may hold")

    @default
    def row_key(self, op: str) -> str:
        """Return the key of the call ``op`` in the table of lifting rows."""
        return op

    @default
    def check(self, graph: Graph) -> None:
        """Raise ``InvalidFile`` if a node calls something that is never recorded.

        The default rejects all nodes.
        """
        if graph.nodes:
            raise InvalidFile(f"a saved graph may not call {graph.nodes[0].op!r:.80}")


class _NoSavedCalls(SavedCalls):
    """``SavedCalls`` with all defaults."""


class Frontend(Protocol):
    """A framework that functions are recorded from: a module, or an object in one.

    Implemented by ``frontends/<framework>/__init__.py``.
    """

    @property
    def name(self) -> str:
        """The name under which it is registered."""

    @property
    def reference(self) -> Reference:
        """The original function as a reference for verification."""

    @property
    def array_access(self) -> ArrayAccess:
        """Access to the arrays of the user's objects."""

    def record(self, request: Request) -> Recording:
        """Run the function of ``request`` once and record it.

        A frontend may record a canonical graph directly; nothing is lifted then.
        """

    @default
    def lift_graph(self, graph: Graph) -> Graph:
        """Return the canonical graph for a graph of the framework's own calls."""
        return graph

    @property
    @default
    def dialect(self) -> Dialect | None:
        """How the framework's recorded calls are written; None if it records canonical graphs."""
        return None

    @property
    @default
    def refuses_outside(self) -> bool:
        """True if a computed index out of bounds is an error in the framework, which graphs then check."""
        return False

    @property
    @default
    def files(self) -> SavedCalls:
        """Calls and objects that a file of a recorded graph may contain."""
        return _NoSavedCalls()

    @default
    def unrecorded(self) -> AbstractContextManager[None]:
        """Return a context inside which no recording of this thread observes anything."""
        return nullcontext()

    @default
    def example_inputs(self, function: Any) -> dict[str, Any]:
        """Return keyword arguments for a recording that the model provides itself; otherwise ``{}``."""
        return {}

    @property
    @default
    def where_parameters_are(self) -> str:
        """Advice for users whose graph has no parameters, on how to get some; empty if there is none."""
        return ""


class LoadsModels(Frontend, Protocol):
    """Frontend whose entry has ``loads_models``."""

    def pretrained(self, source: str) -> Any:
        """Return a model from the folder ``source``, or from a hub by the name ``source``."""
