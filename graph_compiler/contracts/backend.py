"""Protocols of a target framework: ``Backend``, its ``Target``, ``TargetDialect``, an optional ``Tracer``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from ..errors import GuardFailed, NotCompilable, UnsupportedOperation
from ..ir.graph import Graph
from ..ir.node import Node
from ..sizes import Symbol
from .derivatives import Derivatives
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
        """Add the check with this number to the traced program, unless the program is exported.

        Called in traced code, with the matched arguments ``leaves`` of the call.
        """

    def graph_break(self, message: str) -> None:
        """Force a graph break here; ``message`` is the reason shown to the user. Called in traced code."""

    def skip(self, functions: Iterable[Any]) -> None:
        """Exclude ``functions``, and code that they call, from tracing if they run outside a trace.

        This holds for the rest of the process.
        """


class Target(Protocol):
    """Framework as an execution target: its arrays, compiler and random numbers."""

    @property
    def name(self) -> str:
        """Name of the backend."""

    @property
    def array_types(self) -> tuple[type, ...]:
        """Classes of native arrays, except classes that are only used for traced arrays."""

    def convert(self, array: Any) -> Any:
        """Return ``array``, of any framework, as a native array; None for any other object.

        NumPy scalars and most subclasses of ``numpy.ndarray`` count as other objects. The result may share
        memory with ``array``.

        Raise ``CallMismatch`` for an array without a counterpart in the framework, and ``GuardFailed`` for
        integers that the native dtype cannot hold.
        """

    def dtype(self, name: str) -> Any:
        """Return the dtype called ``name``, as ``array.dtype`` returns it; None if there is no such dtype.

        A target without 64-bit dtypes returns the 32-bit dtype to which it narrows ``name``.
        """

    def to_numpy(self, array: Any) -> Any:
        """Return the elements as a NumPy array, waiting for the array if necessary.

        bfloat16 becomes float32, and random keys become their integers. The result may share memory with
        ``array``.
        """

    def from_bytes(self, data: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
        """Return a native array of this shape from ``data``, the bytes of elements of this dtype.

        ``data`` is a 1-d array of uint8, whose memory the result may share.
        """

    # ------------------------------------------------------------------------------ optional array members
    @property
    @default
    def is_zero_copy(self) -> bool:
        """True if conversions are not cached, because they usually share memory with the source array."""
        return False

    @property
    @default
    def keeps_scalars(self) -> bool:
        """True if generated functions get NumPy scalars as they are, not converted to 0-d arrays."""
        return False

    @default
    def adopt(self, array: Any) -> Any:
        """Convert a weight or constant as :meth:`convert` does, preferably without a copy."""
        return self.convert(array)

    @default
    def address(self, array: Any) -> int | None:
        """Return the address of the first element of a native array in host memory, or None if unknown."""
        return None

    @default
    def copy(self, array: Any) -> Any:
        """Return a native array with the elements of ``array`` that later writes to ``array`` do not change.

        An immutable array may be returned itself.
        """
        return self.convert(np.array(self.to_numpy(array)))

    @default
    def elements(self, array: Any) -> Any:
        """Return the elements as nested lists, or as a Python number for a 0-d array.

        Wait for the array if necessary.
        """
        return self.to_numpy(array).tolist()

    @default
    def on_host(self, array: Any) -> Any:
        """Return the elements as a NumPy array, or None, for example if that needs a transfer."""
        return self.to_numpy(array)

    @default
    def to_bytes(self, array: Any) -> bytes:
        """Return the elements of ``array`` as bytes in row-major order.

        The default suits arrays whose dtype :meth:`to_numpy` keeps.
        """
        data: bytes = self.to_numpy(array).tobytes()
        return data

    @default
    def write_back(self, array: Any, value: Any) -> None:
        """Write the elements of the native array ``value`` to ``array``, an array of the caller.

        Raise ``GuardFailed`` if that is not supported.
        """
        if not isinstance(array, np.ndarray):
            raise GuardFailed(
                f"the original function writes to its argument, but a {type(array).__name__} cannot be "
                f"written to from {self.name}; pass a numpy array, or use graph.functional"
            )
        array[...] = self.to_numpy(value)

    @default
    def register_classes(self, classes: Iterable[type]) -> None:
        """Register ``classes`` as containers for the framework's transformations, if that is necessary."""
        return

    # ------------------------------------------------------------------------------ guards and exceptions
    @default
    def require_guards(self, result: Any, checks: tuple[Any, ...], guards: tuple[Any, ...]) -> Any:
        """Return ``result`` if the arrays ``checks`` have the elements that ``guards`` expect.

        Otherwise raise ``GuardFailed``. If the framework traces ``checks``, add the checks to the traced
        program instead.
        """
        for check, guard in zip(checks, guards):
            guard.require(self.elements(check))
        return result

    @default
    def refusal(self, problem: Exception) -> str | None:
        """Return a message if ``problem`` is taken for a function's rejection of its arguments, else None."""
        return None

    @default
    def is_signal(self, problem: Exception) -> bool:
        """Return True if ``problem`` is for code outside of the variant, so that it must propagate."""
        return False

    # ------------------------------------------------------------------------------ compiling and tracing
    @default
    def on_device_of_inputs(
        self, function: Callable[..., Any], graph: Any, program: Any
    ) -> Callable[..., Any]:
        """Wrap ``function``, generated as ``program``, so that it creates arrays on the device of its inputs.

        If ``program`` contains the casts of an autocast, also disable autocast. Return ``function`` itself if
        neither is necessary.
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
        """Return ``function`` compiled by the framework's compiler, or ``function`` itself if there is none.

        static: positions of arguments that are Python numbers which sizes depend on.
        text: the source of the function if it depends on nothing else, so that compiled programs can be
            stored across processes; otherwise None.

        Raise ``NotCompilable`` if ``options`` are given and the framework has no compiler, and
        ``InvalidOption`` if its compiler does not have one of them.
        """
        if options:
            raise NotCompilable(
                f"{self.name} has no compiler, so there is nothing that could take the options "
                f"{', '.join(options)}; leave them out"
            )
        return function

    @property
    @default
    def how_to_enable_64_bit(self) -> str:
        """Advice for users on enabling 64-bit dtypes, as a sentence without its full stop.

        Empty if they are always enabled.
        """
        return ""

    @property
    @default
    def compiles_by_default(self) -> bool:
        """True if :meth:`compile_by_default` is used for functions unless the user chooses otherwise."""
        return False

    @default
    def compile_by_default(
        self, function: Callable[..., Any], static: tuple[int, ...] = (), text: str | None = None
    ) -> Callable[..., Any]:
        """Return ``function``, compiled if that suits it, for a user who has not chosen.

        ``static`` and ``text`` are as in :meth:`compile`.
        """
        return self.compile(function, {}, static, text)

    @property
    @default
    def folds_captured_arrays(self) -> bool:
        """True if the compiler treats arrays that a function captures as constants of its program."""
        return False

    @property
    @default
    def sorts_dicts(self) -> bool:
        """True if compiled functions sort the keys of dicts at a call, which takes time."""
        return False

    @property
    @default
    def runs_asynchronously(self) -> Callable[[], bool] | None:
        """Function that returns True if compiled functions called now may return before they have run.

        The property is None if compiled functions are taken to return after they have run.
        """
        return None

    @default
    def waiter(self) -> Callable[[Iterable[Any]], None]:
        """Return a function that waits until arrays, the results of one generated function, are computed.

        The default does not wait.
        """
        return lambda results: None

    @property
    @default
    def tracer(self) -> Tracer | None:
        """Compiler that traces Python bytecode; None if the framework has no such compiler."""
        return None

    @default
    def is_traced(self, item: Any) -> bool:
        """Return True if the elements of ``item``, an array, may be unknown because the framework traces."""
        return False

    @default
    def untraced(self) -> AbstractContextManager[None]:
        """Return a context inside which operations run at once, even if the framework's compiler traces."""
        return nullcontext()

    @default
    def records_gradients_of(self, given: Iterable[Any]) -> bool:
        """Return True if operations on an item of ``given`` are recorded for gradients, as on a tape."""
        return False

    @property
    @default
    def undecided_errors(self) -> tuple[type[Exception], ...]:
        """Exceptions raised by comparisons of sizes that are unknown while the framework traces."""
        return ()

    @property
    @default
    def branch(
        self,
    ) -> Callable[[tuple[Any, ...], tuple[Any, ...], Callable[[], Any], Callable[[], Any]], Any] | None:
        """Function ``branch(checks, guards, run, otherwise)`` that adds a branch to the traced program.

        When the program runs, the branch returns the result of ``run()`` if the elements of ``checks`` are
        those that ``guards`` expect, up to rounding, and that of ``otherwise()`` if not. The function raises
        ``GuardFailed`` while tracing if the shape of a check is known to differ. The property is None if the
        framework has no such branch.
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
        """Function of an array and an axis that returns the size: an int, or a traced scalar if unknown.

        It is None if ``array.shape`` contains the sizes. A target with this function implements
        :meth:`where_sizes_fit`.
        """
        return None

    @default
    def where_sizes_fit(self, result: Any, conditions: list[tuple[Any, str]]) -> Any:
        """Return ``result`` of a traced function, with checks of ``conditions`` added to its program.

        Each condition is a traced boolean about sizes that are unknown while tracing, with the message of
        the error if it is False. The default, for targets without :attr:`size_of`, adds no checks.
        """
        return result

    @property
    @default
    def traced_number(self) -> Callable[[Any, type], Any] | None:
        """Function that accepts a traced array in the place of a Python number.

        It is called with the object and the class of the recorded number (``int`` or ``float``). For a traced
        0-d array of this kind it returns an array that promotes like a Python number, and for any other
        object None. The property is None if the framework's transformations leave numbers unchanged.
        """
        return None

    # ------------------------------------------------------------------------------ random numbers
    @property
    @default
    def a_key(self) -> str:
        """Python expression that makes a key for random numbers, for error messages."""
        return "None"

    @default
    def is_key(self, item: Any) -> bool:
        """Return False if ``item`` is known to be no key for random numbers."""
        return True

    @default
    def seed(self, number: int) -> None:
        """Seed the keys that :meth:`next_key` returns, or the framework's own generator, if there are any."""
        return

    @default
    def next_key(self, leaves: Iterable[Any] = ()) -> Any:
        """Return a new key, or generator, for a call with these ``leaves``, and advance the sequence of keys.

        Return None if graphs draw from the framework's own generator instead. Raise ``CallMismatch`` if keys
        have to be arguments.
        """
        raise UnsupportedOperation(f"{self.name} draws no random numbers")

    @default
    def random_state_restorer(self, leaves: tuple[Any, ...]) -> Callable[[], None]:
        """Return a function that restores the current state of the generators that a call uses, if possible.

        ``leaves`` are those of the call. Keys of :meth:`next_key` are not restored.
        """
        return lambda: None


class Backend(Protocol):
    """Framework that graphs are written for: a module, or an object in one.

    In this package, it is the module ``backends/<framework>/__init__.py``.
    """

    @property
    def name(self) -> str:
        """Name under which the backend is registered."""

    @property
    def rows(self) -> Any:
        """Table of rows (``graph_compiler.backends.common.rows.Rows``): how operations are written."""

    @property
    def dialect(self) -> TargetDialect:
        """Writer of the nodes of canonical graphs in code of the framework."""

    @property
    def target(self) -> Target:
        """Framework as an execution target: its arrays and its compiler."""

    @property
    @default
    def copy_overwritable_values(self) -> Callable[[Graph], tuple[Graph, bool]] | None:
        """Pass that adds copies, for example of arrays that a write to shared memory could change.

        It returns the graph, and True if it was changed. The property is None if arrays are immutable.
        """
        return None

    @default
    def derivatives(self) -> Derivatives | None:
        """Return the framework's implementation of gradients, ``vmap`` and ``scan``.

        Return None if it has none (NumPy).
        """
        return None

    @default
    def parallelism(self) -> Parallelism | None:
        """Return the framework's implementation of sharding and collectives, or None if it has none."""
        return None

    @default
    def training_engine(self) -> Training | None:
        """Return the framework's implementation of optimizers and training steps, or None if it has none."""
        return None

    @default
    def as_module(self, graph: Any) -> Any:
        """Return ``graph`` as a module of the framework, or in NumPy as a callable with replaceable arrays.

        Raise ``NotCompilable`` if the framework has no modules, and ``ModuleNotFoundError`` if the library
        that provides them is missing.
        """
        raise NotCompilable(f"{self.name} has no modules: call the graph itself, or graph.functional")


# --------------------------------------------------------------------------------------------------- dialects
Structured = Mapping[str, Callable[[Any, Node], None]]
"""How the target writes operations with regions.

Operation -> function that writes its lines into a scope (``codegen/scope.py``).
"""


class Dialect(Protocol):
    """Writer of the nodes of a graph as text: by a backend's lowering rows, or as the recorded calls."""

    @property
    def imports(self) -> Mapping[str, str]:
        """Import lines, by the name that each binds in the source."""

    @property
    def prelude(self) -> ModuleType | tuple[str, ...] | None:
        """Module of helper functions; those that the source uses are copied into it.

        None if there is no such module. A dialect of recorded calls may instead name helpers in the prelude
        of the framework's target.
        """

    @property
    def structured(self) -> Structured:
        """Writers of operations with regions, by operation.

        Empty for recorded calls, because the framework's target writes the regions among them.
        """

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """Return the lines to write above the function, such as decorators."""

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """Return the source text of ``node``: an expression, or an assignment to an item of an array.

        ``text`` maps an operand or a parameter, nested ones included, to an object whose ``repr`` is its
        source text. Raise ``UnsupportedOperation`` if the target cannot compute the node.
        """

    def size(self, array: str, symbol: Symbol) -> str:
        """Return the expression that reads ``symbol`` (a size, stride or number) from ``array``."""

    def sizes(self, array: str) -> str:
        """Return the expression that reads all sizes of ``array``, an expression, as a sequence."""

    def context(self, node: Node) -> str:
        """Return the context expression of the ``with`` statement that ``node`` needs, or an empty string."""

    def spell(self, item: Any) -> str | None:
        """Return the source text of ``item``, which has no literal; None if it has to be bound to a name."""


class RecordedDialect(Dialect, Protocol):
    """Dialect of recorded calls.

    ``graph_compiler.frontends.common.lifter.RecordedCalls`` is a base for implementations.
    """

    def shortened(self, graph: Graph) -> Graph:
        """Return the graph to write: ``graph`` without calls that the text of other calls implies."""


class TargetDialect(Dialect, Protocol):
    """Dialect of canonical operations.

    ``graph_compiler.backends.common.rows.CanonicalDialect`` implements it for a table of rows.
    """

    def check(self, graph: Graph) -> None:
        """Raise ``UnsupportedOperation`` for a graph that the target refuses, such as for 64-bit integers."""
