"""What the runtime needs to know of the framework that a graph runs in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np


class Tracer(Protocol):
    """A compiler of the target that follows Python code instruction by instruction, calls of graphs too (``torch.compile``)."""

    def is_following(self) -> bool:
        """Whether it follows the code that asks."""

    def noted(self, check: Callable[[], None]) -> int:
        """A number for a check, which raises where something that the compiler cannot see is not as it was."""

    def require_when_run(self, number: int, leaves: tuple[Any, ...]) -> None:
        """Code to be followed, by which the compiled program asks this check."""

    def leave(self, message: str) -> None:
        """Code at which it gives up."""

    def hide(self, functions: Iterable[Any]) -> None:
        """Where calls of these functions run as they are, it looks at nothing inside of them."""


class Target(Protocol):
    """One framework as a place to run: its arrays and its compiler. Implemented by each backend's ``native.py``."""

    name: str
    a_key: str  # how a user makes a key for random numbers
    array_types: tuple[type, ...]
    signals: tuple[type[Exception], ...]  # by which the framework ends a function that it runs for its own ends: no failure of the function
    undecided: tuple[type[Exception], ...]  # what comparisons of sizes raise that are unknown while the framework traces a function
    tracer: Tracer | None
    sorts_keys: bool  # whether its transformations hand dicts over with their keys sorted
    shares: bool  # whether arrays of other frameworks that are converted share their memory

    def convert(self, array: Any) -> Any:
        """An array of any framework as a native one, sharing memory where it can; None for what is no array."""

    def dtype(self, name: str) -> Any:
        """What ``array.dtype`` equals for arrays of this dtype; None where the framework has no such arrays."""

    def elements(self, array: Any) -> Any:
        """The elements as nested Python lists; waits for the array."""

    def compile(self, function: Callable[..., Any], options: dict[str, Any], static: tuple[int, ...] = ()) -> Callable[..., Any]:
        """The function wrapped in the framework's own compiler. ``static``: positions of arguments that are Python numbers which sizes are
        made of."""

    def register_classes(self, classes: Iterable[type]) -> None:
        """Makes containers of these classes pass through the framework's transformations."""

    def write_back(self, array: Any, value: Any) -> None:
        """Puts the elements of ``value`` into a caller's array, as the original function would have done."""

    def on_host(self, array: Any) -> Any:
        """The elements as a numpy array where nobody has to wait for them; None on another device, and while the framework traces a
        function."""

    def is_traced(self, item: Any) -> bool:
        """Whether this stands for an array while the framework traces a function: there are no elements."""

    def follows(self, given: Iterable[Any]) -> bool:
        """Whether the framework notes what is computed from one of these, for a gradient."""

    def to_numpy(self, array: Any) -> Any:
        """The elements as a numpy array, those of a dtype that numpy lacks as the nearest wider one."""

    def to_bytes(self, array: Any) -> bytes:
        """The elements in row-major order."""

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        """A native array of these elements (bytes, of type uint8), of the nearest dtype that the framework has. It may keep their
        memory."""

    def copy(self, array: Any) -> Any:
        """The elements of now, whatever is written to ``array`` later."""

    def adopt(self, array: Any) -> Any:
        """A weight as a native array that shares its memory where dtype and device allow."""

    def untraced(self) -> AbstractContextManager[None]:
        """Inside of the block arrays have elements, although the framework traces a function that calls it."""

    def seed(self, number: int) -> None:
        """Restarts the keys, or the framework's own generator where it has one."""

    def next_key(self) -> Any:
        """A fresh key for random numbers; ``CallMismatch`` while the framework traces a function, in which keys are arguments."""

    def refusal(self, problem: Exception) -> str | None:
        """An exception in words, where a function of the framework has refused its arguments; None of any other."""

    def checked(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        """``result`` of a pure call, once its guards on elements are dealt with: ``GuardFailed`` where one does not hold."""

    def rewinding(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        """A function that puts the generators that a graph draws from, the framework's own and those among the inputs, back to where they
        are now."""
