"""What a framework that functions are recorded from has to provide."""

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
from .checked import default
from .dialect import Dialect


class Watch(Protocol):
    """Looks at arrays since it was made."""

    def changed(self) -> bool:
        """Whether one has other memory, or was written to."""


class Unwatched:
    """A watch over arrays that never change."""

    def changed(self) -> bool:
        """Never."""
        return False


class Stamp(Protocol):
    """What an array holds, told from memory or counts of writes. It does not keep the array alive."""

    def fits(self, array: Any) -> bool:
        """Whether the array that it was made of is as it was."""


class _Unchanging:
    """The stamp of an array that never changes."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        pass

    def fits(self, array: Any) -> bool:
        """Always."""
        return True


_MakesStamp = Callable[[Any], Stamp]


class Live(Protocol):
    """Called, the arrays of these names at the moment: the very mapping of before while nothing was replaced."""

    def __call__(self) -> Mapping[str, Any]:
        """The arrays by name."""

    @default
    def watch(self, names: Iterable[str]) -> Watch:
        """A watch over the arrays that have these names now, where arrays can be written to."""
        return Unwatched()

    @property
    @default
    def is_counted(self) -> bool:
        """Whether replacing an array counts as a change of a dict (``dicts``), so that the check of the
        environment sees it; such arrays are ``current`` after ``refresh``.
        """
        return False

    @property
    @default
    def is_captured(self) -> bool:
        """Whether a function that the framework's compiler follows may call this, and the compiled one reads
        the arrays of each moment: then they need not be handed to it.
        """
        return False

    @property
    @default
    def read(self) -> Callable[[], Mapping[str, Any]] | None:
        """A function that reads them in plain code that a compiler can follow and guard on; None where there
        is none.
        """
        return None


class Fillable(Protocol):
    """Weights that a user may give later (``load_weights``)."""

    def names(self) -> Iterable[str]:
        """Those of all weights."""

    def other_names(self) -> Mapping[str, str]:
        """The other names of weights that have several, each with the one in ``names``."""

    def held(self, name: str) -> Any:
        """The array that is there."""

    def is_persistent(self, name: str) -> bool:
        """Whether a file of weights holds it."""

    def recomputed(self, names: Iterable[str]) -> Mapping[str, Any]:
        """Return arrays for those of the names that no file holds and whose module determines them, as it
        does where it is built.
        """

    def fill(self, name: str, array: Any) -> None:
        """Gives it its elements."""


class Weights(Protocol):
    """Where the user's model keeps its arrays.

    A framework whose functions keep none gives names for nothing.
    """

    def live(self, names: Iterable[str]) -> Live:
        """What gives the arrays that stand under these names at the moment."""

    def owner_of(self, name: str) -> Any:
        """The object that holds a buffer: graphs that change what it holds take turns."""

    def rebind(self, name: str, array: Any) -> None:
        """Puts another array in the place of a buffer."""

    def leave(self, name: str, elements: Any, rebound: bool) -> Any:
        """Gives a buffer the elements of a numpy array, or (``rebound``) puts a new array of them in its
        place; the array that is there then.
        """

    def is_trained(self, name: str) -> bool:
        """Whether an optimizer may change it: not a buffer."""

    @property
    @default
    def tells_buffers(self) -> bool:
        """Whether the framework tells weights from buffers: a weight that calls write to is trained then.
        Without it, what calls write to is a buffer.
        """
        return True

    @default
    def is_frozen(self, name: str) -> bool:
        """Whether it is no buffer, and the original still keeps it from training at the moment
        (``requires_grad=False`` of torch).
        """
        return False

    @default
    def buffers(self) -> Iterable[Any]:
        """The arrays that calls write to."""
        return ()

    @default
    def awaited(self, names: Iterable[str] | None = None) -> list[str]:
        """Those of the names (of all without names) that have no elements yet."""
        return []

    @property
    @default
    def fillable(self) -> Fillable | None:
        """How they are given by the user; None where they are there."""
        return None

    @property
    @default
    def has_modes(self) -> bool:
        """Whether the model has a training mode; then ``set_training`` and ``in_mode`` set it."""
        return False

    @default
    def set_training(self, mode: bool) -> None:
        """Sets the training mode."""
        return

    @default
    def is_training(self) -> bool:
        """The mode that they are in; True, as of any new module, where there are none."""
        return True

    @default
    def in_mode(self, mode: bool) -> AbstractContextManager[None]:
        """Inside of the block the model is in this mode."""
        return nullcontext()


class Reference(Protocol):
    """The original as a reference: fresh inputs, runs that leave nothing behind, results on the way."""

    def is_array(self, item: Any) -> bool:
        """Whether this is an array that functions of the framework take."""

    def to_numpy(self, array: Any) -> Any:
        """The elements as a numpy array."""

    def fresh(self, shape: Sequence[int], dtype: str, seen: tuple[float, float], seed: int) -> Any:
        """A random array like one that was seen."""

    @default
    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arrays in the arguments, as those of the framework."""
        return flatten((args, kwargs), self.is_array)[0]

    @default
    def ranges(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[float, float], ...]:
        """The least and greatest element of each array in the arguments."""
        arrays = [np.asarray(self.to_numpy(array)) for array in self.leaves(args, kwargs)]
        return tuple(
            (float(array.min()), float(array.max())) if array.size else (0.0, 0.0) for array in arrays
        )

    @default
    def with_facts(self, array: Any, facts: Mapping[str, Any]) -> Any:
        """A fresh array as one was that a recording has asked for these facts (``Traits.facts``)."""
        return array

    @default
    def copied(self, leaves: Sequence[Any]) -> list[Any]:
        """The same elements in memory of their own; the arrays themselves where they never change."""
        return list(leaves)

    @default
    def random_kept(self) -> AbstractContextManager[None]:
        """Afterwards the framework's generator is as it was."""
        return nullcontext()

    @default
    def undone(self, weights: Any, seed: int) -> AbstractContextManager[None]:
        """Inside of the block the generator starts from ``seed``; afterwards it and what calls write to are
        as before.
        """
        return nullcontext()

    @default
    def observe(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[str, list[Any]]]:
        """Name and results of every call that a run makes; nothing where a run does not show them."""
        function(*args, **kwargs)
        return []

    @default
    def with_intermediates(self, graph: Graph) -> tuple[Graph, list[Value]]:
        """A recorded graph that returns (a copy of) what every node gives, and the values that these are."""
        made = [value for node in graph.nodes for value in node.outputs]
        tree = Branch(tuple, tuple(range(len(made))), (Leaf(),) * len(made))
        return graph.derive(outputs=list(made), output_tree=tree, guards=[]), made

    @property
    @default
    def saved(self) -> Callable[[Any], Callable[[], None]] | None:
        """A function that gives what puts back an array that is written to; None where arrays cannot be
        written to.
        """
        return None

    @property
    @default
    def watching(self) -> Callable[[Graph], Any] | None:
        """A function that gives, of a recorded graph that writes to arrays, what looks at them around a call;
        None where nothing does.
        """
        return None

    @property
    @default
    def COPY(self) -> str:
        """The call that copies an array, where random numbers can be part of a graph as they were drawn."""
        return ""

    @property
    @default
    def RANDOM_STATE(self) -> tuple[str, str]:
        """The calls that read and set the framework's generator, where it has one."""
        return ("", "")


class ArrayAccess(Protocol):
    """How the user's objects hold arrays."""

    def is_own(self, item: Any) -> bool:
        """Whether this is an array of the framework."""

    def own(self, elements: Any, dtype: str) -> Any:
        """An array of the framework with the elements of a numpy array, in memory of its own."""

    @default
    def write(self, array: Any, elements: Any) -> None:
        """Puts the elements of a numpy array into an array, as the framework's own calls do."""
        raise NotImplementedError("arrays of this framework never change")

    @property
    @default
    def Stamp(self) -> _MakesStamp:
        """Makes the stamp of an array."""
        return _Unchanging


class SavedCalls(Protocol):
    """Which calls and objects a file may hold.

    The defaults are those of a frontend that records canonical graphs.
    """

    @default
    def spell(self, item: Any) -> str | None:
        """Text for an object of the framework, or None."""
        return None

    @default
    def read(self, text: str) -> Any:
        """The object of a text; ``InvalidFile`` for any other text."""
        raise InvalidFile(f"{text!r:.80} is no object that a saved graph may hold")

    @default
    def row_key(self, op: str) -> str:
        """The bare name of a call, by which it has its row."""
        return op

    @default
    def check(self, graph: Graph) -> None:
        """``InvalidFile`` where a node calls what cannot be recorded."""
        if graph.nodes:
            raise InvalidFile(f"a saved graph may not call {graph.nodes[0].op!r:.80}")


class _NoSavedCalls(SavedCalls):
    """Of a frontend that records canonical graphs."""


class Frontend(Protocol):
    """A framework that functions are recorded from: a module, or an object in one.

    Implemented by ``frontends/<framework>/__init__.py``.
    """

    @property
    def name(self) -> str:
        """As it is registered."""

    @property
    def reference(self) -> Reference:
        """The original as a reference."""

    @property
    def array_access(self) -> ArrayAccess:
        """How the user's objects hold arrays."""

    def record(self, request: Request) -> Recording:
        """Runs the function and records it.

        A frontend that records canonical graphs at once has nothing to lift.
        """

    @default
    def lift_graph(self, graph: Graph) -> Graph:
        """The canonical graph of one in the framework's own calls."""
        return graph

    @property
    @default
    def dialect(self) -> Dialect | None:
        """How its recorded calls are written, and they alone; None where it records canonical graphs."""
        return None

    @property
    @default
    def refuses_outside(self) -> bool:
        """Whether a computed index outside of its axis is an error, which the graphs check for; False where
        it is anything else.
        """
        return False

    @property
    @default
    def files(self) -> SavedCalls:
        """Which calls and objects a file may hold."""
        return _NoSavedCalls()

    @default
    def unrecorded(self) -> AbstractContextManager[None]:
        """Inside of the block no recording of this thread sees what is done."""
        return nullcontext()

    @default
    def example_inputs(self, function: Any) -> dict[str, Any]:
        """Keyword arguments that the original can tell of itself, or none."""
        return {}

    @property
    @default
    def where_parameters_are(self) -> str:
        """What to do, in words, where a graph has no parameters; empty where nothing can be done."""
        return ""


class LoadsModels(Frontend, Protocol):
    """A frontend whose entry says that it loads models."""

    def pretrained(self, source: str) -> Any:
        """A model from a folder, or by its name on a hub."""
