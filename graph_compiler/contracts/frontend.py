"""Protocols that a source framework implements: ``Frontend`` and those of its members."""

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
from .backend import RecordedDialect
from .modules import default


class Watch(Protocol):
    """Detector of changes of arrays that happen after the watch was created."""

    @property
    def compares_all(self) -> bool:
        """True if the watch is known to notice a change of any element that it watches."""

    def changed(self) -> bool:
        """Return True if an array has changed since the watch was created, as far as the watch can tell."""

    def of_copies(self, addresses: Sequence[int | None]) -> Watch:
        """Return a watch from the same moment, which may leave out arrays that share memory with conversions.

        addresses: for each array, the address of its conversion to the target; None if that is unknown. A
            conversion at the address of the array shares its memory.
        """


class Unwatched:
    """Watch of immutable arrays."""

    compares_all = True

    def changed(self) -> bool:
        return False

    def of_copies(self, addresses: Sequence[int | None]) -> Watch:
        return self


class Stamp(Protocol):
    """Version of an array's elements, such as its address and a count of writes, or a copy of them.

    A stamp may keep the memory of the array alive.
    """

    def fits(self, array: Any) -> bool:
        """Return True if ``array`` has not changed, as far as the stamp can tell, since it was stamped."""


class _Unchanging:
    """Stamp of an immutable array."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        pass

    def fits(self, array: Any) -> bool:
        return True


_MakesStamp = Callable[[Any], Stamp]


class Live(Protocol):
    """Function that returns the current arrays of the names that it was created for."""

    def __call__(self) -> Mapping[str, Any]:
        """Return the arrays by name.

        May raise ``GuardFailed`` if an array was removed, or replaced by one of another shape or dtype.
        """

    @default
    def watch(self, names: Iterable[str], whole: bool = False) -> Watch:
        """Return a watch of the current arrays with these names; the default is for immutable arrays.

        With ``whole``, it compares all elements if they can be read.
        """
        return Unwatched()

    @property
    @default
    def is_counted(self) -> bool:
        """True if each array is an item of a dict, so that the environment check detects its replacement.

        The object then has these attributes, too: ``dicts``, the dicts; ``current``, the mapping that a
        call returns; ``refresh``, a method that updates ``current``; and ``fits``, a method that returns
        False if an array of ``current`` no longer has the recorded shape and dtype.
        """
        return False

    @property
    @default
    def is_captured(self) -> bool:
        """True if functions traced by the framework's compiler may call this."""
        return False

    @property
    @default
    def read(self) -> Callable[[], Mapping[str, Any]] | None:
        """Function that reads the arrays by plain Python code, which a compiler can trace and guard.

        It is None if there is no such function.
        """
        return None


class Fillable(Protocol):
    """Access to weights whose elements a user may provide later (``load_weights``)."""

    def names(self) -> Iterable[str]:
        """Return the names of all weights and buffers."""

    def other_names(self) -> Mapping[str, str]:
        """Return the further names of tied weights, each with the weight's name in :meth:`names`."""

    def array_of(self, name: str) -> Any:
        """Return the current array of the weight or buffer ``name``, which may have no data yet."""

    def is_persistent(self, name: str) -> bool:
        """Return False if ``name`` is a non-persistent buffer, which files of weights do not contain."""

    def without_elements(self, names: Iterable[str] | None = None) -> list[str]:
        """Return those of ``names`` whose arrays have a shape but no data yet (torch: device ``meta``).

        ``names`` defaults to all names.
        """

    def recomputed(self, names: Iterable[str]) -> Mapping[str, Any]:
        """Return arrays for the non-persistent buffers in ``names`` that their modules can compute."""

    def fill(self, name: str, array: Any) -> None:
        """Set the elements of the weight or buffer ``name`` to those of ``array``.

        ``array`` is of any framework, or read from a file.
        """


class Weights(Protocol):
    """Access to the arrays that the user's function or model stores, by name."""

    def live(self, names: Iterable[str]) -> Live:
        """Return a function of no arguments that returns the current arrays of ``names``, by name."""

    def owner_of(self, name: str) -> Any:
        """Return the object that stores the array ``name``, such as a dict or a variable."""

    def rebind(self, name: str, array: Any) -> None:
        """Replace the array called ``name``, or assign ``array`` to the variable of this name."""

    def set_elements(self, name: str, elements: Any, rebound: bool) -> Any:
        """Set the weight or buffer ``name`` to the NumPy array ``elements``, and return its array.

        If ``rebound``, it gets a new array; otherwise its array may be written to in place.
        """

    def is_trained(self, name: str) -> bool:
        """Return True if an optimizer may change the array ``name``, and False for a known buffer.

        A weight for which :meth:`is_frozen` is True counts as trained.
        """

    @property
    @default
    def tells_buffers(self) -> bool:
        """True if the framework distinguishes weights from buffers, as :meth:`is_trained` then does."""
        return True

    @default
    def is_frozen(self, name: str) -> bool:
        """Return True if the original model currently excludes the weight ``name`` from training."""
        return False

    @default
    def buffers(self) -> Iterable[Any]:
        """Return arrays or variables that calls may write to in place."""
        return ()

    @default
    def without_elements(self, names: Iterable[str] | None = None) -> list[str]:
        """Return those of ``names`` whose arrays have a shape but no data yet (torch: device ``meta``).

        ``names`` defaults to all names.
        """
        return []

    @property
    @default
    def fillable(self) -> Fillable | None:
        """Access to weights that may be provided later; None if all weights are always present."""
        return None

    @property
    @default
    def has_modes(self) -> bool:
        """True if the model may have a training mode, which ``set_training`` and ``in_mode`` set."""
        return False

    @default
    def set_training(self, mode: bool) -> None:
        """Set the model to training mode if ``mode`` is True, otherwise to evaluation mode."""
        return

    @default
    def is_training(self) -> bool:
        """Return the training mode of the model, or an assumed one if it has none or if it is unknown."""
        return True

    @default
    def in_mode(self, mode: bool) -> AbstractContextManager[None]:
        """Return a context that sets the mode of the model, if it has one, and restores it on exit."""
        return nullcontext()


class Reference(Protocol):
    """Helpers for running the original function, mainly as a reference in verification."""

    def is_array(self, item: Any) -> bool:
        """Return True if ``item`` is an array that a call may pass, of this or another framework.

        NumPy scalars count as arrays only in NumPy.
        """

    def to_numpy(self, array: Any) -> Any:
        """Return the elements as a NumPy array, which may share memory with ``array``.

        In frameworks other than NumPy, bfloat16 becomes float32, and random keys become their integers.
        """

    def fresh(self, shape: Sequence[int], dtype: str, seen: tuple[float, float], seed: int) -> Any:
        """Return a random array of this shape and dtype, with the same elements for the same arguments.

        ``seen`` is the pair that :meth:`ranges` returned for the array that the result replaces.
        """

    @default
    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arrays in the arguments, in the order of flattening; they may have been converted."""
        return flatten((args, kwargs), self.is_array)[0]

    @default
    def ranges(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[float, float], ...]:
        """Return the smallest and the largest element of each array in the arguments.

        Return ``(0.0, 0.0)`` for an array that has none, such as an empty one. The default supports real
        dtypes only.
        """
        arrays = [np.asarray(self.to_numpy(array)) for array in self.leaves(args, kwargs)]
        return tuple(
            # ``min`` raises for an empty array.
            (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
            for array in arrays
        )

    @default
    def with_facts(self, array: Any, facts: Mapping[str, Any]) -> Any:
        """Return ``array``, or a copy, with recorded properties in ``facts``, such as ``requires_grad``.

        ``array`` is a new array of :meth:`fresh`, and may be changed in place. Facts that the framework
        cannot set on it are ignored.
        """
        return array

    @default
    def copied(self, leaves: Sequence[Any]) -> list[Any]:
        """Return copies of ``leaves``, or the arrays themselves if they are immutable."""
        return list(leaves)

    @default
    def restoring_random_state(self) -> AbstractContextManager[None]:
        """Return a context that restores the framework's global random generator on exit, if possible."""
        return nullcontext()

    @default
    def restoring_state(self, weights: Any, seed: int) -> AbstractContextManager[None]:
        """Return a context after which the weights and other state that calls may change are restored.

        Inside it, a generator of the framework that recorded calls draw from starts from ``seed``, if it can
        be seeded. The default is for functions without state.
        """
        return nullcontext()

    @default
    def observe(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[str, list[Any]]]:
        """Run ``function`` and return the name and the arrays of each call that returns arrays.

        Return an empty list if calls cannot be observed; ``function`` need not run then.
        """
        function(*args, **kwargs)
        return []

    @default
    def with_intermediates(self, graph: Graph) -> tuple[Graph, list[Value]]:
        """Return ``graph`` without guards and with the arrays of its nodes as outputs, and these arrays.

        If arrays are mutable, each output is a copy made right after the node.
        """
        made = [value for node in graph.nodes for value in node.outputs]
        tree = Branch(tuple, tuple(range(len(made))), (Leaf(),) * len(made))
        return graph.derive(outputs=list(made), output_tree=tree, guards=[]), made

    @property
    @default
    def saved(self) -> Callable[[Any], Callable[[], None]] | None:
        """Function of an array that saves its elements and returns a function that restores them.

        It is None if arrays are immutable.
        """
        return None

    @property
    @default
    def watching(self) -> Callable[[Graph], Any] | None:
        """Function of a recorded graph that returns ``watch``, or None if its writes cannot be detected.

        ``watch(arrays)`` is called before a call of the graph, with the arrays that the call writes to. It
        returns a function that returns False once one of them may have been written to. The property is
        None if the framework cannot detect writes.
        """
        return None

    @property
    @default
    def COPY(self) -> str:
        """Name of a call that copies an array, or an empty string."""
        return ""

    @property
    @default
    def RANDOM_STATE(self) -> tuple[str, str]:
        """Names of the calls that read and set the state of the framework's own generator.

        Two empty strings if there are no such calls.
        """
        return ("", "")


class ArrayAccess(Protocol):
    """Tests for arrays of the framework, creation of them, writes to them, and detection of writes."""

    def is_own(self, item: Any) -> bool:
        """Return True if ``item`` is an array of the framework."""

    def own(self, elements: Any, dtype: str) -> Any:
        """Return the NumPy array ``elements`` as a new array of the framework, of this dtype."""

    @default
    def write(self, array: Any, elements: Any) -> None:
        """Write the NumPy array ``elements`` to ``array``, and count the write if the framework does."""
        raise NotImplementedError("arrays of this framework never change")

    @property
    @default
    def Stamp(self) -> _MakesStamp:
        """Class of stamps, or function of an array that returns its stamp."""
        return _Unchanging


class SavedCalls(Protocol):
    """Calls and objects that a file of a recorded graph may contain.

    The defaults are for a frontend that records canonical graphs.
    """

    @default
    def spell(self, item: Any) -> str | None:
        """Return the text that a file stores for an object of the framework, such as a dtype.

        Return None for an object that a file cannot store.
        """
        return None

    @default
    def read(self, text: str) -> Any:
        """Return the object that :meth:`spell` wrote as ``text``.

        Raise ``InvalidFile`` or another exception for invalid text.
        """
        raise InvalidFile(f"{text!r:.80} is no object that a saved graph may hold")

    @default
    def row_key(self, op: str) -> str:
        """Return the key of the call ``op`` in the table of lifting rows; by default, ``op`` itself."""
        return op

    @default
    def check(self, graph: Graph) -> None:
        """Raise ``InvalidFile`` if a node of ``graph`` calls something that a file may not contain."""
        if graph.nodes:
            raise InvalidFile(f"a saved graph may not call {graph.nodes[0].op!r:.80}")


class _NoSavedCalls(SavedCalls):
    """``SavedCalls`` with all defaults."""


class Frontend(Protocol):
    """Framework that functions are recorded from: a module, or an object in one.

    In this package, it is the module ``frontends/<framework>/__init__.py``.
    """

    @property
    def name(self) -> str:
        """Name under which the frontend is registered."""

    @property
    def reference(self) -> Reference:
        """Helpers for running the original function as a reference in verification."""

    @property
    def array_access(self) -> ArrayAccess:
        """Access to the arrays of the user's objects."""

    def record(self, request: Request) -> Recording:
        """Record the function of ``request`` by running it, more than once if necessary.

        Raise ``TracingError`` if the function cannot be recorded.
        """

    @default
    def lift_graph(self, graph: Graph) -> Graph:
        """Return the canonical graph for a graph of the framework's calls; by default, ``graph`` itself."""
        return graph

    @property
    @default
    def dialect(self) -> RecordedDialect | None:
        """Writer of the framework's recorded calls; None if the frontend records canonical graphs."""
        return None

    @property
    @default
    def raises_out_of_bounds(self) -> bool:
        """True if a computed index out of bounds is an error in the framework."""
        return False

    @property
    @default
    def files(self) -> SavedCalls:
        """Calls and objects that a file of a recorded graph may contain."""
        return _NoSavedCalls()

    @default
    def unrecorded(self) -> AbstractContextManager[None]:
        """Return a context that pauses the recording of this thread's calls, if the frontend can do so."""
        return nullcontext()

    @default
    def example_inputs(self, function: Any) -> dict[str, Any]:
        """Return keyword arguments to record the model ``function`` with if the user passes none.

        Return an empty dict, or None, if none are found.
        """
        return {}

    @property
    @default
    def where_parameters_are(self) -> str:
        """Advice for users whose graph has no parameters on how to get some; may be an empty string."""
        return ""


class LoadsModels(Frontend, Protocol):
    """Frontend that can load pretrained models. Its registration entry has ``loads_models=True``."""

    def pretrained(self, source: str) -> Any:
        """Load the model in the folder ``source``, or the hub's model of that name, in evaluation mode.

        Raise ``FrameworkNotInstalled`` if the library that loads it is missing.
        """
