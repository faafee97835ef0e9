"""Protocols of a framework that graphs are written for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from ..errors import GuardFailed, NotCompilable, UnsupportedOperation
from ..ir.graph import Graph
from .derivatives import Derivatives
from .dialect import TargetDialect
from .modules import default
from .parallelism import Parallelism
from .training import Training


class Tracer(Protocol):
    """Compiler of the target that traces Python bytecode, calls of graphs included (``torch.compile``)."""

    def is_tracing(self) -> bool:
        """Return True while the calling code is being traced."""

    def register_check(self, check: Callable[[], None]) -> int:
        """Register ``check`` and return its number, for :meth:`require_when_run`.

        The check raises if something that the compiler cannot see has changed.
        """

    def require_when_run(self, number: int, leaves: tuple[Any, ...]) -> None:
        """Make the traced program run the check with this number each time it runs.

        Called in traced code, with the arrays ``leaves`` of the call.
        """

    def graph_break(self, message: str) -> None:
        """Force a graph break here; ``message`` is the reason shown to the user. Called in traced code."""

    def skip(self, functions: Iterable[Any]) -> None:
        """Exclude ``functions``, and everything that they call, from tracing if they run outside a trace."""


class Target(Protocol):
    """A framework as an execution target: its arrays and its compiler.

    Implemented by each backend's ``native.py``.
    """

    @property
    def name(self) -> str:
        """The backend's name."""

    @property
    def array_types(self) -> tuple[type, ...]:
        """The classes of its arrays."""

    def convert(self, array: Any) -> Any:
        """An array of any framework as a native one; None for any other object.

        The memory is shared if the framework can share it.
        """

    def dtype(self, name: str) -> Any:
        """Return what ``array.dtype`` equals for a native array of dtype ``name``; None if there is none.

        A target without 64-bit dtypes returns the 32-bit one that it narrows them to.
        """

    def to_numpy(self, array: Any) -> Any:
        """Return the elements as a NumPy array. A dtype that NumPy lacks becomes the nearest wider one."""

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        """Return a native array of the nearest dtype from bytes (an array of uint8).

        It may share the memory of ``data``.
        """

    # --------------------------------------------------------------- arrays, where more is to be said of them
    @property
    @default
    def shares(self) -> bool:
        """True if arrays of other frameworks are converted without a copy.

        Such conversions are not cached.
        """
        return False

    @default
    def adopt(self, array: Any) -> Any:
        """Convert a weight to a native array that shares its memory, if dtype and device allow."""
        return self.convert(array)

    @default
    def copy(self, array: Any) -> Any:
        """Return a native copy that later writes to ``array`` do not change."""
        return self.convert(np.array(self.to_numpy(array)))

    @default
    def elements(self, array: Any) -> Any:
        """Return the elements as nested lists, waiting for the array if necessary."""
        return self.to_numpy(array).tolist()

    @default
    def on_host(self, array: Any) -> Any:
        """Return the elements as a NumPy array without waiting.

        Return None for an array on another device or a traced one.
        """
        return self.to_numpy(array)

    @default
    def to_bytes(self, array: Any) -> bytes:
        """Return the elements as bytes in row-major order."""
        data: bytes = self.to_numpy(array).tobytes()
        return data

    @default
    def write_back(self, array: Any, value: Any) -> None:
        """Write the elements of ``value`` to ``array``, an array of the caller.

        Raise ``GuardFailed`` if it cannot be written to.
        """
        if not isinstance(array, np.ndarray):
            raise GuardFailed(
                f"the original function writes to its argument, but a {type(array).__name__} cannot be "
                f"written to from {self.name}; pass a numpy array, or use graph.functional"
            )
        array[...] = self.to_numpy(value)

    @default
    def register_classes(self, classes: Iterable[type]) -> None:
        """Register ``classes`` as containers that the framework's transformations traverse.

        In JAX, they become pytree nodes. Does nothing by default.
        """
        return

    # ------------------------------------------------------------------------------ checks
    @default
    def checked(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        """Return ``result`` of a pure call after its guards on elements were checked.

        Raise ``GuardFailed`` if a guard does not hold. If the framework traces ``checks``, the traced
        program checks them when it runs.
        """
        for check, guard in zip(checks, guards):
            guard.require(self.elements(check))
        return result

    @default
    def refusal(self, problem: Exception) -> str | None:
        """Return a message for an exception by which a function of the framework rejects its arguments.

        Return None for any other exception.
        """
        return None

    @default
    def is_signal(self, problem: Exception) -> bool:
        """Return True if the exception controls the framework itself and is no failure of the function.

        Examples are the end of a recomputation and a missing derivative.
        """
        return False

    # ------------------------------------------------------------------------------ compiling and tracing
    @default
    def placed(self, function: Callable[..., Any], graph: Any, program: Any) -> Callable[..., Any]:
        """Wrap the function of a graph so that new arrays are made on the device of its inputs.

        Return it unchanged if the framework moves arrays itself.
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
        """Wrap the function in the framework's compiler; return it unchanged if there is none.

        static: positions of arguments that are Python numbers which sizes depend on.
        text: the source of the function if it depends on nothing else, so that compiled programs can be
            stored across processes; otherwise None.

        Raise ``NotCompilable`` for ``options`` without a compiler.
        """
        if options:
            raise NotCompilable(
                f"{self.name} has no compiler, so there is nothing that could take the options "
                f"{', '.join(options)}; leave them out"
            )
        return function

    @property
    @default
    def widening(self) -> str:
        """How a user enables 64-bit dtypes, as a sentence without its full stop.

        Empty if they are always enabled.
        """
        return ""

    @property
    @default
    def compiles_by_default(self) -> bool:
        """True if :meth:`compile_by_default` compiles functions unless the user chooses otherwise."""
        return False

    @default
    def compile_by_default(
        self, function: Callable[..., Any], static: tuple[int, ...] = (), text: str | None = None
    ) -> Callable[..., Any]:
        """Return the function, compiled in the way that suits it best; arguments as in :meth:`compile`.

        If the result has an attribute ``describe_compilation``, that is a function that returns a
        description of how it runs.
        """
        return self.compile(function, {}, static, text)

    @property
    @default
    def tracer(self) -> Tracer | None:
        """The compiler that traces Python bytecode; None if there is none."""
        return None

    @default
    def is_traced(self, item: Any) -> bool:
        """Return True if ``item`` is a symbolic array of a function that the framework traces."""
        return False

    @default
    def untraced(self) -> AbstractContextManager[None]:
        """Return a context inside which arrays have elements although the framework is tracing."""
        return nullcontext()

    @default
    def follows(self, given: Iterable[Any]) -> bool:
        """Return True if the framework records operations on an item of ``given`` to compute gradients."""
        return False

    @property
    @default
    def undecided(self) -> tuple[type[Exception], ...]:
        """Exceptions raised by comparisons of sizes that are unknown while the framework traces."""
        return ()

    @property
    @default
    def either(
        self,
    ) -> Callable[[tuple[Any, ...], tuple[Any, ...], Callable[[], Any], Callable[[], Any]], Any] | None:
        """Function ``either(checks, guards, run, otherwise)``: a branch of the traced program.

        It returns the list of arrays that ``run()`` returns if all guards hold, and that of
        ``otherwise()`` if not. The property is None if the framework has no such branch.
        """
        return None

    @property
    @default
    def sorts_keys(self) -> bool:
        """True if the framework's transformations pass dicts with sorted keys."""
        return False

    @property
    @default
    def size_of(self) -> Callable[[Any, int], Any] | None:
        """Function of an array and an axis that returns the size, as a symbol if it is unknown.

        Sizes are unknown only while the framework traces a function. The property is None if the framework
        always knows them. A target with this function implements ``where_sizes_fit``.
        """
        return None

    @default
    def where_sizes_fit(self, result: Any, conditions: list[tuple[Any, str]]) -> Any:
        """Return ``result`` of a traced function, whose program checks ``conditions`` when it runs.

        A condition concerns sizes that are unknown while tracing, and is paired with its error message.
        """
        return result

    @property
    @default
    def traced_number(self) -> Callable[[Any, type], Any] | None:
        """Function that recognizes a Python number that a transformation has replaced by a symbolic array.

        It is called with the object and the class of the recorded number (``int`` or ``float``), and
        returns a symbolic array, or None for any other object. The property is None if transformations
        leave numbers unchanged.
        """
        return None

    # ------------------------------------------------------------------------------ random numbers
    @property
    @default
    def a_key(self) -> str:
        """Python expression that makes a key for random numbers, for error messages."""
        return "None"

    @default
    def seed(self, number: int) -> None:
        """Reset the sequence of keys, or the framework's own generator, to start from ``number``."""
        return

    @default
    def next_key(self, leaves: Iterable[Any] = ()) -> Any:
        """Return a new key for a call with these array ``leaves``.

        Return None if graphs draw from the framework's own generator instead. Raise ``CallMismatch`` if
        the framework traces the call or maps it over rows, so that keys have to be arguments.
        """
        raise UnsupportedOperation(f"{self.name} draws no random numbers")

    @default
    def rewinding(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        """Return a function that resets random generators to their current state.

        These are the framework's own, and those among ``leaves`` that a graph draws from.
        """
        return lambda: None


class Backend(Protocol):
    """A framework that graphs are written for: a module, or an object in one.

    Implemented by ``backends/<framework>/__init__.py``.
    """

    @property
    def name(self) -> str:
        """The name under which it is registered."""

    @property
    def rows(self) -> Any:
        """The table of rows (``graph_compiler.backends.common.rows.Rows``).

        It says for each operation how it is written.
        """

    @property
    def dialect(self) -> TargetDialect:
        """How canonical nodes are written."""

    @property
    def target(self) -> Target:
        """The execution target: arrays and compiler."""

    @property
    @default
    def copy_aliased_outputs(self) -> Callable[[Graph], tuple[Graph, bool]] | None:
        """Pass that copies results whose aliasing would be visible to the caller in this framework.

        It returns the graph, and True if it added copies. The property is None if arrays are immutable.
        """
        return None

    @default
    def derivatives(self) -> Derivatives | None:
        """Return the framework's own derivatives, or None if it has none."""
        return None

    @default
    def parallelism(self) -> Parallelism | None:
        """Return the framework's own way to run a function on many devices, or None if it has none."""
        return None

    @default
    def training_engine(self) -> Training | None:
        """Return the framework's own optimizers and training steps, or None if it has none."""
        return None

    @default
    def as_module(self, graph: Any) -> Any:
        """Return a graph as a trainable module of the framework.

        Raise ``NotCompilable`` if the framework has no modules, and ``ModuleNotFoundError`` if the library
        that provides them is missing.
        """
        raise NotCompilable(f"{self.name} has no modules: call the graph itself, or graph.functional")
