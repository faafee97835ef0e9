"""Loss functions of a training step, and errors that the user's code raises in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api import transpile
from ..contracts import Target
from ..errors import CallMismatch, GraphCompilerError, GuardFailed, InvalidOption
from ..forwarding import forward
from ..ops.dtypes import dtype_name
from ..recording.code.syntax import place_of
from ..recording.faults import is_fault
from ..recording.reachability.libraries import framework_of
from ..runtime import Graph
from ..trees import iterate_structure, map_structure

# ---------------------------------------------------------------------------------------- errors of user code
# Errors that the user's code raises in a training step.


# A class, because each step enters two of these and a generator would be slower.
class ReportErrors:
    """Context manager, around a call of the user's code, that turns exceptions into ``CallMismatch``.

    Errors and bugs of this package pass unchanged.

    what: name of the code in the message.
    given: its arguments, which the message describes by dtypes and shapes, or by ``repr`` without arrays.
    place: end of the message, such as the file and line.
    target: if not None, only exceptions by which functions of the target reject arguments are converted.

    >>> import numpy as np
    >>> from graph_compiler.forwarding import forward
    >>> with ReportErrors("the model Net", (np.zeros(3), None), ""):
    ...     forward(int, "x")
    Traceback (most recent call last):
    graph_compiler.errors.CallMismatch: the model Net fails with ValueError: invalid literal for int() ...
    """

    def __init__(self, what: str, given: Any, place: str, target: Target | None = None) -> None:
        self._what, self._given, self._place, self._target = what, given, place, target

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if not isinstance(problem, Exception) or isinstance(problem, GraphCompilerError) or is_fault(problem):
            return
        if self._target is None or self._target.refusal(problem) is not None:
            shown = " and ".join(map(_describe, self._given))
            raise CallMismatch(
                f"{self._what} fails with {type(problem).__name__}: {problem}; it was called with "
                f"{shown}{self._place}"
            ) from problem


def _describe(item: Any) -> str:
    arrays = [leaf for leaf in iterate_structure(item) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    return ", ".join(f"{dtype_name(array)}{list(array.shape)}" for array in arrays) if arrays else repr(item)


# ----------------------------------------------------------------------------------------------------- losses
Loss = Callable[[Any, Any], Any]
# Names of metrics that steps and :func:`fit` return themselves.
_RESERVED = (
    "loss",
    "gradient_norm",
    "loss_scale",
    "epoch",
    "steps",
    "seconds",
)


class LossFunction:
    """Loss function that is called with arrays of the target, and recorded if necessary.

    Parameters called ``(y_true, y_pred)``, as in Keras, are passed in that order.

    place: file and line of the function, for messages.
    """

    def __init__(self, function: Any, source: str, backend: str) -> None:
        if isinstance(function, str) or not callable(function) or isinstance(function, type):
            raise InvalidOption(
                f"loss= is {function!r}, and has to be a function of the outputs of the model and the "
                "target, loss=lambda outputs, target: ..."
            )
        self._function, self._is_reversed = function, _is_reversed(function)
        self.name = getattr(function, "__name__", type(function).__name__)
        written_in = framework_of(function)
        self._graph: Graph | None = function if isinstance(function, Graph) else None
        if self._graph is None and written_in not in (None, backend):
            self._graph = transpile(function, source=written_in, to=backend)
        self._backend = backend
        # Framework that the loss may be written in, if its code names none.
        self._source = source if self._graph is None and written_in is None and source != backend else None
        self.place = place_of(function)

    @property
    def variants(self) -> Sequence[Any]:
        return () if self._graph is None else self._graph.variants

    def arguments(self, outputs: Any, target: Any) -> tuple[Any, Any]:
        return (target, outputs) if self._is_reversed else (outputs, target)

    def record_or_widen(self, outputs: Any, target: Any) -> None:
        """Record the loss for these arrays; if that fails, with int64 for 32-bit integers in ``target``."""
        assert self._graph is not None
        why, wide = "the loss of a training step", map_structure(_to_int64, target)
        try:
            self._graph.add_variant(self.arguments(outputs, target), {}, why)
        # A loss may raise anything for integers that it does not take.
        except Exception as problem:
            if is_fault(problem):
                raise
            self._graph._note_given_up("recording the loss with integers of 32 bits", problem)
            with self._reporting_errors(*self.arguments(outputs, wide)):
                self._graph.add_variant(self.arguments(outputs, wide), {}, why)

    def __call__(self, outputs: Any, target: Any) -> tuple[Any, dict[str, Any]]:
        """Return the loss and a dict of further metrics.

        Raise ``GuardFailed`` if the function has to be recorded for these arrays first.
        """
        given = self.arguments(outputs, target)
        if self._graph is not None:
            return self._checked_result(self._recorded_result(self._graph, given))
        try:
            with self._reporting_errors(*given):
                found = forward(self._function, *given)
        except CallMismatch:
            if self._source is None:
                raise
            # The function may be written in the model's framework, so record it from there.
            self._graph, self._source = transpile(self._function, source=self._source, to=self._backend), None
            raise GuardFailed(f"the loss {self.name} is not recorded yet") from None
        return self._checked_result(found)

    def _reporting_errors(self, *given: Any) -> ReportErrors:
        return ReportErrors(f"the loss {self.name}", given, self.place)

    def _recorded_result(self, graph: Graph, given: tuple[Any, Any]) -> Any:
        if not graph.variants:
            raise GuardFailed(f"the loss {self.name} is not recorded yet")
        # The new state of a loss is dropped.
        result, _ = graph._functional(graph.parameters, given, {}, None, None)
        return result

    def _checked_result(self, found: Any) -> tuple[Any, dict[str, Any]]:
        more: dict[str, Any] = {}
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict):
            found, more = found
        shape = getattr(found, "shape", None)
        if shape is None or not hasattr(found, "dtype") or len(shape) != 0:
            what = (
                f"an array of the shape {list(shape)}" if shape is not None else f"a {type(found).__name__}"
            )
            raise CallMismatch(
                f"the loss {self.name} has to give one number, or that and a dict of metrics, and gives "
                f"{what}; take the mean or sum of it{self.place}"
            )
        for name, metric in more.items():
            self._require_metric(name, metric)
        return found, more

    def _require_metric(self, name: Any, metric: Any) -> None:
        what = None
        if name in _RESERVED:
            what = "under a name that training itself uses: give it another one"
        elif not isinstance(metric, (int, float)) and len(getattr(metric, "shape", (0,))) != 0:
            shown = (
                f"an array of the shape {list(metric.shape)}"
                if hasattr(metric, "shape")
                else f"a {type(metric).__name__}"
            )
            what = f"which is {shown}, and has to be one number; take the mean or sum of it"
        if what is not None:
            raise CallMismatch(f"the loss {self.name} gives a metric {name!r}, {what}{self.place}")


def _is_reversed(function: Any) -> bool:
    try:
        names = [parameter.name for parameter in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return False
    return names[:2] == ["y_true", "y_pred"]


# Losses of torch take class indices as int64, while arrays of JAX are int32 by default.
def _to_int64(item: Any) -> Any:
    return np.asarray(item).astype(np.int64) if str(getattr(item, "dtype", "")).endswith("int32") else item
