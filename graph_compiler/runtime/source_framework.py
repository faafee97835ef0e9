"""What the pipeline needs to know of the framework that a function is written in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..codegen.source import Dialect
from ..ir.graph import Graph
from ..ir.node import Node, Value
from ..tracing import Recording, Request


class Watch(Protocol):
    """Looks at arrays since it was made."""

    def changed(self) -> bool:
        """Whether one has other memory, or was written to."""


class Stamp(Protocol):
    """What an array holds, told from memory or counts of writes. It does not keep the array alive."""

    def fits(self, array: Any) -> bool:
        """Whether the array that it was made of is as it was."""


class Weights(Protocol):
    """Where the user's model keeps its arrays. A framework whose functions keep none gives names for nothing."""

    def live(self, names: Iterable[str]) -> Callable[[], Mapping[str, Any]]:
        """A function that gives the arrays that stand under these names at the moment.

        Where arrays can be written to, it has ``watch(names)``, a :class:`Watch` over those of now.
        """

    def buffers(self) -> Iterable[Any]:
        """The arrays that calls write to."""

    def rebind(self, name: str, array: Any) -> None:
        """Puts another array in the place of a buffer."""

    def leave(self, name: str, elements: Any, rebound: bool) -> Any:
        """Gives a buffer the elements of a numpy array, or (``rebound``) puts a new array of them in its place; the array that is there
        then."""

    def is_trained(self, name: str) -> bool:
        """Whether an optimizer may change it: not a buffer."""


class Reference(Protocol):
    """The original as a reference (``reference.py``): fresh inputs, runs that leave nothing behind, results on the way."""

    COPY: str  # the call that copies an array
    RANDOM_STATE: tuple[str, str]  # the calls that read and set the framework's generator

    def is_array(self, item: Any) -> bool:
        """Whether this is an array of any framework."""

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arrays in the arguments, as those of the framework."""

    def ranges(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[float, float], ...]:
        """The least and greatest element of each array in the arguments."""

    def fresh(self, shape: Sequence[int], dtype: str, seen: tuple[float, float], seed: int) -> Any:
        """A random array like one that was seen."""

    def with_facts(self, array: Any, facts: Mapping[str, Any]) -> Any:
        """A fresh array as one was that a recording has asked for these facts: that it needs a gradient, or has a weak type."""

    def copied(self, leaves: Sequence[Any]) -> list[Any]:
        """The same elements in memory of their own."""

    def to_numpy(self, array: Any) -> Any:
        """The elements as a numpy array."""

    def random_kept(self) -> AbstractContextManager[None]:
        """Afterwards the framework's generator is as it was."""

    def undone(self, weights: Any, seed: int) -> AbstractContextManager[None]:
        """Inside of the block the generator starts from ``seed``; afterwards it and what calls write to are as before."""

    def observe(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, list[Any]]]:
        """Name and results of every call that a run makes."""

    def with_intermediates(self, graph: Graph) -> tuple[Graph, list[Value]]:
        """A recorded graph that returns a copy of what every node gives, and the values that these are."""


class ArrayAccess(Protocol):
    """How the user's objects hold arrays (``array_access.py``)."""

    Stamp: Callable[[Any], Stamp]

    def is_own(self, item: Any) -> bool:
        """Whether this is an array of the framework."""

    def own(self, elements: Any, dtype: str) -> Any:
        """An array of the framework with the elements of a numpy array, in memory of its own."""

    def write(self, array: Any, elements: Any) -> None:
        """Puts the elements of a numpy array into an array, as the framework's own calls do."""


class SavedCalls(Protocol):
    """Which calls and objects a file may hold (``files.py``)."""

    def spell(self, item: Any) -> str | None:
        """Text for an object of the framework, or None."""

    def read(self, text: str) -> Any:
        """The object of a text; ``InvalidFile`` for any other text."""

    def row_key(self, op: str) -> str:
        """The bare name of a call, by which it has its row."""

    def check(self, graph: Graph) -> None:
        """``InvalidFile`` where a node calls what cannot be recorded."""


class SourceFramework(Protocol):
    """One framework as a source. Implemented by the module ``frontends/<framework>``."""

    name: str
    dialect: Dialect  # of its recorded calls, and of them alone
    reference: Reference
    array_access: ArrayAccess
    files: SavedCalls

    def record(self, request: Request) -> Recording:
        """Runs the function and records it. A frontend that records canonical graphs at once has nothing to lift."""

    def lift_graph(self, graph: Graph) -> Graph:
        """The canonical graph of one in the framework's own calls."""

    def unrecorded(self) -> AbstractContextManager[None]:
        """Inside of the block no recording of this thread sees what is done."""

    def example_inputs(self, function: Any) -> dict[str, Any]:
        """Keyword arguments that the original can tell of itself, or none."""


__all__ = ["ArrayAccess", "Node", "Recording", "Reference", "SavedCalls", "SourceFramework", "Stamp", "Watch", "Weights"]
