"""Every error that graph_compiler raises on purpose: what happened, where, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class GraphCompilerError(Exception):
    """Base of all errors of this package; catch it to catch them all."""


class UnsupportedOperation(GraphCompilerError):
    """One or more recorded calls have no translation to the target.

    Cause: the traced function called something that has no row in the source framework's lifting
    table and no decomposition into calls that have one, or the target framework has no row for it.
    Remedy: the message lists *all* such calls with the line that made each; add a row for it
    (docs/adding_an_operation.md), or replace the call. ``problems`` are the same calls, one text each.
    """

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class UnknownFramework(GraphCompilerError, ValueError):
    """``to=`` or ``source=`` names a framework that has no backend or frontend here."""


class InvalidRegistration(GraphCompilerError, TypeError):
    """A package registers a frontend or backend that is none: the message says what is missing, and what each part is for."""


class FrameworkNotInstalled(GraphCompilerError, ImportError):
    """The framework that was asked for cannot be imported on this machine."""


class NotCompilable(GraphCompilerError, TypeError):
    """The object given to ``compile`` or ``transpile`` is nothing that can be called and recorded."""


class InvalidOption(GraphCompilerError, ValueError):
    """An option of ``compile`` is none that exists, or does not go with the others."""


class SourceNotFound(GraphCompilerError, ValueError):
    """The framework that an object is written in cannot be told from the object; pass ``source=``."""


class CallMismatch(GraphCompilerError, TypeError):
    """A graph was called with another structure of arguments than it was recorded with."""


class GuardFailed(GraphCompilerError, ValueError):
    """A condition that the recording relied on does not hold for this call, and no re-trace is allowed."""


class WeightsMissing(GraphCompilerError):
    """A graph of a model on the device ``meta`` needs its weights, which were not given yet: give them with ``load_weights``."""


class WeightsMismatch(GraphCompilerError, ValueError):
    """Arrays given to ``load_weights`` are not those of the model; the message names all that are missing, unexpected, or of another shape
    or type."""


class TargetRefused(GraphCompilerError):
    """The framework that a graph is written for refuses what the original's framework computes: numbers, types or sizes that it does not
    take.

    The message names the recorded call and the user's line; ``__cause__`` is the framework's own exception.
    """


class TooManyVariants(GraphCompilerError):
    """A function had to be recorded again more often than ``max_variants`` allows, and its original cannot run instead, or shall not
    (``on_limit="raise"``)."""


class TracingError(GraphCompilerError):
    """The function did something during recording that cannot be seen, so no right graph exists."""


class GradientRefused(GraphCompilerError):
    """A gradient was taken through a rule of the user's (a ``torch.autograd.Function``, a backward hook) that is not known to the graph, or
    through an operation that the framework has no derivative of.

    Results are right all the same. Rules that multiply the gradient by numbers, element by element, are translated.
    """


class NotTraced(GraphCompilerError):
    """A lazily compiled function was asked for something that exists only after its first call."""


class VerificationFailed(GraphCompilerError, AssertionError):
    """The graph and the original function gave different numbers."""


class InvalidFile(GraphCompilerError, ValueError):
    """A saved graph cannot be read (truncated, altered, foreign, of another version), or a graph holds what a file cannot hold."""


class CollectiveFailed(GraphCompilerError):
    """Processes that compute together could not exchange arrays: one has ended or waits elsewhere, or their arrays do not fit together.

    ``__cause__`` is the framework's own exception.
    """


class NotSerialisable(GraphCompilerError, TypeError):
    """A graph was pickled or copied; ``save`` and ``load`` take it to another process."""


class NarrowedNumbers(UserWarning):
    """A target without 64-bit floats computes with such arguments in 32 bits.

    Cause: JAX has 32-bit types unless it is told otherwise. Remedy: ``jax.config.update("jax_enable_x64", True)`` before anything is
    compiled, or arguments of 32 bits.
    """


class InvalidGraph(GraphCompilerError):
    """A graph broke a rule of its form: a bug in a pass or in a row of a table, not in the user's code."""


class InternalError(GraphCompilerError):
    """A bug of graph_compiler: it raised, or made a framework raise, an exception that it does not handle.

    The message names the user's line, what was being done, and how to report it; ``__cause__`` is the exception.
    """


class Signal(Exception):
    """An exception by which one part of this package tells another one to go on otherwise. It never leaves the package."""


class UnknownOperation(GraphCompilerError, LookupError):
    """An operation, or a parameter of one, is not in the vocabulary."""


class DuplicateRow(GraphCompilerError, ValueError):
    """Two declarations or two rows were registered under one name."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Words that point at the known names most like ``name``: ``'; did you mean 'add'?'`` or ``''``.

    >>> nearest("matmull", ["matmul", "exp"])
    "; did you mean 'matmul'?"
    """
    close = get_close_matches(name, list(dict.fromkeys(known)), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
