"""What a framework that graphs are written for has to provide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from ..errors import GuardFailed, NotCompilable, UnsupportedOperation
from ..ir.graph import Graph
from .checked import default
from .derivatives import Derivatives
from .dialect import TargetDialect
from .parallelism import Parallelism
from .training import Training


class Tracer(Protocol):
    """A compiler of the target that follows Python code instruction by instruction, calls of graphs too
    (``torch.compile``).
    """

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
    """One framework as a place to run: its arrays and its compiler.

    Implemented by each backend's ``native.py``.
    """

    @property
    def name(self) -> str:
        """That of the backend."""

    @property
    def array_types(self) -> tuple[type, ...]:
        """The classes of its arrays."""

    def convert(self, array: Any) -> Any:
        """An array of any framework as a native one, sharing memory where it can; None for what is no array."""

    def dtype(self, name: str) -> Any:
        """What ``array.dtype`` equals for arrays of this dtype; None where the framework has no such arrays."""

    def to_numpy(self, array: Any) -> Any:
        """The elements as a numpy array, those of a dtype that numpy lacks as the nearest wider one."""

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        """A native array of these elements (bytes, of type uint8), of the nearest dtype that the framework
        has. It may keep their memory.
        """

    # --------------------------------------------------------------- arrays, where more is to be said of them
    @property
    @default
    def shares(self) -> bool:
        """Whether arrays of other frameworks that are converted share their memory."""
        return False

    @default
    def adopt(self, array: Any) -> Any:
        """A weight as a native array that shares its memory where dtype and device allow."""
        return self.convert(array)

    @default
    def copy(self, array: Any) -> Any:
        """The elements of now, whatever is written to ``array`` later."""
        return self.convert(np.array(self.to_numpy(array)))

    @default
    def elements(self, array: Any) -> Any:
        """The elements as nested Python lists; waits for the array."""
        return self.to_numpy(array).tolist()

    @default
    def on_host(self, array: Any) -> Any:
        """The elements as a numpy array where nobody has to wait for them; None on another device, and while
        the framework traces a function.
        """
        return self.to_numpy(array)

    @default
    def to_bytes(self, array: Any) -> bytes:
        """The elements in row-major order."""
        data: bytes = self.to_numpy(array).tobytes()
        return data

    @default
    def write_back(self, array: Any, value: Any) -> None:
        """Puts the elements of ``value`` into a caller's array, as the original function would have done."""
        if not isinstance(array, np.ndarray):
            raise GuardFailed(
                f"the original function writes to its argument, but a {type(array).__name__} cannot be written to from {self.name}; pass a "
                "numpy array, or use graph.functional"
            )
        array[...] = self.to_numpy(value)

    @default
    def register_classes(self, classes: Iterable[type]) -> None:
        """Makes containers of these classes pass through the framework's transformations."""
        return

    # ------------------------------------------------------------------------------ checks
    @default
    def checked(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        """``result`` of a pure call, once its guards on elements are dealt with: ``GuardFailed`` where one
        does not hold.
        """
        for check, guard in zip(checks, guards):
            guard.require(self.elements(check))
        return result

    @default
    def refusal(self, problem: Exception) -> str | None:
        """An exception in words, where a function of the framework has refused its arguments; None of any
        other.
        """
        return None

    @default
    def is_signal(self, problem: Exception) -> bool:
        """Whether the framework ends by this exception a function that it runs for its own ends, or refuses
        to follow it: no failure of the function.
        """
        return False

    # ------------------------------------------------------------------------------ compiling and tracing
    @default
    def placed(self, function: Callable[..., Any], graph: Any, program: Any) -> Callable[..., Any]:
        """The flat function of a graph, which makes its arrays on the device of those that it is given. As it
        is where the framework moves arrays itself.
        """
        return function

    @default
    def compile(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        static: tuple[int, ...] = (),
        text: str | None = None,
    ) -> Callable[..., Any]:
        """The function wrapped in the framework's own compiler; as it is where there is none. ``static``:
        positions of arguments that are Python numbers which sizes are made of; ``text``: the source of the
        function, where it depends on nothing else, so that what is made of it may be kept between processes.
        """
        if options:
            raise NotCompilable(
                f"{self.name} has no compiler, so there is nothing that could take the options {', '.join(options)}; leave them out"
            )
        return function

    @property
    @default
    def widening(self) -> str:
        """How a user gives the framework 64-bit types, as a sentence without its end; empty where it always
        has them.
        """
        return ""

    @property
    @default
    def compiles_by_default(self) -> bool:
        """Return True if :meth:`compile_by_default` compiles the functions of graphs unless the user chooses
        otherwise.
        """
        return False

    @default
    def compile_by_default(
        self, function: Callable[..., Any], static: tuple[int, ...] = (), text: str | None = None
    ) -> Callable[..., Any]:
        """Return the function, compiled as suits it best; arguments as of :meth:`compile`. Its attribute
        ``describe_compilation``, if it has one, is a function that returns in words how it runs.
        """
        return self.compile(function, {}, static, text)

    @property
    @default
    def tracer(self) -> Tracer | None:
        """The compiler that follows Python code; None where there is none."""
        return None

    @default
    def is_traced(self, item: Any) -> bool:
        """Whether this stands for an array while the framework traces a function: there are no elements."""
        return False

    @default
    def untraced(self) -> AbstractContextManager[None]:
        """Inside of the block arrays have elements, although the framework traces a function that calls it."""
        return nullcontext()

    @default
    def follows(self, given: Iterable[Any]) -> bool:
        """Whether the framework notes what is computed from one of these, for a gradient."""
        return False

    @property
    @default
    def undecided(self) -> tuple[type[Exception], ...]:
        """What comparisons of sizes raise that are unknown while the framework traces a function."""
        return ()

    @property
    @default
    def either(
        self,
    ) -> Callable[[tuple[Any, ...], tuple[Any, ...], Callable[[], Any], Callable[[], Any]], Any] | None:
        """A function of checks, their guards, and two functions that give lists of arrays: what the first
        gives where all guards hold, else what the second gives, as a branch of the program that the framework
        traces. None where it has no such branch.
        """
        return None

    @property
    @default
    def sorts_keys(self) -> bool:
        """Whether its transformations hand dicts over with their keys sorted."""
        return False

    @property
    @default
    def size_of(self) -> Callable[[Any, int], Any] | None:
        """A function of an array and an axis that gives the size, or what stands for it while the framework
        traces a function with unknown sizes; None where it knows all sizes. What has it has
        ``where_sizes_fit``.
        """
        return None

    @default
    def where_sizes_fit(self, result: Any, conditions: list[tuple[Any, str]]) -> Any:
        """``result`` of a traced function, with the conditions on sizes that were unknown (each with its
        words) checked when it runs.
        """
        return result

    @property
    @default
    def traced_number(self) -> Callable[[Any, type], Any] | None:
        """A function of what a transformation has made of a number, and the number's class, that gives what
        stands for the number, or None where it is none; None where transformations leave numbers alone.
        """
        return None

    # ------------------------------------------------------------------------------ random numbers
    @property
    @default
    def a_key(self) -> str:
        """How a user makes a key for random numbers."""
        return "None"

    @default
    def seed(self, number: int) -> None:
        """Restarts the keys, or the framework's own generator where it has one."""
        return

    @default
    def next_key(self, leaves: Iterable[Any] = ()) -> Any:
        """Return a fresh key for a call with these array ``leaves``.

        Raise ``CallMismatch`` where the framework traces the call, or maps it over rows, so that keys have to
        be arguments.
        """
        raise UnsupportedOperation(f"{self.name} draws no random numbers")

    @default
    def rewinding(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        """A function that puts the generators that a graph draws from, the framework's own and those among
        the inputs, back to where they are now.
        """
        return lambda: None


class Backend(Protocol):
    """A framework that graphs are written for: a module, or an object in one.

    Implemented by ``backends/<framework>/__init__.py``.
    """

    @property
    def name(self) -> str:
        """As it is registered."""

    @property
    def rows(self) -> Any:
        """The table of rows (``graph_compiler.backends.common.rows.Rows``): operation -> how it is written."""

    @property
    def dialect(self) -> TargetDialect:
        """How canonical nodes are written."""

    @property
    def target(self) -> Target:
        """How graphs run."""

    @property
    @default
    def copy_aliased_outputs(self) -> Callable[[Graph], tuple[Graph, bool]] | None:
        """A pass that copies results which share memory, of a framework whose arrays can be written to; None
        elsewhere.
        """
        return None

    @default
    def derivatives(self) -> Derivatives | None:
        """The framework's own derivatives; None where it has none."""
        return None

    @default
    def parallelism(self) -> Parallelism | None:
        """The framework's own means to run one function on many devices; None where it has none."""
        return None

    @default
    def training_engine(self) -> Training | None:
        """The framework's own optimizers and steps of training; None where it has none."""
        return None

    @default
    def as_module(self, graph: Any) -> Any:
        """A graph as a trainable module of the framework.

        Raises ``ModuleNotFoundError`` where the library that has modules is missing.
        """
        raise NotCompilable(f"{self.name} has no modules: call the graph itself, or graph.functional")
